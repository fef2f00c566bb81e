from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import anndata as ad
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import genesieve as gs
from genesieve._report import page as report_page
from genesieve._report.layout import keep_map, reserve_map
from genesieve._report.payload import MISSING, TOP, _on_a_square, as_json
from genesieve._report.words import count, facts, number, p_value, percent
from genesieve.pl._layout import _components, choose_cells

RANK = 4
BUDGET = 60
SETS = {
    "HLA_class_II": ["HLA-DRA", "HLA-DRB1", "HLA-DPA1", "HLA-DPB1", "CD74", "HLA-DQA1"],
    "cytotoxicity": ["NKG7", "GNLY", "CTSW", "GZMA", "CCL5", "PRF1"],
    "<b>bold</b> & 'quoted'": ["LYZ", "CST3", "FTL", "AIF1", "TYROBP"],
}
HOSTILE = [
    "<img src=x onerror=window.hacked=1>",
    "</script><script>window.hacked=1</script>",
    "\"'quotes', commas; and\ttabs",
    "基因 🧬 β-catenin",
    "<!--<script>",
    "{{ 7 * 7 }} $x$ \u2028 &amp;",
    "=1+1",
    '"=1+1"',
    "CD3D;=1+1",
]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip


@cache
def analysed(*, rank: int = RANK, n_cells: int = 200) -> ad.AnnData:
    adata = gs.datasets.demo()[:n_cells].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three iterations do for a page
        gs.tl.ssnmf(adata, rank, BUDGET, init="random", max_iter=3)
    gs.tl.biclusters(adata, threshold=1.0)
    gs.tl.enrich(adata, SETS, min_size=3)
    gs.tl.outliers(adata)
    return adata


@pytest.fixture
def adata() -> ad.AnnData:
    return analysed().copy()


def hostile() -> ad.AnnData:
    """Names that would break a careless page, in every place that has names."""
    adata = analysed().copy()
    adata.var_names = [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(adata.n_vars)]
    adata.obs_names = [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(adata.n_obs)]
    kinds = pd.Categorical(np.array(HOSTILE, dtype=object)[np.arange(adata.n_obs) % len(HOSTILE)], categories=HOSTILE)
    adata.obs["<i>kind</i>"] = kinds
    adata.uns["<i>kind</i>_colors"] = ["red;}</style><script>window.hacked=1</script>"] * len(HOSTILE)
    adata.obs["ssnmf"] = adata.obs["ssnmf"].cat.rename_categories(dict(zip("0123", HOSTILE, strict=False)))
    for table in ("ssnmf_biclusters", "ssnmf_enrichment"):
        del adata.uns[table]
    gs.tl.enrich(
        adata, {name: list(adata.var_names[adata.var["ssnmf_selected"]][i::3]) for i, name in enumerate(HOSTILE[:3])}
    )
    return adata


def large() -> ad.AnnData:
    """100,000 cells, 3,000 selected genes and 30 programs, written straight into the slots."""
    cells, genes, rank = 100_000, 3_000, 30
    rng = np.random.default_rng(0)
    stored = (np.ones(cells, dtype=np.float32), rng.integers(genes, size=cells), np.arange(cells + 1))
    adata = ad.AnnData(sparse.csr_matrix(stored, shape=(cells, genes)))
    adata.var_names = [f"gene{i:04d}" for i in range(genes)]
    adata.obs_names = [f"ACGTACGTACGT{i:06d}-1" for i in range(cells)]
    label = np.minimum(rng.geometric(0.12, cells) - 1, rank - 1)
    label[:40] = rank - 1
    H = rng.gamma(0.3, 1.0, (cells, rank)).astype(np.float32)
    H[np.arange(cells), label] += 8
    adata.obsm["X_ssnmf"], adata.varm["ssnmf"] = H, rng.gamma(0.3, 0.1, (genes, rank))
    adata.obs["ssnmf"] = pd.Categorical(H.argmax(axis=1).astype(str), categories=[str(i) for i in range(rank)])
    adata.var["ssnmf_selected"] = True
    adata.uns["ssnmf"] = {"params": {}, "history": {"objective": np.array([3.0, 2.0, 1.0])}, "method": "nmf_l20"}
    angle = 2 * np.pi * label / rank
    adata.obsm["X_umap"] = 9 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(cells, 2))
    adata.obs["type"] = pd.Categorical([f"type {i}" for i in label // 2])
    return adata


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without still pictures, which take most of the time."""
    nothing = {"map": "data:,", "usages": "data:,", "loadings": "data:,"}
    monkeypatch.setattr(report_page, "still_pictures", lambda *given: nothing)


def slots(adata: ad.AnnData) -> dict[str, Any]:
    return {"obs": set(adata.obs), "var": set(adata.var), "uns": set(adata.uns), "obsm": set(adata.obsm)}


# ------------------------------------------------------------------------------------------------ the file


def test_writes_the_file_and_returns_its_path(adata, tmp_path):
    path = gs.report(adata, tmp_path / "r.html", known="cell_type", run={"seed": 0, "versions": {"numpy": "2.0"}})
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "r.html"
    assert "versions: numpy" in text
    assert text.lower().lstrip().startswith("<!doctype html>")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)


def test_leaves_the_data_the_figures_and_the_settings_alone(adata, tmp_path):
    before, settings, backend = adata.copy(), dict(mpl.rcParams), mpl.rcParams._get("backend")
    gs.report(adata, tmp_path / "r.html", known="cell_type")
    assert slots(adata) == slots(before)
    pd.testing.assert_frame_equal(adata.obs, before.obs)
    pd.testing.assert_frame_equal(adata.var, before.var)
    for name in before.obsm:
        np.testing.assert_array_equal(adata.obsm[name], before.obsm[name])
    for name, table in before.uns.items():
        if isinstance(table, pd.DataFrame):
            pd.testing.assert_frame_equal(adata.uns[name], table)
    assert (adata.X != before.X).nnz == 0
    assert dict(mpl.rcParams) == settings
    assert mpl.rcParams._get("backend") == backend
    assert mpl.pyplot.get_fignums() == []


@pytest.mark.usefixtures("plain")
def test_views_stay_views(adata, tmp_path):
    view = adata[::2]
    gs.report(view, tmp_path / "r.html")
    assert view.is_view


def test_the_same_input_gives_the_same_bytes(adata, tmp_path):
    pages = [gs.report(adata, tmp_path / name, known="cell_type").read_bytes() for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]


@pytest.mark.usefixtures("plain")
def test_data_from_a_file_give_the_same_page(adata, tmp_path):
    adata.write_h5ad(tmp_path / "a.h5ad")
    saved = [ad.read_h5ad(tmp_path / "a.h5ad", backed=backed) for backed in (None, "r")]
    pages = [gs.report(data, tmp_path / "r.html", known="cell_type").read_text() for data in (adata, *saved)]
    assert pages[0] == pages[1] == pages[2]


@pytest.mark.usefixtures("plain")
def test_repeated_cell_names_and_missing_places_do_no_harm(adata, tmp_path, recwarn):
    adata.obs_names = ["same"] * adata.n_obs
    adata.obsm["X_umap"] = np.where(np.arange(adata.n_obs)[:, None] < 5, np.nan, adata.obsm["X_umap"])
    recwarn.clear()
    gs.report(adata, tmp_path / "r.html")
    assert [str(warning.message) for warning in recwarn if "not unique" in str(warning.message)] == []


@pytest.mark.parametrize("broken", ["_render", "replace"])
def test_a_failure_leaves_the_old_file(adata, tmp_path, monkeypatch, broken):
    path = tmp_path / "r.html"
    path.write_text("the old one")

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(*((report_page, "_render", fail) if broken == "_render" else (os, "replace", fail)))
    with pytest.raises(OSError, match="no space left"):
        gs.report(adata, path)
    assert path.read_text() == "the old one"
    assert os.listdir(tmp_path) == ["r.html"]


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"key": "other"}, KeyError, "no fit 'other' in adata.*fits found: 'ssnmf'"),
        ({"known": "typ"}, KeyError, r"known must name a column of adata.obs, got 'typ'; adata.obs has .*'cell_type'"),
        ({"known": "barcode"}, ValueError, "known must name a column of cell types, got 'barcode' with 600 different"),
        ({"basis": "X_map"}, KeyError, r"basis must name a slot of adata.obsm, got 'X_map'; adata.obsm has .*'X_umap'"),
        ({"basis": "flat"}, ValueError, "basis must have at least 2 columns"),
        ({"max_cells": 0}, ValueError, "max_cells must be at least 1, got 0"),
        ({"run": ["seed"]}, TypeError, "run must be a dictionary or None, got list"),
    ],
)
def test_bad_arguments_are_named(tmp_path, options, error, match):
    adata = analysed(n_cells=600).copy()
    adata.obs["barcode"] = [f"b{i}" for i in range(adata.n_obs)]
    adata.obsm["flat"] = np.zeros((adata.n_obs, 1))
    with pytest.raises(error, match=match) as raised:
        gs.report(adata, tmp_path / "r.html", **options)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="adata must be an AnnData, got ndarray"):
        gs.report(np.ones((2, 2)), tmp_path / "r.html")


def test_a_missing_folder_is_named(adata, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder of path must exist, got .*nowhere"):
        gs.report(adata, tmp_path / "nowhere" / "r.html")


# ------------------------------------------------------------------------------------------------ what it says


@pytest.mark.usefixtures("plain")
def test_what_was_not_computed_is_left_out(adata, tmp_path):
    for name in ("ssnmf_biclusters", "ssnmf_bicluster_sizes", "ssnmf_enrichment", "ssnmf_outlier_rule"):
        del adata.uns[name]
    del adata.obs["ssnmf_outlier"], adata.obsm["X_umap"], adata.obsm["X_pca"], adata.uns["ssnmf"]["history"]
    text = gs.report(adata[:12].copy(), tmp_path / "r.html").read_text()
    assert 'id="sets"' not in text
    assert "Outlier" not in text.split('id="data"')[0]
    assert "principal components of the usages" in text.lower()
    assert "Stand out" in text


@pytest.mark.usefixtures("plain")
def test_cards_name_the_genes_with_the_highest_scores(adata, tmp_path):
    page = gs.report(adata, tmp_path / "scored.html").read_text(encoding="utf-8")
    leading = adata.var_names[adata.varm["ssnmf_scores"].argmax(axis=0)]
    for gene in leading:
        assert f'<p class="genes"><span class="gene">{gene}</span>' in page
    assert "Genes are in order of their scores" in page
    for slot in ("ssnmf_scores", "ssnmf_score_p_values"):
        del adata.varm[slot]
    page = gs.report(adata, tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "Genes are in order of weight times specificity" in page


@pytest.mark.usefixtures("plain")
def test_confidence_is_shown_where_there_is_one(adata, tmp_path):
    del adata.obs["ssnmf_confidence"]
    assert "second program" in gs.report(adata, tmp_path / "r.html").read_text()
    adata.obs["ssnmf_confidence"] = np.where(np.arange(adata.n_obs) < 50, 0.2, 0.9)
    text = gs.report(adata, tmp_path / "r.html").read_text()
    assert "The program of 25% of the cells is unsure (a confidence below 0.5)." in text


@pytest.mark.usefixtures("plain")
def test_clusters_that_are_no_programs_have_a_table(adata, tmp_path):
    beside = gs.report(adata, tmp_path / "r.html").read_text()
    assert f"The cells form {RANK} clusters; " in beside
    del adata.obs["ssnmf_cluster"]
    assert 'id="clusters"' not in gs.report(adata, tmp_path / "r.html").read_text()
    groups = pd.Categorical([None if i == 0 else f"group {i % 6}" for i in range(adata.n_obs)])
    adata.obs["ssnmf"] = groups
    text = gs.report(adata, tmp_path / "r.html", known="cell_type").read_text()
    assert 'id="clusters"' in text
    assert "The cells form 6 clusters." in text
    adata.obs["ssnmf"] = pd.Categorical(["lone" if i < 2 else f"group {i % 6}" for i in range(adata.n_obs)])
    assert (
        "The cells form 7 clusters, 1 of them of fewer than 5 cells."
        in gs.report(adata, tmp_path / "r.html").read_text()
    )
    assert text.count('class="card"') == RANK


@pytest.mark.parametrize("rank", [1, 30])
def test_any_number_of_programs(tmp_path, rank):
    text = gs.report(analysed(rank=rank, n_cells=60), tmp_path / "r.html").read_text()
    assert text.count('class="card"') == rank


@pytest.mark.usefixtures("plain")
def test_the_headline_counts(adata, tmp_path):
    text = gs.report(adata, tmp_path / "r.html", known="cell_type", title="My cells").read_text()
    said = re.search(r'class="headline">(.*?)<', text).group(1)
    assert said == "4 programs on 60 of 765 genes describe 200 cells."
    genes = adata.var["ssnmf_selected"].to_numpy()
    X, fitted = adata.X.toarray()[:, genes], adata.obsm["X_ssnmf"] @ adata.varm["ssnmf"][genes].T
    share = 1 - ((X - fitted) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    assert f"The programs explain {share:.0%} of what these genes vary" in text
    assert "<title>My cells</title>" in text
    score, of_clusters = (gs.metrics.nmi(adata.obs["cell_type"], adata.obs[f"ssnmf{of}"]) for of in ("", "_cluster"))
    assert f"Agreement with “cell_type” (NMI) is {of_clusters:.2f} for clusters, {score:.2f} for programs." in text


def test_numbers_read_well():
    assert count(1234567) == "1,234,567"
    assert [percent(share) for share in (0.0, 0.004, 0.126, 0.996, 1.0)] == ["0%", "<1%", "13%", ">99%", "100%"]
    assert [number(x) for x in (0.0, 152068.73, 1.2345, 0.01234, 3e-9, np.inf)] == [
        "0", "152,069", "1.23", "0.0123", "3.0 \u00d7 10⁻⁹", "∞",
    ]  # fmt: skip
    assert [p_value(p) for p in (0.5, 0.0123, 7.21e-12, 0.0)] == ["0.5", "0.012", "7.2 \u00d7 10⁻¹²", "0"]
    assert facts({"a_b": {"c": [1, 2.5]}, "d": None, "e": True}) == [("a b: c", "1, 2.50"), ("d", "none"), ("e", "yes")]


@given(st.lists(st.text(), max_size=4))
def test_data_survive_the_page_and_cannot_leave_it(names):
    written = as_json(names)
    assert json.loads(written) == names
    assert not set(written) & set("<>&\u2028\u2029")


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(1, 500))
def test_cells_shown_hold_every_group(sizes, most):
    group = np.repeat(np.arange(len(sizes)), sizes)
    strength = np.random.default_rng(0).random(len(group))
    shown = choose_cells(group, strength, most)
    assert len(set(shown.tolist())) == len(shown)
    assert len(shown) <= max(most, len(sizes))
    assert len(shown) >= min(most, len(group))
    np.testing.assert_array_equal(np.unique(group[shown]), np.arange(len(sizes)))
    assert np.all(np.diff(group[shown]) >= 0)


@pytest.mark.filterwarnings("ignore:the values look like", "ignore:[12] of [12] programs are empty")
@pytest.mark.parametrize("n_cells", [1, 8, 40])
def test_data_without_a_positive_value_have_a_page(tmp_path, n_cells):
    adata = ad.AnnData(np.zeros((n_cells, 12), dtype=np.float32))
    gs.tl.ssnmf(adata, 2 if n_cells > 1 else 1, 5)
    adata.obsm["X_umap"] = np.zeros((n_cells, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The 'future.infer_string' option")  # anndata's, with pandas 3
        gs.report(adata, tmp_path / "page.html")


@pytest.mark.parametrize("n_cells", [1, 2, 8])
def test_cells_that_are_all_the_same_stand_at_one_place_without_a_warning(n_cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not _components(np.full((n_cells, 3), 2.0)).places.any()


@pytest.mark.parametrize(
    "places",
    [np.full((4, 2), 1e300), np.array([[np.inf, 0], [0, 0], [0, 0]]), np.array([[-1.7e308, 0], [1.7e308, 1e308]])],
)
def test_places_are_drawn_without_a_warning(places):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = _on_a_square(places)
    there = np.isfinite(places).all(axis=1)
    assert ((drawn[:, there] >= 0) & (drawn[:, there] <= TOP)).all()
    assert (drawn[:, ~there] == MISSING).all()


def test_few_cells_are_placed_by_their_principal_components():
    for shape in ((1, 3), (2, 1), (9, 1), (9, 4)):
        layout = _components(np.random.default_rng(0).random(shape))
        assert layout.places.shape == (shape[0], 2)
        assert np.isfinite(layout.places).all()


@pytest.mark.usefixtures("plain")
def test_a_map_is_made_where_there_is_no_embedding_and_one_that_was_kept_is_used(adata, tmp_path):
    small = adata[:60].copy()
    del small.obsm["X_umap"]
    pages = [gs.report(small, tmp_path / name).read_bytes() for name in ("a.html", "b.html")]
    assert b"Map of the cells by their selected genes" in pages[0]
    assert pages[0] == pages[1]
    assert "X_ssnmf_map" not in small.obsm  # the report changes nothing
    keep_map(small, "ssnmf")
    assert gs.report(small, tmp_path / "c.html").read_bytes() == pages[0]
    small.obsm["X_ssnmf_map"] = np.zeros((60, 2))
    assert gs.report(small, tmp_path / "d.html").read_bytes() != pages[0]


def test_a_map_is_made_beside_others_that_go_through_the_slots(adata):
    small = adata[:60].copy()
    del small.obsm["X_umap"]
    fill = reserve_map(small, "ssnmf")
    slots = iter(small.obsm._data.items())
    next(slots)
    fill()
    assert "X_ssnmf_map" in [name for name, _ in slots]  # no slot came while they were gone through
    assert np.isfinite(small.obsm["X_ssnmf_map"]).all()


def test_cells_without_values_are_placed_by_their_usages(adata, tmp_path):
    small = adata[:60].copy()
    del small.obsm["X_umap"]
    small.X = None
    assert b"Map of the usages" in gs.report(small, tmp_path / "a.html").read_bytes()


# ------------------------------------------------------------------------------------------------ in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as drive:
        chromium = drive.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "r.html"
    return gs.report(analysed(), path, known="cell_type", run={"seed": 0})


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "r.html"
    return gs.report(hostile(), path, known="<i>kind</i>", title=HOSTILE[1], run={HOSTILE[0]: HOSTILE})


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """The page in a window of its own; it must not complain, nor ask the network for anything."""
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
    page, complaints, requests = context.new_page(), [], []
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert complaints == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    context.close()


def column(page: Any, table: str, at: int) -> list[str]:
    return page.locator(f"#{table} tbody td:nth-child({at})").all_inner_texts()


def check_page(page: Any) -> None:
    """What every report must do in a browser."""
    check_sorting(page)
    check_search(page)
    check_hover(page)
    check_zoom(page)


def check_sorting(page: Any) -> None:
    heading = page.locator("#gene-table thead th").nth(6)
    values = []
    for order, sign in (("descending", -1), ("ascending", 1)):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == order
        values = [sign * float(text) for text in column(page, "gene-table", 7)]
        assert values == sorted(values)
        assert len(values) > 1
    weights = page.evaluate("Array.from(genesieve.data.genes.weights).filter((_, i) => i % genesieve.data.rank === 0)")
    assert values[0] == pytest.approx(min(weights), abs=5e-4)


def check_search(page: Any) -> None:
    name = page.evaluate("genesieve.data.genes.names[1]")
    page.locator("#gene-table input[type=search]").fill(name)
    assert name.strip().split()[0] in column(page, "gene-table", 1)[0]
    assert page.locator("#gene-table tbody tr").count() < 25
    page.locator("#gene-table input[type=search]").fill("no gene is called this")
    assert "Nothing found" in page.locator("#gene-table tbody").inner_text()
    page.locator("#gene-table input[type=search]").fill("")


def check_hover(page: Any) -> None:
    canvas = page.locator("#map canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for cell in (0, 7, page.evaluate("genesieve.data.n - 1")):
        x, y = page.evaluate(f"genesieve.placeOf({cell})")
        page.mouse.move(box["x"] + x, box["y"] + y)
        lines = page.locator("#tip > *").all_text_contents()
        there = page.evaluate(f"[genesieve.data.cells.x[{cell}], genesieve.data.cells.y[{cell}]]")
        shown = page.evaluate(f"genesieve.data.cells.names.indexOf({json.dumps(lines[0])})")
        assert page.evaluate(f"[genesieve.data.cells.x[{shown}], genesieve.data.cells.y[{shown}]]") == there
        assert any("Margin: " in line or "Confidence: " in line for line in lines)
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    assert page.locator("#tip").is_hidden()


def check_zoom(page: Any) -> None:
    canvas = page.locator("#map canvas")
    page.wait_for_timeout(350)  # a wheel that goes on from scrolling the page does not zoom
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -120)
    page.wait_for_function("Number(document.querySelector('#map canvas').dataset.zoom) > 1.2")
    page.locator("#map [data-zoom=all]").click()
    assert canvas.get_attribute("data-zoom") == "1.000"
    for heat in ("heat-usages", "heat-loadings"):
        many = int(page.locator(f"#{heat} canvas").get_attribute("data-columns"))
        page.locator(f"#{heat} [data-zoom=in]").click()
        assert int(page.locator(f"#{heat} canvas").get_attribute("data-columns")) < many
        assert "Showing" in page.locator(f"#{heat} .readout").inner_text()


def test_a_report_works(browser, written):
    with opened(browser, written) as page:
        check_page(page)
        assert page.locator("h1").count() == 1
        assert all(
            page.locator("table").nth(i).locator("caption").count() for i in range(page.locator("table").count())
        )


def assert_no_formulas(page: Any) -> None:
    """What the page saves is opened by spreadsheets, too."""
    with page.expect_download() as download:
        page.locator("#gene-table .pager button", has_text="TSV").click()
    saved = pd.read_csv(download.value.path(), sep="\t", dtype=str)
    assert {"'=1+1", '"=1+1"'} <= {name.rsplit(" ", 1)[0] for name in saved["Gene"]}
    texts = pd.concat([saved[column] for column in ("Gene", "Program", "Stands out in")]).dropna()
    assert not texts.str.match(r"[=+\-@]").any()
    assert not any(title.startswith("=") for title in saved)
    assert "CD3D;'=1+1" in {name.rsplit(" ", 1)[0] for name in saved["Gene"]}  # where semicolons part cells


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_names_are_only_text(browser, hostile_page, scheme):
    with opened(browser, hostile_page, color_scheme=scheme) as page:
        check_page(page)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 3
        assert page.locator("i, b:not(#tip b), script[src]").count() == 0
        assert page.title() == HOSTILE[1]
        assert HOSTILE[0] in page.locator("#card-0").inner_text()
        names = page.evaluate("genesieve.data.cells.names")
        assert sorted(names) == sorted(hostile().obs_names)
        assert_no_formulas(page)
        page.locator("#set-table input[type=search]").fill("onerror")
        assert HOSTILE[0] in column(page, "set-table", 2)[0] or "onerror" in column(page, "set-table", 7)[0]


def test_a_large_report_stays_small_and_works(browser, tmp_path):
    path = gs.report(large(), tmp_path / "r.html", known="type")
    assert path.stat().st_size < 10_000_000
    with opened(browser, path) as page:
        check_page(page)
        assert "Showing 20,000 of 100,000 cells" in page.locator("#cells").inner_text()
        smallest = page.evaluate(
            "Math.min(...genesieve.data.cells.cluster.reduce((n, c) => (n[c]++, n), Array(30).fill(0)))"
        )
        assert smallest >= 20
        assert page.locator("#gene-table tbody tr").count() == 25
        entries = page.locator("#map .legend .n").all_inner_texts()
        assert sum(int(entry.replace(",", "")) for entry in entries) == 100_000


def test_clusters_and_programs_are_told_apart(browser, adata, tmp_path):
    adata.obs["ssnmf_cluster"] = pd.Categorical([f"group {i % 6}" for i in range(adata.n_obs)])
    with opened(browser, gs.report(adata, tmp_path / "r.html")) as page:
        check_page(page)
        assert page.locator("#clusters tbody tr").count() == 6
        page.locator("#map-color").select_option("program")
        assert page.locator("#map .legend button").count() == RANK
        page.locator("[data-show-usage='2']").click()
        assert page.locator("#map-color").input_value() == "usage-2"


@pytest.mark.parametrize("scored", [False, True])
def test_the_gene_table_opens_with_the_genes_of_the_cards(browser, adata, tmp_path, scored):
    if scored:
        gs.tl.gene_scores(adata)
    kept = set(adata.var_names[adata.var["ssnmf_selected"]])
    with opened(browser, gs.report(adata, tmp_path / "r.html")) as page:
        genes, programs, places = (column(page, "gene-table", i) for i in (1, 2, 3))
        assert places[:RANK] == ["1"] * RANK  # the leading gene of every program, in their order
        assert programs[:RANK] == [str(i) for i in range(RANK)]
        for program in range(RANK):
            card = page.locator(f"[aria-labelledby=card-{program}] .genes .gene").all_inner_texts()
            named = [gene for gene in card if gene in kept]
            assert genes[program] == named[0]
            page.locator(f"[data-show-genes='{program}']").click()
            assert column(page, "gene-table", 1)[: len(named)] == named
    still = (tmp_path / "r.html").read_text().split('id="genes-caption"')[1].split("</table>")[0]
    assert still.index(f">{genes[0]}<") < still.index(f">{genes[1]}<")


def test_tables_filter_page_and_sort_small_numbers(browser, written):
    with opened(browser, written) as page:
        page.locator("[data-show-genes='1']").click()
        assert column(page, "gene-table", 3) == [str(place) for place in range(1, 26)]
        values = [float(text) for text in column(page, "gene-table", 4)]
        assert values == sorted(values, reverse=True)
        assert set(column(page, "gene-table", 2)) == {"1"}
        first = column(page, "gene-table", 1)
        page.locator("#gene-table .pager button", has_text="Next").click()
        assert not set(first) & set(column(page, "gene-table", 1))
        page.locator("#set-table select").select_option("0")
        assert set(column(page, "set-table", 1)) <= {"0"}
        page.locator("#set-table select").select_option("")
        page.locator("#set-table input[type=search]").fill("lyz")
        assert set(column(page, "set-table", 2)) == {"<b>bold</b> & 'quoted'"}
        with page.expect_download() as download:
            page.locator("#set-table .pager button", has_text="TSV").click()
        saved = Path(download.value.path()).read_text().splitlines()
        assert saved[0].split("\t")[:2] == ["Program", "Gene set"]
        assert len(saved) == 1 + page.locator("#set-table tbody tr").count()


def test_the_keyboard_is_enough(browser, written):
    with opened(browser, written) as page:
        heading = page.locator("#gene-table thead th").first
        heading.locator("button").focus()
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == "ascending"
        page.locator("#map canvas").focus()
        page.keyboard.press("+")
        assert page.locator("#map canvas").get_attribute("data-zoom") == "1.600"
        page.keyboard.press("0")
        assert page.locator("#map canvas").get_attribute("data-zoom") == "1.000"
        entry = page.locator("#map .legend button").nth(2)
        entry.focus()
        page.keyboard.press("Enter")
        assert page.locator("#map .legend button").nth(2).get_attribute("aria-pressed") == "true"
        assert page.evaluate("document.activeElement.textContent") == entry.text_content()


def test_heat_maps_read_out_values(browser, written):
    with opened(browser, written) as page:
        canvas = page.locator("#heat-loadings canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 12 + 2 * 18 + 9)
        gene, weight = page.locator("#tip > *").all_text_contents()
        assert weight.startswith("Weight in program 2: ")
        expected = analysed().varm["ssnmf"][analysed().var_names.get_loc(gene), 2]
        assert float(weight.split(": ")[1]) == pytest.approx(expected, rel=0.01)


def test_the_theme_can_be_switched(browser, written):
    with opened(browser, written, color_scheme="light") as page:
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.locator("#theme").click()
        dark = page.evaluate(background)
        assert dark != "rgb(255, 255, 255)"
        page.emulate_media(color_scheme="dark")
        page.locator("#theme").click()
        assert page.evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("names", ["plain", "hostile"])
def test_a_phone_needs_no_sideways_scrolling(browser, written, hostile_page, names):
    path = written if names == "plain" else hostile_page
    with opened(browser, path, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True) as page:
        width, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert width <= room == 360


def test_without_javascript_there_are_tables_and_pictures(browser, written):
    with opened(browser, written, java_script_enabled=False) as page:
        assert page.locator("img:visible").count() == 3
        assert page.locator("#genes table:visible tbody tr").count() >= BUDGET // 2
        assert page.locator("#sets table:visible tbody tr").count() > 0
        assert page.locator("canvas:visible, #theme:visible, input:visible, select:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print_is_light_and_still(browser, written, scheme):
    with opened(browser, written, color_scheme=scheme) as page:
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator("img:visible").count() == 3
        assert page.locator("canvas:visible, button:visible, input:visible, select:visible, nav:visible").count() == 0
        assert page.locator("#genes table:visible tbody tr:visible").count() > 0
