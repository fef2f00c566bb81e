"""Figure 3: the twelve methods on the synthetic data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from genesieve._colors import OKABE_ITO
from genesieve.paper.contest import DEFAULT, OURS, PUBLISHED, WRITTEN, best_published, summary, tasks
from genesieve.paper.printed import FIG3, NAMES, Score
from genesieve.paper.report import Section, distance, dress, long_table, markdown, show
from genesieve.paper.study import Study, draw
from genesieve.pl._style import LOUD, PAGE, PALE, QUIET, SMALL, label

TITLE = "Figure 3: NMI on the synthetic data"
WAYS = (PUBLISHED, WRITTEN, OURS)
Summary = Mapping[tuple[str, str], Score]


def run(study: Study) -> Section:
    """All methods on one data set from every start, and on as many draws from one start each."""
    main = study.synthetic
    draws = [draw(seed) for seed in study.starts]
    one = [task for way in WAYS for task in tasks(main, way, study.starts)]
    many = [task for seed, data in enumerate(draws) for way in WAYS for task in tasks(data, way, [seed])]
    done = study.run([*one, *many], main, *draws)
    of_main, of_draws = summary(done[: len(one)]), summary(done[len(one) :])
    body = "\n".join(
        [
            f"NMI (arithmetic mean of the entropies, as published), {study.n_starts} starts on {main.note}.\n",
            _table(of_main, same_data=study.reference is not None),
            f"The same over {study.n_starts} fresh draws of the data (not the published ones), one start each:\n",
            _table(of_draws, same_data=False),
        ]
    )
    return Section("fig3", TITLE, body, {"fig3": _figure(of_main)}, {"fig3": long_table(done)})


def _table(ours: Summary, *, same_data: bool) -> str:
    """Published values beside ours; how far they are apart says something on the same data only."""
    rows: list[list[str]] = []
    for method, printed in FIG3.items():
        again, written = ours.get((PUBLISHED, method)), ours.get((WRITTEN, method))
        rows.append(
            [NAMES[method], show(printed), show(again), distance(again, printed if same_data else None), show(written)]
        )
    heading = ["method", "published", "run as published", "difference in published sd", "as the paper writes it"]
    best = best_published(ours)
    compared = [["genesieve's default", show(ours[OURS, DEFAULT])]]
    compared.append([f"the paper's best here, {NAMES[best]} as published", show(ours[PUBLISHED, best])])
    return markdown(heading, rows) + "\n" + markdown(["not in the paper", "NMI"], compared)


def _figure(ours: Summary) -> Figure:
    """Bars of the means with their sd: published, run as published, as written; the default in its own colour."""
    figure, ax = plt.subplots(figsize=(PAGE, 2.6), layout="constrained")
    series = {
        "published": (FIG3, PALE),
        "run as published": ({method: ours[PUBLISHED, method] for method in FIG3}, QUIET),
        "as the paper writes it": ({method: ours[WRITTEN, method] for method in FIG3}, OKABE_ITO[0]),
    }
    at, width = np.arange(len(FIG3)), 0.27
    for number, (name, (scores, color)) in enumerate(series.items()):
        _bars(ax, at + (number - 1) * width, list(scores.values()), width, color, name)
    _bars(ax, np.array([len(FIG3)]), [ours[OURS, DEFAULT]], width, LOUD, "genesieve's default")
    names = [*(NAMES[method] for method in FIG3), "genesieve"]
    ax.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor", fontsize=SMALL)
    ax.set_ylim(0, 1)
    label(ax.set_ylabel, "NMI")
    figure.legend(fontsize=SMALL, frameon=False, loc="outside upper center", ncols=4)
    dress(ax)
    return figure


def _bars(ax: Axes, at: np.ndarray, scores: Sequence[Score], width: float, color: str, name: str) -> None:
    spread = np.nan_to_num([score.sd for score in scores])
    means = [score.mean for score in scores]
    ax.bar(at, means, width, yerr=spread, color=color, label=name, error_kw={"elinewidth": 0.7})
