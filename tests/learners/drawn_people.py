"""People drawn from the prior of `fit`, and strangers of no kind in the list: for calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import preceptor as pr
from preceptor.learners.families import FAMILIES, grid_boxes, log_prior, values_of
from preceptor.learners.posterior import (
    MEDIAN,
    NONE_OF_THESE,
    PRIOR,
    SPREAD,
    STRANGERS_KAPPA,
    ToldRounds,
)
from preceptor.learners.records import Record
from preceptor.learners.weighing import family_priors
from preceptor.people.acting import Imputer
from preceptor.simulation.exemplar import ExemplarLearner

WORLD = pr.World.equicorrelated([0.9, 0.2, 0.6, 0.4], 0.5, 0.5)
DIALS = (0.0, 0.5, 1.0)


class Drawn(NamedTuple):
    """The truth about a person, and their record."""

    family: str
    kappa: float
    first: np.ndarray
    bias: float
    scatter: float
    record: Record


class Walking:
    """None of these, as `posterior.py` defines it, in the world's units."""

    def __init__(self, world, first, rng):
        self.sd, self.sds = np.sqrt(world.outcome_variance), np.sqrt(np.diag(world.covariance))
        self.weights, self.rng, self.world = first.copy(), rng, world
        omega = pr.NoLearning(first, STRANGERS_KAPPA).imputing_covariance(world)
        self.imputer, self.past = Imputer(omega), []
        self.memory, self.push = PRIOR.memory * rng.normal(), PRIOR.push * rng.normal()

    def predict(self, shown, values):
        filled, case = self.imputer.one(shown, values), self._case(shown, values)
        found = filled @ self.weights
        if self.past:
            told = ToldRounds(*(np.array(each) for each in zip(*self.past, strict=True)))
            seen = np.isin(np.arange(self.world.size), shown)
            more = told.regressors(case, seen, filled / self.sds)
            found += self.sd * (self.memory * more[0] + self.push * more[1])
        return float(found)

    def heard(self, shown, values, outcome, answer):
        off = (outcome - answer) / self.sd
        self.past.append((self._case(shown, values), outcome / self.sd, off))
        step = PRIOR.drift * self.sd / self.sds
        self.weights = self.weights + step * self.rng.normal(size=self.world.size)

    def _case(self, shown, values):
        case = np.zeros(self.world.size)
        case[list(shown)] = values / self.sds[list(shown)]
        return case


def played_by(human, rounds, rng, *, scatter, bias=0.0, follow=0.0, world=WORLD):
    """The record of somebody shown random pairs; answers may follow the last surprise."""
    sd = np.sqrt(world.outcome_variance)
    cases, outcomes = world.sample(rounds, rng)
    shown, answers, last = np.zeros((rounds, world.size), dtype=bool), np.empty(rounds), 0.0
    for t in range(rounds):
        pair = tuple(sorted(rng.choice(world.size, 2, replace=False).tolist()))
        shown[t, list(pair)] = True
        values, outcome = cases[t, list(pair)], float(outcomes[t])
        answers[t] = human.predict(pair, values) + bias * sd + follow * last
        answers[t] += scatter * sd * rng.normal()
        last = outcome - answers[t]
        if isinstance(human, Walking):
            human.heard(pair, values, outcome, answers[t])
        else:
            human.feedback(pair, values, outcome)
    return Record(world, shown, cases, answers, outcomes, np.ones(rounds, dtype=bool))


def draw(rounds, rng, families, world=WORLD):
    """Somebody drawn from the prior of these families and of none of these."""
    sd, sds = np.sqrt(world.outcome_variance), np.sqrt(np.diag(world.covariance))
    kinds = [FAMILIES[name] for name in families]
    first = PRIOR.weights * sd / sds * rng.normal(size=world.size)
    kappa = float(rng.choice(DIALS))
    nuisances = {
        "scatter": float(np.exp(np.log(MEDIAN) + SPREAD * rng.normal())),
        "bias": PRIOR.bias * rng.normal(),
        "follow": PRIOR.follow_mean + PRIOR.follow * rng.normal(),
    }
    if rng.random() < PRIOR.none_of_these:
        name, human = NONE_OF_THESE, Walking(world, first, rng)
    else:
        family = kinds[rng.choice(len(kinds), p=family_priors(kinds, None))]
        boxes = grid_boxes(family.axes)
        box = rng.choice(len(boxes.widths), p=np.exp(log_prior(family.axes, *boxes)))
        at = boxes.coordinates[box] + boxes.widths[box] * (rng.random(len(family.axes)) - 0.5)
        empty = Record(world, np.zeros((0, world.size)), np.zeros((0, world.size)), [], [], [])
        person = family.person(empty, first, values_of(family.axes, at[None])[0], kappa)
        name, human = family.name, person.acting(world)
    record = played_by(human, rounds, rng, **nuisances, world=world)
    bias = nuisances["bias"] * sd
    return Drawn(name, kappa, first, bias, nuisances["scatter"], record)


def strangers(name, rng, world=WORLD):
    """Somebody of no kind in the list."""
    if name == "exemplar":
        return ExemplarLearner(world, float(rng.choice([0.7, 3.0])))
    sd = np.sqrt(world.outcome_variance)
    first = 0.4 * sd * rng.normal(size=world.size)
    return pr.DeltaRule(first, 0.15, float(rng.integers(2)), cap=0.4 * sd).acting(world)
