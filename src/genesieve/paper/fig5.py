"""Figure 5: cells of pure noise have small values in H."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from genesieve import datasets
from genesieve.core.objective import gram_of
from genesieve.interpret import outliers
from genesieve.paper.contest import default_model
from genesieve.paper.harness import Data, Done, Task
from genesieve.paper.published import METHODS, SYNTHETIC
from genesieve.paper.report import Section, markdown
from genesieve.paper.study import Study
from genesieve.pl._parts import heat_map
from genesieve.pl._style import FRAME, LOUD, PAGE, QUIET, SEQUENTIAL, SMALL, label, open_frame

TITLE = "Figure 5: outliers"
RECIPE = replace(SYNTHETIC, n_genes=90)  # the paper's k for this set
RANK = 3
RAW, UNIT, OURS = "H as it is", "W at unit length", "gs.tl.outliers"


def run(study: Study) -> Section:
    """A draw of the data with outliers for every start."""
    draws = [_draw(seed) for seed in study.starts]
    tasks = [Task(work, data.name, name, seed) for seed, data in enumerate(draws) for name, work in WAYS.items()]
    done = study.run(tasks, *draws)
    body = (
        f"ONMF_l20 with k = {RECIPE.n_genes} and rank {RANK}, run as published on {study.n_starts} draws of the second"
        " synthetic set: 20 of its 60 cells are noise. The paper shows one picture, prints no values and gives no rule,"
        " so the first two rows take the 20 cells with the smallest largest coefficient, in H as the run left it and"
        " with every column of W at unit length: how scale is shared between W and H is arbitrary, and coefficients of"
        " different programs compare only once it is fixed. `gs.tl.outliers`, on an exactly orthogonal fit by"
        " genesieve, is not told how many there are.\n\n"
    )
    return Section("fig5", TITLE, body + _table(done), {"fig5": _figure(done[0], draws[0].labels)})


def _draw(seed: int) -> Data:
    X, labels = datasets.synthetic_outliers(random_state=seed)
    return Data(f"outliers{seed}", X, labels, RECIPE)


def largest_coefficients(data: Data, task: Task) -> dict[str, Any]:
    """The paper's run: H, and the cells that it makes least of, with scale as it came and with W at unit length."""
    factors = METHODS["onmf_l20"](data.X, data.start(task.start), data.recipe, task.start).stages[-1].factors
    units = np.linalg.norm(factors.W, axis=0)
    outliers = data.labels == datasets.OUTLIER_LABEL
    result = {"H": factors.H, "units": units}
    for name, H in ((RAW, factors.H), (UNIT, factors.H * units)):
        flagged = np.zeros(len(H), dtype=bool)
        flagged[np.argsort(H.max(axis=1), kind="stable")[: outliers.sum()]] = True
        result |= _agreement(name, flagged, outliers)
    return result


def flagged_cells(data: Data, task: Task) -> dict[str, Any]:
    """The library's own rule, on its own orthogonal fit."""
    model = default_model(data, task, orthogonality="exact")
    H = model.fit_transform(data.X)
    found = outliers.find_outliers(H, gram_of(model.components_.T))
    return _agreement(OURS, found.flagged, data.labels == datasets.OUTLIER_LABEL)


WAYS = {"onmf_l20": largest_coefficients, "genesieve": flagged_cells}


def _agreement(name: str, flagged: np.ndarray, outliers: np.ndarray) -> dict[str, Any]:
    """Precision and recall."""
    hits = int((flagged & outliers).sum())
    return {name: [hits / max(int(flagged.sum()), 1), hits / int(outliers.sum())]}


def _table(done: list[Done]) -> str:
    rows = []
    for name in (RAW, UNIT, OURS):
        mean = np.mean([each.result[name] for each in done if name in each.result], axis=0)
        rows.append([name, *(f"{value:.2f}" for value in mean)])
    return markdown(["outliers found by", "precision", "recall"], rows)


def _figure(done: Done, labels: np.ndarray) -> Figure:
    """H of the first draw as a heat map, and the largest value of every cell in both gauges."""
    H, units = np.array(done.result["H"]), np.array(done.result["units"])
    figure, axes = plt.subplots(1, 3, figsize=(PAGE, 2.1), layout="constrained", width_ratios=[1.2, 1, 1])
    heat_map(axes[0], H.T, cmap=SEQUENTIAL, label="coefficient")
    axes[0].set_yticks(range(H.shape[1]))
    label(axes[0].set_ylabel, "row of H")
    outliers = labels == datasets.OUTLIER_LABEL
    for ax, name, values in ((axes[1], RAW, H), (axes[2], UNIT, H * units)):
        for mask, color in ((~outliers, QUIET), (outliers, LOUD)):
            ax.scatter(np.flatnonzero(mask), values.max(axis=1)[mask], s=7, color=color, linewidths=0)
        ax.set_ylim(bottom=0)
        label(ax.set_title, name, pad=3)
        open_frame(ax)
    label(axes[1].set_ylabel, "largest coefficient")
    for ax in axes:
        ax.axvline(39.5, color=FRAME, linewidth=0.7, linestyle="--")
        ax.tick_params(labelsize=SMALL, length=2.5, width=0.6)
        label(ax.set_xlabel, "cells; noise right of the line")
    return figure
