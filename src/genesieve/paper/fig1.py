"""Figure 1: which entries of W are not zero under l0, l20 and lc0, from real fits."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from genesieve.estimators.methods import METHODS
from genesieve.paper.harness import Data, Task
from genesieve.paper.printed import NAMES
from genesieve.paper.report import Section, markdown
from genesieve.paper.study import Study, draw
from genesieve.pl._style import FRAME, PAGE, SMALL, label

TITLE = "Figure 1: patterns of W under three constraints"
METHODS_SHOWN = ("nmf_l0", "nmf_l20", "nmf_lc0")
GENES_SHOWN = 160  # the 120 that carry signal, and some that do not


def run(study: Study) -> Section:
    """One fit a constraint on the synthetic data, with the same number of entries at most."""
    data = draw(0)
    done = study.run([Task(pattern, data.name, method) for method in METHODS_SHOWN], data)
    patterns = {each.task.method: np.array(each.result["pattern"], dtype=bool) for each in done}
    body = (
        f"Fits of rank {data.rank} to {data.note}, {data.recipe.n_genes} genes a program at most. l0 spends its entries"
        " where it likes, l20 keeps whole genes, lc0 gives every program the same number.\n\n"
    )
    return Section("fig1", TITLE, body + _table(patterns), {"fig1": _figure(patterns)})


def pattern(data: Data, task: Task) -> dict[str, Any]:
    """Where W (genes, rank) is not zero."""
    model = METHODS[task.method](data.rank, n_genes=data.recipe.n_genes, random_state=task.start, n_jobs=1).fit(data.X)
    return {"pattern": (model.components_.T > 0).astype(int)}


def _table(patterns: dict[str, np.ndarray]) -> str:
    rows = [
        [NAMES[method], mask.sum(), mask.any(axis=1).sum(), ", ".join(map(str, mask.sum(axis=0)))]
        for method, mask in patterns.items()
    ]
    return markdown(["constraint", "entries", "genes in use", "genes of each program"], rows)


def _figure(patterns: dict[str, np.ndarray]) -> Figure:
    """Programs in rows, genes in columns; dark boxes are not zero."""
    figure, axes = plt.subplots(len(patterns), 1, figsize=(PAGE, 2.7), layout="constrained", sharex=True)
    for ax, (method, mask) in zip(axes, patterns.items(), strict=True):
        ax.imshow(mask[:GENES_SHOWN].T, aspect="auto", cmap=ListedColormap(["white", FRAME]), interpolation="nearest")
        ax.set_yticks(range(mask.shape[1]))
        ax.tick_params(labelsize=SMALL, length=2, width=0.6)
        ax.hlines(np.arange(0.5, mask.shape[1] - 1), -0.5, GENES_SHOWN - 0.5, color="white", linewidth=1.5)
        ax.spines[:].set_linewidth(0.6)
        label(ax.set_title, NAMES[method], loc="left", pad=3)
        label(ax.set_ylabel, "program")
    label(axes[-1].set_xlabel, f"the first {GENES_SHOWN} of 500 genes; the first 120 carry signal")
    return figure
