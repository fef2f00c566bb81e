"""What a fit means, on plain arrays: genes, programs, labels, outliers, panels, gene sets."""
