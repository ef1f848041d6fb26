"""Lower bounds at the edge of a box of counts, from a dual: beyond it nothing is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.certificate import Certificate
from preceptor.planning.anytime import Watch
from preceptor.planning.count_space import ABSENT
from preceptor.planning.shape import shape_of
from preceptor.problem import Problem


@dataclass(frozen=True)
class EdgeBounds:
    """Separable lower bounds on the cost of going on: constant + Σ_i potential[i, count of i]."""

    potentials: FloatArray  # (bounds, n, counts)
    constants: FloatArray  # (bounds,)
    certificate: Certificate  # what proves them

    def in_order(self, coordinate: IntArray, order: IntArray) -> tuple[FloatArray, FloatArray]:
        """Potentials by coordinate in the order of the box; tests that share a count add up."""
        bounds, _, counts = self.potentials.shape
        by_coordinate = np.zeros((bounds, order.size, counts))
        constants = self.constants.copy()
        for test, c in enumerate(coordinate):
            if c == ABSENT:
                constants += self.potentials[:, test, 0]
            else:
                by_coordinate[:, c] += self.potentials[:, test]
        return np.ascontiguousarray(by_coordinate[:, order]), constants


def edge_bounds(problem: Problem, caps: IntArray, seconds: float) -> EdgeBounds | None:
    """From a dual bound worked out in about so many seconds, for the edge of this box.

    φ_t(m) + C_t bounds the cost of going on from counts m for every t >= max(m); the problem has
    no clock, so several t are tried and the best one counts.
    """
    from preceptor.engine.dual import solve_dual
    from preceptor.planning.reduction import certificate_of, to_instance
    from preceptor.planning.search import search

    if shape_of(problem).why_not_geometric or seconds <= 0:
        return None
    watch = Watch(seconds)
    found = search(problem, watch, max_kicks=None, seed=0, progress=None, seconds=0.2 * seconds)
    with watch.halting() as halt:
        bound = solve_dual(to_instance(problem), found.path, time_limit=watch.left, halt=halt)
    if not np.isfinite(bound.value):
        return None
    largest = int(caps.max())
    rounds = sorted({min(int(largest * f), bound.length) for f in (1.0, 1.2, 1.5, 2.0, 3.0)})
    rounds = [t for t in rounds if t >= largest]
    if not rounds:
        return None
    potentials = np.stack([bound.potential(t, largest) for t in rounds])
    return EdgeBounds(potentials, bound.constants[rounds], certificate_of(bound))
