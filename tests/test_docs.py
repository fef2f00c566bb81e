"""What README.md and the pages of docs show can be typed in, and does what they say."""

from __future__ import annotations

import inspect
import re
import runpy
import shlex
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType

import matplotlib as mpl
import pytest
from typer.main import get_command

import genesieve as gs
from genesieve.cli import app
from readme import README

DOCS = README.parent / "docs"
PAGES = [README, *sorted(DOCS.glob("*.md"))]
NOTEBOOKS = sorted((DOCS / "tutorials").glob("[!i]*.md"))  # these run when the pages are built
# The others start from files or clusters of the reader's own.
RUN = ["README.md", "api.md", "cli.md", "report.md"]
START = ["index.md", "install.md", "quickstart.md", "report.md", "cli.md"]
COLUMNS = 88  # of code that a page shows between its two sidebars


def code(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def named(page: Path) -> Path:
    return next(each for each in PAGES if each.name == page)


@pytest.mark.parametrize("name", RUN)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_python_of_a_page_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names: dict[str, object] = {}
    for number, block in enumerate(code(named(name), "python")):
        exec(compile(block, f"{name}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: page.name)
def test_the_python_of_a_page_is_python_and_its_names_are_ours(page):
    for block in code(page, "python") + code(page, r"\{code-cell\}(?:\n:tags:.*\n)?"):
        compile(block, page.name, "exec")
    for dotted in re.findall(r"\bgs((?:\.[A-Za-z_]+)+)", page.read_text(encoding="utf-8")):
        found = gs
        for part in dotted[1:].split("."):
            assert hasattr(found, part), f"{page.name} speaks of gs{dotted}"
            found = getattr(found, part)


@pytest.mark.parametrize("page", [*map(DOCS.joinpath, START), *NOTEBOOKS], ids=lambda page: page.name)
def test_no_line_of_code_on_a_page_for_new_users_is_cut_off(page):
    for block in code(page, "sh") + code(page, "python") + code(page, r"\{code-cell\}(?:\n:tags:.*\n)?"):
        assert [line for line in block.splitlines() if len(line) > COLUMNS] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_are_ours(page):
    commands = get_command(app).commands
    for line in re.sub(r"\\\n", " ", "\n".join(code(page, "sh"))).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["genesieve"] and not words[1].startswith("-"):
            known = {option for parameter in commands[words[1]].params for option in parameter.opts}
            assert {word for word in words if word.startswith("-")} <= known, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_points_to_exist(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)", prose):
        assert target.startswith("http") or (page.parent / target).exists(), target
    if page == README:
        for path in re.findall(r"`((?:tests|docs|benchmarks|src)/[\w/.]+)`", page.read_text(encoding="utf-8")):
            assert (README.parent / path).exists(), path


def test_the_snippet_for_scanpy_prepares_the_genes_of_the_demo(tmp_path, monkeypatch):
    snippet = next(block for block in code(README, "python") if "pp.prepare" in block)
    names: dict[str, object] = {}
    exec(snippet.partition("gs.tl.ssnmf")[0], names)
    genes = re.search(r"programs on \d+ of (\d+) genes", README.read_text(encoding="utf-8"))
    assert names["adata"].n_vars == int(genes[1])


# ------------------------------------------------------------------------------------------------------------- the site


def test_the_tests_that_a_page_names_exist():
    named_tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (DOCS / "reliability.md").read_text(encoding="utf-8"))
    assert named_tests
    missing = [
        name for file, name in named_tests if f"def {name}(" not in (README.parent / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def contents(page: Path) -> list[str]:
    """What the tables of contents of a page list."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [line for line in "\n".join(blocks).splitlines() if line and not line.startswith(":")]


@pytest.mark.parametrize("folder", [DOCS, DOCS / "tutorials"], ids=lambda folder: folder.name)
def test_every_page_has_one_place_in_the_contents(folder):
    listed = contents(folder / "index.md")
    there = {page.stem for page in folder.glob("*.md")} - {"index"}
    assert there <= set(listed), "a page needs a place in index.md"
    assert all((folder / f"{name}.md").exists() for name in listed)
    assert len(listed) == len(set(listed))


def test_a_build_sees_links_to_pages_and_headings_that_are_not_there(tmp_path):
    pytest.importorskip("sphinx")
    (tmp_path / "part").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top"></h1><a href="part/page.html#end">x</a><img src="none.png">')
    (tmp_path / "part" / "page.html").write_text('<a href="../index.html#top">x</a><a href="../#gone">x</a>')
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "template.html").write_text('<a href="{{ later }}">x</a>')
    dead = runpy.run_path(str(DOCS / "_ext" / "links.py"))["dead_links"](tmp_path)
    assert dead == ["index.html -> none.png", "index.html -> part/page.html#end", "part/page.html -> ../#gone"]


def test_what_was_not_measured_is_not_on_the_site():
    pytest.importorskip("sphinx")
    without_empty_parts = runpy.run_path(str(DOCS / "_ext" / "measured.py"))["without_empty_parts"]
    empty, full = (
        "<!-- measured: a -->\n\nNot measured yet.\n\n<!-- end -->\n",
        "<!-- measured: b -->\n| 1 |\n<!-- end -->\n",
    )
    page = f"Before.\n\n`x` is nothing,\nso far:\n\n{empty}\nSomething:\n\n{full}"
    assert without_empty_parts(page) == f"Before.\n\n\nSomething:\n\n{full}"
    assert without_empty_parts(f"# Title\n\n## A\n\n{empty}\n## B\n\nText.") == "# Title\n\n## B\n\nText."


def documented() -> set[str]:
    """The names on the API page, below genesieve."""
    blocks = re.findall(r"^\.\. autosummary::\n(.*?)^```", (DOCS / "api.md").read_text(), re.DOTALL | re.MULTILINE)
    return {line.strip() for line in "\n".join(blocks).splitlines() if line.strip() and ":" not in line}


def public() -> set[str]:
    """Everything in ``__all__`` of genesieve and of its public modules."""
    parts = {name: getattr(gs, name) for name in gs.__all__}
    modules = {name: part for name, part in parts.items() if isinstance(part, ModuleType)}
    below = {f"{name}.{each}" for name, module in modules.items() for each in module.__all__}
    return below | set(parts) - set(modules) - {"__version__"}


def test_the_api_page_has_every_public_name_and_no_other():
    assert documented() == public(), "docs/api.md must list what is in __all__"


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_function_and_class_has_an_example(name):
    value = attrgetter(name)(gs)
    if callable(value) and not (isinstance(value, type) and issubclass(value, Exception)):
        assert ">>>" in value.__doc__, f"gs.{name} has no example in its docstring"


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_function_tells_its_parameters_and_what_it_returns(name):
    value = attrgetter(name)(gs)
    if isinstance(value, FunctionType):
        signature = inspect.signature(value)
        told = inspect.getdoc(value)  # without the indentation, which newer Pythons drop
        undocumented = [each for each in signature.parameters if not re.search(rf"\b{each}\b", told)]
        assert not undocumented, f"the docstring of gs.{name} lacks {undocumented}"
        assert signature.return_annotation == "None" or "Returns\n---" in told, f"gs.{name}: what it returns"
