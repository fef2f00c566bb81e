from __future__ import annotations

import subprocess
import sys

import genesieve as gs


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "genesieve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_version():
    assert run("--version").stdout.strip() == f"genesieve {gs.__version__}"


def test_methods():
    assert run("methods").stdout.split() == list(gs.METHODS)


def test_demo_finds_blood_cells():
    result = run("demo")
    assert result.returncode == 0, result.stderr
    assert "8 programs on 200 of 765 genes, 700 cells" in result.stdout
    for marker in ("NKG7", "LYZ", "CD74"):
        assert marker in result.stdout
    assert result.stderr == ""


def test_a_wrong_command_is_a_usage_error():
    assert run("nothing").returncode == 2


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, genesieve; print([m for m in ('numpy', 'sklearn', 'numba', 'scanpy') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
