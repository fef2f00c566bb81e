"""Usage between groups: how often a difference is called where there is none, and where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm, rankdata

from benchmarks.harness.results import Record
from benchmarks.samples.simulate import CONDITIONS, Design, draw

if TYPE_CHECKING:
    from anndata import AnnData

MIN_CELLS = 0.005
LEVEL = 0.05
TESTS = ("auto", "linear", "permutation")
VALUES = ("share", "usage")
AS_BATCHES, TRUTH, OVER_CELLS = "samples as batches", "true usages", "wilcoxon over cells"


def nothing(seed: int, design: Design, budget: int, n_permutations: int) -> Record:
    """Share of programs called different at 5 %, not adjusted, over permuted conditions of samples."""
    adata, rng = fitted(seed, design, budget), np.random.default_rng([seed, 2])
    names, of_cell = np.unique(adata.obs["sample"].astype(str), return_inverse=True)
    ranks, means = rankdata(shares(adata), axis=0), sample_means(adata, of_cell)
    by_batch = sample_means(fitted(seed, design, budget, batch_key="sample"), of_cell)
    called: dict[str, list[float]] = {name: [] for name in (*TESTS, AS_BATCHES, OVER_CELLS)}
    for _ in range(n_permutations):
        treated = rng.permutation(np.arange(len(names)) % 2)
        found = {test: p_values_of(means, treated, test, rng) for test in TESTS}
        found[AS_BATCHES] = p_values_of(by_batch, treated, "auto", rng)
        found[OVER_CELLS] = wilcoxon(ranks, treated[of_cell] == 1)
        for name, p_values in found.items():
            called[name].append(float((p_values <= LEVEL).mean()))
    rates = {name: float(np.mean(each)) for name, each in called.items()}
    return {"rates": rates, "n_permutations": n_permutations, "n_samples": design.n_samples}


def sample_means(adata: AnnData, of_cell: np.ndarray) -> np.ndarray:
    """Mean shares (samples, programs)."""
    return np.array([shares(adata)[of_cell == sample].mean(axis=0) for sample in range(of_cell.max() + 1)])


def something(seed: int, design: Design, budget: int) -> Record:
    """Whether the raised activity is called at a false discovery rate of 5 %, and how many others are."""
    adata, raised, found = fitted(seed, design, budget, batch_key="sample"), design.n_types, {}
    true = np.asarray(adata.obsm["true_usages"], dtype=float)
    found[AS_BATCHES] = called(compared(adata), like(true[:, raised], shares(adata)))
    adata = fitted(seed, design, budget)
    usages = shares(adata)
    fit = like(true[:, raised], usages)
    p_values = wilcoxon(rankdata(usages, axis=0), (adata.obs["condition"] == CONDITIONS[1]).to_numpy())
    found |= {values: called(compared(adata, values=values), fit) for values in VALUES}
    found[OVER_CELLS] = called(p_values * len(p_values), fit)
    adata.obsm["X_ssnmf"] = true  # as if a fit had found the truth: what the samples themselves allow
    found[TRUTH] = called(compared(adata), raised)
    return {"called": found, "n_programs": true.shape[1], "n_samples": design.n_samples}


def like(usage: np.ndarray, usages: np.ndarray) -> int:
    """The program whose usage correlates most."""
    return int(np.corrcoef(usage, usages.T)[0, 1:].argmax())


def called(p_adjusted: np.ndarray, raised: int) -> dict[str, bool | int]:
    """Whether the raised activity is called different, and how many others are."""
    different = p_adjusted <= LEVEL
    return {"found": bool(different[raised]), "others": int(different.sum() - different[raised])}


def fitted(seed: int, design: Design, budget: int, **options: str) -> AnnData:
    """A draw with a fit of all its programs."""
    import genesieve as gs

    adata = draw(design, seed)
    gs.pp.prepare(adata, min_cells=MIN_CELLS)
    gs.tl.ssnmf(adata, adata.obsm["true_usages"].shape[1], budget, random_state=seed, **options)
    return adata


def shares(adata: AnnData) -> np.ndarray:
    usages = np.asarray(adata.obsm["X_ssnmf"], dtype=float)
    return usages / np.maximum(usages.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def p_values_of(means: np.ndarray, treated: np.ndarray, test: str, rng: np.random.Generator) -> np.ndarray:
    """What `genesieve.tl.compare` says of means of samples, without the tables around it."""
    from genesieve.interpret import compare

    design = compare.Design(np.ones((len(means), 1)), treated[:, None].astype(float), np.zeros(len(means), dtype=int))
    return compare.compare_values(means, design, test=test, n_permutations=999, rng=rng).p_value


def compared(adata: AnnData, **options: str) -> np.ndarray:
    """Adjusted p-values of the programs."""
    import genesieve as gs

    options = {"reference": CONDITIONS[0], **options}
    table = gs.tl.compare(adata, "condition", "sample", n_permutations=999, **options)
    return table["p_adjusted"].to_numpy()


def wilcoxon(ranks: np.ndarray, treated: np.ndarray) -> np.ndarray:
    """P-values (programs,) of the rank-sum test that takes every cell for a replicate, from ranks over all cells."""
    n, m = treated.sum(), (~treated).sum()
    wins = ranks[treated].sum(axis=0) - n * (n + 1) / 2
    spread = np.sqrt(n * m * ranks.var(axis=0) / (n + m - 1))
    return np.asarray(2 * norm.sf(np.abs(wins - n * m / 2) / np.maximum(spread, np.finfo(float).tiny)))
