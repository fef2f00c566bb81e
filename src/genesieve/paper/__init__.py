"""The paper's tables and figures, printed values beside ours: one short module each, on one small harness."""
