"""People whose errors move each by itself, by what was shown alone: e' = keep x e + shift.

A kind only says what is kept and what is added, given which tests were shown. How they act, what
is expected of them and how they are followed come from that.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.person import Affine, Person

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


@dataclass(frozen=True, eq=False, repr=False)
class Weighted(Person):
    """Base of people who remember weights (..., n), and neither exposure nor rounds."""

    def fresh(
        self, world: World, people: tuple[int, ...], start: Sequence[int] | None
    ) -> FloatArray:
        """The first weights."""
        return np.broadcast_to(self.initial, (*people, self.size)).copy()

    def weights_of(self, world: World, state: FloatArray) -> FloatArray:
        """The state."""
        return state

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Person:
        """The same person with these weights: nothing else has been kept."""
        changed: dict[str, Any] = {"initial": weights}
        return replace(self, **changed)


class Kept(NamedTuple):
    """Errors e become `keep` x e + `shift`, test by test."""

    keep: FloatArray  # (..., n)
    shift: FloatArray  # (..., n)


@dataclass(frozen=True, eq=False, repr=False)
class Coordinatewise(Weighted):
    """Base of people who say what a round keeps of each error."""

    @abstractmethod
    def kept(self, world: World, shown: Shown) -> Kept:
        """What a round makes of errors.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        shown
            Which tests were seen, shape (..., n).

        Returns
        -------
        Kept
            For every test, shown or hidden.
        """

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """Whatever the results and the outcome were, errors keep their share."""
        keep, shift = self.kept(world, shown)
        # Weights that nothing moves keep every bit: truth minus their error would not.
        moved: FloatArray = keep * state + ((1.0 - keep) * world.coefficients - shift)
        return moved

    def moves(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """The same map, whatever the record says beside what was shown."""
        keep, shift = self.kept(world, shown)
        push = (1.0 - keep) * world.coefficients - shift
        return Affine(keep[..., None] * np.eye(self.size), push)

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.coordinates import Coordinates

        errors = world.coefficients - self.weights_of(world, self.fresh(world, (), start))
        keep, shift = self.kept(world, sets.membership)
        return Coordinates(world, sets, errors, keep, shift, self.imputing_covariance(world))

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.certain_answers import CertainAnswers, Moved

        weights = self.weights_of(world, self.fresh(world, (), start))
        keep, shift = self.kept(world, sets.membership)
        moved = Moved.by_weights(weights, keep, (1.0 - keep) * world.coefficients - shift)
        return CertainAnswers(world, sets, self.imputing_covariance(world), risk, moved)
