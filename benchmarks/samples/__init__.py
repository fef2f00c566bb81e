"""Several samples: programs that they share, and where their usage differs, against a known truth and against peers."""
