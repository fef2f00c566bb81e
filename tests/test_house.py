"""The rules of the house: each module says what it holds, nothing grows too long, CONTRIBUTING names what there is."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

import genesieve

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "genesieve"
MODULES = sorted(chain(SOURCE.rglob("*.py"), (ROOT / "benchmarks").rglob("*.py")))
LONGEST_MODULE = 350  # lines
LONGEST_FUNCTION = 60  # lines below signature and docstring
MEDIAN_FUNCTION, MOST_FUNCTIONS = 6, 18  # lines, of half and of nine tenths of the functions
PUBLIC = ["datasets", "io", "metrics", "pl", "pp", "tl"]
# What rooms of the house share with one another, without being public.
SHARED = {"Recipe", "check_choices", "exclusive_sizes", "given_genes", "name_genes", "order_genes", "relative_to"}
SHARED |= {"can_stay_in_file", "check_comparison", "describe", "read_batch_column", "scored_fit", "size_in_memory"}

of_modules = pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> list[tuple[str, int]]:
    """Every function with the lines of its body, docstring aside."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            found.append((node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0))
    return found


@of_modules
def test_a_module_says_what_belongs_there(path):
    said = ast.get_docstring(tree(path)) or ""
    own = {path.stem, path.parent.name, "genesieve", "the", "a", "an", "module", "package"}
    words = [word for word in re.findall(r"[a-z]+", said.lower()) if word not in own]
    assert len(words) >= 3, f"{path} must say in its docstring what belongs there, got {said!r}"
    assert said.splitlines()[0].rstrip().endswith((".", "!", "?")), f"{path}'s docstring must begin with a sentence"


def test_modules_are_short():
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in MODULES}
    assert not {name: count for name, count in lines.items() if count > LONGEST_MODULE}


def test_functions_are_short():
    sizes = {f"{path.relative_to(ROOT)}:{name}": lines for path in MODULES for name, lines in functions(path)}
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST_FUNCTION} == {}
    every = [lines for path in MODULES for _, lines in functions(path)]
    assert np.median(every) <= MEDIAN_FUNCTION
    assert np.quantile(every, 0.9) <= MOST_FUNCTIONS


def own_names(module: ModuleType) -> set[str]:
    """Public functions and classes that a module, or a public module of a package, defines."""
    parts = [module.__name__]
    if hasattr(module, "__path__"):
        parts += [f"{module.__name__}.{file.stem}" for file in Path(module.__path__[0]).glob("[!_]*.py")]
    return {
        name
        for part in parts
        for name, value in vars(import_module(part)).items()
        if isinstance(value, type | FunctionType) and value.__module__ == part and not name.startswith("_")
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_all_is_complete(name):
    module = getattr(genesieve, name)
    assert own_names(module) - SHARED <= set(module.__all__)
    for each in (*module.__all__, *genesieve.__all__):
        assert hasattr(module if each in module.__all__ else genesieve, each)


def test_every_public_module_is_looked_at():
    assert {name for name in genesieve.__all__ if isinstance(getattr(genesieve, name), ModuleType)} == set(PUBLIC)


# ------------------------------------------------------------------------------------------------ CONTRIBUTING


def table_rows() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("|") and "`" in line]


def modules_at(place: str) -> list[Path]:
    """The modules of a file or folder, given from the repository or from the package, also without its ending."""
    for base in (SOURCE, ROOT):
        for path in (base / place, base / f"{place.rstrip('/')}.py"):
            if path.is_file():
                return [path]
            if path.is_dir():
                return sorted(path.rglob("*.py"))
    return []


def defined_in(path: Path) -> set[str]:
    """Functions, classes, their methods and constants of a module."""
    names: set[str] = set()
    for node in tree(path).body:
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            if isinstance(node, ast.ClassDef):
                names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def test_contributing_has_its_tables():
    assert len(table_rows()) > 30


def test_every_file_that_contributing_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [place for place in re.findall(r"`([\w/]+\.py)`", text) if not modules_at(place)] == []


@pytest.mark.parametrize("row", table_rows())
def test_what_contributing_names_is_there(row):
    quoted = re.findall(r"`([^`]+)`", row)
    places = [each for each in quoted if "/" in each or each.endswith(".py")]
    assert places, "a row of a table must say where to look"
    for place in places:
        assert modules_at(place), f"{place} is not there"
    there = set().union(*(defined_in(path) for place in places for path in modules_at(place)))
    names = {each for each in quoted if each not in places and re.fullmatch(r"[A-Za-z_][\w.]*", each)}
    assert names <= there, f"{sorted(names - there)} not in {places}"
