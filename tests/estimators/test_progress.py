from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import genesieve as gs
from genesieve.core.solvers import FINISH, PLACE, SETTLE, Progress, Stand
from genesieve.estimators import _progress
from genesieve.estimators._progress import Forecast, Pace

X = np.random.default_rng(0).random((60, 30))
ORDER = {PLACE: 0, SETTLE: 1, FINISH: 2}


class Listener:
    """A monitor that keeps what it is told."""

    def __init__(self) -> None:
        self.stands_heard: list[Stand] = []
        self.steps: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.steps.append(progress)

    def stands(self, stand: Stand) -> None:
        self.stands_heard.append(stand)


def fit(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gs.SSNMF(3, random_state=0, **{"n_genes": 10, "n_jobs": 2, **options}).fit(X)


def never_rises(objectives):
    """But for rounding, where exact steps find what quick ones have found."""
    return all(after <= (1 + 1e-12) * before for before, after in pairwise(objectives))


@pytest.mark.parametrize("columns", [None, 8], ids=["on directions first", "on X all along"])
def test_a_monitor_hears_of_objectives_on_x_before_the_first_iteration_has_ended(columns):
    heard = Listener()
    model = gs.SSNMF(2, orthogonality=0.0, gene_weights=None, callback=heard, random_state=0).fit(X[:, :columns])
    found = [stand.objective for stand in heard.stands_heard if stand.objective is not None]
    assert found
    assert min(found) >= (1 - 1e-9) * model.objective_
    assert never_rises(found)


def test_a_monitor_hears_of_objectives_while_many_programs_settle_on_x():
    heard = Listener()
    model = gs.SSNMF(18, n_genes=20, callback=heard, random_state=0).fit(X)
    found = [stand.objective for stand in heard.stands_heard if stand.stage == SETTLE and stand.objective is not None]
    assert len(found) > 1
    assert min(found) >= (1 - 1e-9) * model.objective_
    assert never_rises(found)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_genes": None},
        {"consensus": True, "n_restarts": 3},
        {"solver": "mapalm"},
        {"init": "random"},
        {"n_restarts": 2},
    ],
)
def test_a_monitor_hears_of_every_stage_in_order(options):
    heard = Listener()
    model = fit(callback=heard, **options)
    stands = heard.stands_heard
    assert all(stand.n_cells == len(X) for stand in stands)
    for before, after in pairwise(stands):
        place = [(stand.fit, ORDER[stand.stage]) for stand in (before, after)]
        assert place[0] <= place[1]
        assert place[0] != place[1] or after.done > before.done or after.objective is not None
    assert all(stand.of is None or stand.done <= stand.of for stand in stands)
    assert {stand.fit for stand in stands} == set(range(1, stands[-1].n_fits + 1))
    last = [stand for stand in stands if stand.stage == FINISH and stand.fit == stands[-1].fit]
    assert last[-1].done >= 1
    assert len(heard.steps) >= model.n_iter_


def test_who_listens_changes_nothing_and_a_plain_callback_hears_of_iterations_alone():
    steps: list[Progress] = []
    plain, watched = fit(callback=steps.append), fit(callback=Listener())
    assert [step.iteration for step in steps] == list(range(1, plain.n_iter_ + 1))
    np.testing.assert_array_equal(plain.components_, watched.components_)


# ------------------------------------------------------------------------------------------------ time left


def even_course(n_cells: int, second: float = 1.0) -> list[Stand]:
    """A fit as it is thought to go: fits of a second, then what follows by the rule, in three passes."""
    course, now = [], 0.0
    for done in range(21):
        course.append(Stand(PLACE, done, 20, n_cells, 1, 1, now))
        now += second * (done < 20)
    course.append(Stand(SETTLE, 0, None, n_cells, 1, 1, now))
    now += 20 * second * _progress.SETTLING
    each = 20 * second * n_cells / _progress.CELLS_AS_LONG_AS_PLACING / _progress.USUAL_PASSES
    course += [Stand(FINISH, done, None, n_cells, 1, 1, now + done * each) for done in range(_progress.USUAL_PASSES)]
    return course


@pytest.mark.parametrize("n_cells", [1000, 500_000])
def test_the_time_left_of_an_even_course_is_what_is_left(n_cells):
    course, forecast = even_course(n_cells), Forecast()
    each = course[-1].seconds - course[-2].seconds
    end = course[-1].seconds + each
    for stand in course:
        left = forecast.stands(stand).left
        if left is not None:
            assert left == pytest.approx(end - stand.seconds, rel=1e-6)
        else:
            assert 3 * stand.done < 20  # there is no ground for an estimate yet


def test_fits_from_other_starts_are_taken_to_be_as_long():
    course, alone, first_of_four = even_course(1000), Forecast(), Forecast()
    for stand in course:
        one, four = alone.stands(stand), first_of_four.stands(replace(stand, n_fits=4))
        if one.left is not None:
            assert four.left == pytest.approx(one.left + 3 * (one.left + stand.seconds))
            assert four.words.startswith("start 1 of 4: ")


def test_falls_that_shrink_evenly_are_counted_to_their_end():
    pace, objective, falls = Pace(), 1.0, [0.1 * 0.5**n for n in range(8)]
    for number, fall in enumerate(falls):
        pace.step(Progress(number + 1, objective, number, 2.0 * number))
        objective *= 1 - fall
    # the last fall heard of was falls[-2]; it halves until it is the last one
    expected = np.log2(falls[-2] / _progress.LAST_FALL)
    assert pace.left == pytest.approx(2.0 * expected, rel=1e-6)


def test_no_time_is_told_where_there_is_no_ground_for_it():
    pace = Pace()
    for number, objective in enumerate([3.0, 2.9, 2.7]):  # falls grow
        pace.step(Progress(number + 1, objective, number, 1.0))
    assert pace.left is None
    assert Forecast().stands(Stand(PLACE, 0, None, 10, 1, 1, 0.0)).time_left == ""


# ------------------------------------------------------------------------------------------------ the bar


def test_the_estimator_is_quiet_unless_asked(capsys):
    fit()
    assert capsys.readouterr() == ("", "")
    steps: list[Progress] = []
    loud = fit(verbose=True, callback=steps.append)
    told = capsys.readouterr().err
    assert "placing programs on a sample, fit 1 of" in told
    assert "fitting all cells" in told
    assert len(steps) == loud.n_iter_  # the callback is still called


def test_tl_shows_a_bar_on_long_work_where_someone_watches(capsys, monkeypatch):
    adata = gs.datasets.demo()
    gs.tl.ssnmf(adata, 3, 50)
    assert capsys.readouterr().err == ""  # not a terminal
    monkeypatch.setattr(_progress, "someone_watches", lambda: True)
    monkeypatch.setattr(_progress, "LONG_SECONDS", 1e9)
    gs.tl.ssnmf(adata, 3, 50)
    assert capsys.readouterr().err == ""  # not long
    monkeypatch.setattr(_progress, "LONG_SECONDS", 0.0)
    gs.tl.ssnmf(adata, 3, 50)
    assert "placing programs" in capsys.readouterr().err
    gs.tl.ssnmf(adata, 3, 50, verbose=False)
    assert capsys.readouterr().err == ""
    assert "verbose" not in adata.uns["ssnmf"]["params"]


def test_many_fits_are_counted_on_one_bar(capsys):
    adata = gs.datasets.demo()
    gs.tl.path(adata, 3, [20, 40])
    assert capsys.readouterr().err == ""  # not a terminal
    gs.tl.path(adata, 3, [20, 40], verbose=True)
    told = capsys.readouterr().err
    assert "fitting with 40 genes (1 of 2)" in told
    assert "fitting with 20 genes (2 of 2)" in told
    adata.obs["donor"] = np.arange(adata.n_obs) % 2
    gs.tl.metaprograms(adata, "donor", (3, 4), 60, n_jobs=1, verbose=True)
    told = capsys.readouterr().err
    assert "fitting sample 0, 3 programs (1 of 4)" in told
    assert "fitting sample 1, 4 programs (4 of 4)" in told


def test_a_fit_that_fails_closes_its_bar():
    def fail(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fit(verbose=True, callback=fail)
