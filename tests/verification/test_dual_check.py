"""The independent check accepts what holds and rejects what was tampered with."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.certificate import SMALLEST_ERROR, Certificate
from preceptor.engine._subproblem_kernels import SMALLEST
from preceptor.engine.dual import DualBound
from preceptor.engine.instance import factor_members, make_instance
from preceptor.planning.certified import certificate_of
from preceptor.planning.reduction import to_instance
from preceptor.verification import dual_check
from preceptor.verification.claim import claim_of, terms_of
from preceptor.verification.dual_check import check_bound
from tests.engine.exact import enclosure, solve_all, solved


@pytest.mark.parametrize("sizes", [(0, 1, 2), (2,)])
@pytest.mark.parametrize("horizon", [None, 4])
def test_it_accepts_what_the_dual_proves(sizes, horizon):
    _, _, bound, _ = solved(0, 3, sizes, length=5, horizon=horizon)
    report = check_bound(bound)
    assert report.ok, report
    assert_allclose(report.value, bound.value, rtol=1e-9)
    assert report.rounds_checked == (horizon or 6)


def test_it_accepts_boxes_that_end():
    _, _, bound, _ = solved(1, 2, (0, 1), alpha=1e4, length=12)
    assert check_bound(bound, rounds=[0, 6, 7, 8, 12]).ok


@pytest.mark.parametrize(
    "tamper",
    [
        lambda b: {"round_minima": b.round_minima + 1e-3},
        lambda b: {"constants": b.constants + 1e-3},
        lambda b: {"value": b.value * 1.001},
        lambda b: {"r": b.r + 0.1},
        lambda b: {"kappa": 1.1 * b.kappa},
        lambda b: {"N": -b.N},
        lambda b: {"kappa": b.kappa[:-1]},
        lambda b: {"r": np.full_like(b.r, np.nan)},
        lambda b: {"round_minima": np.append(b.round_minima[:-1], np.nan)},
    ],
    ids=["minima", "constants", "value", "r", "kappa", "N", "shape", "nan", "nan minimum"],
)
def test_it_rejects_tampering(tamper):
    _, _, bound, _ = solved(0, 3, (2,), length=10)
    tampered = dataclasses.replace(bound, **tamper(bound))
    assert not check_bound(tampered, rounds=[0, 4]).ok


def consistent(instance, kappa, r, N):
    """A bound that claims of every round exactly what the check itself finds there."""
    T, infinite = len(kappa) - 1, instance.horizon is None
    bound = DualBound(
        instance, kappa, r, N, np.zeros(T + 1), np.zeros(T + infinite), None, 0.0, "converged",
        0, 0.0, 0,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual_check, "_ends_as_it_must", lambda *_: True)
        g = np.array([-check_bound(bound, rounds=[t]).worst for t in range(T + infinite)])
    C = np.zeros(T + 1)
    if infinite:
        C[T] = g[T] / (1 - instance.discount)
    for t in range(T - 1, -1, -1):
        C[t] = g[t] + instance.discount * C[t + 1]
    value = float(r[0].sum() - N[0].sum() + C[0])
    return dataclasses.replace(bound, constants=C, round_minima=g, value=value)


def pair(horizon):
    sigma = np.array([[1.0, 0.3], [0.3, 1.0]])
    return make_instance(
        np.array([0.5, 0.3]), np.array([-0.2, 0.4]), sigma, factor_members(2, (1,)), alpha=1.3,
        discount=0.9, horizon=horizon,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["paid after the end", "too many rounds", "a tail that overpays"])
def test_rounds_that_hold_do_not_make_a_bound_if_the_end_does_not(how):
    instance = pair(None if "tail" in how else 3)
    T = {"paid after the end": 3, "too many rounds": 6, "a tail that overpays": 2}[how]
    kappa, r, N = np.zeros((T + 1, 2)), np.zeros((T + 1, 2)), np.zeros((T + 1, 2))
    if "paid" in how:
        r[T] = 5.0
    if "tail" in how:
        kappa[:] = -5.0 * 0.9 ** np.arange(T, -1, -1)[:, None]
    false = consistent(instance, kappa, r, N)
    assert false.value > 1.2 * enclosure(instance, 40)[1]  # the claim is false indeed
    assert not check_bound(false).ok


def test_a_certificate_remembers_all_that_the_check_needs():
    world = pr.World.equicorrelated([1.0, 0.8, -0.5], 0.4)
    learner = pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.3))
    problem = pr.Problem(world, learner, pr.AtMost(2, price=0.01), 0.9, start=[1, 0, 2])
    _, bound, _ = solve_all(to_instance(problem), length=10)
    certificate = certificate_of(bound).with_beam(40, 7, bound.value)
    restored = Certificate.from_dict(certificate.to_dict())
    assert restored == certificate
    assert check_bound(claim_of(restored, problem), rounds=[0, 3, 10]).ok


def test_the_checker_makes_the_same_arrays_by_other_means():
    world = pr.World([1.0, 0.8, -0.5], [[1.0, 0.6, 0.1], [0.6, 2.0, -0.4], [0.1, -0.4, 1.0]])
    learner = pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.3))
    for budget in (pr.AtMost(2, price=[0.1, 0.0, 0.2]), pr.Exactly(2)):
        problem = pr.Problem(world, learner, budget, 0.9, start=[1, 0, 2], horizon=7)
        ours, theirs = terms_of(problem), to_instance(problem)
        assert np.allclose(ours.set_cost, theirs.set_cost)
        assert np.allclose(ours.alpha, theirs.alpha)
        assert np.allclose(ours.initial_error, theirs.initial_error)
        assert ours.empty_set == theirs.empty_set
        for t in (0, 3, 7):
            assert np.isclose(ours.rounds_value(t), theirs.rounds_value(t))
        for mine, other in zip(ours.factor, theirs.factor, strict=True):
            assert np.allclose(mine.T @ mine, other.T @ other)


def test_tiny_errors_are_read_alike_by_engine_and_checker():
    assert SMALLEST == SMALLEST_ERROR


def test_a_certificate_that_proves_nothing_is_refused_even_if_another_bound_would_do():
    world = pr.World.equicorrelated([1.0, 0.8, -0.5], 0.4)
    problem = pr.Problem(world, pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.3)), 2, 0.9, horizon=6)
    plan = pr.solve(problem, "certified", time_limit=None, max_iterations=3, width=8)
    assert plan.certificate is not None
    assert pr.verify(plan).ok
    claimed = replace(plan.certificate, dual_bound=2.0 * plan.certificate.dual_bound)
    modest = replace(plan, certificate=claimed, lower_bound=0.0)
    found = pr.verify(modest)
    assert "FAILS" in found.how
    assert not found.bound_ok
