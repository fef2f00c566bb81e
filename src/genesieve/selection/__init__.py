"""How many programs, how many genes: suggestions with their evidence, on plain arrays."""
