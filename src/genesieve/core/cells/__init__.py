"""Where the cells are and how they are visited: one verb, a sweep over blocks of cells."""
