"""What pages show: ``make readme`` writes the demo's table and the pictures of README.md and docs/report.md anew.

A test compares the table.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib import pyplot as plt

README = Path(__file__).resolve().parents[1] / "README.md"
PICTURE = README.parent / "docs" / "img" / "pl-markers.png"
SHOWN = re.compile(r"(?<=```text\n).*?(?=```)", re.DOTALL)
# What docs promise over processors is 99.5% of the labels: in 700 cells, no program is off by more than this.
CELLS_APART = 3
GENES_SHARED = 4  # of the five shown: the last of them may be near a tie
SCORES_APART = 0.0101  # printed to two digits


class Row(NamedTuple):
    """A program, as the demo's table shows it."""

    program: str
    cells: int
    mostly: str
    genes: list[str]


def shown() -> str:
    """What README.md says that the demo prints."""
    found = SHOWN.search(README.read_text(encoding="utf-8"))
    assert found, "README.md shows no output of the demo"
    return found.group()


def rows(text: str) -> list[Row]:
    found: list[Row] = []
    for line in (line for line in text.splitlines() if "│" in line):
        program, n, mostly, genes = (cell.strip() for cell in line.strip("\n ").strip("│").split("│"))
        if program:
            found.append(Row(program, int(n), re.sub(r" \(.*", "", mostly), genes.split()))
        else:  # long names go on in a second line
            found[-1].genes.extend(genes.split())
    return found


def frame(text: str) -> list[str]:
    """What the demo says beside the table, without its scores."""
    return [re.sub(r"\d\.\d+", "#", line.strip()) for line in text.splitlines() if not re.search("[│┃━─]", line)]


def scores(text: str) -> list[float]:
    return [float(score) for score in re.findall(r"\d\.\d+", text.splitlines()[-3])]


def assert_same_demo(printed: str, promised: str) -> None:
    """Both say the same, but for what rounding may move."""
    remedy = "README.md is stale: make readme"
    assert frame(printed) == frame(promised), remedy
    assert all(abs(one - other) < SCORES_APART for one, other in zip(scores(printed), scores(promised), strict=True)), (
        remedy
    )
    for one, other in zip(rows(printed), rows(promised), strict=True):
        assert (one.program, one.mostly) == (other.program, other.mostly), remedy
        assert abs(one.cells - other.cells) <= CELLS_APART, remedy
        assert len({*one.genes} & {*other.genes}) >= GENES_SHARED, remedy


def draw() -> None:
    """Make the picture of README.md by the lines of Python above it."""
    mpl.use("Agg")
    exec(re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1], {})
    plt.gcf().savefig(PICTURE, dpi=110, bbox_inches="tight")


def photograph() -> None:
    """Take the pictures of docs/report.md, of the page that its lines of Python make, in light and dark."""
    from playwright.sync_api import sync_playwright

    page = README.parent / "docs" / "report.md"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), sync_playwright() as drive:
        exec(re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1], {})
        browser = drive.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for looks, part in (("light", "body"), ("dark", "#cells")):
            view = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=looks)
            view.goto(Path("report.html").resolve().as_uri())
            view.locator(part).evaluate("part => part.scrollIntoView()")
            view.wait_for_timeout(1000)  # the map is drawn after the page has come
            view.screenshot(path=PICTURE.with_name(f"report-{looks}.png"))
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "genesieve", "demo"]
        environment = {**os.environ, "COLUMNS": "80"}
        printed = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    draw()
    photograph()
    README.write_text(SHOWN.sub(lambda _: printed.stdout, README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
