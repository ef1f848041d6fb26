"""Bounds by potentials of the counts: never above the exact optimum, whatever the problem."""

import dataclasses

import numpy as np
import pytest

import preceptor as pr
from preceptor.planning import certified, certified_counts
from preceptor.planning.counting import why_not_counted
from tests.planning.random_problems import random_problem

QUICK = {"time_limit": None, "max_iterations": 6, "width": 20, "target_gap": 0.0}


@pytest.fixture(autouse=True)
def _no_way_around(monkeypatch):
    """Small problems are solved exactly otherwise, and the potentials never asked."""
    monkeypatch.setattr(certified_counts, "sweep_if_small", lambda work: None)
    monkeypatch.setattr(certified, "shape_of", _never_geometric)


def _never_geometric(problem):
    shape = certified_shape(problem)
    return dataclasses.replace(shape, why_not_geometric=shape.why_not_geometric or "not asked")


certified_shape = certified.shape_of


def check(seed: int) -> float:
    """Lower bound <= optimum <= value; how far the bound is below, as a share."""
    problem = random_problem(seed)
    assert why_not_counted(problem) == ""
    method = "lattice" if problem.horizon is None else "finite"
    # a risk of one's own is integrated state by state
    caps = 15 if problem.risk.code < 0 else 40
    options = {"caps": caps} if problem.horizon is None else {}
    exact = pr.solve(problem, method, **options)
    plan = pr.solve(problem, "certified", **QUICK)
    slack = 1e-9 * (1.0 + exact.value)
    assert plan.lower_bound <= exact.value + slack, seed
    if plan.certificate is not None:  # None: an instant bound was enough
        assert plan.certificate.value <= exact.value + slack, seed
    assert exact.lower_bound <= plan.value + slack, seed
    return (exact.value - plan.lower_bound) / exact.value


@pytest.mark.parametrize("part", range(4))
def test_bounds_hold_on_random_problems(part):
    for seed in range(6 * part, 6 * part + 6):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(24))
def test_bounds_hold_on_a_thousand_random_problems(part):
    gaps = [check(seed) for seed in range(50 * part, 50 * part + 50)]
    assert np.median(gaps) < 1e-6
