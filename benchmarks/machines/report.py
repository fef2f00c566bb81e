"""How far what was found on two machines agrees, and the table of the page."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from benchmarks.harness.report import number, table

HEAD = [
    "data", "rule", "machines", "cells with the same label", "ARI", "genes in both", "least cosine of programs", "met?",
]  # fmt: skip


class Agreement(NamedTuple):
    """Of one machine with another."""

    names: float  # share of cells whose label has the same name
    ari: float
    genes: float  # share of the selected genes that both selected
    cosine: float  # of the programs that are least alike, once they are matched

    def meets(self, rule: str) -> bool:
        """Whether it is as close as is promised."""
        labels = self.names >= 0.995 if rule == "argmax" else self.ari > 0.995
        return labels and self.genes >= 0.995 and self.cosine > 0.9999


def compare(one: Path, other: Path) -> Agreement:
    """What two machines found in the same data."""
    a, b = np.load(one), np.load(other)
    cosines = normalize(a["programs"].astype(float)) @ normalize(b["programs"].astype(float)).T
    return Agreement(
        names=float((a["labels"] == b["labels"]).mean()),
        ari=float(adjusted_rand_score(a["labels"], b["labels"])),
        genes=float((a["genes"] & b["genes"]).sum() / a["genes"].sum()),
        cosine=float(cosines[linear_sum_assignment(-cosines)].min()),
    )


def agreements(found: Path, data: list[str], rules: list[str]) -> str:
    """The table: of every set and rule the machines that agree least, each with the one that was first."""
    rows = []
    for name in data:
        for rule in rules:
            files = sorted(found.glob(f"{name}/*-{rule}.npz"))
            pairs = [compare(files[0], other) for other in files[1:]]
            if pairs:
                worst = Agreement(*np.min(pairs, axis=0))
                values = [number(value, digits) for value, digits in zip(worst, (4, 4, 4, 6), strict=True)]
                rows.append([name, rule, str(len(files)), *values, "yes" if worst.meets(rule) else "no"])
    return table(HEAD, rows)
