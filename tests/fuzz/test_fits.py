"""Some random fits, and the judge of them on spoiled results; `make fuzz` tries many fits and much else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import genesieve as gs

from .drawing import Case, draw, make_values
from .judging import dense, faults_of, judge

CASES, CHUNK = 80, 40  # in all, and of one test
REPEATED = 16  # one case in so many is fitted twice


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_every_fit_is_feasible_or_refused_in_one_line(first):
    found = {}
    for seed in range(first, first + CHUNK):
        case = draw(seed)
        faults = judge(case, twice=seed % REPEATED == 0)
        if faults:
            found[str(case)] = faults
    assert found == {}


# ------------------------------------------------------------------------------------------------ the judge itself


@pytest.fixture
def fitted():
    X = make_values("planted", 30, 20, np.random.default_rng(0))
    case = Case(0, X, {"n_components": 3, "n_genes": 8, "orthogonality": 0.0, "random_state": 0}, "planted", "array", 0)
    model = gs.SSNMF(**case.options)
    return case, model, model.fit_transform(case.X)


def test_a_good_fit_has_no_faults(fitted):
    case, model, H = fitted
    assert faults_of(case, model, dense(case.X), H.astype(float)) == []


@pytest.mark.parametrize(
    ("said", "spoil"),
    [
        ("not finite", lambda model, H: H.__setitem__((0, 0), np.nan)),
        ("negative", lambda model, H: H.__setitem__((0, 0), -1.0)),
        ("in use", lambda model, H: setattr(model, "n_genes", 0)),
        ("lengths", lambda model, H: setattr(model, "components_", 2 * model.components_)),
        ("no label", lambda model, H: setattr(model, "labels_", model.labels_ - 100)),
        ("squared residual", lambda model, H: np.multiply(H, 1.5, out=H)),
        ("the objective is", lambda model, H: setattr(model, "objective_", 1.01 * model.objective_)),
        ("transform", lambda model, H: setattr(model, "transform", lambda X: 0 * H)),
        ("explain", lambda model, H: setattr(model, "explained_", -1e29)),
        ("rose", lambda model, H: model.history_.update(objective=np.array([1.0, 1e9]))),
    ],
)
def test_the_judge_finds_what_is_wrong(fitted, said, spoil):
    case, model, H = fitted
    H = H.astype(float)
    spoil(model, H)
    assert any(said in fault for fault in faults_of(case, model, dense(case.X), H))


def test_the_judge_tells_errors_that_are_no_clear_line(fitted):
    case, _, _ = fitted
    assert judge(replace(case, options={**case.options, "n_components": -1})) == []
    assert judge(replace(case, options={**case.options, "callback": lambda progress: 1 / 0})) != []
