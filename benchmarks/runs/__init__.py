"""What a whole run costs beside its fit, and how often its rule for outliers is wrong."""
