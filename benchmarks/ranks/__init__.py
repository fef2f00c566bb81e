"""Time to the objective of peers by rank, size and density."""
