"""The numerics: numpy, scipy and numba only; no files, tables or printing."""
