"""Pictures of several samples show what the tables say."""

from __future__ import annotations

import anndata as ad
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import genesieve as gs
from genesieve import pl, tl
from genesieve._slots.write import write_found

SETS = {"B $x$": ["CD79A", "CD79B", "MS4A1"], "NK": ["GNLY", "NKG7", "GZMB", "PRF1"]}


@pytest.fixture(scope="module")
def adata() -> ad.AnnData:
    adata = gs.datasets.demo()
    adata.obs["donor"] = [f"donor {number % 6}" for number in range(adata.n_obs)]
    adata.obs["arm"] = np.where(np.arange(adata.n_obs) % 6 < 3, "treated", "control")
    tl.ssnmf(adata, 4, 100)
    tl.annotate(adata, SETS)
    tl.compare(adata, "arm", "donor")
    return adata


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax) -> list[str]:
    ax.figure.draw_without_rendering()
    return [text.get_text() for text in (*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels())]


def test_every_sample_is_a_point(adata):
    ax = pl.compare(adata)
    heights = np.concatenate([dots.get_offsets()[:, 1] for dots in ax.collections])
    np.testing.assert_allclose(np.sort(heights), np.sort(adata.uns["ssnmf_compare_samples"]["usage"]))
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"control", "treated"}


def test_stars_are_the_programs_that_differ(adata):
    changed = adata.copy()
    table = changed.uns["ssnmf_compare"].assign(p_adjusted=[0.01, 0.2, 0.05, 0.9])
    write_found(changed, "ssnmf", compare=table)
    assert texts(pl.compare(changed)).count("*") == 2
    assert texts(pl.compare(changed, alpha=0.02)).count("*") == 1
    assert texts(pl.compare(changed, programs=[1, 3])).count("*") == 0


def test_a_category_is_chosen_by_name(adata):
    changed = adata.copy()
    changed.obs["half"] = np.where(np.arange(changed.n_obs) % 2, "odd", "even")
    changed.obs["donor"] = [f"donor {number // 2 % 6}" for number in range(changed.n_obs)]
    changed.obs["arm"] = changed.obs["donor"].str[-1].astype(int).lt(3).map({True: "treated", False: "control"})
    tl.compare(changed, "arm", "donor", within="half")
    assert pl.compare(changed, category="odd")
    with pytest.raises(ValueError, match=r"category must be one of half: \['even', 'odd'\], got 'none'"):
        pl.compare(changed, category="none")


def test_names_are_on_the_axes(adata):
    names = [name for name in adata.uns["ssnmf_annotation"]["name"] if name]
    assert names
    assert set(names) <= set(texts(pl.compare(adata)))
    shown = " ".join(texts(pl.annotation(adata)))
    assert all(name in shown for name in names)


def test_programs_by_sample(adata):
    changed = adata.copy()
    table = pd.DataFrame(
        {
            "program": ["0", "1", "2", "3", "4"],
            "samples": ["a;b", "a;b;c", "b;c", "a;c", "c"],
            "coverage": [2 / 3, 1.0, 2 / 3, 2 / 3, 1 / 3],
            "genes": ["g1;g2", "g3", "", "g4", "g5;g6"],
        }
    )
    write_found(changed, "ssnmf", coverage=table)
    ax = pl.metaprograms(changed, key="ssnmf", n_genes=1)
    shown = texts(ax)
    assert {"a", "b", "c", "private 1", "67%  g1", "33%  g5"} <= set(shown)
    filled = [len(dots.get_offsets()) for dots in ax.collections[1::2]]
    assert filled == [2, 3, 2, 2, 1]


def test_what_is_missing_is_named(adata):
    with pytest.raises(KeyError, match=r"run gs\.tl\.metaprograms first"):
        pl.metaprograms(adata, key="ssnmf")
    bare = gs.datasets.demo()
    tl.ssnmf(bare, 3, 50, init="random", max_iter=100)
    for plot, maker in ((pl.compare, "compare"), (pl.annotation, "annotate")):
        with pytest.raises(KeyError, match=rf"run gs\.tl\.{maker} first"):
            plot(bare)
