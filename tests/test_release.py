"""What a release says of itself agrees: version, dependencies, files; and the examples run."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

import genesieve as gs

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
CONDA = {"matplotlib": "matplotlib-base", "igraph": "python-igraph"}  # where the names differ
QUICK = {
    "cell_types.py": ["--rank", "4", "--genes", "50", "--known", "cell_type"],
    "gene_budget.py": ["--rank", "4", "--budgets", "30", "--folds", "2"],
    "new_cells.py": ["--rank", "4", "--genes", "50"],
}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    assert gs.__version__ == PROJECT["version"]
    assert re.search(r"^version: (\S+)$", read("CITATION.cff"), re.MULTILINE)[1] == PROJECT["version"]
    recipe = read("packaging/conda-forge/recipe.yaml")
    assert re.search(r'^  version: "(\S+)"$', recipe, re.MULTILINE)[1] == PROJECT["version"]


def test_the_recipe_of_conda_needs_what_the_project_needs():
    pairs = [re.fullmatch(r"([\w-]+)(.*)", each).groups() for each in PROJECT["dependencies"]]
    needed = {(CONDA.get(name, name), bound) for name, bound in pairs}
    listed = re.findall(r"^    - ([\w-]+) (>=[\d.]+)$", read("packaging/conda-forge/recipe.yaml"), re.MULTILINE)
    assert set(listed) == needed


def test_the_addresses_are_those_of_the_project():
    urls = PROJECT["urls"]
    for name in ("CITATION.cff", "packaging/conda-forge/recipe.yaml", "packaging/scverse/meta.yaml", "README.md"):
        assert urls["Source"] in read(name)
        assert urls["Documentation"] in read(name)


def test_on_pypi_the_links_of_the_readme_lead_to_the_repository():
    text = read("README.md")
    here = set(re.findall(r'(?:\]\(|src=")(?!http)([^)"]+)', text))
    for rule in SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert not re.findall(r'(?:\]\(|src=")(?!http)', text)
    raw = "https://raw.githubusercontent.com/genesieve/genesieve/main/"
    pages = f"{PROJECT['urls']['Source']}/blob/main/"
    shown, linked = (set(re.findall(rf"{start}([^)\"]+)", text)) for start in (raw, pages))
    assert shown == {"docs/img/pl-markers.png"}  # a picture is shown from the file itself
    assert shown | linked == here
    assert all((ROOT / target).exists() for target in here)


def test_every_example_is_listed_and_tried():
    there = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert there == set(QUICK) == set(re.findall(r"`(\w+\.py)`", read("examples/README.md")))


@pytest.mark.parametrize("name", sorted(QUICK))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *QUICK[name]])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    assert capsys.readouterr().out
