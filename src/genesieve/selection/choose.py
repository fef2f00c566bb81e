"""How many programs and how many genes: the evidence, the rule, the suggestion."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from genesieve.core.cells.sources import Source
from genesieve.core.cells.streamed import as_source
from genesieve.core.cells.threads import available_threads, single_threaded_blas
from genesieve.selection.batches import without_batches
from genesieve.selection.evidence import Evidence, Tell, gather, teller
from genesieve.selection.held_out import FALSE_DISCOVERIES, Gains, adjusted, gains_of
from genesieve.selection.rule import in_words, is_clear, nearest, programs, signals
from genesieve.selection.saved import Saved, digest
from genesieve.selection.standardise import Standardised, linear, standardise

# Programs looked for at most, unless a range is given.
MOST_PROGRAMS = 40
# Cells of the sample that is looked at, and values in it: what takes part has to fit in memory as a dense array.
MOST_CELLS = 6000
MOST_VALUES = 40_000_000
LEAST_GENES = 10
# Of deep data nearly all genes earn a place; the best predicted ones of them are enough.
MOST_GENES = 2000
# Cells that a program should have on average, so that halves can tell.
CELLS_EACH = 10


@dataclass(frozen=True)
class Selection:
    """A suggestion and what it rests on."""

    n_components: int
    n_genes: int
    ranks: dict[str, np.ndarray]  # a table with a row for each rank
    genes: dict[str, np.ndarray]  # a table with a row for each gene that takes part, the largest gain first
    values: str  # what the values were found to be
    n_cells: int  # that were looked at
    reason: str
    signals: dict[str, int] = field(default_factory=dict)  # the number of programs by each
    clear: bool = False  # whether the number of programs is well defined


def select(
    X: Any,
    *,
    n_components: int | Iterable[int] | None = None,
    n_genes: int | Iterable[int] | None = None,
    rng: np.random.Generator,
    batch: np.ndarray | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Tell | None = None,
) -> Selection:
    """Suggest a number of programs and of genes for cells x genes ``X``, wherever the values are.

    ``n_components`` and ``n_genes`` are what may be suggested: numbers to choose from, one number, or None. ``batch``
    (cells,) numbers the batches, whose differences are no programs. ``checkpoint`` is a file to keep steps in, to go
    on from. The callback is told of every step.
    """
    source = X if isinstance(X, Source) else as_source(X, n_jobs=n_jobs)
    ranks, budgets = (None if numbers is None else _each(numbers) for numbers in (n_components, n_genes))
    tell, most = teller(callback), min(_most_programs(ranks, source.shape[0]), *source.shape)
    of_sample, of_evidence = rng.spawn(2)
    tell("reading a sample of the cells")
    cells = _sample(source.shape, of_sample)
    values, kind = linear(source.rows(cells))
    tell("making noise even")
    with single_threaded_blas():
        if batch is not None and len(np.unique(batch[cells])) > 1:
            values = without_batches(values, batch[cells])
        data = standardise(values)
        if data is None:
            return _nothing(source.shape, kind, ranks, budgets)
        saved = Saved(checkpoint, _about(data, ranks, of_evidence))
        threads = available_threads(n_jobs)
        with saved.in_use():
            found = gather(data.values, ranks, most, of_evidence, saved=saved, threads=threads, tell=tell)
            rank = programs(found, ranks)
            tell("judging genes")
            gains = gains_of(data.values, found.parts, min(rank, found.width))
    tell("done")
    return _suggestion(found, rank, gains, data, kind, source.shape[1], budgets)


def _suggestion(
    found: Evidence,
    rank: int,
    gains: Gains,
    data: Standardised,
    kind: str,
    most_genes: int,
    budgets: list[int] | None,
) -> Selection:
    p_adjusted = adjusted(gains)
    count = int((p_adjusted <= FALSE_DISCOVERIES).sum())
    return Selection(
        n_components=rank,
        n_genes=nearest(min(max(min(count, MOST_GENES), LEAST_GENES, rank), most_genes), budgets, upwards=True),
        ranks=_rank_table(found),
        genes=_gene_table(gains, p_adjusted, data.genes),
        values=kind,
        n_cells=len(data.values),
        reason=in_words(found, count, len(data.genes), MOST_GENES),
        signals=signals(found),
        clear=is_clear(found),
    )


def _each(numbers: int | Iterable[int]) -> list[int]:
    return sorted({int(number) for number in (numbers if isinstance(numbers, Iterable) else [numbers])})


def _most_programs(ranks: list[int] | None, n_cells: int) -> int:
    """Programs looked for: more than may be suggested, to see whether they have an end."""
    return max(min(MOST_PROGRAMS, n_cells // CELLS_EACH), 2, *(ranks or ()))


def _sample(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Cells at random, as many as fit."""
    n_cells = min(shape[0], MOST_CELLS, max(MOST_VALUES // shape[1], 1000))
    return np.sort(rng.choice(shape[0], n_cells, replace=False))


def _about(data: Standardised, ranks: list[int] | None, rng: np.random.Generator) -> dict[str, Any]:
    """What a checkpoint knows a choice by."""
    seed = repr(rng.bit_generator.state)
    return {"data": digest(data.values, data.cells, data.genes), "choices": digest(ranks, seed)}


def _nothing(shape: tuple[int, int], kind: str, ranks: list[int] | None, budgets: list[int] | None) -> Selection:
    """What is suggested where no gene varies beyond the depth of the cells."""
    none: dict[str, np.ndarray] = {}
    n_genes = nearest(min(LEAST_GENES, shape[1]), budgets, upwards=True)
    return Selection(nearest(1, ranks), n_genes, none, none, kind, shape[0], "no gene varies")


def _rank_table(found: Evidence) -> dict[str, np.ndarray]:
    rank = np.arange(1, found.width + 1)
    sizes, agreement = np.full((2, found.width), np.nan)
    for column, numbers in (
        (sizes, found.spectrum.sizes / found.spectrum.end_of_noise),
        (agreement, [] if found.replication is None else found.replication.sorted_agreement),
    ):
        shown = min(len(numbers), found.width)
        column[:shown] = numbers[:shown]
    return {
        "n_components": rank,
        "size": sizes,
        "stands_out": rank <= found.spectrum.n_above,
        "agreement": agreement,
        "held_out_error": found.errors.error,
        "standard_error": found.errors.standard_error,
    }


def _gene_table(gains: Gains, p_adjusted: np.ndarray, genes: np.ndarray) -> dict[str, np.ndarray]:
    gain, standard_error, p_value = gains
    order = np.lexsort((-gain, p_value))
    return {
        "gene": genes[order],
        "gain": gain[order],
        "standard_error": standard_error[order],
        "p_adjusted": p_adjusted[order],
        "earns": p_adjusted[order] <= FALSE_DISCOVERIES,
    }
