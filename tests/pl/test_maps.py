from __future__ import annotations

import anndata as ad
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from genesieve import datasets, pl, tl


@pytest.fixture(scope="module")
def adata() -> ad.AnnData:
    adata = datasets.demo()[::4].copy()
    tl.ssnmf(adata, 4, 50, clusters=False)
    adata.obs["ssnmf_cluster"] = np.repeat(["0", "1", "2"], [100, 70, 5])
    adata.obs["many"] = [f"a type with a long name {cell % 30}" for cell in range(adata.n_obs)]
    adata.uns["ssnmf_cluster_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    return adata


def colors_of(ax) -> list[str]:
    return [to_hex(color) for color in ax.collections[0].get_facecolors()]


def test_every_cell_has_a_place_and_the_colour_of_its_group(adata):
    ax = pl.cell_map(adata, "ssnmf_cluster")
    assert sorted(colors_of(ax)) == sorted(["#ff0000"] * 100 + ["#00ff00"] * 70 + ["#0000ff"] * 5)
    assert ax.get_xlabel() == "175 cells"
    by_program = colors_of(pl.cell_map(adata))
    assert sorted(by_program.count(color) for color in set(by_program)) == sorted(adata.obs["ssnmf"].value_counts())


def test_of_many_cells_small_groups_are_shown_whole(adata):
    ax = pl.cell_map(adata, "ssnmf_cluster", max_cells=40)
    assert colors_of(ax).count("#0000ff") == 5
    assert ax.get_xlabel() == "40 of 175 cells"


def test_a_map_that_was_kept_is_drawn_in_every_colour(adata):
    adata = adata.copy()
    for name in ("X_umap", "X_tsne"):  # an embedding would be drawn on instead
        adata.obsm.pop(name, None)
    there = np.arange(0, adata.n_obs, 3)
    rng = np.random.default_rng(0)
    kept = np.full((adata.n_obs, 2), np.nan)
    kept[there] = rng.random((len(there), 2))
    adata.obsm["X_ssnmf_map"] = kept
    for color in (None, "ssnmf_cluster", "many"):
        ax = pl.cell_map(adata, color)
        drawn = {tuple(place) for place in np.asarray(ax.collections[0].get_offsets())}
        assert drawn == {tuple(place) for place in kept[there]}  # no other map was made for other groups


def test_the_cells_fill_the_canvas_however_long_the_legend(adata):
    _, grid = plt.subplots(1, 2, figsize=(7, 5), layout="constrained")
    for ax, color in zip(grid, (None, "many"), strict=True):
        pl.cell_map(adata, color, ax=ax)
    for ax in grid:
        ax.figure.draw_without_rendering()
        places = ax.collections[0].get_offsets()
        assert np.ptp(places, axis=0).max() > 0.9 * np.ptp(ax.get_xlim())
        assert np.ptp(ax.get_xlim()) == pytest.approx(np.ptp(ax.get_ylim()))


def test_what_is_no_map_is_refused(adata):
    with pytest.raises(KeyError, match="color must name columns"):
        pl.cell_map(adata, "nothing")
    with pytest.raises(KeyError, match="basis must name a slot"):
        pl.cell_map(adata, basis="X_nothing")
    with pytest.raises(ValueError, match="max_cells must be"):
        pl.cell_map(adata, max_cells=0)
