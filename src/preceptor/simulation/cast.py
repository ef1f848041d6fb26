"""A cast of people for one problem: the one it was made for, and four that it was not.

All start with the problem's beliefs, fill in hidden tests as its learner does unless that is the
difference, and learn about as fast in the beginning. So what differs in a table is how they learn.
"""

from __future__ import annotations

import numpy as np

from preceptor.people.bayesian import Bayesian
from preceptor.people.by_showings import Learner
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.forgetful import Forgetful
from preceptor.people.human import Human
from preceptor.people.matched import matched_delta_rate, matched_prior_variance, matched_scatter
from preceptor.people.person import Person
from preceptor.problem import Problem
from preceptor.simulation.choosing import most_predictive


def people_of(problem: Problem, *, forgetting: float = 0.02) -> dict[str, Person]:
    """People by name, with settings derived from the problem.

    - **paper**: the problem's own learner;
    - **least mean squares**: the delta rule on shown tests, at `matched_rate(problem)`;
    - **Bayesian**: as unsure of the weights as they are in fact wrong, and expecting the scatter
      that is left around the most predictive set;
    - **forgets**: the paper's learner who loses `forgetting` of the exposure to hidden tests;
    - **ignores correlation**: the paper's learner who takes hidden tests to be average.

    Those who count showings begin with the problem's `start`; the others with the weights that
    its learner has by then.

    Parameters
    ----------
    problem
        Whose person they resemble at the start.
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
    """The people of `people_of`, ready to act.

    Parameters
    ----------
    problem
        Whose person they resemble at the start.
    forgetting
        Share of the exposure to a hidden test that is lost each round, from 0 to 1.
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome.

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
    """Somebody who acts in a problem; showings before it count for whoever counts them."""
    if not isinstance(human, Person):
        return human
    start = None if human.start_faults(problem.start) else problem.start
    return human.acting(problem.world, start, response_noise, problem.risk)


def matched_rate(problem: Problem) -> float:
    """The delta rule's rate at which the first showing teaches as much as the curve says.

    With one test shown, a step takes away a share rate x variance of its expected error; the curve
    says which share, and tests are averaged. At most 1 / (3 x the variance that can be shown at
    once): from twice that on, squared errors of the delta rule may grow without end.

    Parameters
    ----------
    problem
        Whose person is to be matched.

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
