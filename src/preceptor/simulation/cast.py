"""A cast of simulated people for one problem: its own learner, and four that differ from it.

All have the problem's initial weights, impute hidden tests as its learner does unless that is the
difference, and have about the same initial speed. So only their learning rules differ.
"""

from __future__ import annotations

import numpy as np

from preceptor.model.person import Person
from preceptor.model.problem import Problem
from preceptor.people.by_showings import Learner
from preceptor.people.forgetful import Forgetful
from preceptor.people.human import Human
from preceptor.people.matched import matched_delta_rate, matched_prior_variance, matched_scatter
from preceptor.people.outcome_learners import Bayesian, DeltaRule
from preceptor.simulation.choosing import most_predictive


def people_of(problem: Problem, *, forgetting: float = 0.02) -> dict[str, Person]:
    """Return the cast by name, with settings derived from the problem.

    - **paper**: the problem's own learner;
    - **least mean squares**: the delta rule on shown tests, at `matched_rate(problem)`;
    - **Bayesian**: prior variances equal to the actual squared errors, and the residual variance of
      the most predictive set as noise;
    - **forgets**: the paper's learner who loses `forgetting` of the exposure to hidden tests;
    - **ignores correlation**: the paper's learner who takes hidden tests to be average.

    Kinds that use exposure counts start with the problem's `start`; the others with the weights
    that its learner has by then.

    Parameters
    ----------
    problem
        The problem whose person they resemble at the start.
    forgetting
        Share of the exposure to a hidden test that is lost each round, from 0 to 1.

    Returns
    -------
    dict of str to Person
        Five people.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.25)), 1)
    >>> people_of(problem)["least mean squares"].rate == matched_rate(problem)
    True
    """
    learner = problem.by_showings
    beliefs = learner.beliefs(problem.world, problem.start_counts)
    imputation = learner.imputation
    return {
        "paper": learner,
        "least mean squares": DeltaRule(beliefs, matched_rate(problem), imputation),
        "Bayesian": Bayesian(
            beliefs,
            matched_prior_variance(problem.world, problem.initial_errors),
            matched_scatter(problem.world, most_predictive(problem).shown),
            imputation,
        ),
        "forgets": Forgetful(learner.initial, learner.curves, forgetting, imputation),
        "ignores correlation": Learner(learner.initial, learner.curves, imputation=1.0),
    }


def humans_of(
    problem: Problem, *, forgetting: float = 0.02, response_noise: float = 0.0
) -> dict[str, Human]:
    """Return the people of `people_of` as simulated people.

    Parameters
    ----------
    problem
        The problem whose person they resemble at the start.
    forgetting
        Share of the exposure to a hidden test that is lost each round, from 0 to 1.
    response_noise
        Standard deviation of the noise added to every answer, in units of the outcome.

    Returns
    -------
    dict of str to Human
        Five people.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)
    >>> sorted(humans_of(problem))[:3]
    ['Bayesian', 'forgets', 'ignores correlation']
    """
    return {
        name: acting_in(problem, person, response_noise)
        for name, person in people_of(problem, forgetting=forgetting).items()
    }


def acting_in(problem: Problem, human: Human | Person, response_noise: float = 0.0) -> Human:
    """Return a simulated person in a problem, with its `start` if the kind uses exposure counts."""
    if not isinstance(human, Person):
        return human
    start = None if human.start_faults(problem.start) else problem.start
    return human.acting(problem.world, start, response_noise, problem.risk)


def matched_rate(problem: Problem) -> float:
    """Return the delta rule's rate at which the first showing teaches as much as the curve does.

    With one test shown, a step removes a share rate x variance of its expected error; the curve
    gives that share, and tests are averaged. At most 1 / (3 x the largest total variance of a set):
    from twice that on, squared errors of the delta rule may diverge.

    Parameters
    ----------
    problem
        The problem whose learner is matched.

    Returns
    -------
    float
        The rate for `DeltaRule`.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.25)), 1)
    >>> round(matched_rate(problem), 6)   # 1 - 1/1.25
    0.2
    """
    start = np.asarray(problem.start_counts)
    now, later = (np.abs(problem.by_showings.retention(counts)) for counts in (start, start + 1))
    learned = 1.0 - np.divide(later, now, out=np.ones_like(later), where=now > 0)
    shown = problem.budget.maximise(np.diag(problem.world.covariance).copy())
    return matched_delta_rate(problem.world, learned, shown)
