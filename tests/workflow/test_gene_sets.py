from __future__ import annotations

import warnings

import pytest

import genesieve as gs
from genesieve.workflow.stages import usable_gene_sets


@pytest.mark.parametrize(
    ("genes", "said"),
    [(["ENSG1", "ENSG2"], "names are like 'ENSG1' there"), (["Cd3d", "Lyz"], "2 but for their case")],
)
def test_sets_without_a_gene_of_the_data_are_left_out_before_the_fit(tmp_path, genes, said):
    file = tmp_path / "sets.gmt"
    file.write_text("\t".join(["one", "", *genes]) + "\n")
    with pytest.warns(UserWarning, match=said) as notes:
        assert usable_gene_sets(file, gs.datasets.demo()) is None
    assert "sets.gmt is left out, the data have none of its 2 genes" in str(notes[0].message)


def test_sets_with_a_gene_of_the_data_are_taken(tmp_path):
    file = tmp_path / "sets.gmt"
    file.write_text("one\t\tCD3D\tENSG2\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert usable_gene_sets(file, gs.datasets.demo()) == file
    assert usable_gene_sets(None, gs.datasets.demo()) is None
