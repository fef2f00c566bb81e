from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings

from genesieve.core.solvers import Factors
from material import SYNTHETIC, SYNTHETIC_NMI, read_data_set

# Compiling a kernel on first use would trip hypothesis's deadline.
settings.register_profile("genesieve", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("genesieve")


@dataclass(frozen=True)
class Reference:
    """The paper's synthetic data, its ten starts, and the published results, tall."""

    X: np.ndarray  # (cells, genes)
    labels: np.ndarray
    starts: list[Factors]
    results: dict[str, Factors]
    nmi: dict[str, list[float]]  # arithmetic mean, of each start
    arrays: dict[str, np.ndarray]


@pytest.fixture(autouse=True)
def _close_figures():
    """No test meets a figure that another left open, whichever of them a worker runs first."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def reference() -> Reference:
    arrays = dict(np.load(SYNTHETIC))
    scores = json.loads(SYNTHETIC_NMI.read_text())
    names = [key.removesuffix("__W") for key in arrays if key.endswith("__W")]
    return Reference(
        X=np.ascontiguousarray(arrays["X"].T),
        labels=arrays["labels"],
        starts=[Factors(np.ascontiguousarray(H.T), W) for W, H in zip(arrays["W0"], arrays["H0"], strict=True)],
        results={name: Factors(arrays[f"{name}__H"].T, arrays[f"{name}__W"]) for name in names},
        nmi=scores["nmi_arithmetic_per_start"],
        arrays=arrays,
    )


@pytest.fixture(scope="session")
def pollen() -> tuple[np.ndarray, np.ndarray]:
    """Pollen as the paper prepared it, log2(x + 1) of genes seen in 30% of cells, and its four classes."""
    adata = read_data_set("pollen")
    X = np.log2(adata.X.toarray().astype(np.float64) + 1)
    return np.ascontiguousarray(X[:, (X > 0).mean(axis=0) >= 0.3]), adata.obs["group"].to_numpy()


# ------------------------------------------------------------------------------------------------- order of the tests


# Files that take longest, which workers that share the tests begin with: one of them at the end would find the other
# workers idle. What pytest --durations says, now and then.
LONGEST = (
    "cli/test_cli.py", "cells/test_remote.py", "workflow/test_large_runs.py", "cells/test_sources.py",
    "estimators/test_checkpoint.py", "workflow/test_workflow.py", "test_damaged_files.py", "test_docs.py",
    "report/test_report.py", "cells/test_outside_memory.py", "selection/test_selection.py", "test_load.py",
    "paper/test_paper.py", "fuzz/test_fits.py",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist would begin with files of many tests, however short
        config.option.loadscopereorder = False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the files, and the tests in each, in random order"
    )


@pytest.hookimpl(tryfirst=True)  # pytest then brings together those that share a costly fixture
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.shuffle is None:
        items.sort(key=_place_among_longest)
        return
    draw = random.Random(config.option.shuffle)
    files = sorted({item.path for item in items})
    place = dict(zip(files, draw.sample(range(len(files)), len(files)), strict=True))
    draw.shuffle(items)
    items.sort(key=lambda item: place[item.path])


def _place_among_longest(item: pytest.Item) -> int:
    path = item.path.as_posix()
    return next((place for place, name in enumerate(LONGEST) if path.endswith(name)), len(LONGEST))


# ------------------------------------------------------------------------------------- what was skipped, and what helps

# What the reason of a skip says, and what would let those tests run.
ENABLED_BY = {
    "not beside the project": "the large data sets and the paper's text, in ../shared beside the project",
    "Chromium|playwright": "Chromium (Debian: apt install chromium), which opens the report",
    "cnmf": "cNMF, in a Python that GENESIEVE_CNMF_PYTHON names",
    "Rscript|RcppML": "R with RcppML (Debian: r-cran-rcppml)",
    "SCIPY_ARRAY_API": "SCIPY_ARRAY_API=1 in the environment, for scikit-learn's check of other array libraries",
    "GENESIEVE_LOAD": "GENESIEVE_LOAD=full in the environment (make load), for many runs and processes at a time",
    "gseapy": "gseapy (pip install gseapy)",
    "Dask|dask|distributed|xarray": "Dask (pip install 'genesieve[dask]')",
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = Counter(_enabled_by(report) for report in terminalreporter.stats.get("skipped", []))
    if skipped:
        terminalreporter.section(f"{skipped.total()} skipped, and what would let them run")
        for what, count in skipped.most_common():
            terminalreporter.write_line(f"{count:4d}  {what}")


def _enabled_by(report: pytest.TestReport) -> str:
    reason = (
        report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
    )
    return next((what for pattern, what in ENABLED_BY.items() if re.search(pattern, reason)), reason)
