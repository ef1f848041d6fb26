"""People one by one: drawn toward the population as far as their own rows are few."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.estimation import fit_learner
from preceptor.logs import Log

from .answering import simulate, world_of

WORLD = world_of(2)


def everything(rng):
    return np.arange(2)


def many_people(rng, *, people=20, rounds=25, spread=0.5, **options):
    initial = np.array([0.0, 1.5]) + spread * rng.standard_normal((people, 2))
    log = simulate(
        WORLD,
        initial=lambda p: initial[p],
        retention=options.pop("retention", lambda m: 1.0),
        rng=rng,
        people=people,
        rounds=rounds,
        shows=everything,
        **options,
    )
    return log, initial


def test_without_learning_it_is_the_posterior_of_a_linear_model():
    log, _ = many_people(np.random.default_rng(1))
    fit = fit_learner(WORLD, log, families="none")
    population = fit.population_
    assert population.names == ("bias", "initial t0", "initial t1")
    precision = np.linalg.inv(population.covariance)
    for name, person in zip(fit.participants_, population.people, strict=True):
        own = log.for_participant(name)
        design = np.column_stack([np.ones(len(own)), own.values])
        spread = np.linalg.inv(precision + design.T @ design / population.noise_sd**2)
        pull = precision @ population.mean + design.T @ own.prediction / population.noise_sd**2
        wanted = spread @ pull
        # The population is re-estimated once more after the people, so agreement is to its step.
        assert_allclose([person.bias, *person.initial], wanted, atol=5e-3)
        assert_allclose(person.standard_deviations, np.sqrt(np.diag(spread)), rtol=1e-2)
        assert_allclose(fit.learners_[name].initial, person.initial)


def test_the_population_is_found():
    rng = np.random.default_rng(2)
    log, initial = many_people(rng, people=60, rounds=20, spread=0.5)
    population = fit_learner(WORLD, log, families="none").population_
    deviations = np.sqrt(np.diag(population.covariance))[1:]
    # The spread of 60 draws has a standard error of 0.5/sqrt(120).
    assert_allclose(deviations, initial.std(axis=0), atol=4 * 0.5 / np.sqrt(120))
    assert_allclose(population.mean[1:], initial.mean(axis=0), atol=0.1)
    assert_allclose(population.noise_sd, 0.3, rtol=0.1)


def test_shrinkage_beats_both_the_pool_and_everybody_alone():
    rng = np.random.default_rng(3)
    log, initial = many_people(rng, people=30, rounds=8, spread=0.3, noise=1.0)
    fit = fit_learner(WORLD, log, families="none")
    shrunk = np.array([fit.learners_[name].initial for name in fit.participants_])
    alone = []
    for name in fit.participants_:
        own = log.for_participant(name)
        design = np.column_stack([np.ones(len(own)), own.values])
        alone.append(np.linalg.lstsq(design, own.prediction, rcond=None)[0][1:])
    error = [np.sqrt(np.mean((found - initial) ** 2)) for found in (shrunk, alone, [fit.initial_])]
    assert error[0] < 0.9 * error[1]
    assert error[0] < 0.95 * error[2]


def test_somebody_with_few_rows_is_near_the_mean_and_with_many_near_their_own():
    rng = np.random.default_rng(4)
    log, _ = many_people(rng, people=12, rounds=60, spread=1.0)
    keep = (log.participant != "p0") | (log.rounds < 1)
    fields = ("participant", "rounds", "shown", "values", "prediction", "outcome")
    short = Log(log.names, *(getattr(log, field)[keep] for field in fields))
    fit = fit_learner(WORLD, short, families="none")
    few, many = fit.population_.people[0], fit.population_.people[1]
    assert np.all(few.standard_deviations[1:] > 2 * many.standard_deviations[1:])
    own = log.for_participant("p1")
    design = np.column_stack([np.ones(len(own)), own.values])
    alone = np.linalg.lstsq(design, own.prediction, rcond=None)[0]
    assert_allclose(many.initial, alone[1:], atol=0.05)


def test_everybody_learns_at_their_own_speed():
    rng = np.random.default_rng(5)
    log, _ = many_people(rng, people=6, rounds=80, spread=0.0, retention=lambda m: 1.03**-m)
    fast, _ = many_people(rng, people=6, rounds=80, spread=0.0, retention=lambda m: 1.2**-m)
    fields = ("rounds", "shown", "values", "prediction", "outcome")
    both = Log(
        log.names,
        [*log.participant, *(f"fast {p}" for p in fast.participant)],
        *(np.concatenate([getattr(log, f), getattr(fast, f)]) for f in fields),
    )
    fit = fit_learner(WORLD, both, families="geometric")
    alphas = np.array([fit.learners_[name].curves.alpha for name in fit.participants_])
    assert alphas[:6].max() < fit.curve_.alpha < alphas[6:].min()
    assert_allclose(alphas[:6], 1.03, atol=0.02)
    assert_allclose(alphas[6:], 1.2, atol=0.1)
    assert fit.score(both) > 1 - np.var(both.prediction - fit.predict(both, pooled=True)) / np.var(
        both.prediction
    )


def test_new_people_are_predicted_from_the_pool():
    log, _ = many_people(np.random.default_rng(6))
    fit = fit_learner(WORLD, log, families="none")
    stranger = Log(
        log.names, ["new"] * 3, range(3), log.shown[:3], log.values[:3], log.prediction[:3]
    )
    wanted = fit.bias_ + stranger.values @ fit.initial_
    assert_allclose(fit.predict(stranger), wanted, rtol=1e-9)
    assert not np.allclose(fit.predict(log)[:3], wanted)


@pytest.mark.parametrize("people", [1, 20])
def test_a_tracker_starts_from_the_population(people):
    log, _ = many_people(np.random.default_rng(7), people=people)
    fit = fit_learner(WORLD, log, families="none")
    tracker = fit.tracker()
    if people == 1:
        assert_allclose(tracker.coefficients, fit.initial_)
        assert_allclose(tracker.covariance, fit.uncertainty_.covariance[1:3, 1:3])
    else:
        assert_allclose(tracker.coefficients, fit.population_.mean[1:])
        between = fit.population_.covariance[1:, 1:]  # people differ, and their mean is uncertain
        assert_allclose(tracker.covariance, between + fit.uncertainty_.covariance[1:3, 1:3])
        assert_allclose(tracker.bias, fit.population_.mean[0])
