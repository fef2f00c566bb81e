"""Usage between groups: how often a difference is called where there is none, and where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm, rankdata

from benchmarks.harness.results import Record
from benchmarks.samples.simulate import CONDITIONS, Design, draw

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

MIN_CELLS = 0.005
LEVEL = 0.05
TESTS = ("auto", "linear", "permutation")
VALUES = ("share", "usage")


def nothing(seed: int, design: Design, budget: int, n_permutations: int) -> Record:
    """Share of programs called different at 5 %, not adjusted, over permuted conditions of samples."""
    adata, rng = fitted(seed, design, budget), np.random.default_rng([seed, 2])
    by_sample, of_cell = adata.obs["condition"].groupby(adata.obs["sample"], observed=True).first(), adata.obs["sample"]
    ranks = rankdata(shares(adata), axis=0)
    called: dict[str, list[float]] = {name: [] for name in (*TESTS, "wilcoxon over cells")}
    for _ in range(n_permutations):
        permuted = dict(zip(by_sample.index, rng.permutation(by_sample.to_numpy()), strict=True))
        adata.obs["permuted"] = of_cell.map(permuted).astype(str)
        for test in TESTS:
            called[test].append(float((compared(adata, "permuted", test=test)["p_value"] <= LEVEL).mean()))
        p_values = wilcoxon(ranks, (adata.obs["permuted"] == CONDITIONS[1]).to_numpy())
        called["wilcoxon over cells"].append(float((p_values <= LEVEL).mean()))
    rates = {name: float(np.mean(each)) for name, each in called.items()}
    return {"rates": rates, "n_permutations": n_permutations, "n_samples": design.n_samples}


def something(seed: int, design: Design, budget: int) -> Record:
    """Whether the raised activity is called at a false discovery rate of 5 %, and how many others are."""
    adata = fitted(seed, design, budget)
    true, usages = adata.obsm["true_usages"], shares(adata)
    alike = np.corrcoef(true[:, design.n_types], usages.T)[0, 1:]
    raised, found = int(alike.argmax()), {}
    ranks = rankdata(usages, axis=0)
    p_values = wilcoxon(ranks, (adata.obs["condition"] == CONDITIONS[1]).to_numpy())
    tables = {values: compared(adata, "condition", values=values)["p_adjusted"].to_numpy() for values in VALUES}
    for name, p_adjusted in {**tables, "wilcoxon over cells": p_values * len(p_values)}.items():
        called = p_adjusted <= LEVEL
        found[name] = {"found": bool(called[raised]), "others": int(called.sum() - called[raised])}
    return {"called": found, "n_programs": len(alike), "n_samples": design.n_samples, "alike": float(alike.max())}


def fitted(seed: int, design: Design, budget: int) -> AnnData:
    """A draw with a fit of all its programs."""
    import genesieve as gs

    adata = draw(design, seed)
    gs.pp.prepare(adata, min_cells=MIN_CELLS)
    gs.tl.ssnmf(adata, adata.obsm["true_usages"].shape[1], budget, random_state=seed)
    return adata


def shares(adata: AnnData) -> np.ndarray:
    usages = np.asarray(adata.obsm["X_ssnmf"], dtype=float)
    return usages / np.maximum(usages.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def compared(adata: AnnData, groupby: str, **options: str) -> pd.DataFrame:
    import genesieve as gs

    return gs.tl.compare(adata, groupby, "sample", reference=CONDITIONS[0], n_permutations=999, **options)


def wilcoxon(ranks: np.ndarray, treated: np.ndarray) -> np.ndarray:
    """P-values (programs,) of the rank-sum test that takes every cell for a replicate, from ranks over all cells."""
    n, m = treated.sum(), (~treated).sum()
    wins = ranks[treated].sum(axis=0) - n * (n + 1) / 2
    spread = np.sqrt(n * m * ranks.var(axis=0) / (n + m - 1))
    return np.asarray(2 * norm.sf(np.abs(wins - n * m / 2) / np.maximum(spread, np.finfo(float).tiny)))
