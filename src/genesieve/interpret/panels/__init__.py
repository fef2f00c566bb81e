"""Targeted panels: which few genes keep what all of them show, and how well they do."""

from genesieve.interpret.panels.choice import Choice, choose_panel
from genesieve.interpret.panels.judge import Judgement, judge_panel, mean_accuracy
from genesieve.interpret.panels.rules import Limit, Rules
from genesieve.interpret.panels.statistics import (
    GeneStatistics,
    gene_model,
    gene_statistics,
    group_cells,
    leading_scores,
)

__all__ = [
    "Choice",
    "GeneStatistics",
    "Judgement",
    "Limit",
    "Rules",
    "choose_panel",
    "gene_model",
    "gene_statistics",
    "group_cells",
    "judge_panel",
    "leading_scores",
    "mean_accuracy",
]
