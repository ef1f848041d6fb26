"""What tasks compute, against slow programs that share nothing with the planners."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.errors import NotApplicable
from preceptor.paper import action_map, exploration, stationary, truncation
from preceptor.paper.algorithm import algorithm1
from preceptor.paper.instances import USUAL, DrawnWeights, best_plan, budget_of, draw, instance
from tests import oracles

SHORT = 40


def seed_of(number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(0, spawn_key=(number,))


def length_of(schedule) -> int:
    """Rounds up to the last change of set."""
    return max((t for t in range(1, len(schedule)) if schedule[t] != schedule[t - 1]), default=0)


def least_floor(problem) -> float:
    """Σ δ^t times the least variance that any allowed set leaves, by dense algebra."""
    told = [
        oracles.variance(problem, problem.world.coefficients, shown)
        for shown in problem.budget.subsets(problem.size)
    ]
    return min(told) * sum(problem.discount**t for t in range(problem.horizon))


@pytest.mark.parametrize("number", [3, 4])  # draws for which fixed sets are bad
@pytest.mark.parametrize("budget", ["at most", "exactly"])
def test_best_fixed_set_against_the_plain_program(budget, number):
    setting = {"budget": budget, "alpha": 1.2, "discount": 0.98, "rho": 0.99, "horizon": SHORT}
    (row,) = stationary.task(setting, seed_of(number))
    problem = instance(
        draw(2, seed_of(number)), 0.99, 1.2, budget_of(budget, 1), discount=0.98, horizon=SHORT
    )
    best, schedule = algorithm1(problem)
    sets = list(problem.budget.subsets(2))
    fixed = min(oracles.schedule_value(problem, [shown] * SHORT) for shown in sets)
    floor = least_floor(problem)
    assert_allclose(oracles.schedule_value(problem, schedule), best, rtol=1e-12)
    assert_allclose(row["best"], best, rtol=1e-10)
    assert_allclose(row["fixed"], fixed, rtol=1e-10)
    assert_allclose(row["floor"], floor, rtol=1e-10)
    assert_allclose(row["retained"], 100 * best / fixed, rtol=1e-9)
    assert_allclose(row["excess"], 100 * (best - floor) / (fixed - floor), rtol=1e-7)
    assert row["excess"] < row["retained"] - 1.0 < 90.0  # else this would compare little


@pytest.mark.full
def test_the_task_plans_for_600_rounds():
    setting = {"budget": "exactly", "alpha": 1.10, "discount": 0.99, "rho": 0.99}
    (row,) = stationary.task(setting, seed_of(0))
    problem = instance(draw(2, seed_of(0)), 0.99, 1.10, pr.Exactly(1))
    assert problem.horizon == 600
    best, _ = algorithm1(problem)
    fixed = min(oracles.schedule_value(problem, [shown] * 600) for shown in ((0,), (1,)))
    assert row["retained"] < 99.0  # else this would compare nothing
    assert_allclose(row["retained"], 100 * best / fixed, rtol=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("budget", [pr.AtMost(2), pr.Exactly(2), pr.AtMost(1)], ids=str)
@pytest.mark.parametrize("number", range(2))
def test_the_plain_program_against_the_planner_and_every_sequence(budget, number):
    problem = instance(draw(3, seed_of(number)), 0.95, 1.2, budget, discount=0.9, horizon=4)
    value, schedule = algorithm1(problem)
    least, optimal = oracles.brute_force(problem)
    assert_allclose(value, least, rtol=1e-12)
    assert tuple(schedule) in optimal
    longer = dataclasses.replace(problem, horizon=10)
    assert_allclose(algorithm1(longer)[0], pr.solve(longer, "finite").value, rtol=1e-10)


def test_the_plain_program_says_what_it_is_not_for():
    drawn = draw(2, seed_of(0))
    endless = instance(drawn, 0.5, 1.1, pr.AtMost(1), horizon=None)
    other = instance(drawn, 0.5, pr.PowerLaw(0.75), pr.AtMost(1), horizon=3)
    for problem in (endless, other):
        with pytest.raises(NotApplicable, match="geometric curves and a finite horizon"):
            algorithm1(problem)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("n", "k", "budget", "horizon"),
    [(2, 1, "exactly", 8), (2, 1, "at most", 5), (3, 2, "exactly", 5), (3, 2, "at most", 3)],
)
def test_exploration_length_against_every_sequence(n, k, budget, horizon):
    lengths = []
    for number in range(5):
        setting = {"n": n, "k": k, "budget": budget, "horizon": horizon, "rho": 0.99}
        (row,) = exploration.task(setting, seed_of(number))
        problem = instance(
            draw(n, seed_of(number)), 0.99, 1.05, budget_of(budget, k), horizon=horizon
        )
        least, optimal = oracles.brute_force(problem)
        assert_allclose(row["value"], least, rtol=1e-10)
        assert row["length"] in {length_of(schedule) for schedule in optimal}
        lengths.append(row["length"])
    assert len(set(lengths)) > 1  # some explore, some do not


@pytest.mark.parametrize("budget", ["at most", "exactly"])
def test_the_endless_value_is_what_long_horizons_tend_to(budget):
    setting = {"n": 2, "k": 1, "budget": budget, "rho": 0.9}
    for number in range(3):
        (finite,) = exploration.task({**setting, "horizon": 600}, seed_of(number))
        (endless,) = exploration.task({**setting, "horizon": 0}, seed_of(number))
        problem = instance(draw(2, seed_of(number)), 0.9, 1.05, budget_of(budget, 1))
        dearest = max(oracles.round_loss(problem, [0, 0], s) for s in problem.sets)
        rest = USUAL.discount**600 / (1 - USUAL.discount) * dearest
        assert finite["value"] <= endless["value"] <= finite["value"] + rest


def test_the_certificate_is_no_shorter_than_the_phase_it_certifies():
    (row,) = exploration.certificate_task({"n": 2, "k": 1, "rho": 0.99}, seed_of(0))
    assert row["certified"] >= row["length"]
    assert row["certified_plan"] >= row["length"]
    (triple,) = exploration.certificate_task({"n": 3, "k": 2, "rho": 0.99}, seed_of(0))
    assert triple["certified"] > 0


@pytest.mark.parametrize("budget", ["at most", "exactly"])
def test_truncated_plans_against_the_plain_program_and_every_prefix(budget):
    for number in (2, 13):  # draws for which the end matters
        problem = instance(draw(2, seed_of(number)), 0.8, 1.1, budget_of(budget, 1), horizon=SHORT)
        best, _ = algorithm1(problem)
        setting = {"budget": budget, "alpha": 1.1, "length": 3, "horizon": SHORT}
        rows = {row["suffix"]: row for row in truncation.task(setting, seed_of(number))}
        prefix = algorithm1(dataclasses.replace(problem, horizon=3))[1]
        repeated = oracles.schedule_value(problem, prefix + [prefix[-1]] * (SHORT - 3))
        assert_allclose(rows["last"]["retained"], 100 * best / repeated, rtol=1e-9)
        chosen = min(every_end(problem, 3))
        assert_allclose(rows["best"]["retained"], 100 * best / chosen, rtol=1e-9)
        assert rows["last"]["retained"] < rows["best"]["retained"] - 1.0


def every_end(problem, length: int):
    """Values of all sequences of that many sets, each followed by every set for ever."""
    sets = list(problem.budget.subsets(problem.size))
    for prefix in itertools.product(sets, repeat=length):
        for final in sets:
            yield oracles.schedule_value(problem, [*prefix, *[final] * (SHORT - length)])


@pytest.mark.full
def test_the_action_map_shows_the_plain_programs_sets():
    (row,) = action_map.task({"rho": 0.6}, seed_of(0))
    assert "0" not in row["actions"]  # so exactly one has the same optimum, and is small enough
    problem = instance(action_map.CHOSEN, 0.6, USUAL.slow, pr.Exactly(1))
    _, schedule = algorithm1(problem)
    assert row["length"] == length_of(schedule) == 55
    shown = "".join(str(one[0] + 1) for one in schedule)
    assert row["actions"] == shown[: action_map.ROUNDS_DRAWN]


def test_the_action_map_is_what_its_text_says():
    lengths = {rho: action_map.task({"rho": rho}, seed_of(0))[0]["length"]
               for rho in action_map.CORRELATIONS}  # fmt: skip
    assert all(length == 0 for rho, length in lengths.items() if rho <= 0.5)
    assert lengths[0.99] > 150
    a, initial = action_map.CHOSEN
    assert all(math.isclose(v, round(v, 2)) for v in (*a, *initial))


@pytest.mark.full
def test_the_instance_is_the_first_of_its_kind():
    def length(drawn, rho):
        return best_plan(instance(drawn, rho, 1.05, pr.AtMost(1))).exploration_length

    found = []
    for number in range(10_000):
        exact = draw(2, np.random.SeedSequence(0, spawn_key=(number,)))
        drawn = DrawnWeights(np.round(exact.coefficients, 2), np.round(exact.initial, 2))
        if length(drawn, 0.99) <= 150:
            continue
        if not any(length(drawn, rho) for rho in (0.5, 0.4, 0.3, 0.2, 0.1, 0.0)):
            found.append((length(drawn, 0.6), drawn))
    assert len(found) == 257
    at_sixty = [rounds for rounds, _ in found]
    assert at_sixty.count(0) == 71
    assert min(rounds for rounds in at_sixty if rounds) == 55
    first = next(drawn for rounds, drawn in found if rounds == 55)
    assert_allclose(first.coefficients, action_map.CHOSEN.coefficients)
    assert_allclose(first.initial, action_map.CHOSEN.initial)
