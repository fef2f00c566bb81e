"""Programs of several studies beside each other, by the genes that they share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from genesieve._anndata import check_unique_genes
from genesieve._checks import check_integer, check_number, listing
from genesieve._slots.read import Fit, read_fit
from genesieve.interpret.genes import marker_scores
from genesieve.interpret.metaprograms import SAME_PROGRAM, join, match_pair
from genesieve.tl._tables import FDR
from genesieve.tl.scores import scored_fit

if TYPE_CHECKING:
    from anndata import AnnData

MIN_GENES = 20  # that two studies share, or a cosine says little


def match_programs(
    *studies: AnnData | pd.DataFrame,
    names: Sequence[str] | None = None,
    key: str | Sequence[str] = "ssnmf",
    min_similarity: float = SAME_PROGRAM,
    min_genes: int = MIN_GENES,
) -> pd.DataFrame:
    """Match the programs of two or more fits, which may be of different studies, on the genes that they share.

    Programs are compared by the genes that they raise (`genesieve.tl.gene_scores` up to a false discovery rate; where
    there are no values to score, weights times specificity), by their cosine. Two fits are matched program by program
    so that the sum of cosines is largest.

    Parameters
    ----------
    *studies
        AnnData with a fit, or tables of programs x genes, such as `genesieve.tl.read_catalogue` reads.
    names
        What to call them; ``None``: ``"0"``, ``"1"``, ...
    key
        Name of the fit, or one for each study.
    min_similarity
        Cosine from which on programs are the same.
    min_genes
        Genes that two studies have to share.

    Returns
    -------
    pandas.DataFrame
        For every two studies, one row a pair, the most alike first, then one row for every program without a partner:
        ``study_a``, ``program_a``, ``study_b``, ``program_b`` (empty without a partner; so is ``program_a`` for those
        of the second), ``matched``, ``mutual`` (each is most like the other), ``cosine`` (without a partner, the
        largest there is), ``n_genes`` (shared), and ``group``: programs of all studies with the same number are one.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> one, two = adata[::2, 50:].copy(), adata[1::2, :700].copy()
    >>> for half in (one, two):
    ...     gs.tl.ssnmf(half, 5, 150)
    >>> table = gs.tl.match_programs(one, two, names=["even", "odd"])
    >>> bool(table["matched"].sum() >= 4)
    True
    """
    check_number("min_similarity", min_similarity)
    check_integer("min_genes", min_genes, 1)
    if len(studies) < 2:
        raise ValueError(f"studies must be two or more, got {len(studies)}")
    titles = _titles(names, len(studies))
    keys = [key] * len(studies) if isinstance(key, str) else list(key)
    if len(keys) != len(studies):
        raise ValueError(f"key must be one name or {len(studies)} (the studies), got {len(keys)}")
    read = [_read(study, each, title) for study, each, title in zip(studies, keys, titles, strict=True)]
    similarity, tables = _nothing_alike(read), []
    for a, b in combinations(range(len(read)), 2):
        cosine, table = _pair(read[a], read[b], min_similarity, min_genes)
        similarity[_rows(read, a), _rows(read, b)] = cosine
        similarity[_rows(read, b), _rows(read, a)] = cosine.T
        tables.append(table)
    groups = _groups(similarity, read, min_similarity)
    places = {(study.title, name): number for study, name, number in _programs(read, groups)}
    table = pd.concat(tables, ignore_index=True)
    first = table["program_a"].where(table["program_a"] != "", table["program_b"])
    title = table["study_a"].where(table["program_a"] != "", table["study_b"])
    table["group"] = [places[pair] for pair in zip(title, first, strict=True)]
    return table


class _Study(NamedTuple):
    """Programs of one study."""

    title: str
    programs: list[str]
    genes: pd.Index
    profiles: np.ndarray  # (programs, genes)


def _read(study: Any, key: str, title: str) -> _Study:
    """The programs of a fit or of a table."""
    if isinstance(study, pd.DataFrame):
        genes = pd.Index(study.columns.astype(str))
        if not genes.is_unique:
            raise ValueError(f"the genes of study {title!r} must be unique, got {listing(genes[genes.duplicated()])}")
        values = np.maximum(np.nan_to_num(study.to_numpy(dtype=np.float64)), 0.0)
        return _Study(title, [str(name) for name in study.index], genes, marker_scores(values.T).T)
    fit = read_fit(study, key, name=f"study {title!r}")
    check_unique_genes(study, f"study {title!r}")
    return _Study(title, fit.names, pd.Index(fit.genes), _profiles(fit).T)


def _profiles(fit: Fit) -> np.ndarray:
    """Genes that programs raise (genes, programs)."""
    if not fit.scored and fit.adata.X is None:
        return marker_scores(fit.weights)
    fit = scored_fit(fit.adata, fit.key)
    scores, p_values = np.maximum(fit.scores, 0.0), fit.score_p_values
    return scores if p_values is None else np.where(false_discovery_control(p_values, axis=0) <= FDR, scores, 0.0)


def _titles(names: Sequence[str] | None, n_studies: int) -> list[str]:
    titles = [str(number) for number in range(n_studies)] if names is None else [str(name) for name in names]
    if len(titles) != n_studies or len(set(titles)) != n_studies:
        raise ValueError(f"names must be {n_studies} different ones (the studies), got {titles!r}")
    return titles


def _pair(a: _Study, b: _Study, min_similarity: float, min_genes: int) -> tuple[np.ndarray, pd.DataFrame]:
    """Cosines of two studies on the genes they share, and a row for every pair and every program left over."""
    shared = a.genes.intersection(b.genes)
    if len(shared) < min_genes:
        examples = f"{listing(a.genes[:2])} and {listing(b.genes[:2])}"
        raise ValueError(
            f"studies {a.title!r} and {b.title!r} must share at least {min_genes} genes, got {len(shared)};"
            f" their genes are like {examples}"
        )
    profiles = [study.profiles[:, study.genes.get_indexer(shared)] for study in (a, b)]
    match = match_pair(*profiles, min_similarity=min_similarity)
    rows = [
        (a.programs[i], b.programs[j], True, bool(match.mutual[i]), match.cosine[i, j])
        for i, j in enumerate(match.partner)
        if j >= 0
    ]
    rows.sort(key=lambda row: -row[-1])
    lonely = [(a.programs[i], "", match.cosine[i].max()) for i in np.flatnonzero(match.partner < 0)]
    left = np.setdiff1d(np.arange(len(b.programs)), match.partner)
    lonely += [("", b.programs[j], match.cosine[:, j].max()) for j in left]
    rows += [(first, second, False, False, cosine) for first, second, cosine in lonely]
    table = pd.DataFrame(rows, columns=["program_a", "program_b", "matched", "mutual", "cosine"])
    table.insert(0, "study_a", a.title)
    table.insert(2, "study_b", b.title)
    return match.cosine, table.assign(cosine=table["cosine"].astype(float), n_genes=len(shared))


def _nothing_alike(read: list[_Study]) -> np.ndarray:
    n_programs = sum(len(study.programs) for study in read)
    return np.zeros((n_programs, n_programs))


def _rows(read: list[_Study], number: int) -> slice:
    first = sum(len(study.programs) for study in read[:number])
    return slice(first, first + len(read[number].programs))


def _groups(similarity: np.ndarray, read: list[_Study], min_similarity: float) -> np.ndarray:
    """The number of the group of every program, over all studies."""
    owner = np.repeat(np.arange(len(read)), [len(study.programs) for study in read])
    groups = np.empty(len(owner), dtype=int)
    for number, members in enumerate(join(similarity, owner, min_similarity)):
        groups[members] = number
    return groups


def _programs(read: list[_Study], groups: np.ndarray) -> list[tuple[_Study, str, int]]:
    every = [(study, name) for study in read for name in study.programs]
    return [(study, name, int(group)) for (study, name), group in zip(every, groups, strict=True)]
