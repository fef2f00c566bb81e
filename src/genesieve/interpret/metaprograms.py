"""Programs of several samples beside each other: which of them are the same, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import false_discovery_control, norm
from sklearn.preprocessing import normalize

# Programs with a correlation over the genes of at least this are one. On planted programs, fits of different samples to
# the same program have 0.52 and more in 99 of 100 pairs of any draw, to different ones mostly 0.3 and less
# (docs/samples.md).
SAME_PROGRAM = 0.5
# The share of a sample's ranks that have to find a program: a fit with too many programs cuts one in two, each time
# elsewhere.
LEAST_RANKS = 1 / 3
# And of the only sample that shows it, as no other bears it out.
LEAST_RANKS_ALONE = 1 / 2
# Genes that a program raises by what all its samples show together, or it is noise. Few cells of a sample hardly show
# a gene by themselves: of 60 cells, shared programs were found again in every sample and dropped for two to four genes.
LEAST_GENES = 5


@dataclass(frozen=True)
class Found:
    """Programs that one sample showed, over all its ranks."""

    profiles: np.ndarray  # (programs, genes): how far genes are raised beyond their errors
    weights: np.ndarray  # (programs, genes): unit gene vectors
    p_value: np.ndarray  # (programs, genes): of a gene that is not raised
    ranks: np.ndarray  # (programs,): that each program was fitted at


@dataclass(frozen=True)
class MetaProgram:
    """A program as several samples, or one, show it."""

    profile: np.ndarray  # (genes,), unit length
    weights: np.ndarray  # (genes,), unit length
    confidence: np.ndarray  # (genes,): share of its samples in which a gene is raised
    raised: np.ndarray  # (genes,): whether it is, over all its samples
    samples: np.ndarray  # numbers of the samples that have it, ascending
    recurrence: float  # share of the ranks that found it, over its samples
    agreement: float  # mean correlation between its samples; NaN for a single one
    members: list[tuple[int, int]]  # (sample, number of the program in it)


def profiles_of(score: np.ndarray, error: np.ndarray) -> np.ndarray:
    """What tells a program from others (genes, rank): scores as far as they are beyond their errors."""
    return np.asarray(np.maximum(score - error, 0.0))


def alike(profiles: np.ndarray) -> np.ndarray:
    """Correlations (programs, programs) over the genes of profiles (programs, genes); of what raises nothing, zero.

    Not cosines: profiles are not negative, so two that raise a little of everything, as programs of shallow or blended
    cells do, have a cosine of a half though they raise no gene in common beyond the others.
    """
    centred = normalize(profiles - profiles.mean(axis=1, keepdims=True))
    return np.asarray(centred @ centred.T)


def meta_programs(
    samples: Sequence[Found], fdr: float, *, min_similarity: float = SAME_PROGRAM, min_ranks: float = LEAST_RANKS
) -> list[MetaProgram]:
    """Programs that are the same in several samples, widest spread first; those of one sample last.

    In every sample, programs of different ranks that are alike become one, and are kept if enough ranks found them. The
    programs of all samples are then joined in the same way, at most one of each sample. Where two of the results are
    alike, one is a part of the other or a blend: the one that more fits found stays. ``fdr`` is the false discovery
    rate at which genes are raised, in a sample and over all.
    """
    units = [
        unit for number, found in enumerate(samples) for unit in _of_sample(number, found, min_similarity, min_ranks)
    ]
    if not units:
        return []
    owner = np.array([unit.sample for unit in units])
    groups = join(alike(np.array([unit.profile for unit in units])), owner, min_similarity)
    metas = [_merged([units[i] for i in group], samples, fdr) for group in groups]
    metas = [meta for meta in metas if _credible(meta)]
    metas.sort(key=lambda meta: (-len(meta.samples), -len(meta.members), meta.members))
    return _distinct(metas, min_similarity)


class _Unit(NamedTuple):
    """A program of one sample."""

    sample: int
    members: list[int]
    profile: np.ndarray
    recurrence: float


def _of_sample(number: int, found: Found, min_similarity: float, min_ranks: float) -> list[_Unit]:
    """The programs of a sample that enough of its ranks agree on."""
    profiles = normalize(found.profiles)
    n_ranks = len(np.unique(found.ranks))
    units = []
    for group in join(alike(profiles), found.ranks, min_similarity):
        recurrence = len(group) / n_ranks
        profile = normalize(profiles[group].mean(axis=0, keepdims=True))[0]
        if recurrence >= min_ranks and profile.any():
            units.append(_Unit(number, group, profile, recurrence))
    return units


def join(similarity: np.ndarray, owner: np.ndarray, least: float) -> list[list[int]]:
    """Groups of items by average linkage, most alike first, none with two items of one owner.

    Pairs with an average similarity below ``least`` stay apart. Items of a group, and groups by their first item, come
    in order.
    """
    linkage = np.array(similarity, dtype=np.float64)
    np.fill_diagonal(linkage, -np.inf)
    linkage[np.equal.outer(owner, owner)] = -np.inf
    groups: list[list[int] | None] = [[i] for i in range(len(linkage))]
    while len(linkage) > 1:
        a, b = sorted(divmod(int(linkage.argmax()), len(linkage)))
        first, second = groups[a], groups[b]
        if linkage[a, b] < least or first is None or second is None:
            break
        sizes = len(first), len(second)
        # Minus infinity, for owners in common, stays.
        linkage[a] = linkage[:, a] = (sizes[0] * linkage[a] + sizes[1] * linkage[b]) / sum(sizes)
        linkage[a, a] = -np.inf
        linkage[b] = linkage[:, b] = -np.inf
        groups[a], groups[b] = first + second, None
    return sorted(sorted(group) for group in groups if group is not None)


def _merged(units: list[_Unit], samples: Sequence[Found], fdr: float) -> MetaProgram:
    """The consensus of programs of different samples, each of which counts once."""
    pairs = alike(np.array([unit.profile for unit in units]))[np.triu_indices(len(units), 1)]
    weights = [normalize(samples[unit.sample].weights[unit.members].mean(axis=0, keepdims=True))[0] for unit in units]
    p_values = np.array([np.median(samples[unit.sample].p_value[unit.members], axis=0) for unit in units])
    return MetaProgram(
        profile=normalize(np.mean([unit.profile for unit in units], axis=0, keepdims=True))[0],
        weights=normalize(np.mean(weights, axis=0, keepdims=True))[0],
        confidence=np.mean(false_discovery_control(p_values, axis=1) <= fdr, axis=0),
        raised=false_discovery_control(pooled(p_values)) <= fdr,
        samples=np.array(sorted(unit.sample for unit in units)),
        recurrence=float(np.mean([unit.recurrence for unit in units])),
        agreement=float(pairs.mean()) if len(pairs) else float("nan"),
        members=sorted((unit.sample, member) for unit in units for member in unit.members),
    )


def pooled(p_values: np.ndarray) -> np.ndarray:
    """One p-value (genes,) from those of several samples (samples, genes), each of which counts the same (Stouffer)."""
    least = np.finfo(float).eps
    sure = np.clip(p_values, least, 1.0 - least)  # or a single zero would decide
    return np.asarray(norm.sf(norm.isf(sure).sum(axis=0) / np.sqrt(len(p_values))))


def _credible(meta: MetaProgram) -> bool:
    """Whether a program raises genes, and is borne out by other samples or by most ranks of its own."""
    raises = bool(np.count_nonzero(meta.raised) >= LEAST_GENES)
    return raises and (len(meta.samples) > 1 or meta.recurrence > LEAST_RANKS_ALONE)


def _distinct(metas: list[MetaProgram], min_similarity: float) -> list[MetaProgram]:
    """Those that are not like one that more fits found."""
    if not metas:
        return []
    similarity, chosen = alike(np.array([meta.profile for meta in metas])), list[int]()
    for number in sorted(range(len(metas)), key=lambda number: -len(metas[number].members)):
        if (similarity[number, chosen] < min_similarity).all():
            chosen.append(number)
    return [metas[number] for number in sorted(chosen)]


class Match(NamedTuple):
    """Programs of two fits beside each other."""

    cosine: np.ndarray  # (programs of a, programs of b)
    partner: np.ndarray  # (programs of a,): the program of b, -1 for none
    mutual: np.ndarray  # (programs of a,): whether each is the other's most alike
    n_genes: int  # shared, that the cosines rest on


def match_pair(a: np.ndarray, b: np.ndarray, *, min_similarity: float = SAME_PROGRAM) -> Match:
    """Pair the programs of two profiles (programs, genes) on the same genes, so that the sum of cosines is largest."""
    cosine = normalize(a) @ normalize(b).T
    rows, columns = linear_sum_assignment(-cosine)
    partner = np.full(len(a), -1)
    partner[rows] = np.where(cosine[rows, columns] >= min_similarity, columns, -1)
    best, back = cosine.argmax(axis=1), cosine.argmax(axis=0)
    mutual = (partner == best) & (back[best] == np.arange(len(a)))
    return Match(cosine, partner, mutual, a.shape[1])
