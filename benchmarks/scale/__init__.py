"""Atlases of a million cells and more: simulated files of any size, and fits that read them from disk."""
