"""Seeds, batches, logs and choosers: what must not matter does not, what was asked for is there."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import preceptor as pr
from preceptor.model.evaluation import losses_along
from preceptor.model.world import Units
from preceptor.people.human import answer_one_by_one
from preceptor.simulation.cases import Stream, stream
from preceptor.simulation.choosing import RandomOrder
from preceptor.simulation.named import KINDS, acting_in, humans_of, person_of_kind
from preceptor.simulation.rollouts import rollout
from tests.strategies import examples, problems

WORLD = pr.World.equicorrelated([1.0, 0.8, 0.3], 0.6, noise_variance=0.1)
PROBLEM = pr.Problem(WORLD, pr.Learner([0.2, 1.3, 0.0], pr.Geometric(1.1)), 2)
CYCLE = pr.Alternating([(0, 1), (2,), (1, 2), ()])


class OneByOne:
    """Hides that somebody could answer for a crowd."""

    def __init__(self, human):
        self.reset, self.predict, self.feedback = human.reset, human.predict, human.feedback


@examples(15)
@given(problems(horizons=(7,)))
def test_batch_and_one_by_one_agree(problem):
    slips = problem.learner.acting(problem.world, problem.start, response_noise=0.3)
    people = humans_of(problem) | {"slips": slips}
    for human in people.values():
        batch = rollout(problem, RandomOrder.of(problem), 7, 4, rng=1, human=human)
        single = rollout(problem, RandomOrder.of(problem), 7, 4, rng=1, human=OneByOne(human))
        scale = 1 + np.abs(single.predictions).max()
        assert_allclose(batch.predictions, single.predictions, atol=1e-12 * scale, rtol=0)


@pytest.mark.parametrize("policy", [CYCLE, RandomOrder.of(PROBLEM)], ids=["common", "personal"])
def test_more_people_and_more_rounds_change_nothing_before(policy):
    noisy = PROBLEM.learner.acting(WORLD, response_noise=0.3)
    few = rollout(PROBLEM, policy, 70, 3, rng=9, human=noisy)
    many = rollout(PROBLEM, policy, 150, 8, rng=9, human=noisy)
    assert_allclose(many.predictions[:3, :70], few.predictions, atol=1e-12)
    assert_array_equal(many.sessions.values[:3, :70], few.sessions.values)
    assert_array_equal(many.sessions.outcomes[:3, :70], few.sessions.outcomes)
    assert_array_equal(many.log.participant[[0, 150]], few.log.participant[[0, 70]])


def test_people_are_different_and_cases_are_the_same_for_everybody_compared():
    fixed = rollout(PROBLEM, pr.Stationary((0, 1)), 20, 5, rng=3)
    noisy = PROBLEM.learner.acting(WORLD, response_noise=1.0)
    other = rollout(PROBLEM, CYCLE, 20, 5, rng=3, human=noisy)
    assert_array_equal(fixed.sessions.outcomes, other.sessions.outcomes)
    assert np.unique(fixed.sessions.outcomes).size == 100
    assert (
        np.unique(rollout(PROBLEM, RandomOrder.of(PROBLEM), 20, 5, rng=3).sessions.which).size == 3
    )


def test_the_seed_travels_with_the_result():
    drawn = rollout(PROBLEM, CYCLE, 5, 2, rng=np.random.default_rng(4))
    fresh = rollout(PROBLEM, CYCLE, 5, 2)
    for played in (drawn, fresh):
        again = rollout(PROBLEM, CYCLE, 5, 2, rng=played.seed)
        assert_array_equal(again.losses, played.losses)
    assert drawn.seed != fresh.seed


def test_large_crowds_are_asked_in_groups(monkeypatch):
    whole = rollout(PROBLEM, CYCLE, 5, 10, rng=1)
    monkeypatch.setattr("preceptor.simulation.rollouts.BLOCK_NUMBERS", 45)
    assert_allclose(
        rollout(PROBLEM, CYCLE, 5, 10, rng=1).predictions, whole.predictions, atol=1e-14
    )


def test_hidden_tests_stay_hidden():
    played = rollout(PROBLEM, CYCLE, 8, 2, rng=1)
    assert_array_equal(np.isnan(played.sessions.values), ~played.sessions.shown)
    assert_array_equal(played.sessions.shown[:, 1], [[False, False, True]] * 2)
    assert np.all(np.isfinite(played.predictions))


def test_losses_are_the_risk_of_what_the_log_says_plus_prices():
    problem = PROBLEM.replace(budget=pr.AtMost(2, price=[0.5, 0.25, 0.0]), risk=pr.Huber(0.4))
    played = rollout(problem, CYCLE, 8, 3, rng=1)
    log = played.log
    residual = np.abs(log.outcome - log.prediction)
    charge = np.where(residual <= 0.4, residual**2 / 2, 0.4 * (residual - 0.2))
    price = log.shown @ [0.5, 0.25, 0.0]
    assert_allclose(played.losses.ravel(), charge + price, atol=1e-12)
    assert_allclose(played.totals, played.losses @ 0.99 ** np.arange(8.0))
    assert played.total == pytest.approx(played.totals.mean())
    assert played.total_error == pytest.approx(played.totals.std(ddof=1) / np.sqrt(3))
    assert_allclose(played.standard_error, played.losses.std(axis=0, ddof=1) / np.sqrt(3))
    assert played.summary()["total"] == played.total


def test_the_log_speaks_in_the_units_people_read():
    units = Units([100.0, 50.0, 10.0], [20.0, 5.0, 1.0], "score", 30.0)
    world = pr.World(WORLD.coefficients, WORLD.covariance, 0.1, ["bmi", "bp", "age"], units=units)
    inside = rollout(PROBLEM, CYCLE, 6, 2, rng=1)
    outside = rollout(PROBLEM.replace(world=world), CYCLE, 6, 2, rng=1)
    assert_array_equal(inside.losses, outside.losses)
    log = outside.log
    assert log.names == ("bmi", "bp", "age")
    assert log.participant.tolist() == ["p00001"] * 6 + ["p00002"] * 6
    assert log.rounds.tolist() == [*range(6), *range(6)]
    assert [tuple(np.flatnonzero(row)) for row in log.shown[:4]] == list(CYCLE.cycle)
    seen = inside.sessions.values.reshape(-1, 3)
    assert_allclose(log.values, seen * [20, 5, 1] + [100, 50, 10])
    assert_allclose(log.prediction, inside.predictions.ravel() + 30.0)
    assert_allclose(log.outcome, inside.sessions.outcomes.ravel() + 30.0)


class Fewest:
    """Shows the test seen least often."""

    def recommend(self, counts):
        return [int(np.argmin(counts))]


def test_plans_functions_and_recommenders_choose_too():
    plan = pr.solve(PROBLEM.replace(horizon=12))
    by_plan = rollout(plan.problem, plan, 12, 2, rng=1)
    by_policy = rollout(plan.problem, plan.policy, 12, 2, rng=1)
    assert_array_equal(by_plan.losses, by_policy.losses)
    turns = pr.Alternating([(0,), (1,), (2,)])
    expected = rollout(PROBLEM, turns, 9, 2, rng=1).losses
    for chooser in (Fewest(), Fewest().recommend):
        assert_array_equal(rollout(PROBLEM, chooser, 9, 2, rng=1).losses, expected)
    seen = rollout(PROBLEM.replace(start=[1, 0, 1]), Fewest(), 1, 1, rng=1)
    assert seen.sessions.sets == ((1,),)


def test_random_order_shows_full_sets_only():
    knapsack = PROBLEM.replace(budget=pr.Knapsack([2.0, 2.0, 1.0], 3.0))
    assert RandomOrder.of(knapsack).sets == ((0, 2), (1, 2))
    assert RandomOrder.of(PROBLEM).sets == ((0, 1), (0, 2), (1, 2))
    listed = PROBLEM.replace(budget=pr.Listed([[0], [1, 2], []]))
    assert RandomOrder.of(listed).sets == ((0,), (1, 2))


def test_tests_of_several_columns_are_shown_and_counted_as_one():
    world = pr.World(WORLD.coefficients, WORLD.covariance, 0.1, groups={"site": [1, 2]})
    grouped = PROBLEM.replace(world=world, budget=1)
    assert RandomOrder.of(grouped).sets == ((0,), (1, 2))
    site = pr.Stationary((1, 2))
    played = rollout(grouped, site, 20, 2000, rng=1)
    exact = losses_along(grouped, site.schedule(20))
    z = (played.mean_loss - exact) / played.standard_error
    assert np.all(np.abs(z) < 4)
    assert played.log.names == world.labels


def test_one_person_has_no_standard_error():
    played = rollout(PROBLEM, CYCLE, 3, 1, rng=1)
    assert np.isnan(played.total_error)
    assert np.all(np.isnan(played.standard_error))


def test_weight_is_the_share_of_time_that_was_played():
    assert rollout(PROBLEM, CYCLE, 100, 1, 0).weight == pytest.approx(1 - 0.99**100)
    even = PROBLEM.replace(discount=1.0, horizon=20)
    assert rollout(even, CYCLE, 5, 1, 0).weight == 0.25


def test_answers_are_those_of_the_published_loop():
    played = rollout(PROBLEM, CYCLE, 6, 3, rng=1)
    rngs = [stream(1, person, Stream.ANSWERS) for person in range(3)]
    answers = answer_one_by_one(PROBLEM.learner.acting(WORLD), played.sessions, rngs)
    assert_allclose(played.predictions, answers, atol=1e-12)


def test_a_person_plays_like_somebody_who_acts_for_them():
    started = PROBLEM.replace(start=[3, 0, 1])
    for person, start in (
        (pr.Forgetful([0.2, 1.3, 0.0], pr.Geometric(1.1)), [3, 0, 1]),  # counts showings
        (pr.DeltaRule([0.2, 1.3, 0.0], 0.05), None),  # does not
    ):
        played = rollout(started, CYCLE, 6, 3, rng=1, human=person)
        acting = rollout(started, CYCLE, 6, 3, rng=1, human=person.acting(WORLD, start))
        assert_array_equal(played.predictions, acting.predictions)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rounds": 0, "people": 1.5}, "2 problems found"),
        ({"rounds": 11, "problem": PROBLEM.replace(horizon=10)}, "ends after 10"),
        ({"rng": "seven"}, "rng: 'seven'"),
        ({"rng": -1}, "rng: -1"),
        ({"human": object()}, "must be a Person or have reset, predict and feedback"),
        ({"policy": lambda counts: (0, 1, 2)}, "not allowed by the budget"),
        ({"policy": lambda counts: (7,)}, "the problem has tests 0..2"),
        ({"policy": pr.Stationary((0, 1, 2))}, "not allowed by the budget"),
        ({"policy": "plan"}, "policy: 'plan'"),
    ],
)
def test_what_cannot_be_played_is_refused(arguments, words):
    usual = {"problem": PROBLEM, "policy": CYCLE, "rounds": 5, "people": 2, "rng": 0}
    with pytest.raises(pr.InvalidInput, match=words):
        rollout(**usual | arguments)


def test_somebody_who_diverges_is_reported():
    wild = pr.DeltaRule([0.0, 0.0, 0.0], rate=50.0)
    with pytest.raises(pr.InvalidInput, match=r"DeltaRule predicted .* too large"):
        rollout(PROBLEM, CYCLE, 800, 2, rng=0, human=wild)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_by_one_is_the_crowd_to_the_last_bit(kind):
    """Three of six tests: enough for a product of matrices to add up in another order."""
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(6, 6))
    world = pr.World(rng.normal(size=6), mixing @ mixing.T / 6 + np.eye(6))
    problem = pr.Problem(world, pr.Learner(np.full(6, 0.3), pr.Geometric(1.1)), 3, horizon=30)
    human = acting_in(problem, person_of_kind(problem, kind, 14.0), response_noise=0.3)
    played = rollout(problem, RandomOrder.of(problem), rounds=20, people=7, rng=1, human=human)
    rngs = [stream(played.seed, person, Stream.ANSWERS) for person in range(7)]
    assert answer_one_by_one(human, played.sessions, rngs).tobytes() == played.predictions.tobytes()
