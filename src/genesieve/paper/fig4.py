"""Figure 4: a growing penalty makes H more orthogonal, and the clustering better."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from genesieve._colors import OKABE_ITO
from genesieve.metrics import orthogonality
from genesieve.paper.contest import default_model, mean_path, nmi
from genesieve.paper.harness import Data, Task
from genesieve.paper.published import METHODS
from genesieve.paper.report import Section, dress, markdown
from genesieve.paper.study import Study
from genesieve.pl._style import LOUD, PAGE, label

TITLE = "Figure 4: rho, orthogonality and NMI"
COLORS = (OKABE_ITO[0], OKABE_ITO[0], LOUD, LOUD)  # of the four panels
OMEGAS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0)


def run(study: Study) -> Section:
    """The stages of ONMF_l20 on the synthetic data, and genesieve's penalty from weak to strong."""
    data = study.synthetic
    tasks = [Task(work, data.name, name, start) for name, work in PATHS.items() for start in study.starts]
    done = study.run(tasks, data)
    paths = {name: mean_path([each.result["stages"] for each in done if each.task.method == name]) for name in PATHS}
    body = (
        f"Means over {study.n_starts} starts on {data.note}. The orthogonality level is that of the paper: 0 is"
        " orthogonal. The paper shows the points and prints no values.\n\n"
        f"ONMF_l20, stage by stage, run as published:\n\n{_table('rho', paths['onmf_l20'])}\n"
        "Not in the paper: genesieve's own penalty, which has no scale (a fit for each value, 1 is a hard assignment):"
        f"\n\n{_table('orthogonality=', paths['genesieve'])}"
    )
    return Section("fig4", TITLE, body, {"fig4": _figure(paths["onmf_l20"], paths["genesieve"])})


def stages(data: Data, task: Task) -> dict[str, Any]:
    """The continuation: penalty, orthogonality and NMI after every stage."""
    fit = METHODS["onmf_l20"](data.X, data.start(task.start), data.recipe, task.start)
    return {"stages": [(rho, orthogonality(H), nmi(data, H.argmax(axis=1))) for rho, (H, _) in fit.stages]}


def strengths(data: Data, task: Task) -> dict[str, Any]:
    """A fit with each strength of genesieve's penalty."""
    points = []
    for omega in OMEGAS:
        model = default_model(data, task, orthogonality=omega)
        points.append((omega, orthogonality(model.fit_transform(data.X)), nmi(data, model.labels_)))
    return {"stages": points}


PATHS = {"onmf_l20": stages, "genesieve": strengths}


def _table(heading: str, path: np.ndarray) -> str:
    rows = [[f"{strength:g}", f"{level:.4f}", f"{score:.4f}"] for strength, level, score in path]
    return markdown([heading, "orthogonality level", "NMI"], rows)


def _figure(paper: np.ndarray, ours: np.ndarray) -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(PAGE, 2.0), layout="constrained")
    for ax, path, row, color in zip(axes, (paper, paper, ours, ours), (1, 2, 1, 2), COLORS, strict=True):
        ax.plot(path[:, 0], path[:, row], "o-", color=color, markersize=3, linewidth=1)
        label(ax.set_ylabel, ("orthogonality level", "NMI")[row - 1])
        ax.set_ylim(0, (0.2, 1.0)[row - 1])
        dress(ax)
    for ax in axes[:2]:
        ax.set_xscale("log")
        label(ax.set_xlabel, "rho (ONMF_l20)")
    for ax in axes[2:]:
        label(ax.set_xlabel, "genesieve's penalty")
    return figure
