"""Seconds by rank, one panel a matrix."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks.harness.plots import BLACK, LOOKS, legend, picture
from benchmarks.harness.results import Results
from benchmarks.ranks.data import Matrix
from benchmarks.ranks.peers import PEERS, RIVALS
from benchmarks.ranks.results import median, reached, runs

NAME = "ranks.png"


def draw(results: Results, matrices: dict[str, Matrix], folder: Path) -> None:
    """Peers, and our fits to within 0.1% of both and to their own end."""
    columns = min(len(matrices), 2)
    rows = -(-len(matrices) // columns)
    with picture(folder / NAME, rows, columns, size=(4.4 * columns, 3.4 * rows), squeeze=False) as (_, axes):
        for panel, (name, matrix) in zip(axes.flat, matrices.items(), strict=False):
            _panel(panel, results, name, matrix)
        legend(axes.flat[0], fontsize=8)


def _panel(axes: Axes, results: Results, name: str, matrix: Matrix) -> None:
    for peer, (colour, marker) in zip([*RIVALS, "genesieve"], [LOOKS[1], LOOKS[2], LOOKS[0]], strict=True):
        times = {rank: median(runs(results, name, peer, rank), "time") for rank in matrix.ranks}
        ours = peer == "genesieve"
        label = "genesieve, whole fit" if ours else f"{PEERS[peer].title}, 60 iterations"
        _line(axes, times, color=colour, marker=marker, linestyle="--" if ours else "-", label=label)
    to_rivals = {}
    for rank in matrix.ranks:
        found = [each for rival in RIVALS if (each := reached(results, name, rival, rank))]
        to_rivals[rank] = max((each.close for each in found), default=None)
    _line(axes, to_rivals, color=LOOKS[0][0], marker=LOOKS[0][1], label="genesieve, to within 0.1% of both")
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="seconds", title=matrix.title)
    axes.set_xticks(matrix.ranks, [str(rank) for rank in matrix.ranks], color=BLACK)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _line(axes: Axes, times: dict[int, float | None], **style: str) -> None:
    known = {rank: seconds for rank, seconds in times.items() if seconds is not None}
    axes.plot(list(known), list(known.values()), markersize=4, linewidth=1.2, **style)
