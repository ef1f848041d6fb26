"""One filter a kind: against Bayesian regression on the whole record, done in one go."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import preceptor as pr
from preceptor._base.values import FloatArray
from preceptor.learners.filter_bank import FilterBank
from preceptor.learners.posterior import over_widths
from preceptor.model.person import Person
from tests.people.examples import INDIVIDUALS, WORLD

ROUNDS = 9
SETS = ((0,), (1, 2), (0, 2), (2,))


def _world() -> pr.World:
    return pr.World([1.0, 0.6, -0.4], 0.5 * np.eye(3) + 0.5, noise_variance=0.2)


def _cases(world: pr.World) -> list[tuple[tuple[int, ...], FloatArray, float]]:
    drawn = world.sample(ROUNDS, rng=3)
    return [
        (SETS[t % len(SETS)], drawn.features[t, list(SETS[t % len(SETS)])], drawn.outcomes[t])
        for t in range(ROUNDS)
    ]


def _answers_from(world: pr.World, person: Person, first: FloatArray) -> FloatArray:
    """What somebody who begins with these weights answers, by acting."""
    import dataclasses

    fields = {f.name: getattr(person, f.name) for f in dataclasses.fields(person)}
    acting = type(person)(**(fields | {"initial": first})).acting(world)
    answers = []
    for shown, values, outcome in _cases(world):
        answers.append(acting.predict(shown, values))
        acting.feedback(shown, values, outcome)
    return np.array(answers)


def _followed(
    world: pr.World, people: list[Person], answers: FloatArray, **options: object
) -> FilterBank:
    settings = {"spread": 0.4, "none_of_these": 0.1, "level": False} | options
    bank = FilterBank.begin(world, people, np.ones(len(people)), **settings)  # type: ignore[arg-type]
    for (shown, values, outcome), answer in zip(_cases(world), answers, strict=True):
        bank = bank.answered(shown, values, float(answer))
        bank = bank.told(shown, values, outcome, float(answer))
    return bank


def _people() -> list[Person]:
    return [
        pr.Learner([0.1, 0.2, 0.3], pr.Geometric(1.2)),
        pr.DeltaRule([0.1, 0.2, 0.3], rate=0.1, imputation=1.0),
        pr.Bayesian([0.1, 0.2, 0.3], prior_variance=0.5, noise_variance=0.7),
        pr.Forgetful([0.1, 0.2, 0.3], pr.Geometric(1.2), 0.05),
    ]


@pytest.mark.parametrize("which", range(4))
def test_evidence_is_that_of_one_big_regression(which: int) -> None:
    world, person = _world(), _people()[which]
    answers = np.random.default_rng(which).standard_normal(ROUNDS)
    bank = _followed(world, [person], answers)
    # Answers are affine in the first weights, so four people give the whole design.
    offset = _answers_from(world, person, np.zeros(3))
    design = np.array([_answers_from(world, person, e) - offset for e in np.eye(3)]).T
    mean = offset + design @ person.initial
    for j, scatter in enumerate(bank.scatters):
        covariance = 0.16 * design @ design.T + scatter * np.eye(ROUNDS)
        prior = bank.likelihood[0, j] - multivariate_normal(mean, covariance).logpdf(answers)
        begun = FilterBank.begin(
            world, [person], [1.0], spread=0.4, none_of_these=0.1, level=False
        ).likelihood[0, j]
        assert prior == pytest.approx(begun, abs=1e-7)


def test_a_level_is_two_more_columns_of_the_regression() -> None:
    world, person = _world(), _people()[1]
    answers = np.random.default_rng(7).standard_normal(ROUNDS)
    bank = _followed(world, [person], answers, level=True)
    offset = _answers_from(world, person, np.zeros(3))
    design = np.array([_answers_from(world, person, e) - offset for e in np.eye(3)]).T
    outcomes = np.array([outcome for _, _, outcome in _cases(world)])
    surprises = np.append(0.0, (outcomes - answers)[:-1])
    unit = np.sqrt(world.outcome_variance)
    bias = (0.25 * unit) ** 2 * np.ones((ROUNDS, ROUNDS))
    level = bias + 0.09 * np.outer(surprises, surprises)
    mean = offset + design @ person.initial + 0.2 * surprises
    first = FilterBank.begin(world, [person], [1.0], spread=0.4, none_of_these=0.1, level=True)
    for j, scatter in enumerate(bank.scatters):
        covariance = 0.16 * design @ design.T + level + scatter * np.eye(ROUNDS)
        found = bank.likelihood[0, j] - first.likelihood[0, j]
        assert found == pytest.approx(multivariate_normal(mean, covariance).logpdf(answers))


def test_shares_of_kinds_are_products_of_densities() -> None:
    world, people = _world(), _people()
    answers = _answers_from(world, people[1], people[1].initial)
    bank = _followed(world, people, answers)
    alone = [_followed(world, [person], answers) for person in people]
    rows = np.array([*(each.likelihood[0] for each in alone), bank.likelihood[-1]])
    evidence = np.exp(over_widths(rows - rows.max()).log_evidence)
    weights, none = evidence[:-1] * 0.9 / 4, 0.1 * evidence[-1]
    total = weights.sum() + none
    assert bank.kinds == pytest.approx([*(weights / total), none / total])
    assert np.argmax(bank.kinds) == 1


def test_nobody_in_particular_wins_when_answers_change_their_mind() -> None:
    """Weights that turn round halfway are nobody's learning."""
    world = _world()
    drawn, bank = (
        world.sample(30, rng=5),
        FilterBank.begin(world, _people(), np.ones(4), spread=0.4, none_of_these=0.1, level=False),
    )
    for t in range(30):
        weights = np.array([1.5, 0.0, -1.0]) * (1.0 if t < 15 else -1.0)
        values, outcome = drawn.features[t], float(drawn.outcomes[t])
        answer = float(values @ weights)
        bank = bank.answered((0, 1, 2), values, answer).told((0, 1, 2), values, outcome, answer)
    assert bank.kinds[-1] > 0.7


@pytest.mark.parametrize("name", sorted(INDIVIDUALS))
def test_every_kind_is_followed_where_it_goes(name: str) -> None:
    """Somebody with known first weights answers exactly as predicted_answer."""
    person = INDIVIDUALS[name]
    if isinstance(person, pr.OwnPerson):
        pytest.skip("can only act")
    bank = FilterBank.begin(WORLD, [person], [1.0], spread=0.0, none_of_these=0.0, level=False)
    acting, drawn = person.acting(WORLD), WORLD.sample(12, rng=1)
    for t in range(12):
        shown = ((0,), (1, 2), (0, 1, 2), (2,))[t % 4]
        values, outcome = drawn.features[t, list(shown)], float(drawn.outcomes[t])
        answer = acting.predict(shown, values)
        assert bank.predicted_answer(shown, values)[0][0] == pytest.approx(answer, abs=1e-9)
        acting.feedback(shown, values, outcome)
        bank = bank.told(shown, values, outcome, answer)
