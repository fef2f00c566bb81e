from __future__ import annotations

import sys
from pathlib import Path

from genesieve.paper.main import reproduce

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the suite is run from a checkout, it is not installed

from benchmarks.paper.document import fill


def test_the_document_takes_sections_and_keeps_its_text(tmp_path):
    out = tmp_path / "out"
    reproduce("fig1", out, n_starts=1, n_jobs=1, say=lambda line: None)
    document = tmp_path / "docs" / "paper.md"
    document.parent.mkdir()
    document.write_text(
        "before\n<!-- fig1 -->\nold\n<!-- end fig1 -->\nafter\n<!-- fig2 -->\nkept\n<!-- end fig2 -->\n"
    )
    assert fill(document, out) == ["fig1"]
    text = document.read_text()
    assert text.startswith("before\n")
    assert "old" not in text
    assert "\nafter\n<!-- fig2 -->\nkept\n" in text
    assert "(img/paper-fig1.png)" in text
    assert (tmp_path / "docs" / "img" / "paper-fig1.png").exists()
    assert "| NMF_l20 |" in text
