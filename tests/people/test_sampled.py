"""People of one's own: a delta rule in disguise against a crowd of arrays, replays, refusals."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.people.human import Sessions, answer_one_by_one
from preceptor.people.own_person import OwnPerson

RATE = 0.1
WORLD = pr.World([1.0, -0.5, 0.4], [[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]], 0.3)
SETS = pr.AtMost(2).sets(3)


class Disguised:
    """A delta rule on shown tests who takes hidden ones to be average."""

    def __init__(self, world=None):
        self.world = world
        self.weights = None

    def reset(self, rng=None):
        self.weights = np.zeros(3)

    def predict(self, shown, values):
        return float(self.weights[list(shown)] @ values)

    def feedback(self, shown, values, outcome):
        surprise = outcome - self.predict(shown, values)
        self.weights[list(shown)] += RATE * surprise * values


class Slipping(Disguised):
    """The same, with slips of their own."""

    def reset(self, rng=None):
        super().reset()
        self.rng = np.random.default_rng(rng)
        self.slip = self.rng.normal()

    def predict(self, shown, values):
        return super().predict(shown, values) + self.slip

    def feedback(self, shown, values, outcome):
        self.weights[list(shown)] += RATE * (outcome - super().predict(shown, values)) * values
        self.slip = self.rng.normal()


class AllAtOnce(Disguised):
    """The same as Disguised, who can also answer for a crowd."""

    def predict_many(self, sessions: Sessions, rngs):
        weights = np.zeros((sessions.people, 3))
        answers = np.empty((sessions.people, sessions.rounds))
        results = np.where(sessions.shown, sessions.values, 0.0)
        for t in range(sessions.rounds):
            x = results[:, t]
            answers[:, t] = np.sum(weights * x, axis=1)
            weights += RATE * (sessions.outcomes[:, t] - answers[:, t])[:, None] * x
        return answers


def crowd(schedule, people, seed, slips=0.0):
    """Squared errors (people, rounds) of a delta rule, by arrays alone."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((people, 3))
    squared = np.empty((people, len(schedule)))
    for t, position in enumerate(schedule):
        features, outcomes = WORLD.sample(people, rng)
        x = features * np.isin(np.arange(3), SETS[position])
        surprise = outcomes - np.sum(weights * x, axis=1)
        squared[:, t] = (surprise - slips * rng.standard_normal(people)) ** 2
        weights += RATE * surprise[:, None] * x
    return squared


def expected_of(human, copies=60, seed=0, world=WORLD):
    return OwnPerson(human, np.zeros(3), copies=copies, seed=seed).expected(world, SETS)


SCHEDULE = np.random.default_rng(2).integers(len(SETS), size=30)


@pytest.mark.parametrize(("human", "slips"), [(Disguised(), 0.0), (Slipping(), 1.0)])
def test_totals_are_those_of_a_crowd(human, slips):
    weights = 0.95 ** np.arange(30)
    totals = crowd(SCHEDULE, 4000, seed=5, slips=slips) @ weights
    expected = expected_of(human, copies=200)
    own = expected.played(SCHEDULE) @ weights
    error = np.hypot(totals.std() / np.sqrt(4000), own.std() / np.sqrt(200))
    assert abs(expected.total(SCHEDULE, 0.95, ()) - totals.mean()) < 4 * error
    assert_allclose(expected.losses(SCHEDULE) @ weights, own.mean())


def test_plain_squared_errors_where_the_world_is_not_gaussian():
    world = pr.World.beta_copula([1.0, -0.5, 0.4], 0.4, noise_variance=0.3)
    expected = expected_of(Disguised(), copies=40, world=world)
    cases = expected._cases(0, 30)
    which = np.broadcast_to(SCHEDULE, (40, 30))
    sessions = Sessions.hiding(tuple(SETS), which, cases)
    answers = answer_one_by_one(Disguised(), sessions, [None] * 40)
    assert_allclose(expected.played(SCHEDULE), (cases.outcomes - answers) ** 2)
    assert expected.floors().max() == 0.0


def test_what_is_replaced_by_its_variance_has_that_mean():
    """Losses given the answers and plain squared errors of the same people agree on average."""
    expected = expected_of(AllAtOnce(), copies=4000)
    cases = expected._cases(0, 30)
    which = np.broadcast_to(SCHEDULE, (4000, 30))
    answers = AllAtOnce().predict_many(Sessions.hiding(tuple(SETS), which, cases), [])
    plain = ((cases.outcomes - answers) ** 2).mean(axis=1)
    smooth = expected.played(SCHEDULE).mean(axis=1)
    assert smooth.std() < plain.std()
    assert abs((plain - smooth).mean()) < 4 * (plain - smooth).std() / np.sqrt(4000)
    assert np.all(expected.losses(SCHEDULE) >= expected.floors()[SCHEDULE])


def test_one_by_one_and_all_at_once_agree():
    one, all_at_once = expected_of(Disguised()), expected_of(AllAtOnce())
    assert not one.in_batch
    assert all_at_once.in_batch
    assert_allclose(one.played(SCHEDULE), all_at_once.played(SCHEDULE), rtol=1e-12)


def test_cases_stay_as_they_are():
    """More rounds change nothing before them, and a seed gives the same people again."""
    expected = expected_of(Slipping())
    short = expected.played(SCHEDULE[:10])
    assert_allclose(expected.played(SCHEDULE)[:, :10], short)
    assert_allclose(expected_of(Slipping()).played(SCHEDULE[:10]), short)
    assert not np.allclose(expected_of(Slipping(), seed=1).played(SCHEDULE[:10]), short)
    far = np.resize(SCHEDULE, 150)
    assert_allclose(expected.played(far)[:, :10], short)
    split = expected.new_copies()
    parts = [expected.play_on(split, first, far[first : first + 50]) for first in (0, 50, 100)]
    assert_allclose(np.concatenate(parts, axis=1), expected.played(far))


@pytest.mark.parametrize("human", [Slipping(), AllAtOnce()])
@pytest.mark.parametrize("tail", [(), (4,), (1, 5)])
def test_prices_are_totals(human, tail):
    rounds, discount = 10, 0.7
    expected = expected_of(human, copies=5)
    walk = expected.walk(rounds, discount)
    now = SCHEDULE[:rounds].copy()
    assert_allclose(walk.forward(now, tail), expected.total(now, discount, tail))
    for t in range(rounds - 1, -1, -1):
        changed = now.copy()
        changed[t] = 2
        price = walk.prices(t, np.array([2, now[t]]))
        totals = [expected.total(each, discount, tail) for each in (changed, now)]
        assert_allclose(price, totals)
        block = np.array([3, 0, 1][: rounds - t])
        changed = now.copy()
        changed[t : t + len(block)] = block
        assert_allclose(walk.replace_block(t, block), expected.total(changed, discount, tail))
        if t % 3 == 0:
            now[t] = 2
        walk.step_back(t, int(now[t]))
    tails = [(3,), (0, 2)]
    each = [expected.total(now, discount, other) for other in tails]
    assert_allclose(walk.tails(tails), each)
    later = now.copy()
    later[6:] = 1
    assert_allclose(walk.forward(later, tail, since=6), expected.total(later, discount, tail))
    assert_allclose(walk.forward(now, tail, since=6), expected.total(now, discount, tail))


def test_tails_go_on_forever():
    expected = expected_of(AllAtOnce(), copies=300)
    far = np.concatenate([SCHEDULE, np.tile([1, 5], 400)])
    played = expected.losses(far) @ 0.97 ** np.arange(far.size)
    assert_allclose(expected.total(SCHEDULE, 0.97, (1, 5)), played, rtol=1e-3)
    assert expected.total(SCHEDULE, 1.0, (1,)) == np.inf
    assert expected.walk(30, 1.0).forward(SCHEDULE, (1,)) == np.inf


def test_it_says_how_far_off_it_may_be():
    expected = expected_of(Disguised())
    assert "60 simulated people" in expected.accuracy
    totals = expected.played(SCHEDULE) @ 0.95 ** np.arange(30)
    expected.total(SCHEDULE, 0.95, ())
    assert f"{totals.std(ddof=1) / np.sqrt(60):.3g}" in expected.accuracy
    assert not expected.exact
    assert expected.exact_prices
    assert expected.slow


def test_the_human_acts_and_is_left_alone_by_planning():
    human = Disguised(WORLD)
    person = OwnPerson(human, np.zeros(3), copies=3)
    assert person.acting(WORLD) is human
    person.expected(WORLD, SETS).total(SCHEDULE, 0.9, ())
    assert human.weights is None
    newcomer = person.expected(WORLD, SETS).new_copies()[0]
    assert newcomer is not human


def test_they_are_planned_for_in_a_problem_by_themselves():
    person = OwnPerson(Disguised(), np.zeros(3), copies=3)
    problem = pr.Problem(WORLD, person, budget=1, horizon=2)
    plan = pr.solve(problem, "search", max_kicks=0, time_limit=None)
    sets = problem.sets
    expected = person.expected(WORLD, sets)
    every = [(s, t) for s in range(len(sets)) for t in range(len(sets))]
    best = min(expected.total(pair, problem.discount, ()) for pair in every)
    np.testing.assert_allclose(plan.value, best, rtol=1e-9)


def test_who_cannot_be_looked_into_says_so():
    person = OwnPerson(Disguised(), np.zeros(3))
    nothing = np.zeros(3)
    seen = np.ones(3, dtype=bool)
    for ask in (
        lambda: person.fresh(WORLD, (), None),
        lambda: person.weights_of(WORLD, None),
        lambda: person.learn(WORLD, None, nothing, seen, nothing),
        lambda: person.moves(WORLD, None, nothing, seen, nothing),
    ):
        with pytest.raises(pr.NotApplicable, match="Disguised is given by how they act"):
            ask()
    with pytest.raises(pr.NotSerializable, match="Disguised cannot be written"):
        person.to_dict()
    with pytest.raises(pr.NotSerializable):
        person.to_json()
    assert "Disguised" in repr(person)
    assert "Disguised" in person.beliefs_in_words(WORLD)
    assert copy.copy(person) == person


def test_every_fault_at_once():
    with pytest.raises(pr.InvalidProblem) as caught:
        OwnPerson(object(), [[0.0]], copies=1, seed=-1)
    assert [fault.split(":")[0] for fault in caught.value.faults] == [
        "initial",
        "copies",
        "seed",
        "human",
    ]
    person = OwnPerson(Disguised(), np.zeros(3))
    with pytest.raises(pr.InvalidProblem, match="start") as caught:
        person.acting(pr.World([1.0], [[1.0]]), start=[1], response_noise=0.1)
    assert len(caught.value.faults) == 3
    with pytest.raises(pr.InvalidProblem, match="start"):
        person.expected(WORLD, SETS, start=[1, 0, 0])


def test_who_cannot_be_copied_is_refused():
    class Unique(Disguised):
        def __deepcopy__(self, memo):
            raise TypeError("there is only one of me")

    with pytest.raises(pr.InvalidProblem, match="only one of me"):
        expected_of(Unique())
