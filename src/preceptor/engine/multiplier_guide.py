"""How multipliers of each round guide a beam, where a showing divides an error by a constant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.dual import DualBound
from preceptor.engine.instance import evaluate_schedule

# Nodes of a layer that are tried with each set shown forever: at most so many, and no more than so
# many sets altogether.
_MOST_NODES, _MOST_SETS = 12, 30000


@dataclass(frozen=True, eq=False)
class MultiplierGuide:
    """A `Guide` by what `engine.dual` proves; prices are closed forms."""

    bound: DualBound

    @cached_property
    def most(self) -> IntArray:
        """(n,) showings that are counted: errors never stand still, so all of them."""
        return np.full(self.bound.instance.n_features, self.bound.length, dtype=np.int64)

    @cached_property
    def _log_alpha(self) -> FloatArray:
        return np.log(self.bound.instance.alpha)

    def expand(
        self, t: int, counts: IntArray, prefix: FloatArray, limit: float, F: FloatArray,
        G: FloatArray,
    ) -> None:  # fmt: skip
        """Bounds and costs of all children, by all cores."""
        from preceptor.engine._beam_kernels import expand_layer

        bound, instance = self.bound, self.bound.instance
        arguments = (
            counts, prefix, self._log_alpha, instance.factor, instance.members, instance.set_cost,
            instance.actions, bound.potential(t + 1, t + 1), float(bound.constants[t + 1]),
            instance.discount**t, instance.discount, limit, F, G,
        )  # fmt: skip
        in_threads(lambda part: expand_layer(part.start, part.stop, *arguments), prefix.size)

    def nodes_tried(self, t: int) -> int:
        """Some in every layer: a closed form prices each set."""
        instance = self.bound.instance
        if instance.horizon is not None:
            return 0
        return max(1, min(_MOST_NODES, _MOST_SETS // instance.n_sets))

    def best_repeat(self, counts: IntArray, limit: float) -> tuple[int, float]:
        """The set that is cheapest shown forever, and its cost; `limit` saves nothing here."""
        from preceptor.engine._schedule_kernels import best_commit

        instance = self.bound.instance
        found: tuple[int, float] = best_commit(
            np.exp(-counts * self._log_alpha), instance.factor, instance.set_cost, instance.shown,
            1.0 / instance.alpha, instance.discount,
        )  # fmt: skip
        return found

    def price(self, path: IntArray, commit: int) -> float:
        """What a plan costs exactly."""
        return evaluate_schedule(self.bound.instance, path, commit)
