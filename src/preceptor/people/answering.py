"""From what tests add up to, to an answer and to what is learned, where the outcome is yes or no.

The sum is a score then. The person adds the score of an average case, slips, and turns the result
into a probability or a decision as the risk says; and what they expect of the outcome, which is
what surprises are counted from, is the chance of yes.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.risks import Risk
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision, YesNoRisk


def foreseen(world: World, added_up: FloatArray) -> FloatArray:
    """The outcome that somebody expects whose tests add up to this.

    Parameters
    ----------
    world
        How tests and outcomes come about, as the person takes it to be.
    added_up
        Weights times tests as filled in, any shape.

    Returns
    -------
    array
        The sum itself where the outcome is a number; the chance of yes where it is yes or no.
    """
    if world.outcome is None:
        return added_up
    return world.outcome.from_score.probability(world.base_score + added_up)


def foreseen_slope(world: World, added_up: FloatArray) -> FloatArray:
    """How much what is foreseen rises per unit of score, where tests add up to this.

    Parameters
    ----------
    world
        As the person takes it to be.
    added_up
        Weights times tests as filled in, any shape.

    Returns
    -------
    array
        1 where the outcome is a number, densities where it is yes or no; of the same shape.
    """
    if world.outcome is None:
        return np.ones(np.shape(added_up))
    return world.outcome.from_score.density(world.base_score + added_up)


def as_normal(world: World, scatter: float) -> float:
    """Variance of the normal scatter that comes nearest to one with this variance.

    A logistic chance is flatter than a normal one of its variance: the normal one with which its
    probabilities agree best has 0.88 of it. With the probit link nothing changes.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    scatter
        Variance of what is compared with 0, around what the tests add up to.

    Returns
    -------
    float
        The variance to reckon with.
    """
    assert world.outcome is not None
    link = world.outcome.from_score
    return scatter * (link.unit**2 / link.variance)


class Heard(NamedTuple):
    """What a yes or no does to a normal belief about a score, each of shape (...)."""

    pull: FloatArray  # how far the mean moves, per unit of covariance with the score
    surer: FloatArray  # how much variance is lost, per unit of squared covariance
    log_chance: FloatArray  # of hearing it


def heard(score: FloatArray, spread: FloatArray, yes: npt.ArrayLike) -> Heard:
    """A yes says that a normal score was above 0: assumed-density filtering.

    The belief given that is not normal; the normal one with the same mean and covariance takes its
    place (Opper 1998; one pass of expectation propagation, Minka 2001). Both moments are exact for
    one case.

    Parameters
    ----------
    score
        Mean of the score, shape (...).
    spread
        Its variance, that of the belief and of the scatter together, shape (...).
    yes
        1 for yes, 0 for no, shape (...).

    Returns
    -------
    Heard
        With c the covariance of the weights and the score, their mean moves by c x pull and their
        covariance loses c c' x surer.
    """
    from scipy.special import log_ndtr

    deviation = np.sqrt(spread)
    side = np.where(np.asarray(yes) > 0.5, 1.0, -1.0)
    z = side * score / deviation
    log_chance = log_ndtr(z)
    # density / distribution function, without underflow far below 0
    ratio = np.exp(-0.5 * z * z - log_chance) / np.sqrt(2.0 * np.pi)
    return Heard(side * ratio / deviation, ratio * (ratio + z) / deviation**2, log_chance)


def as_believed(world: World, risk: YesNoRisk) -> World:
    """The world as somebody takes it to be for whom yes is as common as the risk says.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    risk
        Says how common the person takes yes to be.

    Returns
    -------
    World
        The same world if they are right.
    """
    if risk.believed_prevalence is None:
        return world
    assert world.outcome is not None
    outcome = dataclasses.replace(world.outcome, prevalence=risk.believed_prevalence)
    return World(world.coefficients, world.covariance, outcome=outcome)


def risk_in(world: World, risk: Risk | None) -> YesNoRisk:
    """The risk by which answers are made in a yes-or-no world; share of wrong decisions if None.

    Raises
    ------
    InvalidProblem
        A risk of outcomes that are numbers.
    """
    if risk is None:
        return Decision()
    if not isinstance(risk, YesNoRisk):
        raise InvalidProblem(
            f"risk: {type(risk).__name__} charges outcomes that are numbers, but this one is yes "
            "or no; use Decision(), Brier() or LogLoss()"
        )
    return risk


class Answering:
    """Makes answers of scores in a yes-or-no world.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    risk
        How scores become answers.

    Examples
    --------
    >>> import numpy as np
    >>> import preceptor as pr
    >>> world = pr.World([1.0], [[1.0]], outcome=pr.Binary(0.5))
    >>> ways = Answering(world, pr.Brier())
    >>> ways.answers(np.array([1.0, -1.0])).round(4)
    array([0.8413, 0.1587])
    """

    def __init__(self, world: World, risk: YesNoRisk) -> None:
        assert world.outcome is not None
        self.risk, self.world = risk, as_believed(world, risk)
        self._link = world.outcome.from_score

    def answers(self, added_up: FloatArray) -> FloatArray:
        """What people answer.

        Parameters
        ----------
        added_up
            What the tests come to for each of them, slip included, any shape.

        Returns
        -------
        array
            Probabilities of yes; or decisions, 1 for yes and 0 for no.
        """
        return self.risk.answer(self._link, self.world.base_score + added_up)
