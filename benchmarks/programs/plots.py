"""The pictures of docs/programs.md."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.plots import LOOKS, draw_all, legend, picture
from benchmarks.harness.results import Results
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import KINDS

LEVELS = ("easy", "medium", "hard", "faint")


def draw(results: Results, folder: Path) -> list[str]:
    """All that there is to draw; names of the pictures."""
    return draw_all(folder, {"programs_usages.png": partial(usages, results)})


def usages(results: Results, path: Path) -> bool:
    """Correlation of usages with the truth by level, for both kinds of programs."""
    found = {name: {level: results.measured(peer=name, level=level) for level in LEVELS} for name in PEERS}
    found = {name: levels for name, levels in found.items() if any(levels.values())}
    if not found:
        return False
    with picture(path, 1, 2, size=(9, 3.6), sharey=True) as (_, axes):
        for axis, kind in zip(axes, KINDS, strict=True):
            for (color, marker), (name, levels) in zip(LOOKS, found.items(), strict=False):
                means = {
                    level: np.mean([one[kind]["usage_r"] for one in records])
                    for level, records in levels.items()
                    if records
                }
                places = [LEVELS.index(level) for level in means]
                axis.plot(
                    places, list(means.values()), color=color, marker=marker, label=PEERS[name].title.replace("`", "")
                )
            axis.set(xticks=range(len(LEVELS)), xticklabels=LEVELS, title=f"{kind} programs", ylim=(0, 1.02))
        axes[0].set_ylabel("correlation of usages with the truth")
        legend(axes[1], loc="lower left", fontsize=8)
    return True
