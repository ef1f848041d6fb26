"""People who learn the level of outcomes: first beliefs, known levels as a special case, faults."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtr

import preceptor as pr
from preceptor.model.score_pairs import ScorePair
from preceptor.people.with_level import first_level
from preceptor.testing.people import check_person
from tests.people.examples import EXAMPLES, INDIVIDUALS, INITIAL, WORLD, YES_NO, YES_NO_RISKS

SETS = pr.AtMost(2, price=[0.05, 0.3, 0.1]).sets(3)
SCHEDULE = np.random.default_rng(7).integers(len(SETS), size=25)
PROBIT = YES_NO["probit"]
KNOWN = {n: p for n, p in INDIVIDUALS.items() if not p.has_level and not p.learns_from_outcomes}


@pytest.mark.parametrize("link", YES_NO)
@pytest.mark.parametrize("share", [None, 0.5, 0.07])
def test_a_novice_answers_with_the_prevalence_on_case_1(link, share):
    world = YES_NO[link]
    said = world.outcome.prevalence if share is None else share
    for person in (pr.DeltaRule([0, 0, 0], 0.1), pr.Learner([0, 0, 0], pr.Geometric(1.1))):
        novice = pr.WithLevel.of(person, world, share).acting(world, risk=pr.Brier())
        assert novice.predict((0, 2), np.array([1.0, -3.0])) == pytest.approx(said, abs=1e-9)
    # Whoever knows how common yes is but does not learn the level says something else.
    known = pr.DeltaRule([0, 0, 0], 0.1).acting(world, risk=pr.Brier())
    assert abs(known.predict((0, 2), np.array([1.0, -3.0])) - world.outcome.prevalence) > 0.01


@pytest.mark.parametrize("link", YES_NO)
def test_the_first_level_gives_the_share_that_is_expected(link):
    """Averaged over cases, answers to all tests are yes as often as the person believes."""
    world, chance = YES_NO[link], {"probit": ndtr, "logistic": expit}[link]
    features = world.sample(400_000, rng=1).features
    for weights, share in ((np.array(INITIAL), 0.3), (world.coefficients, None)):
        base = world.base_score + first_level(world, weights, share)
        mean = chance(base + features @ weights).mean()
        assert mean == pytest.approx(share or world.outcome.prevalence, abs=0.003)
    assert first_level(world, world.coefficients) == pytest.approx(0.0, abs=1e-9)
    assert first_level(WORLD, np.array(INITIAL)) == 0.0
    assert first_level(WORLD, np.array(INITIAL), 0.7) == 0.7


@pytest.mark.parametrize("person", KNOWN.values(), ids=KNOWN)
def test_a_true_level_that_no_outcome_moves_is_a_known_one(person):
    """Learning by what is shown leaves a level that is right where it is: nothing changes."""
    levelled = pr.WithLevel.of(person, WORLD)
    for schedule in (SCHEDULE, SCHEDULE[::-1]):
        assert_allclose(
            levelled.expected(WORLD, SETS).losses(schedule),
            person.expected(WORLD, SETS).losses(schedule),
            rtol=1e-12,
        )
    values = np.array([0.4, -1.0])
    acting, known = levelled.acting(WORLD), person.acting(WORLD)
    for outcome in (0.3, -2.0, 1.1):
        assert acting.predict((0, 2), values) == pytest.approx(known.predict((0, 2), values))
        assert acting.level == pytest.approx(0.0, abs=1e-12)
        acting.feedback((0, 2), values, outcome)
        known.feedback((0, 2), values, outcome)


@pytest.mark.few(2)
@pytest.mark.parametrize("risk", YES_NO_RISKS.values(), ids=YES_NO_RISKS)
@pytest.mark.parametrize("link", YES_NO)
def test_a_true_level_of_yes_no_answers_is_a_known_one(link, risk):
    """Up to the interpolation of charges between levels."""
    world, person = YES_NO[link], pr.Learner(INITIAL, pr.Geometric(1.2))
    levelled = pr.WithLevel(pr.Learner([*INITIAL, 0.0], pr.Geometric(1.2)))
    expected = levelled.expectation(world, SETS, risk=risk)
    known = person.expectation(world, SETS, risk=risk)
    assert_allclose(expected.losses(SCHEDULE), known.losses(SCHEDULE), rtol=1e-4)
    assert_allclose(expected.floors(), known.floors(), rtol=1e-12)
    assert expected.expected_errors(SCHEDULE).shape == (25, 3)


@pytest.mark.parametrize("risk", YES_NO_RISKS.values(), ids=YES_NO_RISKS)
@pytest.mark.parametrize("level", [-0.83, 0.37])
def test_charges_at_a_level_are_those_of_another_base_score(risk, level):
    """By the integrals that tables stand for, with weights that stay."""
    person = pr.WithLevel(pr.NoLearning([*INITIAL, level]))
    losses = person.expectation(PROBIT, SETS, risk=risk).losses(np.arange(len(SETS)))
    for s, shown in enumerate(SETS):
        rows, sigma = list(shown), PROBIT.covariance
        read = np.linalg.solve(sigma[np.ix_(rows, rows)], sigma[rows] @ INITIAL)
        pair = ScorePair(
            PROBIT.outcome.from_score, PROBIT.base_score, PROBIT.score_variance,
            np.array(PROBIT.base_score + level),
            np.array(read @ (sigma @ PROBIT.coefficients)[rows]),
            np.array(read @ sigma[np.ix_(rows, rows)] @ read),
        )  # fmt: skip
        assert losses[s] - SETS.prices[s] == pytest.approx(float(risk.expected(pair)), rel=2e-4)


def test_a_level_moves_by_the_rate_times_the_surprise():
    person = pr.WithLevel(pr.DeltaRule([0.0, 0.5], rate=0.1)).acting(pr.World([1.0], [[1.0]]))
    person.feedback((0,), np.array([2.0]), 3.0)  # surprise 2.5
    assert_allclose([*person.weights, person.level], [0.1 * 2.5 * 2.0, 0.5 + 0.1 * 2.5])
    only = pr.WithLevel(pr.NoLearning([0.0, 0.5]), rate=0.1).acting(pr.World([1.0], [[1.0]]))
    only.feedback((0,), np.array([2.0]), 3.0)
    assert_allclose([*only.weights, only.level], [0.0, 0.75])


def test_nothing_shown_still_teaches_a_delta_rule_the_level():
    """With no test shown the level is all there is: its error follows a scalar recursion."""
    rate, level = 0.2, 0.9
    person = pr.WithLevel(pr.DeltaRule([*INITIAL, level], rate))
    losses, variance, square = [], WORLD.outcome_variance, level**2
    for _ in range(10):
        losses.append(variance + square)
        square = (1 - rate) ** 2 * square + rate**2 * variance
    nothing = [SETS.index(())] * 10
    assert_allclose(person.expected(WORLD, SETS).losses(nothing), losses, rtol=1e-12)


def test_one_round_is_brute_force_integration():
    """Expected loss after one case, by quadrature over the test and the noise."""
    a, rate, noise = 0.8, 0.15, 0.5
    world, first = pr.World([a], [[1.3]], noise), np.array([0.2, 0.6])
    points, weights = np.polynomial.hermite_e.hermegauss(12)
    x, e = np.meshgrid(points * np.sqrt(1.3), points * np.sqrt(noise), indexing="ij")
    share = np.outer(weights, weights) / weights.sum() ** 2
    surprise = a * x + e - first[0] * x - first[1]
    weight, level = first[0] + rate * surprise * x, first[1] + rate * surprise
    later = np.sum(share * ((a - weight) ** 2 * 1.3 + level**2)) + noise
    expected = pr.WithLevel(pr.DeltaRule(first, rate)).expected(world, pr.Exactly(1).sets(1))
    assert_allclose(expected.losses([0, 0])[1], later, rtol=1e-12)


ONLY = pr.WithLevel(pr.NoLearning([*INITIAL, 0.8]), rate=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "person", [ONLY, pr.WithLevel(pr.Learner([*INITIAL, 0.8], pr.Geometric(1.2), 0.3), rate=0.1)]
)
def test_a_level_with_its_own_rate_keeps_the_contract(person):
    check_person(person, WORLD, tests=1)
    check_person(person, PROBIT, tests=1, risk=pr.Brier())
    assert pr.Person.from_dict(person.to_dict()) == person


@pytest.mark.parametrize("name", ["with-level-0", "with-level-4", "with-level-6"])
def test_kinds_with_a_level_keep_the_contract(name):
    check_person(INDIVIDUALS[name], WORLD)


def test_every_kind_can_be_given_a_level():
    for kind, people in EXAMPLES.items():
        for person in people if kind not in ("crowd", "with-level") else ():
            levelled = pr.WithLevel.of(person, WORLD, first=0.3)
            assert levelled.level == 0.3
            assert_allclose(levelled.initial, person.initial)
            assert_allclose(levelled.imputing_covariance(WORLD), person.imputing_covariance(WORLD))
            assert "the level of outcomes is learned" in levelled.learning_in_words()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.WithLevel(ONLY), "must be one person of a built-in kind"),
        (lambda: pr.WithLevel(pr.DeltaRule([0.1, 0.2], 0.1), rate=0.1), "leave `rate` out"),
        (lambda: pr.WithLevel(pr.NoLearning([0.1])), "needs one for each test, and the level"),
        (lambda: pr.WithLevel.of(EXAMPLES["crowd"][0], WORLD), "a Crowd, must be one person"),
        (lambda: pr.WithLevel.of(pr.NoLearning(INITIAL), PROBIT, 1.0), "between 0 and 1"),
        (lambda: pr.WithLevel.of(pr.NoLearning(INITIAL), WORLD, "x"), "must be a number"),
    ],
)
def test_faults(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()


def test_a_plan_for_a_person_with_a_level_is_verified_by_playing_it():
    person = pr.WithLevel(pr.DeltaRule([*INITIAL, 0.8], 0.05))
    problem = pr.Problem(WORLD, person, budget=2, discount=0.9, horizon=10)
    report = pr.verify(pr.solve(problem, "search", max_kicks=0, time_limit=None))
    assert report.ok, report


def test_a_crowd_whose_members_learn_the_level():
    crowd = pr.Crowd.default(PROBIT, tests=2)
    levelled = crowd.with_levels(PROBIT)
    assert levelled.names == crowd.names
    assert_allclose(levelled.weights, crowd.weights)
    assert all(person.has_level for person in levelled.people.values())
    assert levelled.with_levels(PROBIT) == levelled
    assert pr.Person.from_dict(levelled.to_dict()) == levelled
    novice = levelled.people["not learning"].acting(PROBIT, risk=pr.Brier())
    assert novice.predict((0,), np.ones(1)) == pytest.approx(PROBIT.outcome.prevalence)
