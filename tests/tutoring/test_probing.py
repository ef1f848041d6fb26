"""Information about the kind, and probes."""

from __future__ import annotations

import numpy as np
import pytest

import preceptor as pr
from preceptor.tutoring.bank import Bank
from preceptor.tutoring.lookout import Basis, first_bank
from preceptor.tutoring.probing import information


def _problem() -> pr.Problem:
    """Kinds that differ at once in test 0, later in test 1, and never in test 2."""
    world = pr.World([1.0, 1.0, 0.3], np.eye(3), 0.1)
    crowd = pr.Crowd(
        {
            "a": pr.NoLearning([0.5, 0.0, 0.3]),
            "b": pr.Learner([0.0, 0.0, 0.3], pr.Geometric(1.5)),
        }
    )
    return pr.Problem(world, crowd, 1, horizon=30)


def _begun(problem: pr.Problem) -> tuple[Bank, Basis]:
    return first_bank(problem, 0.0, 0.0, False), Basis(tuple(problem.sets), problem.sets, ())


def test_kinds_that_answer_alike_tell_nothing() -> None:
    problem = _problem()
    bank, basis = _begun(problem)
    where = {shown: i for i, shown in enumerate(basis.sets)}
    begins = [np.full(4, where[(test,)]) for test in range(3)]
    told = information(bank, (0, 1), np.array([0.5, 0.5]), basis, begins)
    assert min(told[0], told[1]) > 0.01
    assert told[2] == pytest.approx(0.0, abs=1e-12)


def test_one_answer_tells_what_the_closed_form_says() -> None:
    problem = _problem()
    bank, basis = _begun(problem)
    position = list(basis.sets).index((0,))
    told = information(bank, (0, 1), np.array([0.5, 0.5]), basis, [np.array([position])])[0]
    scatter = np.exp(bank.scatter @ np.log(bank.scatters))
    assert told == pytest.approx(0.5 * np.log1p(0.25**2 / scatter))


def test_probing_begins_with_what_tells() -> None:
    """Two kinds who want different things, and a cheap test on which they differ."""
    world = pr.World.equicorrelated([1.0, 0.9, 0.05], 0.8, 0.01)
    crowd = pr.Crowd(
        {
            "by showings": pr.Learner([1.6, -0.6, 0.05], pr.Geometric(1.1)),
            "by outcomes": pr.DeltaRule([1.6, -0.6, 0.05], 0.1),
        }
    )
    problem = pr.Problem(world, crowd, 1, horizon=100)
    plain, probing = pr.Tutor(problem), pr.Tutor(problem, probing=True)
    said = probing.recommendation()
    if said.probe:
        assert "will help to tell" in said.reason
        assert said.shown != plain.next() or probing.outlook.probes
    assert not plain.recommendation().probe
