"""Which genes belong to a program: scores and their cut against a known truth, and what gene sets make of them."""
