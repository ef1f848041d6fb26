"""The filter of every kind of person: exact regression on the record, and where it goes on."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.people.acting import Imputer
from preceptor.people.filtering import WeightFilter
from tests.people.examples import INDIVIDUALS, INITIAL, WORLD

SPREAD, NOISE, ROUNDS = np.array([0.5, 1.0, 0.7]), 0.3, 18


def is_affine(person):
    """Whether answers are affine in the first weights, so that there is a regression to do."""
    inside = getattr(person, "person", person)  # of somebody whose level is learned, too
    if getattr(inside, "cap", None) is not None:
        return False  # which surprises are capped depends on the weights
    # Whoever unlearns in one round what one showing had taught comes back to first beliefs of
    # which the weights in between say nothing.
    return not (isinstance(person, pr.Forgetful) and pr.OneShot() in person.curve_of)


AFFINE = {name: person for name, person in INDIVIDUALS.items() if is_affine(person)}


def record(seed=2, rounds=ROUNDS):
    """Cases that are shown, answered, and mostly told."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        seen = tuple(np.flatnonzero(rng.random(3) < 0.6).tolist())
        told = float(rng.normal()) if rng.random() < 0.8 else None
        yield seen, rng.normal(size=len(seen)), float(rng.normal()), told


def followed(person, rounds):
    filtered = WeightFilter.begin(WORLD, person, SPREAD)
    for seen, values, answer, outcome in rounds:
        filled = filtered.filled(seen, values)
        filtered, _density = filtered.answered(filled, answer, NOISE**2)
        if outcome is not None:
            filtered = filtered.told(filled, np.isin(np.arange(3), seen), outcome)
    return filtered


def answers_and_end(person, first):
    """What somebody with these first weights answers to the record, and their last weights."""
    state = person.fresh(WORLD, (), None)
    person = person.from_here(WORLD, state, first)
    state, imputer = person.fresh(WORLD, (), None), Imputer(person.imputing_covariance(WORLD))
    answers = []
    for seen, values, _, outcome in record():
        filled = imputer.one(seen, values)
        level = person.level_of(WORLD, state)
        answers.append(person.weights_of(WORLD, state) @ filled + level)
        if outcome is not None:
            shown = np.isin(np.arange(3), seen)
            state = person.learn(WORLD, state, filled, shown, np.array(outcome))
    return np.array(answers), person.weights_of(WORLD, state)


@pytest.mark.parametrize("person", AFFINE.values(), ids=AFFINE)
def test_it_is_bayesian_regression_on_the_record(person):
    first = np.array(INITIAL)
    base, end = answers_and_end(person, first)
    others = [answers_and_end(person, first + unit) for unit in np.eye(3)]
    design = np.column_stack([answers - base for answers, _ in others])
    carried = np.column_stack([last - end for _, last in others])
    targets = np.array([prediction for _, _, prediction, _ in record()]) - base
    covariance = np.linalg.inv(np.diag(SPREAD**-2) + design.T @ design / NOISE**2)
    mean = covariance @ design.T @ targets / NOISE**2

    filtered = followed(person, record())
    assert_allclose(filtered.weights, end + carried @ mean, rtol=1e-8, atol=1e-10)
    expected = carried @ covariance @ carried.T
    assert_allclose(filtered.weights_covariance, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("person", AFFINE.values(), ids=AFFINE)
def test_the_person_from_here_moves_as_the_filter_does(person):
    filtered = followed(person, record(rounds=8))
    now = filtered.now()
    state = now.fresh(WORLD, (), None)
    assert_allclose(now.weights_of(WORLD, state), filtered.weights, rtol=1e-9, atol=1e-12)
    shown, filled = np.array([False, True, False]), filtered.filled((1,), np.array([0.4]))
    state = now.learn(WORLD, state, filled, shown, np.array(0.3))
    later = filtered.told(filled, shown, 0.3)
    assert_allclose(now.weights_of(WORLD, state), later.weights, rtol=1e-9, atol=1e-12)
