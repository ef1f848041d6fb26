"""What is expected of a person is what people of that kind do on average, for every kind."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.model.expected import Expected
from preceptor.people.crowd import Crowd
from preceptor.people.human import Sessions
from tests.people.examples import EVERYBODY, EXAMPLES, NAMES, WORLD

BUDGET = pr.AtMost(2, price=[0.05, 0.3, 0.1])
SETS = BUDGET.sets(3)
ROUNDS, PEOPLE = 25, 6_000
SCHEDULE = np.random.default_rng(7).integers(len(SETS), size=ROUNDS)
# How far an approximate expectation may be off, as a share of the whole, beyond chance.
APPROXIMATE = 0.06

everybody = pytest.mark.parametrize("person", EVERYBODY, ids=NAMES)


def one_expected(person) -> dict[Expected, float]:
    """What is expected, as a mixture with one part unless it is a crowd."""
    if not isinstance(person, Crowd):
        return {person.expected(WORLD, SETS): 1.0}
    return {m.person.expected(WORLD, SETS): m.weight for m in person.members}


def played(person):
    """What many people who act cost (people, rounds), prices included."""
    rng = np.random.default_rng(11)
    cases = WORLD.sample(PEOPLE * ROUNDS, rng)
    shape = (PEOPLE, ROUNDS)
    features = cases.features.reshape(*shape, 3)
    which = np.broadcast_to(SCHEDULE, shape).copy()
    sessions = Sessions.hiding(
        tuple(SETS), which, cases.__class__(features, cases.outcomes.reshape(shape))
    )
    # Nobody slips; only who of a crowd somebody is, is drawn.
    drawing = PEOPLE if isinstance(person, Crowd) else 0
    streams = [np.random.default_rng(s) for s in range(drawing)]
    answers = person.acting(WORLD).predict_many(sessions, streams)
    return (sessions.outcomes - answers) ** 2 + SETS.prices[SCHEDULE]


def test_every_kind_of_the_package_has_examples():
    own = {
        kind for kind, cls in pr.Person.registry.items() if cls.__module__.startswith("preceptor.")
    }
    assert own == set(EXAMPLES)


@pytest.mark.few(10)
@everybody
def test_expected_losses_are_those_of_people_who_act(person):
    parts = one_expected(person)
    expected = sum(weight * each.losses(SCHEDULE) for each, weight in parts.items())
    losses = played(person)
    weights = 0.95 ** np.arange(ROUNDS)
    totals = losses @ weights
    error = totals.std(ddof=1) / np.sqrt(PEOPLE)
    allowed = 0.0 if all(each.exact for each in parts) else APPROXIMATE * totals.mean()
    assert abs(expected @ weights - totals.mean()) <= 4.0 * error + allowed
    if allowed == 0.0:
        each_error = losses.std(axis=0, ddof=1) / np.sqrt(PEOPLE)
        # Of 25 rounds the worst is allowed a little more than 4, the rest together are above.
        assert np.all(np.abs(expected - losses.mean(axis=0)) <= 4.5 * each_error)


@everybody
def test_whoever_is_not_exact_says_so(person):
    for each in one_expected(person):
        assert each.exact == (each.accuracy == "")


@pytest.mark.few(8)
@everybody
def test_evaluate_and_rollout_agree(person):
    from preceptor import simulation

    problem = pr.Problem(WORLD, person, BUDGET, discount=0.9, horizon=20)
    policy = pr.ExploreThenCommit([SETS[int(s)] for s in SCHEDULE[:10]], SETS[4])
    exact = pr.evaluate(problem, policy)
    rolled = simulation.rollout(problem, policy, rounds=20, people=3_000, rng=3)
    approximate = any(not each.exact for each in one_expected(person))
    allowed = APPROXIMATE * exact if approximate else 0.0
    assert abs(rolled.total - exact) <= 4.0 * rolled.total_error + allowed


@everybody
def test_totals_add_up_losses_and_tails(person):
    for each in one_expected(person):
        tail = (3, 4)
        long = np.concatenate([SCHEDULE, np.tile(tail, 400)])
        summed = each.losses(long) @ 0.9 ** np.arange(long.size)
        assert each.total(SCHEDULE, 0.9, tail) == pytest.approx(summed, rel=1e-9)
        assert each.total(SCHEDULE, 0.9, ()) == pytest.approx(
            each.losses(SCHEDULE) @ 0.9 ** np.arange(ROUNDS), rel=1e-12
        )


@everybody
def test_prices_are_what_a_changed_schedule_costs(person):
    for each in one_expected(person):
        walk = each.walk(ROUNDS, 0.9)
        laid = walk.forward(SCHEDULE, (4,))
        positions = np.arange(len(SETS))
        for t in range(ROUNDS - 1, -1, -1):
            priced = walk.prices(t, positions)
            for s in positions if t % 8 == 0 else ():
                changed = SCHEDULE.copy()
                changed[t] = s
                cost = each.total(changed, 0.9, (4,))
                if each.exact_prices:
                    assert priced[s] == pytest.approx(cost, rel=1e-9)
                else:
                    # Right to first order: never far off compared with how much is at stake.
                    assert abs(priced[s] - cost) <= 0.5 * abs(cost - laid) + 0.01 * laid
            walk.step_back(t, int(SCHEDULE[t]))


@everybody
def test_blocks_and_tails_are_what_the_changed_schedule_costs(person):
    for each in one_expected(person):
        walk = each.walk(ROUNDS, 0.9)
        walk.forward(SCHEDULE, (4,))
        assert walk.tails([(4,), (2,), (1, 3)]) == pytest.approx(
            [each.total(SCHEDULE, 0.9, tail) for tail in [(4,), (2,), (1, 3)]], rel=1e-9
        )
        for t in range(ROUNDS - 1, 9, -1):
            walk.step_back(t, int(SCHEDULE[t]))
        block = np.array([2, 2, 5, 1, 0])
        changed = SCHEDULE.copy()
        changed[5:10] = block
        assert walk.replace_block(5, block) == pytest.approx(
            each.total(changed, 0.9, (4,)), rel=1e-9
        )
