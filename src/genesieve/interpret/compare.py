"""Values of samples between groups: a linear model with covariates, permutations, effects with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import t as student

TESTS = ("auto", "linear", "permutation")

# Statistics of permutations this close to that of the data, relative to one, count as equal: rounding is no evidence.
TIE = 1e-9
# What least squares leaves of a column, relative to its largest entry, that is rounding and nothing else.
ROUNDING = 1e-12
# Permutations looked at together; each holds a copy of the design.
BATCH = 512
LEVEL = 0.05  # at which a test should be able to call a value different


@dataclass(frozen=True)
class Design:
    """Samples as rows: what is asked about, what is held fixed, and which samples may be exchanged."""

    fixed: np.ndarray  # (samples, columns): intercept and covariates
    asked: np.ndarray  # (samples, columns): the groups, but one
    strata: np.ndarray  # (samples,): samples of one stratum are alike but for their group
    exchangeable: bool = True  # within strata; with covariates that are numbers, residuals are exchanged instead

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the residuals."""
        return len(self.fixed) - int(np.linalg.matrix_rank(np.hstack([self.fixed, self.asked])))

    @property
    def confounded(self) -> bool:
        """Whether the groups cannot be told from what is held fixed."""
        ranks = [np.linalg.matrix_rank(matrix) for matrix in (self.fixed, np.hstack([self.fixed, self.asked]))]
        return bool(ranks[1] - ranks[0] < self.asked.shape[1])


@dataclass(frozen=True)
class Tested:
    """What a linear model says of every value, as arrays (values,)."""

    effect: np.ndarray  # of the first column asked about
    low: np.ndarray
    high: np.ndarray
    standardised: np.ndarray  # the effect in standard deviations of the residuals
    statistic: np.ndarray  # t of the effect; F where several columns are asked about
    p_value: np.ndarray
    test: str  # "linear", or "exact permutation" or "permutation"
    freedom: int


def compare_values(
    Y: np.ndarray,
    design: Design,
    *,
    test: str = "auto",
    n_permutations: int = 9999,
    interval: float = 0.95,
    rng: np.random.Generator,
) -> Tested:
    """Whether values Y (samples, values) depend on the columns asked about, with the others held fixed.

    The statistic is F of the columns asked about, t for one. Its p-value is by the normal theory (``"linear"``), or the
    share of permutations with a statistic as large (``"permutation"``): all of them where there are at most
    ``n_permutations``, else so many drawn. Labels of samples are exchanged within strata; where covariates are numbers,
    the residuals of the model without the columns asked about (Freedman and Lane). ``"auto"`` permutes where that could
    call one of the values different at 5 % after adjusting for their number, and has too few permutations otherwise.
    """
    rest, asked = _residuals(design.fixed, Y), _residuals(design.fixed, design.asked)
    explained, total = _explained(asked[None], rest[None])[0], (rest**2).sum(axis=0)
    freedom, width = design.freedom, design.asked.shape[1]
    noise = np.maximum(total - explained, 0.0) / freedom
    F = np.divide(explained / width, noise, out=np.zeros_like(noise), where=noise > 0)
    F[(noise <= 0) & (explained > 0)] = np.inf
    effect = np.linalg.lstsq(asked, rest, rcond=None)[0][0]
    error = np.sqrt(noise * np.linalg.inv(asked.T @ asked)[0, 0])
    reach = error * student.ppf((1.0 + interval) / 2.0, freedom)
    p_value, how = fisher.sf(F, width, freedom), "linear"
    count = n_arrangements(design)
    if test == "permutation" or (test == "auto" and _enough(min(count, n_permutations + 1), Y.shape[1])):
        p_value, how = _permuted(rest, asked, design, count, n_permutations, rng)
    deviation = np.sqrt(noise)
    standardised = np.divide(effect, deviation, out=np.zeros_like(effect), where=deviation > 0)
    statistic = np.sqrt(F) * np.sign(effect) if width == 1 else F
    return Tested(effect, effect - reach, effect + reach, standardised, statistic, p_value, how, freedom)


def n_arrangements(design: Design) -> int:
    """Distinct ways to give the samples their groups, within strata."""
    if not design.exchangeable:
        return 10**9 if len(design.asked) > 12 else int(prod(range(1, len(design.asked) + 1)))
    return prod(_ways(codes) for codes in _by_stratum(design))


def _enough(count: int, n_values: int) -> bool:
    """Whether so many arrangements can tell one value from chance; each has a mirror image that is as extreme."""
    return 2.0 / count <= LEVEL / n_values


def _residuals(fixed: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What least squares on the fixed columns leaves of the values; exact zeros where it leaves rounding."""
    left = values - fixed @ (np.linalg.pinv(fixed) @ values)
    scale = np.abs(values).max(axis=-2, keepdims=True, initial=0.0)
    return np.where(np.abs(left) <= ROUNDING * scale, 0.0, left)


def _explained(asked: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Sum of squares (arrangements, values) that residual columns explain of residual values, of every arrangement."""
    turned = np.swapaxes(asked, -1, -2)
    gram, cross = turned @ asked, turned @ rest
    return np.asarray((cross * (np.linalg.pinv(gram, hermitian=True) @ cross)).sum(axis=1))


def _permuted(
    rest: np.ndarray, asked: np.ndarray, design: Design, count: int, n_permutations: int, rng: np.random.Generator
) -> tuple[np.ndarray, str]:
    """Share of arrangements as extreme as the data, and whether they are all there are."""
    exact = design.exchangeable and count <= n_permutations + 1
    orders = _all_orders(design) if exact else _random_orders(design, n_permutations, rng)
    share = _share(_explained(asked[None], rest[None])[0], (rest**2).sum(axis=0))
    beaten, seen = np.zeros(rest.shape[1]), 0
    for batch in _batched(orders):
        if design.exchangeable:
            moved = _residuals(design.fixed, design.asked[np.array(batch)])
            others = _share(_explained(moved, rest[None]), (rest**2).sum(axis=0))
        else:
            moved = _residuals(design.fixed, rest[np.array(batch)])
            others = _share(_explained(asked[None], moved), (moved**2).sum(axis=1))
        beaten += (others >= share - TIE).sum(axis=0)
        seen += len(batch)
    if exact:
        return beaten / seen, "exact permutation"
    return (beaten + 1.0) / (seen + 1.0), "permutation"


def _share(explained: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Shares explained, which order arrangements as F does."""
    return np.asarray(np.divide(explained, total, out=np.zeros(explained.shape), where=total > 0))


def _batched(orders: Iterator[np.ndarray]) -> Iterator[list[np.ndarray]]:
    batch: list[np.ndarray] = []
    for order in orders:
        batch.append(order)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _by_stratum(design: Design) -> list[np.ndarray]:
    """Groups of the samples of every stratum, as numbers."""
    codes = np.unique(design.asked, axis=0, return_inverse=True)[1].ravel()
    return [codes[design.strata == stratum] for stratum in np.unique(design.strata)]


def _ways(codes: np.ndarray) -> int:
    """Distinct orders of codes, some of which repeat."""
    ways, left = 1, len(codes)
    for size in np.bincount(codes):
        ways *= comb(left, int(size))
        left -= int(size)
    return ways


def _random_orders(design: Design, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Random orders of the samples, within strata where labels are exchanged."""
    strata = design.strata if design.exchangeable else np.zeros(len(design.strata), dtype=int)
    places = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    for _ in range(n):
        order = np.arange(len(strata))
        for place in places:
            order[place] = rng.permutation(place)
        yield order


def _all_orders(design: Design) -> Iterator[np.ndarray]:
    """One order of the samples for every distinct way to give them their groups within strata."""
    codes = np.unique(design.asked, axis=0, return_inverse=True)[1].ravel()
    places = [np.flatnonzero(design.strata == stratum) for stratum in np.unique(design.strata)]
    for chosen in product(*(list(_arrangements(codes, place)) for place in places)):
        order = np.arange(len(codes))
        for place, taken in zip(places, chosen, strict=True):
            order[place] = taken
        yield order


def _arrangements(codes: np.ndarray, place: np.ndarray) -> Iterator[np.ndarray]:
    """Orders of the samples of a stratum, one for every distinct sequence of their groups."""
    sources = {code: place[codes[place] == code] for code in np.unique(codes[place])}

    def fill(free: tuple[int, ...], left: list[int]) -> Iterator[dict[int, int]]:
        if not left:
            yield {}
            return
        for spots in combinations(free, len(sources[left[0]])):
            taken = dict(zip(spots, sources[left[0]], strict=True))
            for others in fill(tuple(spot for spot in free if spot not in taken), left[1:]):
                yield taken | others

    for filled in fill(tuple(range(len(place))), list(sources)):
        yield np.array([filled[spot] for spot in range(len(place))])
