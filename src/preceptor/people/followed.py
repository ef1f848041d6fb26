"""Somebody who is followed: what the record says about their weights, exactly.

Given what was shown and what was true, weights move by a known affine map (`Person.moves`), and an
answer is linear in them. So whoever begins with a normal distribution keeps one: a Kalman filter
without any approximation. After every round it is what Bayesian regression on all rounds so far
would give. Means and covariances may have leading axes, one filter for each scatter of answers
that is thought possible: what is done with a case does not depend on it.

Where outcomes are yes or no, answers are scores (without the base score) and all of this holds for
probabilities and people who learn by showings. Two things are approximate. A decision leaves no
normal distribution; the one with the same mean and covariance takes its place (assumed-density
filtering, exact moments for one answer). And whoever learns from outcomes does not move by an
affine map: the one that touches theirs at the mean takes its place (an extended Kalman filter).

Behind the n weights there may be further coefficients that never move: a constant by which answers
are off, or how far they follow the last surprise. `extra` holds what they are multiplied by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.sets import Shown, TestSet
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.answering import heard
from preceptor.people.person import Person

_NOTHING_EXTRA: FloatArray = np.zeros(0)


class Awaited(NamedTuple):
    """The answer that is awaited (...), and its variance (...) without the scatter."""

    mean: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class Followed:
    """One person of a known kind, in the middle of things.

    Parameters
    ----------
    person
        Their kind and its parameters.
    world
        How tests and outcomes come about.
    state
        What their kind keeps besides weights (exposure, certainty, rounds so far).
    mean
        Of the present weights, and of the coefficients behind them, shape (..., n + m).
    covariance
        Of the same, shape (..., n + m, n + m).
    imputer
        Fills in what is hidden as the person does.
    """

    person: Person
    world: World
    state: Any
    mean: FloatArray
    covariance: FloatArray
    imputer: Imputer

    @classmethod
    def begin(
        cls,
        world: World,
        person: Person,
        spread: npt.ArrayLike = 0.0,
        *,
        start: Sequence[int] | None = None,
        extra_spread: npt.ArrayLike = (),
        filters: tuple[int, ...] = (),
    ) -> Followed:
        """Before the first round.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        person
            Whom to follow; their `initial` is the mean.
        spread
            Standard deviation of the present weights around that, one or one for each test (n,),
            or their covariance (n, n).
        start
            Showings of each test before, for kinds that count them.
        extra_spread
            Standard deviations (m,) of the coefficients behind the weights, around 0.
        filters
            Shape of the filters that run side by side.

        Returns
        -------
        Followed
            Knows what the prior says.
        """
        n, behind = world.size, np.asarray(extra_spread, dtype=np.float64)
        state = person.fresh(world, (), start)
        wide = np.asarray(spread, dtype=np.float64)
        size = n + behind.size
        mean, covariance = np.zeros(size), np.zeros((size, size))
        mean[:n] = person.weights_of(world, state)
        covariance[:n, :n] = (
            wide if wide.ndim == 2 else np.diag(np.broadcast_to(wide, (n,)).astype(np.float64) ** 2)
        )
        covariance[n:, n:] = np.diag(behind**2)
        return cls(
            person,
            world,
            state,
            np.broadcast_to(mean, (*filters, size)).copy(),
            np.broadcast_to(covariance, (*filters, size, size)).copy(),
            Imputer(person.imputing_covariance(world)),
        )

    @property
    def weights(self) -> FloatArray:
        """Means of the present weights (..., n)."""
        return self.mean[..., : self.world.size]

    @property
    def weights_covariance(self) -> FloatArray:
        """Covariances of the present weights (..., n, n)."""
        return self.covariance[..., : self.world.size, : self.world.size]

    def filled(self, shown: TestSet, values: FloatArray) -> FloatArray:
        """All tests (n,) of a case as this person has them in mind."""
        return self.imputer.one(shown, values)

    def awaited(self, filled: FloatArray, extra: FloatArray = _NOTHING_EXTRA) -> Awaited:
        """What they would answer to a case."""
        reading = np.concatenate([filled, extra])
        towards = self.covariance @ reading
        return Awaited(self.mean @ reading, towards @ reading)

    def answered(
        self,
        filled: FloatArray,
        answer: float,
        scatter: npt.ArrayLike,
        extra: FloatArray = _NOTHING_EXTRA,
    ) -> tuple[Followed, FloatArray]:
        """What is known once they have answered, and how likely that answer was.

        Parameters
        ----------
        filled
            All tests of the case as they have them in mind, shape (n,).
        answer
            What they said, in the world's units.
        scatter
            Variance of answers around what weights say, one or one for each filter (...).
        extra
            What the coefficients behind the weights are multiplied by, shape (m,).

        Returns
        -------
        tuple of Followed and array of shape (...)
            The update, and the logarithm of the answer's density before it.
        """
        reading = np.concatenate([filled, extra])
        towards = self.covariance @ reading
        variance = towards @ reading + np.asarray(scatter, dtype=np.float64)
        surprise = answer - self.mean @ reading
        gain = towards / variance[..., None]
        mean = self.mean + gain * surprise[..., None]
        covariance = self.covariance - gain[..., :, None] * towards[..., None, :]
        density = -0.5 * (np.log(2.0 * np.pi * variance) + surprise**2 / variance)
        return replace(self, mean=mean, covariance=covariance), density

    def decided(
        self,
        filled: FloatArray,
        yes: bool,
        scatter: npt.ArrayLike,
        above: float = 0.0,
        extra: FloatArray = _NOTHING_EXTRA,
    ) -> tuple[Followed, FloatArray]:
        """What is known once they have said yes or no, and how likely that was.

        Parameters
        ----------
        filled
            All tests of the case as they have them in mind, shape (n,).
        yes
            What they said.
        scatter
            Variance of scores around what weights say, one or one for each filter (...).
        above
            The score, base included, above which they say yes.
        extra
            What the coefficients behind the weights are multiplied by, shape (m,).

        Returns
        -------
        tuple of Followed and array of shape (...)
            The normal distribution with the mean and covariance of what is known now, and the
            logarithm of how likely that answer was.
        """
        reading = np.concatenate([filled, extra])
        towards = self.covariance @ reading
        spread = towards @ reading + np.asarray(scatter, dtype=np.float64)
        score = self.world.base_score - above + self.mean @ reading
        pull, surer, chance = heard(score, spread, yes)
        mean = self.mean + towards * pull[..., None]
        lost = surer[..., None, None] * towards[..., :, None] * towards[..., None, :]
        return replace(self, mean=mean, covariance=self.covariance - lost), chance

    def told(self, filled: FloatArray, shown: Shown, outcome: float) -> Followed:
        """Once they have heard what was true, and learned from it.

        Parameters
        ----------
        filled
            All tests of the case as they have them in mind, shape (n,).
        shown
            Which of them were seen, shape (n,).
        outcome
            What was true, in the world's units.

        Returns
        -------
        Followed
            Their weights have moved.
        """
        person, world, truth = self.person, self.world, np.asarray(outcome, dtype=np.float64)
        here = before = self.state
        if world.is_binary:
            # Each filter moves by the map at its own weights. What their kind keeps besides
            # weights is the same for all filters.
            here = person.at_weights(self.state, self.weights)
            middle = self.weights.reshape(-1, world.size).mean(axis=0)
            before = person.at_weights(self.state, middle)
        turn, push = person.moves(world, here, filled, shown, truth)
        n, mean, covariance = world.size, self.mean.copy(), self.covariance.copy()
        mean[..., :n] = np.squeeze(turn @ self.weights[..., None], -1) + push
        covariance[..., :n, :] = turn @ covariance[..., :n, :]
        covariance[..., :, :n] = covariance[..., :, :n] @ np.swapaxes(turn, -1, -2)
        state = person.learn(world, before, filled, shown, truth)
        return replace(self, state=state, mean=mean, covariance=covariance)

    def wandered(self, drift: float) -> Followed:
        """Once weights have wandered by this standard deviation for reasons of their own."""
        covariance, n = self.covariance.copy(), self.world.size
        covariance[..., range(n), range(n)] += drift**2
        return replace(self, covariance=covariance)

    def now(self, weights: FloatArray | None = None) -> Person:
        """Somebody who goes on from here as this one would; weights are the means if left out."""
        at = self.weights if weights is None else weights
        return self.person.from_here(self.world, self.state, at)
