"""Bounds by potentials of the counts: never above the exact optimum, whatever the problem."""

import dataclasses

import numpy as np
import pytest

import preceptor as pr
from preceptor.model.certificate import Certificate
from preceptor.planning import certified, count_dual
from preceptor.planning.certified import Proof
from preceptor.planning.dual import conduct
from preceptor.planning.dual_instances import to_counts, why_not_counted
from preceptor.proofs.losses import ReferenceLosses
from tests.planning.random_problems import log_cosh, random_problem

QUICK = {"time_limit": None, "max_iterations": 6, "width": 20, "target_gap": 0.0}


@pytest.fixture(autouse=True)
def _no_way_around(monkeypatch):
    """Small problems are solved exactly otherwise, and the potentials never asked."""
    monkeypatch.setattr(certified, "sweep_if_small", lambda work: None)
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
        assert plan.certificate.dual_bound <= exact.value + slack, seed
    assert exact.lower_bound <= plan.value + slack, seed
    return (exact.value - plan.lower_bound) / exact.value


def real(size: int = 4, **changes) -> pr.Problem:
    """Somebody as they are found: a floor, and correlations known by halves."""
    rng = np.random.default_rng(3)
    world = pr.World.equicorrelated(rng.uniform(0, 1, size), 0.6)
    learner = pr.Learner(rng.uniform(0, 1, size), pr.Geometric(1.3, floor=0.05), 0.3)
    return pr.Problem(world, learner, 2, discount=0.9).replace(**changes)


@pytest.fixture(scope="module")
def proven():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certified, "sweep_if_small", lambda work: None)
        return pr.solve(real(), "certified", **QUICK | {"max_iterations": 30, "width": 200})


def test_the_gap_is_small_and_the_certificate_goes_through_a_file(proven):
    exact = pr.solve(real(), "lattice")
    assert proven.lower_bound <= exact.value * (1 + 1e-9)
    assert proven.gap < 0.01
    assert pr.Plan.from_json(proven.to_json()) == proven


def test_the_certificate_holds_what_a_checker_needs(proven):
    certificate = proven.certificate
    assert isinstance(certificate, Certificate)
    rounds, tests, functions = certificate.potentials.shape
    assert (tests, functions) == (4, 3)
    assert certificate.round_minima.shape == (rounds,)
    assert certificate.dual_bound <= certificate.beam_bound


def test_errors_that_settle_have_short_counts():
    counts = to_counts(real())
    assert np.all(counts.caps == 6)  # 1.3 to the power -12 is the first below 0.05
    assert np.array_equal(counts.low, counts.high)
    endless = to_counts(real(learner=pr.Learner(np.zeros(4), pr.PowerLaw(0.5))))
    assert np.all(endless.caps == endless.length)
    assert np.all(endless.low < endless.high)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"risk": pr.ResidualRisk(log_cosh)}, ""),
        ({"risk": pr.ResidualRisk(lambda r: np.minimum(r * r, 1.0), [-1, 1])}, "not convex"),
        ({"horizon": 900}, "900 rounds"),
        ({"discount": 0.0}, "first round"),
    ],
)
def test_what_it_covers(changes, words):
    found = why_not_counted(real(2, **changes))
    assert words in found
    assert bool(found) == bool(words)


@pytest.mark.parametrize("blocks", [False, True], ids=["every round", "blocks of rounds"])
def test_few_listed_sets_prove_nearly_as_much_as_all(blocks, monkeypatch):
    """Of ten sets two are listed at first; all of them are asked about every step."""
    problem, goal = real(), pr.solve(real(), "lattice").value
    all_listed = conduct(count_dual.CountDual(to_counts(problem), 0.1 * goal), max_iterations=20)
    for name, number in {"FEW_SETS": 4, "MOST_LISTED": 8, "ADMITTED": 2}.items():
        monkeypatch.setattr(count_dual, name, number)
    if blocks:
        monkeypatch.setattr(count_dual, "FINE_WORK", 0)
    few = conduct(count_dual.CountDual(to_counts(problem), 0.1 * goal), max_iterations=20)
    assert few.value <= goal * (1 + 1e-9)
    assert few.value == pytest.approx(all_listed.value, rel=0.03)
    assert few.minima.size == few.length + 1


def capped(size: float) -> pr.Problem:
    """Charged at most so much, in whatever unit: not convex."""
    world = pr.World.equicorrelated([0.22, -1.01, -0.21, -0.16], 0.9, noise_variance=0.01)
    learner = pr.Learner([10.82, 4.29, 7.11, -13.08], pr.Geometric(1.1))
    risk = pr.ResidualRisk(lambda x: size * np.minimum(x * x, 1.0), kinks=(-1.0, 1.0))
    return pr.Problem(world, learner, pr.Exactly(1), discount=0.95, risk=risk)


@pytest.mark.parametrize("size", [1e12, 1.0, 1e-12, 1e-30])
def test_a_charge_is_convex_or_not_in_every_unit(size):
    assert "not convex" in why_not_counted(capped(size))
    assert not ReferenceLosses.of(capped(size)).is_convex
    bowl = pr.ResidualRisk(lambda x: size * np.abs(x) ** 1.5)
    assert why_not_counted(capped(size).replace(risk=bowl)) == ""


@pytest.mark.full
def test_a_bound_above_the_plan_is_thrown_away(monkeypatch):
    """Should a charge look convex that is not, the dual must not have the last word."""
    monkeypatch.setattr("preceptor.planning.dual_instances.is_convex", lambda _problem: True)
    problem = capped(1.0)
    plan = pr.solve(problem, "certified", **QUICK)
    assert plan.lower_bound <= pr.solve(problem, "truncated", length=6).value
    assert plan.status is not pr.Status.OPTIMAL
    assert plan.certificate is None
    assert any("thrown away" in note for note in plan.notes)


def test_without_a_limit_no_clock_cuts_the_first_search_short(monkeypatch):
    asked = []
    look = Proof.look_for_plans

    def note(self, seconds, start=None):
        asked.append(seconds)
        return look(self, seconds, start)

    monkeypatch.setattr(Proof, "look_for_plans", note)
    pr.solve(real(risk=pr.Huber(1.0)), "certified", **QUICK)
    assert asked == [np.inf]


def test_what_was_proven_stands_when_time_is_up():
    """Nothing at all if there was none, and then no bound is claimed."""
    halt = np.ones(1, dtype=np.int64)
    bound = conduct(count_dual.CountDual(to_counts(real()), 0.1, halt=halt))
    assert bound.value == -np.inf


@pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.full) for i in (1, 2, 3))])
def test_bounds_hold_on_random_problems(part):
    for seed in range(6 * part, 6 * part + 6):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(24))
def test_bounds_hold_on_a_thousand_random_problems(part):
    gaps = [check(seed) for seed in range(50 * part, 50 * part + 50)]
    assert np.median(gaps) < 1e-6
