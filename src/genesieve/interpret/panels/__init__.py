"""Targeted panels: which few genes keep what all of them show, and how well they do."""

from genesieve.interpret.panels.choice import Choice, Weights, choose_panel
from genesieve.interpret.panels.judge import Judgement, judge_panel
from genesieve.interpret.panels.neighbours import Nearness, Triplets, draw_triplets, nearness
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
    "Nearness",
    "Rules",
    "Triplets",
    "Weights",
    "choose_panel",
    "draw_triplets",
    "gene_model",
    "gene_statistics",
    "group_cells",
    "judge_panel",
    "leading_scores",
    "nearness",
]
