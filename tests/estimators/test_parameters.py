"""The table of parameters: it holds what the signature and the core hold, and the rest follows from it."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

import genesieve as gs
from genesieve.core import choices, solvers, starts
from genesieve.estimators import _parameters
from genesieve.estimators._parameters import DECIDING, OF_METHOD, OPTIONS, PARAMETERS, RECORDED, Whole, Words
from genesieve.interpret.labels import RULES
from genesieve.io import RequestError
from genesieve.workflow import Settings


def test_the_table_has_the_parameters_of_the_signature_in_their_order():
    assert list(PARAMETERS) == list(gs.SSNMF.__init__.__annotations__)[:-1]
    assert set(PARAMETERS) == set(gs.SSNMF().get_params())


def test_every_parameter_is_documented():
    text = inspect.getdoc(gs.SSNMF) or ""  # without the indentation, which Python 3.13 takes away by itself
    for name in PARAMETERS:
        assert f"\n{name}\n" in text


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("solver", solvers.SOLVERS),
        ("sparsity", choices.SPARSITIES),
        ("init", starts.STARTS),
        ("labels", RULES),
    ],
)
def test_words_are_those_that_the_core_knows(name, known):
    kind = PARAMETERS[name].kind
    assert isinstance(kind, Words)
    assert kind.words == tuple(known)


def test_defaults_pass_their_own_checks():
    _parameters.check_parameters(gs.SSNMF())
    _parameters.check_parameters(gs.SSNMF(), (10, 10))


def test_what_has_no_say_in_a_fit_is_neither_recorded_nor_compared():
    for name in ("n_jobs", "memory", "callback", "checkpoint"):
        assert name not in {*RECORDED, *DECIDING}
    assert {"labels", "gauge"} <= set(RECORDED) - set(DECIDING)
    assert set(OF_METHOD) == {"sparsity", "orthogonality", "init", "solver", "gauge", "baseline"}


def test_limits_come_with_the_shape():
    Whole(up_to="the genes given").check("n_genes", 9, None)
    with pytest.raises(ValueError, match=r"n_genes must be between 1 and 5 \(the genes given\), got 9"):
        Whole(up_to="the genes given").check("n_genes", 9, (8, 5))


def test_every_option_is_a_setting():
    names = {item.name for item in dataclasses.fields(Settings)}
    assert {option.name for option in OPTIONS.values()} <= names


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"restarts": 0}, "restarts must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"genes": "many"}, "genes must be a whole number or 'auto', got 'many'"),
        ({"solver": "sgd"}, "solver must be 'bcd' or 'mapalm' or 'palm', got 'sgd'"),
    ],
)
def test_settings_are_checked_by_the_table_under_their_own_names(settings, says):
    with pytest.raises(RequestError, match=says):
        Settings(**{"rank": 2, "genes": 9, **settings}).estimator()


def test_a_method_sets_what_the_paper_sets():
    model = Settings(rank=3, genes=9, method="onmf_l20", gene_weights="none").estimator()
    expected = gs.METHODS["onmf_l20"](3, n_genes=9, gene_weights=None, random_state=0)
    assert model.get_params() == expected.get_params()
