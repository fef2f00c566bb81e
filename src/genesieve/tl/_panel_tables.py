"""Tables of a panel: its genes and why they are in it, its curve over sizes, its types and what they are taken for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from genesieve.interpret.panels import Choice, Judgement, mean_accuracy
from genesieve.interpret.panels.choice import VARIATION

INCLUDED = "asked for"


def panel_table(
    genes: np.ndarray,
    W: np.ndarray,
    shares: np.ndarray,
    expression: np.ndarray,
    choice: Choice,
    included: np.ndarray,
    pairs: list[str],
    directions: list[str],
) -> pd.DataFrame:
    """One row a gene of a panel, in the order of choice; all go by these genes, the last two by the numbers in it."""
    programs = shares.argmax(axis=1)
    rows = np.arange(len(genes))
    return pd.DataFrame(
        {
            "gene": genes,
            "program": programs,
            "weight": W[rows, programs],
            "specificity": shares[rows, programs],
            "expression": expression,
            "variation": choice.variation,
            "separation": choice.separation,
            "reason": [
                INCLUDED if included[row] else _reason(choice, row, pairs, directions) for row in range(len(genes))
            ],
        }
    )


def _reason(choice: Choice, row: int, pairs: list[str], directions: list[str]) -> str:
    by_variation = VARIATION * choice.variation[row] >= (1 - VARIATION) * choice.separation[row]
    if by_variation or choice.pair[row] < 0:
        return directions[choice.direction[row]]
    return pairs[choice.pair[row]]


def direction_names(scores: np.ndarray, types: np.ndarray, names: list[str], kind: str) -> list[str]:
    """What every direction of the variation runs between: two types, or cells of the type that varies most along it."""
    known = types >= 0
    members = (types[known, None] == np.arange(len(names))).astype(np.float64)  # (cells, types)
    sizes = np.maximum(members.sum(axis=0), 1.0)[:, None]
    means = members.T @ scores[known] / sizes
    within = members.T @ (scores[known] - means[types[known]]) ** 2  # (types, directions)
    between = (sizes * (means - scores[known].mean(axis=0)) ** 2).sum(axis=0)
    said = []
    for direction, (low, high) in enumerate(zip(means.argmin(axis=0), means.argmax(axis=0), strict=True)):
        ends = f"{kind}{names[min(low, high)]} against {kind}{names[max(low, high)]}"
        most = f"cells of {kind}{names[within[:, direction].argmax()]}"
        across = between[direction] > within[:, direction].sum()
        said.append(f"follows direction {direction + 1} of the variation: {ends if across else most}")
    return said


def pair_names(pairs: np.ndarray, groups: np.ndarray, types: np.ndarray, names: list[str], kind: str) -> list[str]:
    """What telling the groups of every pair apart means, by the type that most cells of each group have."""
    both = (groups >= 0) & (types >= 0)
    counts = np.zeros((groups.max() + 1, len(names)))
    np.add.at(counts, (groups[both], types[both]), 1)
    mostly = counts.argmax(axis=1)
    said = []
    for a, b in mostly[pairs].reshape(-1, 2):
        if a == b:
            said.append(f"tells cells of {kind}{names[a]} apart")
        else:
            said.append(f"tells {kind}{names[min(a, b)]} from {kind}{names[max(a, b)]}")
    return said


def curve_table(judgement: Judgement) -> pd.DataFrame:
    """How well panels of growing size do."""
    return pd.DataFrame({"n_genes": judgement.sizes, "accuracy": judgement.accuracy, "variation": judgement.variation})


def types_table(judgement: Judgement, names: list[str], sizes: np.ndarray) -> pd.DataFrame:
    """Every type, how well it is recognised with the panel and with all genes, and what it is taken for."""
    others = judgement.confusion.copy()
    np.fill_diagonal(others, -1.0 if len(names) > 1 else 0.0)
    told = ~np.isnan(judgement.confusion).any(axis=1)
    other = np.where(np.isnan(others), -1.0, others).argmax(axis=1)
    share = others[np.arange(len(names)), other]
    return pd.DataFrame(
        {
            "type": names,
            "n_cells": sizes,
            "accuracy": np.diag(judgement.confusion),
            "accuracy_all": np.diag(judgement.reference),
            "confused_with": [names[o] if t and s > 0 else "" for o, t, s in zip(other, told, share, strict=True)],
            "share": np.where(told, np.maximum(share, 0.0), np.nan),
        }
    )


def confusion_table(judgement: Judgement, names: list[str]) -> pd.DataFrame:
    """The share of the cells of every type (``type``) that is taken for each (the other columns)."""
    return pd.DataFrame(judgement.confusion, columns=names).assign(type=names)[["type", *names]]


def summary(judgement: Judgement) -> dict[str, float]:
    """The whole panel in three numbers."""
    return {
        "accuracy": float(judgement.accuracy[-1]),
        "accuracy_all": mean_accuracy(judgement.reference),
        "variation": float(judgement.variation[-1]),
    }
