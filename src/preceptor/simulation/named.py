"""Simulated people by name: the kinds that can be planned for, and who else is in the cast.

Kinds go by the names of `advise`; five of them have the short names of the cast too. Whoever is
named resembles the problem's own person: same first beliefs, and about as fast at first.
"""

from __future__ import annotations

from preceptor.advice.choices import DEFAULT_HALF_LIFE
from preceptor.advice.kinds import EVERYBODY, HUMANS, person_of_kind
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import people_of as members_of
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.people.human import Human
from preceptor.people.person import Person
from preceptor.problem import Problem
from preceptor.simulation.cast import acting_in, people_of

# Kinds of `advise` who are in the cast as well: one person, two names.
_ALSO = {"by-showings": "paper", "delta-rule": "lms", "bayesian": "bayes", "forgetful": "forgets"}


def person_named(problem: Problem, name: str) -> Person:
    """The person of a name in a problem.

    Parameters
    ----------
    problem
        Whose person they resemble.
    name
        One of `EVERYBODY`.

    Returns
    -------
    Person
        With the problem's first beliefs.

    Raises
    ------
    InvalidInput
        A name that is not known.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)
    >>> person_named(problem, "lms") == person_named(problem, "delta-rule")
    True
    """
    if name not in EVERYBODY:
        raise InvalidInput(f"human: {name!r}, must be one of {', '.join(EVERYBODY)}")
    like = resembled(problem)
    short = _ALSO.get(name, name)
    if short in HUMANS:
        return people_of(like)[HUMANS[short]]
    return person_of_kind(like, name, DEFAULT_HALF_LIFE)


def human_named(problem: Problem, name: str | None, noise: float = 0.0) -> Human:
    """Somebody who acts in a problem; without a name the person it was made for.

    Parameters
    ----------
    problem
        Whose person they resemble.
    name
        One of `EVERYBODY`, or None.
    noise
        Standard deviation of their answers, in units of the outcome.

    Returns
    -------
    Human
        Ready for the first round.

    Raises
    ------
    InvalidInput
        A name that is not known.
    """
    if name is None:
        return acting_in(problem, problem.learner, noise)
    return acting_in(problem, person_named(problem, name), noise)


def resembled(problem: Problem) -> Problem:
    """The problem with somebody who learns by showings, whom the cast can resemble."""
    if problem.learns_by_showings:
        return problem
    known = [each for each in members_of(problem).values() if isinstance(each, Learner)]
    usual = Geometric.from_half_life(DEFAULT_HALF_LIFE)
    person = known[0] if known else Learner(problem.learner.initial, usual)
    return problem.replace(learner=person)
