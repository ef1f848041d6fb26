"""People who learn only the level of outcomes are told from people who learn weights."""

from __future__ import annotations

import numpy as np
import pytest

import preceptor as pr
from preceptor.learners.weighing import weigh
from preceptor.simulation.rollouts import rollout
from tests.learners.test_yes_no import world_of

WORLD = world_of()
FEW = ["none", "level only", "geometric", "delta rule"]
WEIGHTS = [0.5, 0.2, -0.2]


def log_of(person, risk, rounds, seed, scatter=0.3):
    problem = pr.Problem(WORLD, person, budget=2, horizon=rounds, risk=risk)
    sets = [(0, 1), (0, 2), (1, 2)]
    order = [sets[i] for i in np.random.default_rng(seed).integers(3, size=rounds)]
    human = person.acting(WORLD, response_noise=scatter, risk=risk)
    policy = pr.ExploreThenCommit(order, sets[0])
    return rollout(problem, policy, rounds, people=1, rng=seed, human=human).log


def only_level(rate=0.4, level=-1.2):
    return pr.WithLevel(pr.NoLearning([*WEIGHTS, level]), rate=rate)


def found(person, risk, rounds=200, people=6, **options):
    """Mean probabilities of families over some simulated people."""
    shares = [
        weigh(
            WORLD, log_of(person, risk, rounds, seed), families=FEW, default=WEIGHTS, dials=[0.0],
            **options,
        ).families
        for seed in range(people)
    ]  # fmt: skip
    return {name: np.mean([each[name] for each in shares]) for name in shares[0]}


@pytest.mark.parametrize(
    ("risk", "rounds"), [(pr.Brier(), 100), (pr.Decision(), 250), (pr.Decision(3.0, 1.0), 250)]
)
def test_learning_of_the_level_is_told_from_learning_of_weights(risk, rounds):
    above = risk.yes_above if isinstance(risk, pr.Decision) else 0.5
    shares = found(only_level(), risk, rounds, yes_above=above)
    assert shares["level only"] > 0.8
    constant = found(pr.NoLearning(WEIGHTS), risk, rounds, people=3, yes_above=above)
    assert constant["level only"] < 0.3
