"""What a pass over cells in a file costs, step by step: processor time of one thread for each stored value.

``python -m benchmarks.scale.costs atlas.h5ad`` prints the table of `docs/how-it-is-fast.md`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.plan import PLAN

# Cells that are looked at, so that some blocks are; of several rounds the quickest counts, as others use the machine.
CELLS, ROUNDS = 10_000, 3


def costs(path: Path, rank: int = PLAN.rank, budget: int = PLAN.budget) -> dict[str, float]:
    """Nanoseconds a stored value of every step, of a survey, of moments and of a pass."""
    from genesieve.core.cells.blocks import _look_through
    from genesieve.core.cells.products import times, transposed_times
    from genesieve.core.cells.sources import InFile, as_values, block_spans, cell_slice
    from genesieve.core.cells.streamed import streamed
    from genesieve.core.cells.sums import gene_sums
    from genesieve.core.cells.transform import Transform
    from genesieve.core.objective import Overlap, gram_of
    from genesieve.io import open_in_file

    outside = streamed(open_in_file(path).X)
    assert outside is not None, "an atlas is in a file"
    stored, source = outside.data, InFile(outside.data)
    cells = slice(0, min(CELLS, stored.shape[0]))
    found: dict[str, float] = {}

    def note(step: str, work: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        seconds, done = _quickest(lambda: [work(item) for item in items])
        found[step] = 1e9 * seconds / stored.count(cells)
        return done

    piece = note("read", source._read, [cells])[0]
    spans = block_spans(piece.shape, piece.nnz)
    blocks = [cell_slice(piece, rows) for rows in spans]
    raw = note("survey: check", lambda X: as_values(X, Transform(), source.dtype), blocks)
    depth = float(np.median(np.concatenate([X.sum(axis=1) for X in raw])))
    note("survey: count", lambda X: _look_through(X, None), raw)
    logged = Transform(depth, float(np.e))
    values = note("check, depth and logarithm", lambda X: as_values(X, logged, source.dtype), blocks)
    sums = note("moments: add up", gene_sums, values)
    W = _programs(np.sum([part.squares for part in sums], axis=0), rank, budget).astype(source.dtype)
    step = Overlap().cell_step(gram_of(W))
    products = note("X W", lambda X: times(X, W), values)
    usages = note("rows of H", lambda part: step(np.zeros_like(part), part), products)
    crosses = note("X^T H", lambda both: transposed_times(*both), list(zip(values, usages, strict=True)))
    cross = np.zeros(W.shape)
    note("adding up", lambda part: np.add(cross, part, out=cross), crosses)
    return found


def _programs(squares: np.ndarray, rank: int, budget: int) -> np.ndarray:
    """Programs (genes, rank) on the genes with the largest sums of squares."""
    W = np.zeros((len(squares), rank))
    chosen = np.argsort(-squares)[:budget]
    W[chosen] = np.random.default_rng(0).gamma(0.3, size=(len(chosen), rank))
    return W


def _quickest(work: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
    """Processor seconds of the quickest round after one that compiles, and what came of it."""
    done, seconds = work(), []
    for _ in range(ROUNDS):
        began = time.process_time()
        done = work()
        seconds.append(time.process_time() - began)
    return min(seconds), done


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.costs", description=__doc__)
    parser.add_argument("path", type=Path, help="an atlas, .h5ad or .zarr")
    for step, nanoseconds in costs(parser.parse_args(arguments).path).items():
        print(f"| {step} | {nanoseconds:.2f} |")


if __name__ == "__main__":
    main()
