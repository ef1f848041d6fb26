"""Bounds for linear people never exceed what any schedule costs, and are close to the best."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import preceptor as pr
from preceptor.errors import MissingExtra
from preceptor.people.outcome_learners import DeltaRule
from preceptor.people.second_moments import Coordinates
from preceptor.planning.conic import Program
from preceptor.planning.semidefinite import SemidefiniteBound, default_knots, semidefinite_bound

pytest.importorskip("clarabel")

FEW = (0, 1, 3, 8, 20)


def draw(seed: int, tests: int) -> tuple[pr.World, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth, beliefs = rng.random(tests), rng.random(tests)
    return pr.World.equicorrelated(truth, 0.6, noise_variance=0.1), beliefs


def showings(world: pr.World, beliefs: np.ndarray, sets: object, drift: float) -> Coordinates:
    errors = world.coefficients - beliefs
    shown = sets.membership  # type: ignore[attr-defined]
    keep = np.where(shown, 0.8, 1.0 - drift)
    push = np.where(shown, 0.0, drift * errors)
    return Coordinates(world, sets, errors, keep, push, world.covariance)  # type: ignore[arg-type]


def people(seed: int, tests: int) -> dict[str, object]:
    world, beliefs = draw(seed, tests)
    sets = pr.Exactly(1).sets(tests)
    return {
        "delta rule": DeltaRule(beliefs, 0.15).expected(world, sets),
        "delta rule, ignores correlations": DeltaRule(beliefs, 0.15, 1.0).expected(world, sets),
        "delta rule, all weights": DeltaRule(beliefs, 0.1, 0.5, True).expected(world, sets),
        "by showings": showings(world, beliefs, sets, 0.0),
        "drifting": showings(world, beliefs, sets, 0.1),
    }


KINDS = sorted(people(0, 2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tests", [2, 3])
def test_no_schedule_of_six_rounds_costs_less(kind, tests):
    expected = people(tests, tests)[kind]
    best = min(
        expected.total(schedule, 0.95, ()) for schedule in itertools.product(range(tests), repeat=6)
    )
    for adaptive in (False, True):
        found = semidefinite_bound(expected, 0.95, 6, adaptive=adaptive)
        assert isinstance(found, SemidefiniteBound), found
        assert found.bound <= best + 1e-9
        assert found.bound >= 0.85 * best
        assert found.adaptive or not adaptive


@pytest.mark.parametrize("kind", KINDS)
def test_no_endless_schedule_costs_less(kind):
    rng = np.random.default_rng(5)
    expected = people(7, 3)[kind]
    found = semidefinite_bound(expected, 0.9, knots=FEW)
    assert isinstance(found, SemidefiniteBound), found
    best = min(expected.total([], 0.9, (s,)) for s in range(3))
    for _ in range(40):
        schedule = np.repeat(rng.integers(0, 3, 12), rng.integers(1, 4, 12))
        best = min(best, expected.total(schedule, 0.9, (int(rng.integers(3)),)))
    assert 0.9 * best <= found.bound <= best + 1e-9


def test_whoever_sees_the_weights_does_not_cost_less_than_an_adaptive_bound():
    world, beliefs = draw(3, 2)
    person, sets = DeltaRule(beliefs, 0.3), pr.Exactly(1).sets(2)
    found = semidefinite_bound(person.expected(world, sets), 1.0, 8, adaptive=True)
    assert isinstance(found, SemidefiniteBound)
    rng = np.random.default_rng(0)
    count, truth, sigma = 20_000, world.coefficients, world.covariance
    weights, costs = np.tile(beliefs, (count, 1)), np.zeros(count)
    for _ in range(8):
        cases = rng.multivariate_normal(np.zeros(2), sigma, count)
        outcome = cases @ truth + rng.normal(0.0, np.sqrt(world.noise_variance), count)
        # The set that their weights read best now.
        off = (truth - weights) @ sigma
        floors = [truth @ sigma @ truth - (sigma[i] @ truth) ** 2 / sigma[i, i] for i in range(2)]
        losses = np.array([floors[i] + off[:, i] ** 2 / sigma[i, i] for i in range(2)])
        choice = np.argmin(losses, axis=0)
        seen = cases[np.arange(count), choice]
        filled = sigma[choice] / sigma[choice, choice][:, None] * seen[:, None]
        surprise = outcome - np.sum(weights * filled, axis=1)
        costs += surprise**2
        weights[np.arange(count), choice] += 0.3 * surprise * seen
    error = costs.std() / np.sqrt(count)
    assert found.bound <= costs.mean() + 4 * error


def test_five_tests_of_which_two_are_shown():
    rng = np.random.default_rng(1)
    truth, beliefs = rng.random(5), rng.random(5)
    world, sets = pr.World.equicorrelated(truth, 0.8), pr.Exactly(2).sets(5)
    expected = DeltaRule(beliefs, 1.0 - 1.0 / 1.05).expected(world, sets)
    found = semidefinite_bound(expected, 0.99, knots=(0,))
    assert isinstance(found, SemidefiniteBound), found
    best = min(expected.total([], 0.99, (s,)) for s in range(len(sets)))
    assert 0.98 * best <= found.bound <= best


def test_more_knots_prove_no_less():
    expected = people(1, 3)["delta rule"]
    found = [semidefinite_bound(expected, 0.9, knots=k) for k in ((0, 20), (0, 5, 20), FEW)]
    bounds = [each.bound for each in found if isinstance(each, SemidefiniteBound)]
    assert len(bounds) == 3
    assert bounds[0] <= bounds[2] * (1 + 1e-5)


def test_units_do_not_matter():
    world, beliefs = draw(2, 3)
    sets = pr.Exactly(1).sets(3)
    scales = np.array([1e3, 1.0, 1e-3])
    grown = pr.World(
        1e2 * world.coefficients / scales,
        world.covariance * np.outer(scales, scales),
        1e4 * world.noise_variance,
    )
    keep = np.where(sets.membership, 0.8, 1.0)
    nothing = np.zeros_like(keep)
    errors = world.coefficients - beliefs
    plain = Coordinates(world, sets, errors, keep, nothing, world.covariance)
    other = Coordinates(grown, sets, 1e2 * errors / scales, keep, nothing, grown.covariance)
    found = [semidefinite_bound(each, 0.9, knots=FEW) for each in (plain, other)]
    assert all(isinstance(each, SemidefiniteBound) for each in found)
    assert found[1].bound == pytest.approx(1e4 * found[0].bound, rel=1e-5)


def test_who_has_no_bound_is_told_why():
    world, beliefs = draw(0, 3)
    capped = DeltaRule(beliefs, 0.1, cap=1.0).expected(world, pr.Exactly(1).sets(3))
    assert "capped" in str(semidefinite_bound(capped, 0.9))
    wide, weights = draw(0, 12)
    many = DeltaRule(weights, 0.01).expected(wide, pr.Exactly(2).sets(12))
    assert "too many" in str(semidefinite_bound(many, 0.9))
    # So fast that squared errors grow without end.
    wild = DeltaRule(beliefs, 3.0).expected(world, pr.Exactly(1).sets(3))
    answer = semidefinite_bound(wild, 0.9, knots=FEW)
    assert isinstance(answer, str)


def test_each_program_gets_what_is_left_of_the_time(monkeypatch):
    given, now = [], [0.0]
    solve = Program.minimise

    def minimise(program, objective, time_limit):
        given.append(time_limit)
        now[0] += 1.0
        return solve(program, objective, 60.0)

    monkeypatch.setattr(Program, "minimise", minimise)
    monkeypatch.setattr("preceptor.planning.semidefinite.counted_seconds", lambda: now[0])
    person = DeltaRule([0.2, 0.9], 0.2)
    expected = person.expected(pr.World.equicorrelated([1.0, 0.5], 0.5), pr.Exactly(1).sets(2))
    semidefinite_bound(expected, 0.9, time_limit=10.0)
    assert len(given) > 1
    assert all(limit <= 10.0 - at for at, limit in enumerate(given))


def test_without_the_solver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingExtra, match="bounds"):
        semidefinite_bound(people(0, 2)["delta rule"], 0.9)


@pytest.mark.parametrize(("discount", "horizon"), [(0.5, None), (0.99, None), (0.9, 50), (1.0, 9)])
def test_knots_rise_from_the_first_round_to_the_last(discount, horizon):
    knots = default_knots(discount, horizon)
    assert knots[0] == 0
    assert np.all(np.diff(knots) > 0)
    assert horizon in (None, knots[-1])
