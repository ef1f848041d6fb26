"""People whose state is their weights and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.world import World
from preceptor.people.person import Person


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
