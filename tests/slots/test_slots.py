from __future__ import annotations

import ast
from pathlib import Path

import anndata as ad
import numpy as np
import pytest

import genesieve as gs
from genesieve import tl
from genesieve._slots.keys import Keys
from genesieve._slots.read import read_fit, read_projection
from genesieve._slots.write import bare_fit, write_found

SOURCE = Path(gs.__file__).parent
SLOTS = {"obsm", "varm", "uns"}
# Files that may look into an AnnData themselves, and why.
EXCEPTIONS = {
    "pp.py": "writes its own record, and the logarithm where scanpy looks for it",
    "datasets.py": "names the colours of the demo's cell types",
    "pl/_layout.py": "reads the embedding that the caller names",
    "paper/fig6.py": "reads tables as any user of the library does",
}


def touches_slots(path: Path) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in SLOTS for node in ast.walk(ast.parse(path.read_text())))


def test_no_other_code_touches_the_slots_of_a_fit():
    others = [path for path in SOURCE.rglob("*.py") if path.parent.name != "_slots" and touches_slots(path)]
    assert {path.relative_to(SOURCE).as_posix() for path in others} <= set(EXCEPTIONS)


@pytest.fixture(scope="module")
def fitted() -> ad.AnnData:
    adata = gs.datasets.demo()
    tl.ssnmf(adata, 4, 50)
    return adata


def test_a_fit_reads_as_it_was_written(fitted):
    fit = read_fit(fitted, "ssnmf")
    np.testing.assert_array_equal(fit.usages, fitted.obsm["X_ssnmf"])
    np.testing.assert_array_equal(fit.weights, fitted.varm["ssnmf"])
    np.testing.assert_array_equal(fit.selected, fitted.var["ssnmf_selected"])
    np.testing.assert_array_equal(fit.most_used, fitted.obs["ssnmf"].astype(int))
    np.testing.assert_array_equal(fit.of_cells("confidence"), fitted.obs["ssnmf_confidence"])
    assert fit.params["n_genes"] == 50
    assert fit.names == ["0", "1", "2", "3"]
    assert fit.values_from == {"layer": None, "use_raw": False}


def test_programs_take_the_names_of_their_labels(fitted):
    adata = fitted.copy()
    adata.obs["ssnmf"] = adata.obs["ssnmf"].cat.rename_categories({"1": "B"})
    assert read_projection(adata, "ssnmf").names == ["0", "B", "2", "3"]
    adata.obs["ssnmf"] = adata.obs["ssnmf"].to_numpy()[::-1]  # labels that are no programs name none
    assert read_projection(adata, "ssnmf").names == ["0", "1", "2", "3"]


def test_what_was_found_is_kept_as_a_copy_and_missing_things_are_named(fitted):
    adata = fitted.copy()
    fit = read_fit(adata, "ssnmf")
    assert not fit.has("top_genes")
    with pytest.raises(KeyError, match=r"adata\.uns has no 'ssnmf_enrichment', run gs\.tl\.enrich first; adata\.uns"):
        fit.found("enrichment")
    with pytest.raises(KeyError, match=r"adata\.obs has no 'ssnmf_outlier', run gs\.tl\.outliers first"):
        fit.of_cells("outlier")
    table = tl.top_genes(adata, 2)
    write_found(adata, "ssnmf", top_genes=table)
    table["gene"] = "changed"
    assert "changed" not in set(fit.found("top_genes")["gene"])
    assert fit.found("top_genes")["program"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_bare_fit_scores_cells_as_the_whole_one(fitted):
    fit = read_fit(fitted, "ssnmf")
    genes, weights = fit.genes[fit.selected], fit.weights[fit.selected]
    bare = bare_fit("ssnmf", genes, weights, np.zeros((0, fit.rank)), fit.record)
    if fit.gene_weights is not None:
        bare.var[Keys().gene_weights] = fit.gene_weights[fit.selected]
    one, two = gs.datasets.demo(), gs.datasets.demo()
    tl.project(one, fitted)
    tl.project(two, bare)
    np.testing.assert_array_equal(one.obsm["X_ssnmf"], two.obsm["X_ssnmf"])
