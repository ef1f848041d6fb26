"""People of known kinds who play, for tests and for the tables of `docs/make_knowing.py`."""

from __future__ import annotations

import numpy as np

import preceptor as pr
from preceptor.learners.records import Record

# Unequal variances, correlations of both signs.
WORLD = pr.World(
    [1.0, 0.8, -0.5], np.array([[1.0, 0.6, 0.3], [0.6, 2.0, -0.2], [0.3, -0.2, 0.7]]), 0.2
)


def played(world, person, rounds, rng, *, shown=2, scatter=0.6, told=1.0, days=None):
    """A record of `rounds` rounds with random sets, scatter over the outcome's deviation."""
    rng = np.random.default_rng(rng)
    n, sd = world.size, np.sqrt(world.outcome_variance)
    cases, outcomes = world.sample(rounds, rng)
    heard = rng.random(rounds) < told
    seen = np.zeros((rounds, n), dtype=bool)
    acting, answers = person.acting(world), np.empty(rounds)
    for t in range(rounds):
        columns = tuple(sorted(rng.choice(n, shown, replace=False).tolist()))
        seen[t, list(columns)] = True
        values = cases[t, list(columns)]
        answers[t] = acting.predict(columns, values) + scatter * sd * rng.standard_normal()
        if heard[t]:
            acting.feedback(columns, values, outcomes[t])
    return Record(world, seen, cases, answers, outcomes, heard, days)


def someone(world, group, rng, *, rate=0.05, kappa=0.0):
    """Somebody of a group with first weights that are off by half a deviation of the outcome."""
    rng = np.random.default_rng(rng)
    sds = np.sqrt(np.diag(world.covariance))
    first = 0.5 * np.sqrt(world.outcome_variance) / sds * rng.standard_normal(world.size)
    if group == "none":
        return pr.NoLearning(first, kappa)
    if group == "by showings":
        return pr.Learner(first, pr.Geometric(1.0 / (1.0 - rate)), kappa)
    return pr.DeltaRule(first, float(rate * np.mean(1.0 / sds**2)), kappa)
