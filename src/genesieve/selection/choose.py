"""How many programs and how many genes: the evidence, the rule, the suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from genesieve.core.cells.sources import Source, single_threaded_blas
from genesieve.core.cells.streamed import as_source
from genesieve.selection.held_out import FALSE_DISCOVERIES, Errors, Gains, adjusted, errors_of, gains_of, parts_of
from genesieve.selection.spectrum import Spectrum, spectrum
from genesieve.selection.standardise import linear, standardise

# Programs looked for at most, unless a range is given.
MOST_PROGRAMS = 40
# Cells of the sample that is looked at, and values in it: what takes part has to fit in memory as a dense array.
MOST_CELLS = 6000
MOST_VALUES = 40_000_000
# Ranks beyond the suggested one that the table shows.
SHOWN_BEYOND = 5
LEAST_GENES = 10
# Of values other than counts of molecules, directions fade into noise: the fewest programs are taken that predict this
# share of what can be predicted of genes and cells held out.
ENOUGH = 0.8


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


def select(
    X: Any,
    *,
    n_components: int | Iterable[int] | None = None,
    n_genes: int | Iterable[int] | None = None,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> Selection:
    """Suggest a number of programs and of genes for cells x genes ``X``, wherever the values are.

    ``n_components`` and ``n_genes`` are what may be suggested: numbers to choose from, one number, or None.
    """
    source = X if isinstance(X, Source) else as_source(X, n_jobs=n_jobs)
    ranks = None if n_components is None else np.unique(np.atleast_1d(np.fromiter(_each(n_components), dtype=int)))
    budgets = None if n_genes is None else np.unique(np.fromiter(_each(n_genes), dtype=int))
    values, kind = linear(_sample(source, rng))
    data = standardise(values)
    most = min(source.shape)
    with single_threaded_blas():
        if data is None:
            return _nothing(source.shape, kind, ranks, budgets)
        highest = min(MOST_PROGRAMS if ranks is None else int(ranks.max()), most, min(data.values.shape))
        found = spectrum(data.values, highest, rng)
        asked = 0 if ranks is None else int(ranks.min())
        width = max(min(max(asked, found.n_above) + SHOWN_BEYOND, highest, min(data.values.shape) // 2), 1)
        parts = parts_of(data.values, width, rng)
        judged = errors_of(data.values, parts, width)
        rank = _programs(found, kind, ranks, judged.error)
        gains = gains_of(data.values, parts, min(rank, width))
    p_adjusted = adjusted(gains)
    count = int((p_adjusted <= FALSE_DISCOVERIES).sum())
    return Selection(
        n_components=rank,
        n_genes=_nearest(min(max(count, LEAST_GENES, rank), source.shape[1]), budgets, upwards=True),
        ranks=_rank_table(found, judged, width),
        genes=_gene_table(gains, p_adjusted, data.genes),
        values=kind,
        n_cells=len(data.values),
        reason=_reason(found, kind, rank, count, len(data.genes)),
    )


def _each(numbers: int | Iterable[int]) -> list[int]:
    return [int(number) for number in (numbers if isinstance(numbers, Iterable) else [numbers])]


def _sample(source: Source, rng: np.random.Generator) -> Any:
    """Cells at random, as many as fit."""
    n_cells = min(source.shape[0], MOST_CELLS, max(MOST_VALUES // source.shape[1], 1000))
    return source.rows(np.sort(rng.choice(source.shape[0], n_cells, replace=False)))


def _nearest(number: int, allowed: np.ndarray | None, *, upwards: bool = False) -> int:
    """The allowed number nearest to one; ``upwards``, the next that is not below it, if there is one."""
    if allowed is None:
        return number
    above = allowed[allowed >= number]
    if upwards and len(above):
        return int(above[0])
    return int(allowed[np.argmin(np.abs(allowed - number))])


def _nothing(shape: tuple[int, int], kind: str, ranks: np.ndarray | None, budgets: np.ndarray | None) -> Selection:
    """What is suggested where no gene varies beyond the depth of the cells."""
    none: dict[str, np.ndarray] = {}
    n_genes = _nearest(min(LEAST_GENES, shape[1]), budgets, upwards=True)
    return Selection(_nearest(1, ranks), n_genes, none, none, kind, shape[0], "no gene varies")


def _rank_table(found: Spectrum, judged: Errors, width: int) -> dict[str, np.ndarray]:
    rank = np.arange(1, width + 1)
    sizes = np.full(width, np.nan)
    shown = min(width, len(found.sizes))
    sizes[:shown] = found.sizes[:shown] / found.end_of_noise
    return {
        "n_components": rank,
        "size": sizes,
        "stands_out": rank <= found.n_above,
        "held_out_error": judged.error,
        "standard_error": judged.standard_error,
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


def _programs(found: Spectrum, kind: str, ranks: np.ndarray | None, error: np.ndarray) -> int:
    """The rule: how many programs, from the spectrum and the errors by number of directions."""
    if kind == "counts":
        return _nearest(found.n_above, ranks)
    saved = 1.0 - error[: max(found.n_above, 1)]
    return _nearest(int(np.argmax(saved >= ENOUGH * saved.max())) + 1, ranks)


def _reason(found: Spectrum, kind: str, rank: int, count: int, n_genes: int) -> str:
    stands = f"{found.n_above} directions of the cells stand out of the noise"
    if kind != "counts":
        stands += f", {rank} predict {ENOUGH:.0%} of what all do"
    genes = f"of {n_genes} genes, {count} are predicted by the others better than by their mean"
    return f"{stands}; {genes}"
