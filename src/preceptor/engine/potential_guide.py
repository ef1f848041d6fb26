"""How potentials of the counts guide a beam, for any curve, imputation and convex risk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.potentials import PotentialBound

# Adding up what a set costs forever takes long: few nodes are tried, and not in every layer.
_TRIED_LAYERS, _TRIED_NODES = 10, 3


@dataclass(frozen=True, eq=False)
class PotentialGuide:
    """A `Guide` by what `engine.potentials` prove.

    Errors are known up to the caps alone, so whoever knows the curves has to price plans.
    """

    bound: PotentialBound
    price: Callable[[IntArray, int], float]

    @cached_property
    def most(self) -> IntArray:
        """(n,) showings beyond which nothing about a test changes."""
        instance = self.bound.instance
        return np.where(instance.settled, instance.caps, instance.length)

    @cached_property
    def _least(self) -> FloatArray:
        """What each action costs at least, whatever the errors (actions,)."""
        instance = self.bound.instance
        return np.array([instance.charge(S, instance.floor[S]) for S in instance.actions])

    def expand(
        self, t: int, counts: IntArray, prefix: FloatArray, limit: float, F: FloatArray,
        G: FloatArray,
    ) -> None:  # fmt: skip
        """Bounds and costs of all children, by all cores."""
        from preceptor.engine._count_beam_kernels import expand_counts

        bound, instance = self.bound, self.bound.instance
        arguments = (
            counts, prefix, instance.errors, instance.caps, *instance.loss_arrays,
            instance.actions, self._least, bound.potential(t + 1), float(bound.constants[t + 1]),
            instance.discount**t, instance.discount, limit, F, G,
        )  # fmt: skip
        in_threads(lambda part: expand_counts(part.start, part.stop, *arguments), prefix.size)

    def nodes_tried(self, t: int) -> int:
        """A few now and then, and in the last layer."""
        instance = self.bound.instance
        now = t % _TRIED_LAYERS == 0 or t == instance.length
        return _TRIED_NODES if now and instance.horizon is None else 0

    def best_repeat(self, counts: IntArray, limit: float) -> tuple[int, float]:
        """The set that is cheapest shown forever from there, about, and its cost."""
        from preceptor.engine._count_beam_kernels import best_repeat

        instance = self.bound.instance
        found: tuple[int, float] = best_repeat(
            counts, instance.errors, self.most, *instance.loss_arrays, instance.actions,
            instance.discount, limit,
        )  # fmt: skip
        return found
