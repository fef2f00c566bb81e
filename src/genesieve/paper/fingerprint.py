"""A fingerprint of the code that results depend on, so that none outlives a change of it."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

import genesieve

ROOT = Path(genesieve.__file__).parent
# What reads, shows and prints changes no result; of this package, only the task's own module and the recipe count.
APART = ("cli", "pl", "tl", "_report", "workflow", "_slots", "io.py", "paper", "__init__.py", "__main__.py")
RECIPE = ROOT / "paper" / "published.py"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


@cache
def code_fingerprint(module: str) -> str:
    """Of the numerics and of the module that does the work; comments and docstrings do not count."""
    numerics = sorted(path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in APART)
    own = Path(str(import_module(module).__file__))
    digest = hashlib.sha256()
    for path in (*numerics, RECIPE, own):
        digest.update(_meaning(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


def _meaning(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
