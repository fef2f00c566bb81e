"""A few cases of every subject, as `python -m tests.fuzz` tries many; and that it finds what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from . import campaign, figures
from .campaign import FaultError
from .subjects import SHARES, SUBJECTS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")

ROOT = Path(__file__).parents[2]
CASES = {
    "kmeans": 16,
    "texts": 90,
    "records": 30,
    "arguments": 6,
    "files": 24,
    "crafted": 40,
    "results": 15,
    "large": 4,
    "outside": 12,
    "analyses": 10,
}


@pytest.mark.slow
def test_a_few_cases_of_every_subject_end_as_promised(tmp_path):
    program = "import sys; from tests.fuzz.__main__ import tried; sys.exit(tried(json.loads(sys.argv[1])))"
    command = [sys.executable, "-c", f"import json; {program}", json.dumps(CASES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["fault"] for line in told if "fault" in line] == []
    assert done.returncode == 0, done.stderr
    assert {line["subject"]: line["cases"] for line in told} == CASES
    assert all(len(line["ends"]) > 1 for line in told if line["cases"] > 10)  # not all of them are refused


def test_every_subject_has_a_share():
    assert set(SHARES) == set(SUBJECTS)


def break_promises(seed: int, folder: Path) -> str:
    if seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == 4:
        while True:
            pass
    if seed == 5:
        raise FaultError("wrong")
    if seed == 6:
        raise ZeroDivisionError
    return "well"


def verdicts(subject, count: int, folder: Path) -> dict[int, tuple[str | None, str | None]]:
    cases = [("one", seed) for seed in range(count)]
    return {seed: verdict for (_, seed), verdict in campaign.campaign({"one": subject}, cases, folder)}


def test_crashes_loops_and_faults_are_told_and_the_rest_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "SECONDS", 0.2)
    wrong = {
        2: f"the process died: {-signal.SIGKILL}",
        4: "it never came back",
        5: "wrong",
        6: "ZeroDivisionError: ",
    }
    expected = {seed: (None, wrong[seed]) if seed in wrong else ("well", None) for seed in range(8)}
    assert verdicts(break_promises, 8, tmp_path) == expected


def test_silence_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "PATIENCE", 0.5)
    found = verdicts(lambda seed, folder: signal.pause() if seed == 1 else "well", 3, tmp_path)
    assert found == {0: ("well", None), 1: (None, "it never came back"), 2: ("well", None)}


def test_figures_are_those_of_the_logs(tmp_path):
    lines = [
        {"subject": "fits", "seed": 3, "fault": "wrong"},
        {"subject": "fits", "first": 0, "cases": 5, "faults": 5, "ends": {}},
        {"subject": "fits", "first": 0, "cases": 10, "faults": 1, "ends": {"fitted": 7, "refused": 2}},  # tried again
        {"subject": "fits", "first": 50, "cases": 1000, "faults": 0, "ends": {"fitted": 900, "refused": 100}},
        {"subject": "files", "first": 0, "cases": 4, "faults": 0, "ends": {"gmt: differs": 1, "h5ad: refused": 3}},
        *({"subject": "texts", "first": seed, "cases": 5, "faults": 0, "ends": {}} for seed in (0, 10, 20)),
        {"subject": "kills", "first": 7, "cases": 2, "faults": 0, "ends": {"killed, nothing": 2}},
    ]
    (tmp_path / "log").write_text("\n".join(map(json.dumps, lines)))
    text = figures.figures(figures.read([tmp_path / "log"]))
    assert "| fits | 0 to 9, 50 to 1,049 | 1,010 | 1 | 102 refused, 907 not |" in text
    assert "| texts | 0 to 24, in 3 stretches | 15 | 0 |" in text
    assert "| **in all** | | **1,029** | **1** | |" in text
    assert "4 cut, wiped or flipped and 0 changed part by part. 1 gave other values" in text
    assert "| killed, nothing | 2 |" in text
    page = f"a\n{figures.BEGIN}\nold\n{figures.END}\nb\n"
    assert figures.put(text, page) == f"a\n{figures.BEGIN}\n\n{text}\n\n{figures.END}\nb\n"
    assert figures.BEGIN in figures.PAGE.read_text(encoding="utf-8")
