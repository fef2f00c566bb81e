"""Fits that know their batches: planted samples with effects on genes, and stimulated cells against control."""
