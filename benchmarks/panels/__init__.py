"""Targeted panels: the genes that methods choose, scored by the evaluator of Spapros, with their time and memory."""
