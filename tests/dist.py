"""The release as users get it: ``make dist`` builds sdist and wheel, looks into them, and installs the wheel elsewhere.

Each end of the dependencies has an empty environment outside the repository, in which the wheel runs the demo and a
small analysis. A Python that is not on the machine is said so and left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from matrix import LOWEST, NEWEST, PYTHONS, ROOT, find, uv

DIST = ROOT / "dist"
SOURCE = ROOT / "src" / "genesieve"
LARGEST = 1_000_000  # bytes of a wheel
SMOKE = """
import sys
from pathlib import Path
import numpy as np
import genesieve as gs

assert Path(gs.__file__).is_relative_to(sys.prefix), f"{gs.__file__} is not what was installed"
assert (Path(gs.__file__).parent / "py.typed").exists()
adata = gs.datasets.demo()
gs.pp.prepare(adata, min_cells=0)
gs.tl.ssnmf(adata, 6, 100)
assert int(adata.var["ssnmf_selected"].sum()) == 100
assert gs.metrics.nmi(adata.obs["cell_type"], adata.obs["ssnmf"]) > 0.5
gs.tl.markers(adata)
gs.report(adata, "report.html")
adata.write_h5ad("result.h5ad")
assert np.allclose(gs.io.read("result.h5ad").obsm["X_ssnmf"], adata.obsm["X_ssnmf"])
"""


def build() -> Path:
    """The wheel, made from the sdist as installers do."""
    shutil.rmtree(DIST, ignore_errors=True)
    uv("build", "--quiet", "--out-dir", str(DIST), str(ROOT))
    wheels, sdists = list(DIST.glob("*.whl")), list(DIST.glob("*.tar.gz"))
    assert len(wheels) == len(sdists) == 1, f"one wheel and one sdist were expected, got {wheels + sdists}"
    return wheels[0]


def look_into(wheel: Path) -> None:
    """Nothing is missing, nothing is large."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = [file for file in SOURCE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    missing = sorted({file.relative_to(SOURCE.parent).as_posix() for file in files} - inside)
    assert not missing, f"the wheel lacks {missing}"
    assert "genesieve/py.typed" in inside
    assert any(name.startswith("genesieve/_report/assets/") for name in inside)
    assert {name.split("/")[0].split("-")[0] for name in inside} == {"genesieve"}, "the wheel holds more than genesieve"
    about = next(name for name in inside if name.endswith(".dist-info/METADATA"))
    readme = zipfile.ZipFile(wheel).read(about).decode()
    assert "# genesieve" in readme
    assert not re.findall(r'(?:\]\(|src=")(?!http)', readme), "on PyPI, README.md would have links that lead nowhere"
    size = wheel.stat().st_size
    assert size < LARGEST, f"the wheel has {size:,} bytes, at most {LARGEST:,} were expected"
    print(f"{wheel.name}: {size / 1e3:.0f} kB, {len(inside)} files; {next(DIST.glob('*.tar.gz')).name}")


def try_out(wheel: Path, python: str, *options: str) -> None:
    """Install the wheel into an empty environment elsewhere, and use it there."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "env")
        uv("venv", "--quiet", "--python", python, str(environment))
        programs = environment / "bin"
        uv("pip", "install", "--quiet", "--python", str(programs / "python"), *options, str(wheel))
        for command in (["python", "-c", SMOKE], ["genesieve", "demo", "--quiet", "-o", "demo"]):
            subprocess.run([str(programs / command[0]), *command[1:]], cwd=folder, env=clean, check=True)
        assert Path(folder, "demo", "report.html").stat().st_size > 0


def main() -> None:
    wheel = build()
    look_into(wheel)
    here = {version: python for version in PYTHONS if (python := find(version))}
    newest = next(reversed(here), None)
    for name, version, options in ((NEWEST, newest, ()), (LOWEST, PYTHONS[0], ("--resolution", "lowest-direct"))):
        if python := here.get(version):
            print(f"{name} dependencies, Python {version}: ", end="", flush=True)
            try_out(wheel, python, *options)
            print("installs and runs", flush=True)
        else:
            print(f"{name} dependencies: not tried, as Python {version} is not on this machine")


if __name__ == "__main__":
    sys.exit(main())
