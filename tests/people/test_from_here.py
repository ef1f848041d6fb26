"""Whoever is met in the middle goes on as the person would who came there, for every kind."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.errors import NotApplicable
from preceptor.people.acting import Imputer
from preceptor.people.curves import check_curve
from preceptor.people.own_person import OwnPerson
from tests.people.examples import EXAMPLES, INDIVIDUALS, INITIAL, WORLD, moving

SETS = pr.AtMost(2).sets(3)
BEFORE, LATER = 7, 9
RNG = np.random.default_rng(5)
SCHEDULE = RNG.integers(len(SETS), size=BEFORE + LATER)
CASES = WORLD.sample(BEFORE + LATER, RNG)

individuals = pytest.mark.parametrize("person", INDIVIDUALS.values(), ids=INDIVIDUALS)


def state_after(person, rounds):
    """The state after the first rounds of the schedule."""
    imputer = Imputer(person.imputing_covariance(WORLD))
    state = person.fresh(WORLD, (), None)
    for t in range(rounds):
        shown = SETS[int(SCHEDULE[t])]
        seen = np.isin(np.arange(3), shown)
        filled = imputer.one(shown, CASES.features[t, list(shown)])
        state = person.learn(WORLD, state, filled, seen, CASES.outcomes[t])
    return state


def answers(acting, first, last):
    """Answers to the cases of the schedule from `first` on; they learn from each."""
    given = []
    for t in range(first, last):
        shown = SETS[int(SCHEDULE[t])]
        values = CASES.features[t, list(shown)]
        given.append(acting.predict(shown, values))
        acting.feedback(shown, values, CASES.outcomes[t])
    return np.array(given)


@individuals
@pytest.mark.parametrize("rounds", [0, BEFORE])
def test_they_act_like_the_one_who_came_there(person, rounds):
    whole = answers(person.acting(WORLD), 0, BEFORE + LATER)
    state = state_after(person, rounds)
    here = person.from_here(WORLD, state, person.weights_of(WORLD, state))
    later = answers(here.acting(WORLD), rounds, BEFORE + LATER)
    np.testing.assert_allclose(later, whole[rounds:], rtol=1e-9, atol=1e-12)


@individuals
def test_at_the_start_they_are_expected_to_do_the_same(person):
    state = person.fresh(WORLD, (), None)
    here = person.from_here(WORLD, state, person.weights_of(WORLD, state))
    np.testing.assert_allclose(
        here.expected(WORLD, SETS).losses(SCHEDULE),
        person.expected(WORLD, SETS).losses(SCHEDULE),
        rtol=1e-12,
    )


@individuals
def test_going_on_twice_is_going_on_once(person):
    middle = state_after(person, 3)
    here = person.from_here(WORLD, middle, person.weights_of(WORLD, middle))
    state = here.fresh(WORLD, (), None)
    again = here.from_here(WORLD, state, here.weights_of(WORLD, state))
    np.testing.assert_allclose(
        again.expected(WORLD, SETS).losses(SCHEDULE),
        here.expected(WORLD, SETS).losses(SCHEDULE),
        rtol=1e-10,
    )


BY_SHOWN = ("by-showings", "forgetful", "no-learning", "drifting", "indirect", "folding")


@pytest.mark.parametrize("kind", BY_SHOWN)
def test_where_results_do_not_matter_losses_go_on(kind):
    """What the original is expected to lose later is what the one met in the middle loses."""
    for person in EXAMPLES[kind]:
        state = state_after(person, BEFORE)
        here = person.from_here(WORLD, state, person.weights_of(WORLD, state))
        whole = person.expected(WORLD, SETS).losses(SCHEDULE)
        later = here.expected(WORLD, SETS).losses(SCHEDULE[BEFORE:])
        np.testing.assert_allclose(later, whole[BEFORE:], rtol=1e-9)


STEADY = [person for person in EXAMPLES["delta-rule"] if not person.leak]


@pytest.mark.parametrize("person", STEADY, ids=["plain", "decay", "cap"])
def test_a_decaying_rate_goes_on(person):
    """Second moments after some rounds are those of people met there, averaged over who they are.

    With all results known the continued person starts at known weights; with a start that is
    known and a case that teaches nothing (the empty set), rounds pass without a change.
    """
    empty = SETS.index(())
    waited = np.concatenate([np.full(BEFORE, empty), SCHEDULE])
    state = person.fresh(WORLD, (), None)
    nothing = np.zeros(3)
    for _ in range(BEFORE):
        state = person.learn(WORLD, state, nothing, nothing.astype(bool), np.array(0.3))
    here = person.from_here(WORLD, state, person.weights_of(WORLD, state))
    whole = person.expected(WORLD, SETS).losses(waited)
    later = here.expected(WORLD, SETS).losses(SCHEDULE)
    np.testing.assert_allclose(later, whole[BEFORE:], rtol=1e-12)
    assert here.expected(WORLD, SETS).total(SCHEDULE, 0.9, (3, 4)) == pytest.approx(
        here.expected(WORLD, SETS).losses(np.append(SCHEDULE, np.tile((3, 4), 400)))
        @ 0.9 ** np.arange(SCHEDULE.size + 800),
        rel=1e-9,
    )


@individuals
def test_weights_that_differ_from_the_state_are_taken(person):
    """Somebody who is followed is not exactly where their kind alone would have them."""
    state = state_after(person, BEFORE)
    weights = person.weights_of(WORLD, state)
    left = (
        person.retention(state) if hasattr(person, "retention") else np.ones(3)
    )  # nothing is left of an error that one showing removes
    other = weights + np.where(left > 0.0, [0.1, -0.2, 0.05], 0.0)
    here = person.from_here(WORLD, state, other)
    np.testing.assert_allclose(
        here.weights_of(WORLD, here.fresh(WORLD, (), None)), other, atol=1e-12
    )
    if getattr(getattr(person, "person", person), "cap", None) is not None:
        return  # which surprises are capped depends on the weights
    filled, seen = np.array([0.5, 1.0, -0.3]), np.array([True, False, True])
    truth = np.array(0.7)
    turn, push = person.moves(WORLD, state, filled, seen, truth)
    before = here.fresh(WORLD, (), None)
    after = here.learn(WORLD, before, filled, seen, truth)
    np.testing.assert_allclose(
        moving(here, WORLD, after), turn @ moving(here, WORLD, before) + push, atol=1e-12
    )


@individuals
def test_they_survive_a_file(person):
    state = state_after(person, BEFORE)
    here = person.from_here(WORLD, state, person.weights_of(WORLD, state))
    assert pr.Person.from_dict(here.to_dict()) == here


def test_crowds_and_people_of_ones_own_refuse():
    with pytest.raises(NotApplicable, match="at once"):
        EXAMPLES["crowd"][0].from_here(WORLD, None, np.zeros(3))
    with pytest.raises(NotApplicable, match="is unknown"):
        OwnPerson(pr.NoLearning(INITIAL).acting(WORLD), INITIAL).from_here(WORLD, None, INITIAL)


def test_a_kind_of_ones_own_that_does_not_say_refuses():
    class Plain(pr.NoLearning):
        """Without a kind, so that no registry learns of it."""

        from_here = pr.Person.from_here

    with pytest.raises(NotApplicable, match="from_here"):
        Plain(INITIAL).from_here(WORLD, None, np.zeros(3))


CURVES = [
    pr.Geometric(1.3), pr.Geometric(1.3, floor=0.2), pr.Geometric(1.0, floor=0.5),
    pr.PowerLaw(0.8), pr.PowerLaw(0.8, floor=0.3), pr.PowerLaw(0.8).after(2),
    pr.OneShot(), pr.OneShot(floor=0.4), pr.Tabulated([1.0, 0.5, 0.3], floor=0.4),
    pr.Tabulated([1.0, 0.5, 0.0]),
]  # fmt: skip


@pytest.mark.parametrize("curve", CURVES, ids=repr)
@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_the_rest_of_a_curve_is_its_rest(curve, count):
    rest = curve.after(count)
    check_curve(rest)
    steps = np.arange(60)
    left = float(curve.phi(count))
    if left > 0.0:
        np.testing.assert_allclose(rest.phi(steps), curve.phi(count + steps) / left, rtol=1e-9)
    else:
        np.testing.assert_array_equal(rest.phi(steps), pr.OneShot().phi(steps))
    assert pr.Curve.from_dict(rest.to_dict()) == rest
    assert rest.in_words()
    np.testing.assert_allclose(rest.after(3).phi(steps), curve.after(count + 3).phi(steps))


def test_no_forgetting_with_half_a_showing_in_mind():
    person = pr.Forgetful(INITIAL, pr.PowerLaw(0.8), 0.0, exposure=[0.5, 2.0, 0.0])
    expected = person.expected(WORLD, SETS)
    state, losses = person.fresh(WORLD, (), None), []
    for s in SCHEDULE:
        error = WORLD.coefficients - person.weights_of(WORLD, state)
        shown = list(SETS[int(s)])
        hidden = [i for i in range(3) if i not in shown]
        sigma = WORLD.covariance
        fill = np.linalg.solve(sigma[np.ix_(shown, shown)], sigma[shown])
        seen = np.linalg.cholesky(sigma[np.ix_(shown, shown)]) if shown else np.zeros((0, 0))
        rest = sigma - fill.T @ sigma[shown]
        missed = WORLD.coefficients[hidden] @ rest[np.ix_(hidden, hidden)]
        losses.append(
            np.sum((error @ fill.T @ seen) ** 2)
            + missed @ WORLD.coefficients[hidden]
            + WORLD.noise_variance
        )
        state = person.learn(WORLD, state, None, np.isin(np.arange(3), shown), None)
    np.testing.assert_allclose(expected.losses(SCHEDULE), losses, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.DeltaRule(INITIAL, 0.1, rounds=-1), "rounds: -1"),
        (lambda: pr.Drifting(INITIAL, pr.OneShot(), home=[1.0]), "home: 1 numbers for 3"),
        (lambda: pr.Forgetful(INITIAL, pr.OneShot(), exposure=[1.0, -2.0, 0.0]), "exposure: -2"),
        (lambda: pr.Forgetful(INITIAL, pr.OneShot(), exposure=[1.0]), "exposure: 1 numbers"),
        (lambda: pr.Bayesian(INITIAL, np.eye(2), 0.5), "prior_variance"),
        (lambda: pr.Bayesian(INITIAL, -np.eye(3), 0.5), "prior_variance"),
        (lambda: pr.Bayesian(INITIAL, np.triu(np.ones((3, 3))), 0.5), "prior_variance"),
    ],
)
def test_what_makes_no_sense_is_named(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()
