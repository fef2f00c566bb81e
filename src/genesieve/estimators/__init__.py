"""The scikit-learn face: estimators, the paper's methods by name, their parameters and checkpoints."""
