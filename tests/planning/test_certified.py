"""Plans with a proof: bounds that hold, certificates that can be proven again, honest endings."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preceptor as pr
from tests.planning.test_search import seeded
from tests.strategies import examples, problems

geometric = st.builds(pr.Geometric, st.floats(1.05, 2.0))
QUICK = {"time_limit": None, "max_iterations": 12, "width": 40}


@examples(8)
@given(
    problems(
        sizes=(2, 3),
        horizons=(None,),
        curves=geometric,
        risks=st.just(pr.SquaredError()),
        imputations=(0.0,),
    )
)
def test_dual_bounds_hold_over_infinite_horizons(problem):
    problem = problem.replace(discount=float(np.clip(problem.discount, 0.3, 0.7)))
    exact = pr.solve(problem, "lattice", caps=16)
    plan = pr.solve(problem, "certified", target_gap=0.0, **QUICK)
    slack = 1e-8 * (1 + exact.value)
    assert plan.lower_bound <= exact.value + slack
    assert exact.lower_bound <= plan.value + slack


@pytest.mark.parametrize(
    ("size", "k", "rho", "changes"),
    [
        (2, 1, 0.9, {"discount": 0.6, "horizon": 5}),
        pytest.param(2, 1, 0.9, {"discount": 0.6}, marks=pytest.mark.full),
        pytest.param(4, 2, 0.5, {"discount": 0.9}, marks=pytest.mark.full),
    ],
)
def test_a_certificate_is_proven_again_by_slow_code(size, k, rho, changes):
    problem = seeded(size, k, rho, **changes)
    plan = pr.solve(problem, "certified", **QUICK | {"max_iterations": 40})
    restored = pr.Plan.from_json(plan.to_json())
    assert restored == plan
    again = pr.verify(restored, problem)
    assert again.ok, again
    assert "every round, set and count" in again.how


def test_a_forged_certificate_is_found_out():
    problem = seeded(2, 1, 0.9, discount=0.6, horizon=5)
    plan = pr.solve(problem, "certified", **QUICK)
    certificate = plan.certificate
    forged = dataclasses.replace(
        certificate,
        round_minima=certificate.round_minima + 0.01,
        dual_bound=certificate.dual_bound + 0.1,
    )
    found_out = pr.verify(dataclasses.replace(plan, certificate=forged))
    assert not found_out.bound_ok
    assert "FAILS" in found_out.how
    lied = dataclasses.replace(plan, certificate=forged, lower_bound=1.01 * plan.value)
    assert not pr.verify(lied).bound_ok
    assert not pr.verify(dataclasses.replace(plan, value=0.99 * plan.value)).value_ok


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("finite", {"horizon": 20}),
        ("lattice", {"discount": 0.8}),
        ("truncated", {"discount": 0.9}),
        ("beam", {"discount": 0.9}),
        ("stationary", {"discount": 0.9}),
    ],
)
def test_plans_of_other_methods_are_verified_too(method, changes):
    problem = seeded(2, 1, 0.9, **changes)
    assert pr.verify(pr.solve(problem, method), problem).ok


@pytest.mark.full
def test_target_gap_ends_it_and_status_is_honest():
    problem = seeded(3, 1, 0.8, discount=0.8)
    plan = pr.solve(problem, "certified", target_gap=0.05, time_limit=60.0)
    assert plan.gap <= 0.05
    met = pr.Status.WITHIN_TARGET if plan.gap > 1e-10 else pr.Status.OPTIMAL
    assert plan.status is met
    rough = pr.solve(problem, "certified", target_gap=0.0, **QUICK)
    assert rough.status is not pr.Status.TIME_LIMIT


def test_progress_tells_value_bound_and_gap():
    seen = []
    pr.solve(seeded(4, 2, 0.8, discount=0.9), "certified", progress=seen.append, **QUICK)
    stages = {update.stage for update in seen}
    assert {"search", "dual"} <= stages
    assert any(update.gap is not None for update in seen)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"risk": pr.ResidualRisk(lambda r: np.minimum(r * r, 1.0), [-1, 1])}, "not convex"),
        ({"risk": pr.Huber(1.0), "loss": pr.Empirical(64)}, "sample"),
    ],
)
def test_without_a_dual_it_says_so_and_still_bounds(change, words):
    problem = seeded(2, 1, 0.8, discount=0.8, **change)
    plan = pr.solve(problem, "certified", time_limit=4.0)
    assert any(words in note for note in plan.notes)
    assert plan.lower_bound <= plan.value


def test_faults():
    with pytest.raises(pr.InvalidInput, match="target_gap: -1"):
        pr.solve(seeded(2, 1, 0.5), "certified", target_gap=-1)
