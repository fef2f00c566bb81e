"""Parts of pages that benchmarks fill in: on the site, those not measured yet are left out with their caption."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

CAPTION = r"(?:(?<=\n\n)(?!#|\||<|```|- )[^\n]+(?:\n[^\n]+)*:\n\n)?"  # a paragraph that ends in a colon
EMPTY = re.compile(
    CAPTION + r"^<!-- measured: [\w-]+ -->\s*(?:Not measured[^\n]*\.)?\s*<!-- end -->\n", flags=re.MULTILINE
)
HOLLOW = re.compile(r"^(##+) [^\n]+\n\s*(?=^\1 |\Z)", flags=re.MULTILINE)  # a heading with nothing below it


def without_empty_parts(text: str) -> str:
    """The text of a page without the parts that hold nothing, and without headings of nothing else."""
    return HOLLOW.sub("", EMPTY.sub("", text)) if EMPTY.search(text) else text


def leave_out(app: Sphinx, docname: str, source: list[str]) -> None:
    """Do so as a page is read."""
    source[0] = without_empty_parts(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("source-read", leave_out)
    return {"parallel_read_safe": True}
