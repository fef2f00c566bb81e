from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from itertools import combinations

import anndata as ad
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.legend import Legend
from matplotlib.patches import Circle, Rectangle
from matplotlib.transforms import Bbox

import genesieve as gs
from genesieve import pl, tl
from genesieve._colors import OKABE_ITO, TOL_MUTED, distinct_colors
from genesieve._slots.write import bare_fit, write_groups
from genesieve.pl._parts import legend_below, legend_rows, spread_out, thin
from genesieve.pl.blocks import _telling
from genesieve.pl.sets import exclusive_sizes

RANK = 5
BUDGET = 60
SETS = {
    "HLA_class_II": ["HLA-DRA", "HLA-DRB1", "HLA-DPA1", "HLA-DPB1", "CD74", "HLA-DQA1"],
    "cytotoxicity": ["NKG7", "GNLY", "CTSW", "GZMA", "CCL5", "PRF1"],
    "a set with a $name$ that is far too long to be written out in full": ["LYZ", "CST3", "FTL", "AIF1", "TYROBP"],
}
SINGLE: dict[str, Callable[..., Axes]] = {
    "biclusters": pl.biclusters,
    "convergence": pl.convergence,
    "enrichment": pl.enrichment,
    "loadings": pl.loadings,
    "outliers": pl.outliers,
    "overlap": pl.overlap,
    "usages": pl.usages,
}
ALL: dict[str, Callable[..., object]] = {**SINGLE, "top_genes": pl.top_genes}


@cache
def analysed(*, key: str = "ssnmf", rank: int = RANK, n_cells: int | None = None) -> ad.AnnData:
    adata = gs.datasets.demo()[:n_cells].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three iterations do for a picture
        tl.ssnmf(adata, rank, BUDGET, key_added=key, init="random", max_iter=3)
    tl.top_genes(adata, key=key)
    tl.biclusters(adata, threshold=1.0, key=key)
    tl.enrich(adata, SETS, min_size=3, key=key)
    tl.outliers(adata, key=key)
    return adata


@pytest.fixture
def adata() -> ad.AnnData:
    return analysed().copy()


def image_of(ax: Axes) -> np.ndarray:
    return np.asarray(ax.images[0].get_array())


def tick_names(axis: object) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


def texts_of(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def written(ax: Axes) -> list[mpl.text.Text]:
    """All text that shows: names, axis labels, and labels of ticks within the axes."""
    texts = list(ax.texts)
    for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
        low, high = sorted(axis.get_view_interval())
        ticks = [*axis.get_major_ticks()] if axis.get_visible() else []
        labels = [part for tick in ticks if low <= tick.get_loc() <= high for part in (tick.label1, tick.label2)]
        texts += [axis.label, *(text for text in labels if text.get_visible())]
    return [text for text in texts if text.get_text()]


# ------------------------------------------------------------------------------------------------ all plots


@pytest.mark.parametrize("name", SINGLE)
def test_draws_into_the_axes_given_and_returns_them(adata, name):
    figure, (ax, other) = plt.subplots(1, 2)
    current = plt.figure()
    before = other.get_children()
    assert SINGLE[name](adata, ax=ax) is ax
    assert plt.get_fignums() == [figure.number, current.number]
    assert plt.gcf() is current
    assert other.get_children() == before


@pytest.mark.parametrize("name", ALL)
def test_leaves_settings_and_data_alone(adata, name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: pytest.fail("a plot called show"))
    settings, slots = dict(mpl.rcParams), (set(adata.uns), set(adata.obs), set(adata.var))
    ALL[name](adata)
    assert dict(mpl.rcParams) == settings
    assert (set(adata.uns), set(adata.obs), set(adata.var)) == slots
    assert len(plt.get_fignums()) == 1
    width, height = plt.gcf().get_size_inches() * 25.4  # the figure fits a page
    assert 70 <= width <= 181
    assert height <= 240


@pytest.mark.parametrize("name", ALL)
def test_works_on_views(name):
    view = analysed()[::3]
    ALL[name](view)
    assert view.is_view


@pytest.mark.parametrize("name", ALL)
def test_reads_other_keys(name):
    ALL[name](analysed(key="other", rank=3, n_cells=200), key="other")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("rank", [1, 20])
def test_draws_any_number_of_programs_without_warnings(name, rank, recwarn):
    adata = analysed(rank=rank, n_cells=150)
    recwarn.clear()
    ALL[name](adata)
    plt.gcf().canvas.draw()
    ours = [str(warning.message) for warning in recwarn if "option is deprecated" not in str(warning.message)]
    assert ours == []  # anndata sets options of pandas that the newest pandas calls out of date


@pytest.mark.parametrize("name", ["biclusters", "enrichment", "loadings", "overlap", "usages"])
@pytest.mark.parametrize("rank", [3, 20])
def test_names_do_not_touch_each_other(name, rank):
    adata = analysed(rank=rank, n_cells=150).copy()
    adata.obs["ssnmf"] = adata.obs["ssnmf"].cat.rename_categories({"1": "a name that is rather long"})
    ax = SINGLE[name](adata)
    plt.gcf().canvas.draw()
    boxes = [text.get_window_extent() for part in [ax, *ax.child_axes] for text in written(part)]
    shared = [Bbox.intersection(one, two) for one, two in combinations(boxes, 2)]
    assert max((box.width * box.height for box in shared if box is not None), default=0.0) <= 4.0  # square pixels
    assert all(plt.gcf().bbox.padded(1).contains(*corner) for box in boxes for corner in (box.min, box.max))


@pytest.mark.parametrize("name", ALL)
def test_odd_names_are_written_as_they_are(adata, name):
    adata.obs["ssnmf"] = adata.obs["ssnmf"].cat.rename_categories({"0": "β-Zellen $x$ und_noch_viel mehr", "1": "_µ"})
    adata.var_names = [f"g$_{{é{i}}}" for i in range(adata.n_vars)]
    for table in ("ssnmf_top_genes", "ssnmf_biclusters"):
        adata.uns[table]["gene"] = adata.var_names[: len(adata.uns[table])]
    ALL[name](adata)
    plt.gcf().canvas.draw()  # a formula that does not parse would raise here


@pytest.mark.parametrize("name", ALL)
def test_names_the_missing_fit(name):
    with pytest.raises(KeyError, match=r"gs\.tl\.ssnmf"):
        ALL[name](gs.datasets.demo())
    with pytest.raises(TypeError, match="adata must be an AnnData, got ndarray"):
        ALL[name](np.ones((2, 2)))
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("name", "slot", "maker"),
    [
        ("top_genes", "ssnmf_top_genes", "top_genes"),
        ("biclusters", "ssnmf_biclusters", "biclusters"),
        ("overlap", "ssnmf_biclusters", "biclusters"),
        ("enrichment", "ssnmf_enrichment", "enrich"),
    ],
)
def test_names_the_missing_table_and_lists_what_exists(adata, name, slot, maker):
    del adata.uns[slot]
    with pytest.raises(KeyError, match=rf"adata\.uns has no '{slot}', run gs\.tl\.{maker} first.*'ssnmf'"):
        ALL[name](adata)


def test_names_the_missing_outliers(adata):
    del adata.obs["ssnmf_outlier"]
    with pytest.raises(KeyError, match=r"'ssnmf_outlier', run gs\.tl\.outliers first.*'cell_type'"):
        pl.outliers(adata)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda a: pl.usages(a, scale="cell"), "scale must be 'program' or None, got 'cell'"),
        (lambda a: pl.usages(a, max_cells=0), "max_cells must be at least 1, got 0"),
        (lambda a: pl.loadings(a, n_genes=0), "n_genes must be at least 1, got 0"),
        (lambda a: pl.loadings(a, max_genes=0), "max_genes must be at least 1"),
        (lambda a: pl.convergence(a, x="time"), "x must be 'passes'"),
        (lambda a: pl.outliers(a, order="up"), "order must be"),
        (lambda a: pl.biclusters(a, values="raw"), "values must be"),
        (lambda a: pl.biclusters(a, programs=[9]), "programs must be among '0', '1'"),
        (lambda a: pl.overlap(a, programs=[]), "programs must be among"),
        (lambda a: pl.overlap(a, kind="venn"), "2 or 3 programs, got 5"),
        (lambda a: pl.top_genes(a, values="size"), "values must be"),
        (lambda a: pl.top_genes(a, axes=plt.figure().subplots(1, 2)), "axes must hold 5 axes"),
        (lambda a: pl.enrichment(a, n_terms=0), "n_terms must be at least 1"),
        (lambda a: pl.enrichment(a, alpha=-1), "alpha must be"),
    ],
)
def test_bad_options_are_named(adata, call, match):
    with pytest.raises(ValueError, match=match):
        call(adata)


def test_no_cells_are_refused():
    with pytest.raises(ValueError, match="adata must have cells, got none"):
        pl.usages(analysed()[:0])


def test_bad_columns_layers_and_axes_are_named(adata):
    with pytest.raises(KeyError, match=r"color must name columns of adata.obs, got 'typ'.*'cell_type'"):
        pl.usages(adata, color="typ")
    with pytest.raises(KeyError, match=r"layer 'scaled' is not in adata.layers"):
        pl.biclusters(adata, layer="scaled")
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got Figure"):
        pl.usages(adata, ax=plt.figure())


# ------------------------------------------------------------------------------------------------ heat maps


def test_usages_orders_cells_by_program_then_usage(adata):
    ax = pl.usages(adata, scale=None)
    shown = image_of(ax)  # (programs, cells)
    assert shown.shape == (RANK, adata.n_obs)
    owner = shown.argmax(axis=0)
    assert np.all(np.diff(owner) >= 0)
    for program in range(RANK):
        assert np.all(np.diff(shown[program, owner == program]) <= 0)
    np.testing.assert_allclose(np.sort(shown, axis=None), np.sort(adata.obsm["X_ssnmf"], axis=None))
    assert tick_names(ax.yaxis) == [str(program) for program in range(RANK)]
    assert ax.get_xlabel() == "700 cells, ordered by program"


def test_usages_does_not_depend_on_the_order_of_cells(adata):
    shuffled = adata[np.random.default_rng(0).permutation(adata.n_obs)].copy()
    np.testing.assert_array_equal(image_of(pl.usages(adata)), image_of(pl.usages(shuffled)))


def test_relative_usages_reach_one_for_every_program(adata):
    np.testing.assert_allclose(image_of(pl.usages(adata)).max(axis=1), 1.0)


def test_usages_strips_show_labels_and_annotation(adata):
    adata.obs["age"] = np.linspace(0, 3000, adata.n_obs)
    adata.obs.loc[adata.obs_names[:3], "age"] = np.nan
    ax = pl.usages(adata, color=["cell_type", "age"])
    strips = {"".join(tick_names(child.yaxis)): image_of(child)[0] for child in ax.child_axes if child.images}
    assert {"program", "cell_type", "age"} <= set(strips)
    assert len(strips["program"]) == adata.n_obs
    order = np.lexsort((-adata.obsm["X_ssnmf"].max(axis=1), adata.obsm["X_ssnmf"].argmax(axis=1)))
    types = adata.obs["cell_type"].cat
    palette = np.array([mpl.colors.to_rgb(color) for color in adata.uns["cell_type_colors"]])
    expected = palette[np.asarray(types.codes)[order]]
    np.testing.assert_allclose(strips["cell_type"], expected)
    legends = [child for child in ax.get_children() if isinstance(child, mpl.legend.Legend)]
    assert len(legends) == 2
    assert len(legends[0].get_texts()) == len(types.categories)


def test_many_cells_are_thinned_evenly_and_the_axis_says_so(adata):
    ax = pl.usages(adata, max_cells=100)
    owner = image_of(pl.usages(adata, scale=None, max_cells=100)).argmax(axis=0)
    assert "700 cells" in ax.get_xlabel()
    assert "(1 in 7 shown)" in ax.get_xlabel()
    counts = np.bincount(adata.obsm["X_ssnmf"].argmax(axis=1), minlength=RANK)
    np.testing.assert_array_equal(np.bincount(owner, minlength=RANK), -(-counts // 7))


def test_loadings_shows_selected_genes_by_program(adata):
    ax = pl.loadings(adata)
    shown = image_of(ax)
    assert shown.shape == (RANK, BUDGET)
    owner = shown.argmax(axis=0)
    assert np.all(np.diff(owner) >= 0)
    for program in range(RANK):
        assert np.all(np.diff(shown[program, owner == program]) <= 0)
    assert set(texts_of(ax)) <= set(adata.var_names[adata.var["ssnmf_selected"]])
    assert "60 selected genes" in ax.get_xlabel()


def test_loadings_of_top_genes_and_of_many_genes(adata):
    ax = pl.loadings(adata, n_genes=2)
    assert image_of(ax).shape[1] <= 2 * RANK
    assert len(texts_of(ax)) == image_of(ax).shape[1]
    assert "(1 in 3 shown)" in pl.loadings(adata, max_genes=20).get_xlabel()
    assert len(texts_of(pl.loadings(adata, n_names=1))) == RANK


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_biclusters_shows_the_expression_of_its_genes(adata, storage):
    dense = adata.X.toarray()
    if storage == "dense":
        adata.X = dense
    ax = pl.biclusters(adata, scale=None)
    table = adata.uns["ssnmf_biclusters"]
    order = np.lexsort((-adata.obsm["X_ssnmf"].max(axis=1), adata.obsm["X_ssnmf"].argmax(axis=1)))
    expected = dense[order][:, adata.var_names.get_indexer(table["gene"])].T
    np.testing.assert_array_equal(image_of(ax), expected)
    assert f"{len(table)} genes" in ax.get_ylabel()


def test_biclusters_outlines_hold_genes_and_cells(adata):
    ax = pl.biclusters(adata)
    frames = {patch.get_bbox().bounds for patch in ax.patches if isinstance(patch, Rectangle)}
    sizes = adata.uns["ssnmf_bicluster_sizes"]
    sizes = sizes[(sizes["n_genes"] > 0) & (sizes["n_cells"] > 0)]
    expected = set(zip(sizes["n_cells"], sizes["n_genes"], strict=True))
    assert {(round(width), round(height)) for _, _, width, height in frames} == expected


def test_biclusters_takes_values_from_where_the_fit_did(adata):
    adata.layers["logged"] = adata.X.copy()
    adata.X = adata.X * 0
    adata.uns["ssnmf"]["params"]["layer"] = "logged"
    assert image_of(pl.biclusters(adata, scale=None)).max() > 0
    del adata.uns["ssnmf"]["params"]["layer"]
    assert image_of(pl.biclusters(adata, scale=None)).max() == 0
    fitted_values = image_of(pl.biclusters(adata, values="fitted", scale=None, programs=["0", 2]))
    assert fitted_values.max() > 0
    assert fitted_values.shape[1] == adata.obs["ssnmf"].isin(["0", "2"]).sum()


def test_biclusters_takes_values_from_raw(adata):
    table = image_of(pl.biclusters(adata, scale=None))
    adata.raw = adata
    adata.X = adata.X * 0
    adata.uns["ssnmf"]["params"]["use_raw"] = True
    np.testing.assert_array_equal(image_of(pl.biclusters(adata, scale=None)), table)


def test_renamed_labels_rename_programs_in_any_order(adata):
    named = adata.obs["ssnmf"].cat.rename_categories({"0": "zero", "1": "one"})
    adata.obs["ssnmf"] = named.cat.reorder_categories(["4", "one", "3", "zero", "2"])
    assert tick_names(pl.usages(adata).yaxis) == ["zero", "one", "2", "3", "4"]
    assert pl.top_genes(adata, programs=["zero", 2])[0].get_title() == "zero"


def test_labels_that_are_no_programs_name_nothing(adata):
    adata.obs["ssnmf"] = pd.Categorical(np.where(np.arange(adata.n_obs) % 2, "odd", "even"))
    assert tick_names(pl.usages(adata).yaxis) == [str(program) for program in range(RANK)]


def test_usages_and_outliers_of_projected_cells(adata):
    new = gs.datasets.demo()[:100].copy()
    tl.project(new, adata)
    tl.outliers(new)
    assert image_of(pl.usages(new)).shape[1] == 100
    pl.outliers(new)


# ------------------------------------------------------------------------------------------------ other plots


@pytest.mark.parametrize("x", ["passes", "seconds", "iterations"])
def test_convergence_draws_the_history(adata, x):
    ax = pl.convergence(adata, x=x)
    history = adata.uns["ssnmf"]["history"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), history["objective"])
    assert len(ax.lines[0].get_xdata()) == len(history["objective"])
    assert x in ax.get_xlabel()
    assert ax.get_ylabel() == "objective"


def test_top_genes_has_a_panel_a_program(adata):
    panels = pl.top_genes(adata, n_genes=4)
    table = adata.uns["ssnmf_top_genes"]
    assert panels.shape == (RANK,)
    for program, ax in enumerate(panels):
        rows = table[table["program"] == program].head(4)
        assert tick_names(ax.yaxis) == list(rows["gene"])
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches], rows["weight"])
        assert ax.get_title() == f"program {program}"


def test_top_genes_draws_into_given_axes(adata):
    grid = plt.figure().subplots(2, 3)
    panels = pl.top_genes(adata, axes=grid, values="specificity")
    assert list(panels) == list(grid.flat)[:RANK]


def test_overlap_counts_every_gene_once(adata):
    ax = pl.overlap(adata)
    table = adata.uns["ssnmf_biclusters"]
    assert sum(bar.get_height() for bar in ax.patches) == table["gene"].nunique()
    assert np.all(np.diff([bar.get_height() for bar in ax.patches]) <= 0)


def test_overlap_of_many_intersections_says_how_many(adata):
    ax = pl.overlap(adata, max_intersections=2)
    assert len(ax.patches) == 2
    labels = [child.get_xlabel() for child in ax.child_axes]
    assert any(label.startswith("2 largest of ") for label in labels)


@pytest.mark.parametrize("programs", [[0, 1], [0, 1, 2]])
def test_venn_regions_add_up(adata, programs):
    ax = pl.overlap(adata, programs=programs)
    table = adata.uns["ssnmf_biclusters"]
    chosen = table[table["program"].isin(list(programs))]
    counts = [int(text) for text in texts_of(ax) if text.isdigit()]
    assert len(counts) == 2 ** len(programs) - 1
    assert sum(counts) == chosen["gene"].nunique()
    assert sum(isinstance(patch, Circle) and patch.get_fill() for patch in ax.patches) == len(programs)
    sizes = chosen.groupby("program").size()
    assert {f"program {program}\n{size} genes" for program, size in sizes.items()} <= set(texts_of(ax))


@given(st.dictionaries(st.integers(0, 6), st.sets(st.sampled_from("abcdefgh")), max_size=6))
def test_exclusive_sizes_partition_the_genes(sets):
    sizes = exclusive_sizes(sets)
    assert sum(sizes.values()) == len(set().union(*sets.values()))
    for name, genes in sets.items():
        assert sum(size for region, size in sizes.items() if name in region) == len(genes)


def usage_of(adata: ad.AnnData) -> np.ndarray:
    return np.linalg.norm(adata.obsm["X_ssnmf"] @ adata.varm["ssnmf"].T, axis=1)


@pytest.mark.parametrize("order", ["sorted", "cells", "program"])
def test_outliers_marks_the_flagged_cells(adata, order):
    flagged = np.arange(adata.n_obs) < 7
    adata.obs["ssnmf_outlier"] = flagged
    ax = pl.outliers(adata, order=order)
    others, marked = (np.asarray(points.get_offsets()) for points in ax.collections)
    assert len(marked) == 7
    assert len(others) == adata.n_obs - 7
    np.testing.assert_allclose(marked[:, 1], usage_of(adata)[flagged], rtol=1e-4)
    places = np.concatenate([others, marked])
    assert sorted(places[:, 0]) == list(range(adata.n_obs))
    if order == "sorted":
        assert np.all(np.diff(places[np.argsort(places[:, 0]), 1]) >= 0)
    if order == "cells":
        np.testing.assert_array_equal(marked[:, 0], np.arange(7))


def test_outliers_draws_the_cut_between_the_groups(adata):
    usage = usage_of(adata)
    adata.obs["ssnmf_outlier"] = usage < np.quantile(usage, 0.05)
    cut = pl.outliers(adata).lines[0].get_ydata()[0]
    assert np.array_equal(usage < cut, adata.obs["ssnmf_outlier"])
    adata.obs["ssnmf_outlier"] = False
    assert len(pl.outliers(adata).lines) == 0


def test_outliers_keeps_all_flagged_of_many(adata):
    adata.obs["ssnmf_outlier"] = np.arange(adata.n_obs) < 200
    ax = pl.outliers(adata, max_cells=50)
    assert len(ax.collections[1].get_offsets()) == 200
    assert "(1 in 10 shown)" in ax.get_xlabel()


def test_enrichment_shows_significant_terms(adata):
    ax = pl.enrichment(adata, alpha=0.05)
    table = adata.uns["ssnmf_enrichment"]
    significant = table[(table["p_adjusted"] <= 0.05) & (table["overlap"] > 0)]
    assert len(ax.collections[0].get_offsets()) == len(significant)
    expected = {name.replace("_", " ")[:20] for name in significant["term"]}
    assert {name[:20] for name in tick_names(ax.yaxis)} == expected
    colors = np.asarray(ax.collections[0].get_array())
    np.testing.assert_allclose(np.sort(colors), np.sort(-np.log10(significant["p_adjusted"])))
    assert tick_names(ax.xaxis) == [str(program) for program in range(RANK)]


def test_empty_results_say_so(adata):
    assert "adjusted p value of at most 0" in texts_of(pl.enrichment(adata, alpha=0))[0]
    adata.uns["ssnmf_biclusters"] = adata.uns["ssnmf_biclusters"].head(0)
    assert "no genes" in texts_of(pl.overlap(adata))[0]
    assert "no bicluster" in texts_of(pl.biclusters(adata))[0]


def test_nothing_to_choose_from_and_nothing_chosen_say_so(adata):
    adata.varm["ssnmf"] = np.zeros_like(adata.varm["ssnmf"])
    assert "no gene is selected" in texts_of(pl.loadings(adata))[0]
    adata.uns["ssnmf_select"] = {"table": pd.DataFrame()}
    assert pl.selection(adata).get_title() == "no gene varies"


def test_more_groups_than_a_legend_can_tell_apart_are_counted(adata):
    adata.obs["clone"] = pd.Categorical([f"clone {i % 45}" for i in range(adata.n_obs)])
    figure = pl.usages(adata, color="clone").figure
    drawn = {text.get_text() for text in figure.findobj(plt.Text)}
    assert "clone (45 groups)" in drawn
    assert "clone 44" not in drawn


def test_genes_that_were_dropped_after_the_fit_are_named(adata):
    gone = adata.uns["ssnmf_biclusters"]["gene"].iloc[0]
    fewer = adata[:, adata.var_names != gone].copy()
    with pytest.raises(ValueError, match=f"lacks 1 of the .* genes .*{gone}"):
        pl.biclusters(fewer)


# ------------------------------------------------------------------------------------------------ parts


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.floats(0.1, 3.0))
def test_names_spread_out_without_touching(at, gap):
    places = spread_out(np.array(at), gap, 0.0, 100.0)
    ordered = np.sort(places)
    assert np.all(np.diff(ordered) >= gap - 1e-9)
    assert ordered[0] >= gap / 2 - 1e-9
    assert ordered[-1] <= 100 - gap / 2 + 1e-9
    order = np.argsort(at, kind="stable")
    assert np.all(np.diff(places[order]) > 0)


def test_names_with_room_stay_where_they_are():
    at = np.array([80.0, 10.0, 40.0])
    np.testing.assert_allclose(spread_out(at, 5.0, 0.0, 100.0), at)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.integers(1, 100))
def test_thinning_keeps_every_group(sizes, most):
    group = np.repeat(np.arange(len(sizes)), sizes)
    shown, step = thin(np.arange(len(group)), group, most)
    assert len(shown) <= most + len(sizes)
    np.testing.assert_array_equal(np.unique(group[shown]), np.arange(len(sizes)))
    assert (step == 1) == (len(group) <= most)


def test_colors_are_distinct_up_to_24_programs():
    assert len(set(distinct_colors(24))) == 24
    assert len(distinct_colors(50)) == 50


# ------------------------------------------------------------------------------------------------ markers


def test_markers_are_shown_with_their_scores_and_in_their_cells(adata):
    adata = adata.copy()
    table = tl.markers(adata, 4, fdr=None)
    panels = pl.top_genes(adata, n_genes=4)
    for program, panel in enumerate(panels):
        rows = table[table["program"] == program]
        assert [text.get_text() for text in panel.get_yticklabels()] == list(rows["gene"])
        np.testing.assert_allclose([bar.get_width() for bar in panel.patches], rows["score"])
    assert panels[-1].get_xlabel() == "gene score"
    ax = pl.markers(adata)
    assert ax.images[0].get_array().shape[0] == len(table)
    assert "by program" in ax.get_ylabel()
    with pytest.raises(ValueError, match="genes must be"):
        pl.biclusters(adata, genes="others")


def test_markers_must_be_found_before_they_are_drawn(adata):
    adata = adata.copy()
    adata.uns.pop("ssnmf_markers", None)
    for draw in (pl.markers, lambda data: pl.top_genes(data, values="score")):
        with pytest.raises(KeyError, match=r"no 'ssnmf_markers', run gs\.tl\.markers first"):
            draw(adata)


@pytest.mark.parametrize("hues", [OKABE_ITO, TOL_MUTED])
def test_forty_groups_have_forty_colours_that_differ_in_more_than_a_shade(hues):
    colors = distinct_colors(40, hues)
    rgb = np.array([to_rgb(color) for color in colors])
    apart = np.linalg.norm(rgb[:, None] - rgb, axis=2) + 2 * np.eye(40)
    assert apart.min() > 0.09
    assert distinct_colors(43, hues)[40:] == colors[:3]


def test_a_few_genes_of_each_bicluster_are_shown_once_and_all_named(adata):
    ax = pl.biclusters(adata, n_genes=3)
    image = ax.get_images()[0].get_array()
    table = adata.uns["ssnmf_biclusters"]
    assert image.shape[0] <= 3 * table["program"].nunique()
    names = [text.get_text() for text in ax.texts if text.get_text() in set(table["gene"])]
    assert len(names) == len(set(names)) == image.shape[0]


def test_a_gene_that_no_program_raises_is_in_no_block(adata):
    table = adata.uns["ssnmf_biclusters"]
    shared = table.drop_duplicates("gene", keep=False)
    program = int(shared["program"].value_counts().idxmax())
    first, second = shared.loc[shared["program"] == program, "gene"].iloc[:2]
    scored = adata.copy()
    scores = np.ones((adata.n_vars, adata.varm["ssnmf"].shape[1]))
    scores[adata.var_names == first, program] = -0.5  # a large weight, and more of it in other programs
    scored.varm["ssnmf_scores"] = scores
    names = [text.get_text() for text in pl.biclusters(scored, n_genes=len(table)).texts]
    assert second in names
    assert first not in names


def test_few_genes_of_a_bicluster_are_those_with_the_highest_scores(adata):
    table = adata.uns["ssnmf_biclusters"]
    shared = table.drop_duplicates("gene", keep=False)  # genes of one bicluster alone
    program = shared["program"].value_counts().idxmax()
    genes = shared.loc[shared["program"] == program, "gene"]
    scored = adata.copy()
    scores = np.zeros((adata.n_vars, adata.varm["ssnmf"].shape[1]))
    scores[adata.var_names == genes.iloc[-1], int(program)] = 9.0
    scored.varm["ssnmf_scores"] = scores
    ax = pl.biclusters(scored, n_genes=1)
    assert genes.iloc[-1] in [text.get_text() for text in ax.texts]


def test_a_gene_of_two_programs_is_shown_where_fewer_are_before_it():
    genes = {0: ["a", "b", "c"], 1: ["d", "e", "b", "a"]}  # of the second, small program all scores are higher
    table = pd.DataFrame([(program, gene) for program in genes for gene in genes[program]], columns=["program", "gene"])
    shown = _telling(table, np.array([3.0, 2.0, 1.0, 9.0, 8.0, 7.0, 6.0]), 2)
    found = {program: rows["gene"].tolist() for program, rows in shown.groupby("program")}
    assert found == {0: ["a", "b"], 1: ["d", "e"]}


def test_legends_are_read_row_by_row_in_rows_of_one_length():
    _, ax = plt.subplots(figsize=(3, 3))
    names = [f"group {i}" for i in range(7)]
    legend_below(ax, names, ["#000000"] * 7, title="groups", below=0.1)
    rows, columns = legend_rows(names, ax.get_window_extent().width / ax.figure.dpi)
    (legend,) = [child for child in ax.get_children() if isinstance(child, Legend)]
    ax.figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in legend.get_texts()}
    order = sorted(names, key=lambda name: (-round(boxes[name].y0), boxes[name].x0))
    assert order == names
    assert rows * columns - len(names) < rows


def test_cells_of_small_programs_are_drawn_wide_enough_to_see():
    usages = np.full((1000, 3), 0.1)
    usages[np.arange(1000), np.repeat([0, 1, 2], [600, 397, 3])] = 1.0
    small = bare_fit("ssnmf", [f"g{i}" for i in range(5)], np.ones((5, 3)), usages, {})
    write_groups(small, "ssnmf", usages.argmax(axis=1), ["0", "1", "2"], ["#000000", "#777777", "#ffffff"])
    ax = pl.usages(small, scale=None)
    owner = image_of(ax).argmax(axis=0)
    assert (owner == 2).sum() >= 15
    assert (owner == 0).sum() == 600
    assert "1,000 cells" in ax.get_xlabel()
    assert "small ones drawn wider" in ax.get_xlabel()
