from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the suite is run from a checkout, it is not installed

from benchmarks.harness.goals import Goal, needed  # noqa: E402
from benchmarks.harness.job import Job, measured  # noqa: E402
from benchmarks.harness.peers import Missing, packages  # noqa: E402
from benchmarks.harness.report import filled  # noqa: E402
from benchmarks.harness.results import Results, write  # noqa: E402

PAGE = "# Page\n\n<!-- measured: goals -->\nold\n<!-- end -->\n\nBy hand.\n"


def test_only_marked_places_are_written():
    page = filled(PAGE, {"goals": "new\n"})
    assert page == "# Page\n\n<!-- measured: goals -->\n\nnew\n\n<!-- end -->\n\nBy hand.\n"
    assert filled(page, {"goals": "new"}) == page
    assert "Not measured." in filled(page, {"goals": ""})


def test_a_place_that_the_page_lacks_is_an_error():
    with pytest.raises(ValueError, match="must have places for goals, growth, got goals"):
        filled(PAGE, {"goals": "", "growth": ""})


def test_a_record_of_other_parameters_is_not_taken_for_the_same(tmp_path):
    job = Job("set/peer", {"quick": True})
    assert not job.finished(tmp_path)
    write(tmp_path, measured(job, lambda quick: {"value": 1}))
    assert job.finished(tmp_path)
    assert not Job("set/peer", {"quick": False}).finished(tmp_path)
    assert Results.read(tmp_path).get("set/peer")[0]["value"] == 1


def test_what_is_missing_is_skipped_with_its_reason(tmp_path):
    record = measured(Job("set/peer", {}), packages("no-such-package"))
    assert record["skipped"] == "no-such-package is not installed"
    write(tmp_path, record)
    with pytest.raises(Missing, match="set/peer: no-such-package is not installed; set/other: not run"):
        Results.read(tmp_path).get("set/peer", "set/other")


def test_a_goal_without_a_measurement_says_so():
    row = Goal("fast", lambda results: needed(results)).row(None)
    assert (row.measured, row.verdict) == ("not measured", "-")


def test_the_index_names_every_suite():
    done = subprocess.run([sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(f"benchmarks.{name} " in done.stdout for name in ("speed", "quality", "scale"))
