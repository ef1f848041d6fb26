"""Compiling is not planning: kernels are compiled or loaded before the clock of a search starts.

No deadline counts that time, and plans report it apart (`Plan.compiled`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.deadline import UNCOUNTED
from preceptor.planning.anytime import Watch

if TYPE_CHECKING:
    from preceptor.engine.counted import CountInstance
    from preceptor.engine.instance import DualInstance
    from preceptor.problem import Problem


@cache
@UNCOUNTED.within()
def compile_search() -> None:
    """Compile, or load from disk, what the search for the paper's person needs, once."""
    from preceptor.model.risks import SquaredError

    compile_for(_tiny_problem().replace(risk=SquaredError()))


@cache
@UNCOUNTED.within()
def compile_proof() -> None:
    """The same for the dual and its beam."""
    from preceptor.engine.dual import solve_dual
    from preceptor.engine.guided_beam import guided_beam
    from preceptor.engine.multiplier_guide import MultiplierGuide

    instance = _tiny()
    path = np.zeros(4, dtype=np.int64)
    bound = solve_dual(instance, path, time_limit=60.0, max_iterations=1)
    guided_beam(MultiplierGuide(bound), path, 0, 1e9, width=8)


@cache
@UNCOUNTED.within()
def compile_counts() -> None:
    """The same for the general dual and its beam."""
    from preceptor.engine.general_dual import solve_general_dual
    from preceptor.engine.guided_beam import guided_beam
    from preceptor.engine.potential_guide import PotentialGuide

    instance = _tiny_counts()
    bound = solve_general_dual(instance, 1.0, time_limit=60.0, max_iterations=1)
    guide = PotentialGuide(bound, lambda _path, _commit: 1e9)
    guided_beam(guide, np.zeros(1, dtype=np.int64), 0, 1e9, width=8)


@cache
@UNCOUNTED.within()
def compile_exact() -> None:
    """The same for the box of counts and layers of counts."""
    from preceptor.planning.finite import DEFAULT_MEMORY, finite_plan
    from preceptor.planning.lattice import lattice_plan

    problem, watch = _tiny_problem(), Watch(None)
    lattice_plan(problem, watch, memory_limit=DEFAULT_MEMORY, edge_seconds=0.0)
    finite_plan(problem.replace(horizon=3), DEFAULT_MEMORY, watch)


@cache
@UNCOUNTED.within()
def compile_search_and_proof() -> None:
    """What a problem with multipliers of each round needs; see `_both`."""
    from preceptor.engine._dual_kernels import smooth_rounds

    _both(compile_search, compile_proof, smooth_rounds)


@cache
@UNCOUNTED.within()
def compile_exact_and_counts() -> None:
    """What a problem with potentials of the counts needs; see `_both`."""
    from preceptor.engine._count_dual_kernels import soft_pieces

    _both(compile_exact, compile_counts, soft_pieces)


def _both(here: Callable[[], None], there: Callable[[], None], kernel: object) -> None:
    """Compile both; where that kernel of the second is not on disk yet, by two processes at once.

    The other one leaves what it compiled on disk. Should it fail, this one compiles it all.
    """
    other = _elsewhere(there.__name__) if _is_cold(kernel) else None
    here()
    if other is not None:
        other.wait()
    there()


def _is_cold(kernel: object) -> bool:
    """Whether a kernel was never compiled on this machine."""
    where = getattr(getattr(kernel, "_cache", None), "cache_path", None)
    function = getattr(kernel, "py_func", None)
    if where is None or function is None:
        return False
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}-*.nbi"
    return not any(Path(where).glob(name))


def _elsewhere(function: str) -> subprocess.Popen[bytes] | None:
    """One of these functions in a process of its own; None where there can be none."""
    if (os.cpu_count() or 1) < 2 or not sys.executable:
        return None
    program = f"from preceptor.planning.warm_up import {function}; {function}()"
    try:
        return subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


@UNCOUNTED.within()
def compile_for(problem: Problem) -> None:
    """Compile, or load from disk, what prices for these people need."""
    from preceptor.evaluation.expectations import family_of, people_of
    from preceptor.people.expected import TakesStretches

    widest = problem.budget.maximise(np.ones(problem.size))
    sets = family_of(problem, [widest, widest[:1]])
    last = len(sets) - 1
    path = np.array([0, last], dtype=np.int64)
    for person in people_of(problem).values():
        expected = person.expectation(problem.world, sets, problem.start, problem.risk)
        walk = expected.walk(path.size, 0.5)
        walk.lay(path, (last,))
        walk.prices(1, path)
        walk.back(1, last)
        walk.block(0, path[:1])
        if isinstance(walk, TakesStretches):
            walk.lay(path, (last,))
            walk.back_over(0, path)
        walk.tails([(0,)])
        expected.losses(path)
        expected.total(path, 0.5, (0,))


def _tiny_problem() -> Problem:
    from preceptor.model.risks import Huber
    from preceptor.model.world import World
    from preceptor.people.by_showings import Learner
    from preceptor.people.curves import Geometric
    from preceptor.problem import Problem

    learner = Learner([0.0, 0.5], Geometric(3.0))
    return Problem(World.equicorrelated([1.0, 1.0], 0.5), learner, 1, risk=Huber(1.0), discount=0.5)


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


def _tiny_counts() -> CountInstance:
    from preceptor.engine.counted import CountInstance

    left = np.array([[1.0, 0.5, 0.25, 0.125, 0.0625]] * 2)
    return CountInstance(
        floor=np.array([2.0, 0.5, 0.6]),
        shift=np.zeros((3, 1)),
        reading=np.array([[[0.0, 0.0]], [[1.0, 0.5]], [[0.5, 1.0]]]),
        prices=np.zeros(3),
        shown=np.array([[False, False], [True, False], [False, True]]),
        code=0,
        tau=0.0,
        knots=np.zeros((0, 3)),
        errors=left,
        basis=np.stack([left, 1.0 - left, 1.0 - left**2], axis=2),
        caps=np.full(2, 4, dtype=np.int64),
        low=np.zeros(2),
        high=left[:, 4].copy(),
        length=4,
        discount=0.5,
        horizon=None,
    )
