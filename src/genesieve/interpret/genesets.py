"""Gene sets: reading them, and which of them lists or rankings of genes are rich in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats import false_discovery_control, hypergeom, norm, rankdata

GeneSets = Mapping[str, Iterable[str]]

# Sets this small or large within the background are not tested: chance alone fills the former, the latter say little.
MIN_SIZE = 5
MAX_SIZE = 500

SHOWN_NAMES = 3  # names that an error shows of each side
SHOWN_LETTERS = 60  # of a line that is not as it should be


def read_gene_sets(gene_sets: GeneSets | str | PathLike[str]) -> dict[str, list[str]]:
    """Gene sets from a mapping of names to genes, or from a GMT file: name, description and genes, with tabs between.

    Parameters
    ----------
    gene_sets
        The mapping or the path.

    Returns
    -------
    dict
        Names to genes; a gene that is repeated within a set counts once.
    """
    if not isinstance(gene_sets, Mapping | str | PathLike):
        raise TypeError(f"gene_sets must be a mapping or a GMT file, got {type(gene_sets).__name__}")
    sets = dict(gene_sets) if isinstance(gene_sets, Mapping) else _read_gmt(Path(gene_sets))
    if not sets:
        raise ValueError("gene_sets must have at least one set, got none")
    lettered = [name for name, genes in sets.items() if isinstance(genes, str)]
    if lettered:
        raise TypeError(f"gene_sets must map names to lists of genes, got a string for {lettered[0]!r}")
    return {str(name): list(dict.fromkeys(str(gene) for gene in genes)) for name, genes in sets.items()}


def _read_gmt(path: Path) -> dict[str, list[str]]:
    if not path.is_file():
        raise FileNotFoundError(f"gene_sets must be a mapping or a GMT file, got {str(path)!r}, which is no file")
    sets: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        name, *rest = line.rstrip().split("\t")
        if not name:
            continue
        if not rest:
            shown = repr(name if len(name) <= SHOWN_LETTERS else f"{name[:SHOWN_LETTERS]}...")
            raise ValueError(f"{path.name}, line {number} must be name, description and genes with tabs, got {shown}")
        if name in sets:
            raise ValueError(f"{path.name}, line {number} must have a new name, got {name!r} again")
        sets[name] = [gene.strip() for gene in rest[1:] if gene.strip()]
    return sets


@dataclass(frozen=True)
class Enrichment:
    """Tests of every list against every set, as arrays (lists, sets) beside the names and sizes."""

    sets: list[str]
    set_sizes: np.ndarray  # within the background
    list_sizes: np.ndarray
    n_background: int
    overlap: np.ndarray
    p_value: np.ndarray
    p_adjusted: np.ndarray  # Benjamini-Hochberg over all sets tested with a list
    shared: list[list[list[str]]]  # genes in both, by list and set

    @property
    def fold(self) -> np.ndarray:
        """Overlap relative to what chance gives."""
        expected = np.outer(self.list_sizes, self.set_sizes) / self.n_background
        return np.asarray(np.divide(self.overlap, expected, out=np.zeros(expected.shape), where=expected > 0))


def over_representation(
    lists: Sequence[Sequence[str]],
    gene_sets: Mapping[str, Sequence[str]],
    background: Sequence[str],
    *,
    min_size: int = MIN_SIZE,
    max_size: int | None = MAX_SIZE,
) -> Enrichment:
    """Hypergeometric over-representation of gene sets in lists of genes drawn from a background.

    Parameters
    ----------
    lists
        Lists of genes; those outside the background do not count.
    gene_sets
        Names to genes; those outside the background do not count.
    background
        Genes that a list could have had.
    min_size, max_size
        Sets with fewer or more genes within the background are not tested.

    Returns
    -------
    Enrichment
        With p-values for at least as many shared genes as found.
    """
    position = {gene: index for index, gene in enumerate(dict.fromkeys(background))}
    names, members = _tested_sets(gene_sets, position, min_size, max_size)
    sizes = np.asarray(members.sum(axis=1)).ravel()
    drawn = _membership(lists, position)  # (lists, background genes)
    list_sizes = np.asarray(drawn.sum(axis=1)).ravel()
    overlap = (drawn @ members.T).toarray()  # (lists, sets)
    p_value = _at_least(overlap, len(position), sizes, list_sizes)
    return Enrichment(
        sets=names,
        set_sizes=sizes,
        list_sizes=list_sizes,
        n_background=len(position),
        overlap=overlap,
        p_value=p_value,
        p_adjusted=false_discovery_control(p_value, axis=1),
        shared=_shared(drawn, members, np.array(list(position), dtype=object)),
    )


@dataclass(frozen=True)
class RankedEnrichment:
    """Tests of every ranking against every set, as arrays (rankings, sets) beside the names and sizes."""

    sets: list[str]
    set_sizes: np.ndarray  # within the genes ranked
    n_background: int
    auc: np.ndarray  # chance that a gene of the set scores above one outside it, ties counting half
    p_value: np.ndarray
    p_adjusted: np.ndarray  # Benjamini-Hochberg over all sets tested with a ranking


def rank_enrichment(
    scores: np.ndarray,
    gene_sets: Mapping[str, Sequence[str]],
    genes: Sequence[str],
    *,
    min_size: int = MIN_SIZE,
    max_size: int | None = MAX_SIZE,
) -> RankedEnrichment:
    """Whether the genes of a set score higher than the others: the rank-sum test of Mann, Whitney and Wilcoxon.

    Parameters
    ----------
    scores
        Scores (genes, rankings).
    gene_sets
        Names to genes; those without a score do not count.
    genes
        Names of the genes, each once.
    min_size, max_size
        Sets with fewer or more genes among those scored are not tested.

    Returns
    -------
    RankedEnrichment
        With one-sided p-values from the normal limit, corrected for ties and continuity.
    """
    position = {gene: index for index, gene in enumerate(genes)}
    names, members = _tested_sets(gene_sets, position, min_size, max_size)
    inside, n_genes = np.asarray(members.sum(axis=1)).ravel().astype(np.float64), len(position)
    ranks = rankdata(scores, axis=0)  # (genes, rankings)
    pairs = inside * (n_genes - inside)
    wins = (members @ ranks).T - inside * (inside + 1) / 2  # (rankings, sets)
    spread = np.sqrt(np.outer(_rank_variance(ranks), pairs))
    above = np.divide(wins - pairs / 2 - 0.5, spread, out=np.full(wins.shape, -np.inf), where=spread > 0)
    p_value = norm.sf(above)
    return RankedEnrichment(
        sets=names,
        set_sizes=inside.astype(np.int64),
        n_background=n_genes,
        auc=np.divide(wins, pairs, out=np.full(wins.shape, 0.5), where=pairs > 0),
        p_value=p_value,
        p_adjusted=false_discovery_control(p_value, axis=1),
    )


def _rank_variance(ranks: np.ndarray) -> np.ndarray:
    """Variance of a rank sum for every ranking, by pair of genes in and out of a set; ties lower it."""
    n_genes = len(ranks)
    squares = np.square(ranks - (n_genes + 1) / 2).sum(axis=0)
    return np.asarray(squares / (n_genes * max(n_genes - 1, 1)))


def _tested_sets(
    gene_sets: Mapping[str, Sequence[str]], position: Mapping[str, int], min_size: int, max_size: int | None
) -> tuple[list[str], sparse.csr_array]:
    """Names of the sets of the sizes asked for, and which genes (columns) each of them has."""
    members = _membership(list(gene_sets.values()), position)
    sizes = np.asarray(members.sum(axis=1)).ravel()
    if not sizes.any():
        raise ValueError(_no_overlap(gene_sets, list(position)))
    tested = np.flatnonzero((sizes >= max(min_size, 1)) & (sizes <= (max_size or len(position))))
    if not tested.size:
        raise ValueError(
            f"sets must have {min_size} (min_size) to {max_size or 'any number'} (max_size) of the data's genes to be"
            f" tested, got {sizes.min()} to {sizes.max()} in the {len(sizes)} given"
        )
    names = list(gene_sets)
    return [names[index] for index in tested], members[tested]


def _membership(groups: Sequence[Iterable[str]], position: Mapping[str, int]) -> sparse.csr_array:
    """Which background genes (columns) are in which group (rows), as 0 and 1."""
    columns = [sorted({position[gene] for gene in group if gene in position}) for group in groups]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in columns])]).astype(np.int64)
    indices = np.array([index for part in columns for index in part], dtype=np.int64)
    ones = np.ones(len(indices), dtype=np.int64)
    return sparse.csr_array((ones, indices, starts), shape=(len(groups), len(position)))


def _at_least(overlap: np.ndarray, n_background: int, set_sizes: np.ndarray, list_sizes: np.ndarray) -> np.ndarray:
    """Chance of at least the overlap; nothing shared is certain to be reached, so it needs no computing."""
    p_value = np.ones(overlap.shape)
    which = np.nonzero(overlap)
    p_value[which] = hypergeom.sf(overlap[which] - 1, n_background, set_sizes[which[1]], list_sizes[which[0]])
    return np.clip(p_value, 0.0, 1.0)


def _shared(drawn: sparse.csr_array, members: sparse.csr_array, names: np.ndarray) -> list[list[list[str]]]:
    """Names of the genes in both, by list and set."""

    def of_list(genes: np.ndarray) -> list[list[str]]:
        kept = np.zeros(len(names), dtype=bool)
        kept[genes] = True
        inside = kept[members.indices]
        rows = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))[inside]
        edges = np.searchsorted(rows, np.arange(1, members.shape[0]))
        return [part.tolist() for part in np.split(names[members.indices[inside]], edges)]

    return [of_list(drawn.indices[start:stop]) for start, stop in zip(drawn.indptr[:-1], drawn.indptr[1:], strict=True)]


def case_note(gene_sets: Mapping[str, Sequence[str]], background: Sequence[str]) -> str | None:
    """A remark where names would match but for their case (human and mouse write genes otherwise), else None."""
    names = {gene for genes in gene_sets.values() for gene in genes}
    alike = len(names & set(background))
    folded = {gene.casefold(): gene for gene in background}
    but_for_case = [gene for gene in names if gene.casefold() in folded]
    if len(but_for_case) <= 2 * alike:
        return None
    example = min(gene for gene in but_for_case if gene not in folded.values())
    return (
        f"{alike} of the gene sets' {len(names)} genes are in the data, and {len(but_for_case)} but for their case"
        f" ({example!r} there, {folded[example.casefold()]!r} here): take sets of the same species"
    )


def _no_overlap(gene_sets: Mapping[str, Sequence[str]], background: Sequence[str]) -> str:
    of_sets = [gene for genes in gene_sets.values() for gene in genes][:SHOWN_NAMES]
    return (
        f"gene_sets must share genes with the background, got none in common: the {len(gene_sets)} sets have names like"
        f" {', '.join(map(repr, of_sets))}, the {len(background)} background genes like"
        f" {', '.join(map(repr, background[:SHOWN_NAMES]))}; genes and sets must go by the same kind of names"
    )
