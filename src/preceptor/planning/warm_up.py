"""Compiling is not planning: kernels are compiled or loaded before the clock of a search starts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from preceptor.engine.instance import DualInstance


@cache
def compile_search() -> None:
    """Compile, or load from disk, what the search needs. Once per process."""
    from preceptor.engine.search import search_schedule

    search_schedule(_tiny(), length=4, time_limit=60.0, max_kicks=1)


@cache
def compile_proof() -> None:
    """The same for the dual and its beam."""
    from preceptor.engine.certified_beam import certified_beam
    from preceptor.engine.dual import solve_dual

    instance = _tiny()
    path = np.zeros(4, dtype=np.int64)
    bound = solve_dual(instance, path, time_limit=60.0, max_iterations=1)
    certified_beam(bound, path, 0, width=8, time_limit=60.0)


def _tiny() -> DualInstance:
    from preceptor.engine.instance import DualInstance

    return DualInstance(
        covariance=np.array([[1.0, 0.5], [0.5, 1.0]]),
        initial_error=np.array([1.0, 0.5]),
        alpha=np.array([1.5, 1.5]),
        members=np.array([[-1], [0], [1]], dtype=np.int64),
        set_cost=np.array([2.0, 0.5, 0.6]),
        discount=0.5,
        horizon=None,
    )
