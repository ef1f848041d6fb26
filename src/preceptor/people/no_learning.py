"""People who do not learn: 10 to 40% of those in published experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Vector
from preceptor.errors import InvalidProblem
from preceptor.model.sets import Shown
from preceptor.model.world import World
from preceptor.people.coordinatewise import Coordinatewise, Kept
from preceptor.people.person import Imputation


@dataclass(frozen=True, eq=False, repr=False)
class NoLearning(Coordinatewise):
    """Somebody whose weights stay as they are, whatever is shown.

    Parameters
    ----------
    initial
        The person's weights, shape (n,), in the world's units.
    imputation
        How the person fills in tests that are not shown, as for `Learner`.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> acting = NoLearning([0.5]).acting(World([1.0], [[1.0]]))
    >>> acting.feedback((0,), np.array([3.0]), 3.1)
    >>> acting.weights
    array([0.5])
    """

    kind: ClassVar[str] = "no-learning"

    initial: Annotated[Vector, "Weight that the person gives each test."]
    imputation: Imputation = 0.0

    def __init__(self, initial: npt.ArrayLike, imputation: float | npt.ArrayLike = 0.0) -> None:
        InvalidProblem.raise_if(self.fill_in(initial, imputation))

    def start_faults(self, start: Sequence[int] | None) -> list[str]:
        """None: showings before have left no trace, as none ever will."""
        return []

    def kept(self, world: World, shown: Shown) -> Kept:
        """Everything."""
        return Kept(np.ones(shown.shape), np.zeros(shown.shape))

    def learning_in_words(self) -> str:
        """That there is none."""
        return "not at all: weights stay as they are"
