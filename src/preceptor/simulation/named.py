"""People by name: those to plan for, and a cast of simulated people for one problem.

All of them start with the same beliefs, and a first showing teaches those who learn about equally
much, so that plans for different kinds can be compared and only learning rules differ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preceptor.errors import InvalidInput
from preceptor.model.evaluation import people_of as members_of
from preceptor.model.person import BY_SHOWINGS, Person
from preceptor.model.problem import Problem
from preceptor.people.by_showings import Learner
from preceptor.people.coordinatewise import Drifting, Indirect, NoLearning
from preceptor.people.crowd import Crowd
from preceptor.people.curves import Geometric
from preceptor.people.folding import Folding
from preceptor.people.forgetful import Forgetful
from preceptor.people.human import Human
from preceptor.people.matched import (
    DEFAULT_HALF_LIFE,
    matched_delta_rate,
    matched_prior_variance,
    matched_scatter,
)
from preceptor.people.outcome_learners import Bayesian, DeltaRule
from preceptor.planning.candidate_sets import most_predictive_set
from preceptor.simulation.exemplar import ExemplarLearner

CROWD = "crowd"
# For kinds that interpolate between two theories.
_HALFWAY = 0.5


def person_of_kind(problem: Problem, kind: str, half_life: float) -> Person:
    """Return a person of this kind that resembles the problem's person, who learns by showings.

    Parameters
    ----------
    problem
        With a person who learns by showings.
    kind
        One of `KINDS`.
    half_life
        Showings after which half of a weight's error is gone; the same as in that person's curve.

    Returns
    -------
    Person
        With the same initial beliefs and imputation; the members of the crowd have their own.

    Raises
    ------
    InvalidInput
        An unknown kind.
    """
    check_kind(kind)
    return KINDS[kind](problem, half_life)


def check_kind(kind: object) -> None:
    """Raise `InvalidInput` for a kind that is not one of `KINDS`."""
    if kind not in KINDS:
        raise InvalidInput(f"person: {kind!r} is not known; there are {', '.join(KINDS)}")


def _crowd(problem: Problem, half_life: float) -> Person:
    at_once = len(problem.budget.maximise(np.ones(problem.size)))
    return Crowd.default(problem.world, problem.learner.initial, half_life=half_life, tests=at_once)


def _delta_rule(problem: Problem, half_life: float) -> Person:
    widest = problem.budget.maximise(np.diag(problem.world.covariance).copy())
    learned = 1.0 - 0.5 ** (1.0 / half_life)
    rate = matched_delta_rate(problem.world, learned, widest)
    return DeltaRule(problem.learner.initial, rate, problem.learner.imputation)


def _bayesian(problem: Problem, half_life: float) -> Person:
    return Bayesian(
        problem.learner.initial,
        matched_prior_variance(problem.world, problem.initial_errors),
        matched_scatter(problem.world, most_predictive_set(problem)),
        problem.learner.imputation,
    )


def _with_curves(kind: Callable[..., Person], **given: float) -> Callable[[Problem, float], Person]:
    """A kind that has the curves of a person who learns by showings."""

    def made(problem: Problem, half_life: float) -> Person:
        person = problem.by_showings
        return kind(person.initial, person.curves, imputation=person.imputation, **given)

    return made


KINDS: dict[str, Callable[[Problem, float], Person]] = {
    CROWD: _crowd,
    BY_SHOWINGS: lambda problem, _: problem.learner,
    "delta-rule": _delta_rule,
    "bayesian": _bayesian,
    "forgetful": _with_curves(Forgetful),
    "drifting": _with_curves(Drifting),
    "folding": _with_curves(Folding, folding=_HALFWAY),
    "indirect": _with_curves(Indirect, indirect=_HALFWAY),
    "no-learning": lambda p, _: NoLearning(p.learner.initial, p.learner.imputation),
}
"""Constructors by the names that `advise` and `preceptor plan --person` take."""

# Kinds without a half-life: one never learns, the other as fast as is rational.
WITHOUT_SPEED = ("no-learning", "bayesian")
# Further names of simulated people: what users type, and the name in `simulation`.
HUMANS = {
    "paper": "paper",
    "lms": "least mean squares",
    "bayes": "Bayesian",
    "forgets": "forgets",
    "ignores": "ignores correlation",
}
# A simulated person who remembers cases, and how fast similarity falls with distance for them.
EXEMPLAR, _SENSITIVITY = "exemplar", 0.7
# All names of people that can be planned for and simulated, and of those that can be simulated.
PERSON_NAMES = (*HUMANS, *(kind for kind in KINDS if kind not in HUMANS))
HUMAN_NAMES = (*PERSON_NAMES, EXEMPLAR)


# --- The cast: the problem's own learner, and four that differ from it ---


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
            matched_scatter(problem.world, most_predictive_set(problem)),
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


# --- Simulated people by name: the kinds that can be planned for, and the rest of the cast ---
#
# Kinds have the names that `advise` takes; five of them also have the short names of the cast.
# Each resembles the problem's own person: the same initial weights, and about the same initial
# speed.

# Kinds that are in the cast under another name.
_SHORT = {"by-showings": "paper", "delta-rule": "lms", "bayesian": "bayes", "forgetful": "forgets"}


def person_named(problem: Problem, name: str) -> Person:
    """Return the person with a name, adapted to a problem.

    Parameters
    ----------
    problem
        The problem whose person they resemble.
    name
        One of `PERSON_NAMES`.

    Returns
    -------
    Person
        With the problem's initial weights.

    Raises
    ------
    InvalidInput
        An unknown name.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)
    >>> person_named(problem, "lms") == person_named(problem, "delta-rule")
    True
    """
    if name not in PERSON_NAMES:
        raise InvalidInput(f"human: {name!r}, must be one of {', '.join(PERSON_NAMES)}")
    like = resembled(problem)
    short = _SHORT.get(name, name)
    if short in HUMANS:
        return people_of(like)[HUMANS[short]]
    return person_of_kind(like, name, DEFAULT_HALF_LIFE)


def human_named(problem: Problem, name: str | None, noise: float = 0.0) -> Human:
    """Return a simulated person by name; without a name, the problem's own.

    Parameters
    ----------
    problem
        The problem whose person they resemble.
    name
        One of `HUMAN_NAMES`, or None.
    noise
        Standard deviation of the response noise, in units of the outcome.

    Returns
    -------
    Human
        In the state before the first round.

    Raises
    ------
    InvalidInput
        An unknown name.
    """
    if name == EXEMPLAR:
        return ExemplarLearner(problem.world, _SENSITIVITY, noise)
    person = problem.learner if name is None else person_named(problem, name)
    return acting_in(problem, person, noise)


def resembled(problem: Problem) -> Problem:
    """Return the problem with a person who learns by showings, as the cast needs."""
    if problem.learns_by_showings:
        return problem
    members = list(members_of(problem).values())
    known = [each for each in members if isinstance(each, Learner)]
    usual = Geometric.from_half_life(DEFAULT_HALF_LIFE)
    fills = members[0].imputation
    person = known[0] if known else Learner(problem.learner.initial, usual, fills)
    return problem.replace(learner=person)
