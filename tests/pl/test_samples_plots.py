"""Pictures of several samples show what the tables say."""

from __future__ import annotations

import anndata as ad
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")


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


@pytest.fixture
def matched():
    """Programs a0 and b1 are one and so are a1, b0 and c0; a2 has no partner."""
    rows = [
        ("a", "a0", "b", "b1", True, 0.9, 0),
        ("a", "a1", "b", "b0", True, 0.7, 1),
        ("a", "a2", "b", "", False, 0.1, 2),
        ("a", "a1", "c", "c0", True, 0.5, 1),
        ("a", "a0", "c", "", False, 0.2, 0),
        ("a", "a2", "c", "", False, 0.2, 2),
        ("b", "b0", "c", "c0", True, 0.6, 1),
        ("b", "b1", "c", "", False, 0.2, 0),
    ]
    columns = ["study_a", "program_a", "study_b", "program_b", "matched", "cosine", "group"]
    return pd.DataFrame(rows, columns=columns)


def test_programs_that_are_one_share_a_row(matched):
    ax = pl.match_programs(matched)
    places = {text.get_text(): text.get_position() for text in ax.texts}
    columns, rows = ({name: place[axis] for name, place in places.items()} for axis in (0, 1))
    assert columns == {"a0": 0, "a1": 0, "a2": 0, "b0": 1, "b1": 1, "c0": 2}
    assert rows == {"a0": 0, "b1": 0, "a1": 1, "b0": 1, "c0": 1, "a2": 2}
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]


def test_a_table_of_matches_is_asked_for(matched):
    with pytest.raises(ValueError, match=r"table must be that of gs\.tl\.match_programs, got one without 'group'"):
        pl.match_programs(matched.drop(columns="group"))
