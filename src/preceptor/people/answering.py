"""From what tests add up to, to an answer and to what is learned, where the outcome is yes or no.

The sum is a score then. The person adds the score of an average case, slips, and turns the result
into a probability or a decision as the risk says; and what they expect of the outcome, which is
what surprises are counted from, is the chance of yes.
"""

from __future__ import annotations

import dataclasses

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


def chance_slope(world: World, added_up: FloatArray) -> FloatArray:
    """How much the chance of yes rises per unit of score, where tests add up to this.

    Parameters
    ----------
    world
        With an outcome that is yes or no, as the person takes it to be.
    added_up
        Weights times tests as filled in, any shape.

    Returns
    -------
    array
        Densities, of the same shape.
    """
    assert world.outcome is not None
    return world.outcome.from_score.density(world.base_score + added_up)


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
