"""People of every kind, for tests that hold for all of them: three tests, several settings."""

import numpy as np

import preceptor as pr
from preceptor.people.crowd import Crowd

INITIAL = [0.2, 1.3, 0.4]
OWN_COVARIANCE = [[1.0, 0.3, 0.0], [0.3, 2.0, -0.4], [0.0, -0.4, 1.5]]
GEOMETRIC = pr.Geometric(1.2)
ONE_EACH = (pr.Geometric(1.2), pr.OneShot(), pr.Geometric(1.05))

EXAMPLES = {
    "by-showings": [
        pr.Learner(INITIAL, GEOMETRIC),
        pr.Learner(INITIAL, pr.PowerLaw(0.8, floor=0.05), 0.5),
        pr.Learner(INITIAL, (*ONE_EACH[:2], pr.Tabulated([1.0, 0.5, 0.3])), OWN_COVARIANCE),
        pr.Learner(INITIAL, pr.Branch(pr.Geometric(1.2), [1, -1, -1]), 0.3),
        pr.Learner(
            INITIAL,
            (GEOMETRIC, pr.Branch(pr.PowerLaw(1.5), [1, -1], repeats=False), pr.PowerLaw(0.8)),
        ),
    ],
    "delta-rule": [
        pr.DeltaRule(INITIAL, 0.05),
        pr.DeltaRule(INITIAL, 0.05, 1.0, all_weights=True, decay=0.5),
        pr.DeltaRule(INITIAL, 0.05, 0.5, cap=0.6),
        pr.DeltaRule(INITIAL, 0.05, 0.5, leak=0.04),
        pr.DeltaRule(INITIAL, 0.05, all_weights=True, leak=0.1, home=[0.0, 0.5, -1.0]),
    ],
    "bayesian": [
        pr.Bayesian(INITIAL, 0.7, 0.5),
        pr.Bayesian(INITIAL, [0.5, 0.0, 2.0], 0.5, 1.0),
        pr.Bayesian(INITIAL, 0.3, 0.5, drift=0.01),
    ],
    "forgetful": [
        pr.Forgetful(INITIAL, GEOMETRIC),
        pr.Forgetful(INITIAL, pr.PowerLaw(0.8, floor=0.05), 0.3, 1.0),
        pr.Forgetful(INITIAL, ONE_EACH, 0.1, OWN_COVARIANCE),
    ],
    "no-learning": [pr.NoLearning(INITIAL), pr.NoLearning(INITIAL, 1.0)],
    "drifting": [
        pr.Drifting(INITIAL, GEOMETRIC),
        pr.Drifting(INITIAL, ONE_EACH, 0.3, 0.5),
    ],
    "indirect": [
        pr.Indirect(INITIAL, GEOMETRIC, 0.5),
        pr.Indirect(INITIAL, ONE_EACH, 1.0, 1.0),
    ],
    "folding": [
        pr.Folding(INITIAL, GEOMETRIC, 0.5),
        pr.Folding(INITIAL, ONE_EACH, 1.0, 0.4),
        pr.Folding(INITIAL, GEOMETRIC, 0.7, OWN_COVARIANCE),
    ],
    "with-level": [
        pr.WithLevel(pr.DeltaRule([*INITIAL, 0.5], 0.05)),
        pr.WithLevel(pr.DeltaRule([*INITIAL, -0.4], 0.05, 1.0, all_weights=True, leak=0.04)),
        pr.WithLevel(pr.DeltaRule([*INITIAL, 0.8], 0.05, 0.5, cap=0.6)),
        pr.WithLevel(pr.DeltaRule([*INITIAL, 0.8], 0.05, 0.5, decay=0.5)),
        pr.WithLevel(pr.Learner([*INITIAL, 0.8], GEOMETRIC)),
        pr.WithLevel(pr.Learner([*INITIAL, 0.8], pr.PowerLaw(0.8, floor=0.05), 0.5)),
        pr.WithLevel(pr.Bayesian([*INITIAL, 0.8], 0.7, 0.5)),
        pr.WithLevel(pr.Forgetful([*INITIAL, 0.8], GEOMETRIC)),
        pr.WithLevel(pr.Folding([*INITIAL, 0.8], GEOMETRIC, 0.5)),
        pr.WithLevel(pr.NoLearning([*INITIAL, 0.8])),
    ],
    "crowd": [
        Crowd(
            {
                "by showings": (pr.Learner(INITIAL, GEOMETRIC), 0.25),
                "by outcomes": (pr.DeltaRule(INITIAL, 0.05, 1.0), 0.75),
            }
        )
    ],
}
EVERYBODY = [person for people in EXAMPLES.values() for person in people]
NAMES = [f"{kind}-{i}" for kind, people in EXAMPLES.items() for i in range(len(people))]
# A crowd has no weights of its own; somebody has to be drawn first.
INDIVIDUALS = {
    name: person
    for name, person in zip(NAMES, EVERYBODY, strict=True)
    if not isinstance(person, Crowd)
}

WORLD = pr.World(
    [1.0, 0.8, -0.5], np.array([[1.0, 0.6, 0.3], [0.6, 2.0, -0.2], [0.3, -0.2, 0.7]]), 0.2
)

# The same tests, with a diagnosis as the outcome.
YES_NO = {
    link: pr.World(WORLD.coefficients, WORLD.covariance, outcome=pr.Binary(0.3, link))
    for link in ("probit", "logistic")
}
YES_NO_RISKS = {
    "decisions": pr.Decision(miss=3.0, false_alarm=1.0),
    "Brier": pr.Brier(),
    "log loss": pr.LogLoss(),
}


def moving(person, world, state):
    """Weights (..., n), and last the level of people who learn it."""
    weights = person.weights_of(world, state)
    if not person.has_level:
        return weights
    level = np.broadcast_to(person.level_of(world, state), weights.shape[:-1])
    return np.concatenate([weights, level[..., None]], axis=-1)
