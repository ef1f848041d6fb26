"""The scan accepts what a dual proves and refuses what was tampered with."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.certificate import Certificate
from preceptor.planning.dual import DualBound, conduct
from preceptor.planning.dual_instances import to_counts
from preceptor.planning.error_dual import ErrorDual
from preceptor.proofs.dual import Potentials, least_sums, prove
from preceptor.proofs.losses import ReferenceLosses
from tests.planning.exact import (
    certificate_of,
    enclosure,
    factor_members,
    make_instance,
    proven_again,
    solve_all,
    solved,
)


@pytest.mark.parametrize("sizes", [(0, 1, 2), (2,)])
@pytest.mark.parametrize("horizon", [None, 4])
def test_it_accepts_what_the_dual_proves(sizes, horizon):
    instance, _, bound, _ = solved(0, 3, sizes, length=5, horizon=horizon)
    proof, holds = proven_again(instance, bound)
    assert holds
    assert proof.rounds == (horizon or 6)
    # Counts are whole numbers, which the dual does not use, so a little more may be proven.
    assert proof.value >= bound.value * (1 - 1e-9)


def test_it_accepts_errors_that_are_gone():
    instance, _, bound, _ = solved(1, 2, (0, 1), alpha=50.0, length=25)
    assert proven_again(instance, bound)[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("alpha", [1.1, 2.0])
def test_fast_learners_with_many_rounds_to_come_are_accepted(alpha):
    """Their last round, which repeats, once was minimised so badly that the check failed."""
    instance = make_instance(
        np.array([0.637, 0.270]), np.array([0.041, 0.017]), np.array([[1.0, 0.8], [0.8, 1.0]]),
        factor_members(2, (0, 1)), alpha=alpha, discount=0.97,
    )  # fmt: skip
    _, bound, _ = solve_all(instance, length=120, iterations=25)
    assert proven_again(instance, bound)[1]


def theta_of(bound, change):
    """The same potentials with something done to them."""
    theta = bound.theta.copy()
    change(theta)
    return {"theta": theta}


@pytest.mark.parametrize(
    "tamper",
    [
        lambda b: {"minima": b.minima + 1e-6},
        lambda b: {"constants": b.constants + 0.05},
        lambda b: theta_of(b, lambda theta: theta[:, :, 1].__iadd__(0.1)),
        lambda b: theta_of(b, lambda theta: theta[:, :, 0].__imul__(1.1)),
        lambda b: theta_of(b, lambda theta: theta[:, :, 2].__imul__(-1.0)),
        lambda b: theta_of(b, lambda theta: theta.fill(np.nan)),
        lambda b: {"theta": b.theta[:-1]},
        lambda b: {"caps": b.caps[:-1]},
        lambda b: {"minima": np.append(b.minima[:-1], np.nan)},
    ],
    ids=["minima", "value", "errors", "counts", "squares", "nan", "shape", "caps", "nan minimum"],
)
def test_it_refuses_tampering(tamper):
    instance, _, bound, _ = solved(0, 3, (2,), length=10)
    assert not proven_again(instance, dataclasses.replace(bound, **tamper(bound)))[1]


def consistent(instance, theta):
    """A bound that claims of every round exactly what the scan itself finds there."""
    T, infinite = len(theta) - 1, instance.horizon is None
    caps = np.full(instance.n_features, T)
    nothing = np.zeros(T + 1), np.zeros(T + infinite)
    bound = DualBound(instance.counted(T), theta, caps, *nothing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Potentials, "faults", lambda self: "")
        proof, _ = proven_again(instance, bound)
    return dataclasses.replace(bound, constants=proof.constants, minima=proof.minima)


@pytest.mark.parametrize("how", ["paid after the end", "too many rounds", "too few"])
def test_rounds_that_hold_do_not_make_a_bound_if_the_end_does_not(how):
    sigma = np.array([[1.0, 0.3], [0.3, 1.0]])
    instance = make_instance(
        np.array([0.5, 0.3]), np.array([-0.2, 0.4]), sigma, factor_members(2, (1,)), alpha=1.3,
        discount=0.9, horizon=3,
    )  # fmt: skip
    T = {"paid after the end": 3, "too many rounds": 6, "too few": 2}[how]
    theta = np.zeros((T + 1, 2, 3))
    if "paid" in how:
        theta[T, :, 0] = 500.0
    false = consistent(instance, theta)
    if how != "too few":
        assert false.value > 1.1 * enclosure(instance, 40)[1]  # the claim is false indeed
    assert not proven_again(instance, false)[1]


def small_problem(**changes):
    world = pr.World.equicorrelated([1.0, 0.8, -0.5], 0.4)
    learner = pr.Learner([0.2, 1.3, 0.1], pr.PowerLaw(0.75), 0.3)
    given = {"discount": 0.8, "start": [1, 0, 2]} | changes
    return pr.Problem(world, learner, pr.AtMost(2, price=0.01), **given)


def hand_made(problem, rounds, seed=0):
    """Potentials from dice: valid whatever they are."""
    theta = np.random.default_rng(seed).normal(0.0, 0.3, (rounds + 1, 3, 3))
    if problem.horizon is not None:
        theta[-1] = 0.0
    minima = np.zeros(rounds + (problem.horizon is None))
    return Certificate(theta, np.array([rounds, 4, rounds]), minima, 0.0)


@pytest.mark.few(2)
@pytest.mark.parametrize("horizon", [None, 5])
@pytest.mark.parametrize("risk", [pr.SquaredError(), pr.AbsoluteError(), pr.Huber(0.5)])
def test_any_potentials_prove_no_more_than_the_optimum(horizon, risk):
    problem = small_problem(horizon=horizon, risk=risk)
    optimum = pr.solve(problem, "finite" if horizon else "lattice").value
    losses = ReferenceLosses.of(problem)
    for seed in range(3):
        potentials = Potentials(losses, hand_made(problem, horizon or 7, seed))
        assert not potentials.faults()
        for claimed in (-np.inf, np.inf):
            minima = np.full(potentials.certificate.round_minima.shape, claimed)
            assert prove(potentials, losses, minima).value <= optimum * (1 + 1e-12)


def test_a_round_is_bounded_by_what_it_costs_in_every_state():
    """h of a set never exceeds the bracket of any counts, wherever the plane touches."""
    problem = small_problem(risk=pr.Huber(0.4))
    losses = ReferenceLosses.of(problem)
    potentials = Potentials(losses, hand_made(problem, 7))
    rng, t, row = np.random.default_rng(1), 4, 5
    h = least_sums(losses, potentials.points(t), np.array([row]), rng.normal(0, 1, (1, 2)))[0]
    table, tests = losses.errors_after(range(t + 1)), np.arange(3)
    for counts in np.ndindex(t + 1, t + 1, t + 1):
        m = np.array(counts)
        cost = losses.losses(row, table[tests, m][None, :])[0]
        now = potentials.at(t, m[:, None]).sum()
        later = potentials.at(t + 1, (m + losses.member_of[row])[:, None]).sum()
        assert h <= cost + 0.8 * later - now + 1e-12


def test_a_certificate_remembers_all_that_the_check_needs():
    world = pr.World.equicorrelated([1.0, 0.8, -0.5], 0.4)
    learner = pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.3))
    problem = pr.Problem(world, learner, pr.AtMost(2, price=0.01), 0.9, start=[1, 0, 2])
    dual = ErrorDual(to_counts(problem, over_errors=True), np.arange(1, 4))
    bound = conduct(dual, max_iterations=60)
    certificate = certificate_of(bound).with_beam(40, 7, bound.value)
    restored = Certificate.from_dict(certificate.to_dict())
    assert restored == certificate
    losses = ReferenceLosses.of(problem)
    potentials = Potentials(losses, restored)
    assert not potentials.faults()
    proof = prove(potentials, losses, restored.round_minima - 1e-10)
    assert_allclose(np.minimum(proof.minima, bound.minima), bound.minima, rtol=1e-8)
