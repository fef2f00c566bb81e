"""Figure 2: the synthetic data, and how PALM, maPALM and exact blocks lower the same objective."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from genesieve._colors import OKABE_ITO
from genesieve.core.cells.blocks import Blocks
from genesieve.core.constraints import RowSparse
from genesieve.core.objective import Overlap
from genesieve.core.solvers import Problem, Solve, bcd, mapalm, palm
from genesieve.paper.harness import Data, Done, Task
from genesieve.paper.report import Section, dress, markdown
from genesieve.paper.study import Study
from genesieve.pl._parts import heat_map
from genesieve.pl._style import LOUD, PAGE, QUIET, SEQUENTIAL, SMALL, label

TITLE = "Figure 2: the synthetic data, and convergence at rho = 0.5"
RHO = 0.5
ITERATIONS = 100
SOLVERS: dict[str, Solve] = {"PALM": palm, "maPALM": mapalm, "exact blocks (bcd)": bcd}
COLORS = {"PALM": QUIET, "maPALM": OKABE_ITO[0], "exact blocks (bcd)": LOUD}
MARKS = (1, 5, 10, 20, 50, 100)  # iterations in the table


def run(study: Study) -> Section:
    """The three solvers from the same random start, without a tolerance that would end them."""
    data = study.synthetic
    done = study.run([Task(course, data.name, solver) for solver in SOLVERS], data)
    body = (
        f"ONMF_l20 with rho = {RHO} and {data.recipe.n_genes} genes on {data.note}, the same start and the same"
        " objective (Eq. 10) for all three. The paper shows the curves of PALM and maPALM and prints no values.\n\n"
    )
    return Section("fig2", TITLE, body + _table(done), {"fig2": _figure(data, done)})


def course(data: Data, task: Task) -> dict[str, Any]:
    """The objective after every iteration."""
    blocks = Blocks(data.X, n_jobs=1)
    problem = Problem(blocks, RowSparse(data.recipe.n_genes), Overlap(RHO), ITERATIONS, tol=0.0)
    history = SOLVERS[task.method](problem, data.start(task.start)).history
    return {"objective": [step.objective for step in history], "passes": [step.passes for step in history]}


def _table(done: list[Done]) -> str:
    def at(values: list[float], iteration: int) -> str:
        return f"{values[min(iteration, len(values)) - 1]:,.0f}"

    rows = [[each.task.method, *(at(each.result["objective"], mark) for mark in MARKS)] for each in done]
    return markdown(["objective after iteration", *map(str, MARKS)], rows)


def _figure(data: Data, done: list[Done]) -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(PAGE, 3.1), layout="constrained", width_ratios=[1.15, 1])
    heat_map(left, data.X.T, cmap=SEQUENTIAL, label="value")
    left.tick_params(labelsize=SMALL, length=2.5, width=0.6)
    label(left.set_xlabel, "cells")
    label(left.set_ylabel, "genes")
    for each in done:
        _curve(right, each)
    right.set_xscale("log")
    label(right.set_xlabel, "iterations")
    label(right.set_ylabel, "objective")
    right.legend(fontsize=SMALL, frameon=False)
    dress(right)
    return figure


def _curve(ax: Axes, done: Done) -> None:
    objective = np.array(done.result["objective"])
    color = COLORS[done.task.method]
    ax.plot(np.arange(1, len(objective) + 1), objective, color=color, linewidth=1.3, label=done.task.method)
