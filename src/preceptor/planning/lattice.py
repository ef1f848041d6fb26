"""The infinite horizon solved exactly: one backward sweep over capped counts.

The best set depends on the counts alone, not on the round, and counts only grow. So on the box of
counts up to a cap for each test the Bellman equation is solved by visiting every state once, last
ones first. A count at its cap stays there; a set that moves no count is shown forever.
What capping can do to the value is bounded (`cap_effects.py`), caps are chosen to make that small,
and the bound is reported.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.progress import OPTIMAL_WITHIN, Status
from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor._base.words import many
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.loss import DeviationForms
from preceptor.model.compiled_risks import CompiledRisk
from preceptor.model.risks import SquaredError
from preceptor.plan import Plan
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.bounds import instant_bound
from preceptor.planning.cap_effects import CapEffects, first_errors
from preceptor.planning.count_space import ABSENT, coordinates
from preceptor.planning.finite import DEFAULT_MEMORY, asked_losses, parent_type
from preceptor.planning.solver import Solver, Work
from preceptor.policies import CountPolicy
from preceptor.problem import Problem

DEFAULT_TOLERANCE = 1e-6
# Axes of a NumPy array.
_MOST_AXES = 64
_ROUGH_STATES = 100_000
# The same where losses are not compiled.
_FEW_STATES = 1_000
# Planes that need not wait for each other are shared out in so many pieces.
_PIECES = 8
# Nobody waits for so many states x sets.
_HOPELESS_WORK = 1e12


def solve_lattice(
    problem: Problem,
    watch: Watch | None = None,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    caps: list[int] | int | None = None,
    memory_limit: int = DEFAULT_MEMORY,
) -> Plan:
    """The optimal policy for an infinite horizon, for every state a person can be in.

    If the box of counts does not fit in memory it is made smaller, and the plan says how far off it
    can be.

    Parameters
    ----------
    problem
        What to plan, without a horizon.
    watch
        Raises `OutOfTime` when it stops; left out, nothing does.
    tolerance
        The wanted relative error from capping counts, from which the caps follow.
    caps
        Where to cap counts, one number or one for each test, in place of `tolerance`.
    memory_limit
        Bytes that it may use.

    Returns
    -------
    Plan
        Its policy answers for every count, on the plan or off it.

    Raises
    ------
    NotApplicable
        The problem has a horizon.
    InvalidInput
        Options that make no sense.
    TooLarge
        The box with these `caps` does not fit in `memory_limit`.
    """
    watch = watch or Watch(None)
    started = watch.seconds
    _check(problem, tolerance, caps)
    _refuse_if_hopeless(problem, memory_limit)
    effects = CapEffects.of(problem)
    notes: tuple[str, ...] = ()
    if caps is None:
        chosen = effects.caps_for(tolerance * _rough_value(problem, effects, watch))
        fitting = effects.shrink_to_fit(chosen, memory_limit)
        if np.any(fitting < chosen):
            notes = ("Counts were capped earlier than wanted, to fit in memory; see the gap.",)
        chosen = fitting
    else:
        chosen = effects.given_caps(caps)
        effects.refuse_if_too_large(chosen, memory_limit)
    values, policy = sweep(problem, effects, chosen, watch=watch)
    error = effects.error(chosen)
    value = evaluate(problem, policy)
    # The sweep itself adds up as many roundings as rounds matter.
    rounding = 1e-13 * abs(values)
    bound = max(values - error - rounding, instant_bound(problem))
    apart = value - bound
    status = Status.BOUNDED
    if apart <= min(2 * max(tolerance, 1e-12), OPTIMAL_WITHIN) * abs(value):
        status = Status.OPTIMAL
    elif apart <= 2 * tolerance * abs(value):
        status = Status.WITHIN_TARGET
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=bound,
        status=status,
        method="lattice",
        seconds=watch.seconds - started,
        states=int(np.prod(chosen + 1)),
        notes=notes,
        options={"tolerance": tolerance, "caps": chosen.tolist(), "capping_error": error},
    ).settled()


def sweep(
    problem: Problem,
    effects: CapEffects,
    caps: IntArray,
    *,
    watch: Watch | None = None,
) -> tuple[float, CountPolicy]:
    """V at the start and the policy over the whole box, or `OutOfTime` if the watch stops it."""
    from preceptor.planning._lattice_kernels import sweep_planes

    watch = Watch(None) if watch is None else watch
    # Rows along the longest side: fewer of them, and longer loops.
    order = np.argsort(-caps, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    caps = caps[order]
    coordinate = np.where(effects.coordinate == ABSENT, ABSENT, place[effects.coordinate])
    member_of = np.ascontiguousarray(effects.member_of[:, order])
    shape = tuple(int(c) + 1 for c in caps)
    states = math.prod(shape)
    strides = np.concatenate([[1], np.cumprod(shape)[:-1]]).astype(np.int64)
    table = problem.by_showings.retention_table(problem.start_counts, int(caps.max()))
    errors = table * first_errors(problem)[:, None]
    forms = problem.oracle.forms()
    losses = np.empty((0, 0))
    if forms is None:
        places = np.stack(np.unravel_index(np.arange(states), shape, order="F"), axis=1)
        counts = np.where(coordinate == ABSENT, 0, places[:, coordinate])
        losses = asked_losses(problem.oracle.losses, errors, counts, len(problem.sets), watch)
        forms = _no_forms(len(problem.sets), problem.size)
    fast_part = _contributions(forms.reading, errors, coordinate, shape, 0)
    values = np.empty(states)
    actions = np.zeros(states, dtype=parent_type(len(problem.sets)))
    with watch.halting() as halt:
        arguments = (
            caps, strides, coordinate, member_of, problem.discount, *forms.arrays, errors,
            fast_part, np.sum(fast_part**2, axis=1),
            _contributions(forms.reading, errors, coordinate, shape, 1), losses, values, actions,
            halt,
        )  # fmt: skip
        for planes in _planes(shape):

            def sweep_part(part: slice, planes: IntArray = planes) -> None:
                sweep_planes(part.start, part.stop, planes, *arguments)

            in_threads(sweep_part, planes.size, -(-planes.size // _PIECES))
        if halt[0]:
            raise OutOfTime
    return float(values[0]), _as_policy(problem, coordinate, shape, actions)


def _planes(shape: tuple[int, ...]) -> list[IntArray]:
    """Planes of the box, all but its first two sides: each group needs only the groups before it.

    Whatever is shown moves on in its own plane, or to one where the other counts add up to more.
    """
    left = np.arange(math.prod(shape[2:]))
    total = np.zeros_like(left)
    for side in shape[2:]:
        total += left % side
        left //= side
    order = np.argsort(-total, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(total[order])) + 1)


def _contributions(
    reading: FloatArray,
    errors: FloatArray,
    coordinate: IntArray,
    shape: tuple[int, ...],
    which: int,
) -> FloatArray:
    """What the tests of a coordinate add to each set's deviation (sets, rows, counts)."""
    tests = np.flatnonzero(coordinate == which)
    counts = shape[which] if which < len(shape) else 1  # a single side: no tests, and no part
    parts = np.einsum("kri,ix->krx", reading[:, :, tests], errors[tests, :counts])
    return np.ascontiguousarray(parts)


def states_needed(problem: Problem, tolerance: float) -> tuple[float, float]:
    """States and bytes of a box with that relative error, before anything is allocated."""
    effects = CapEffects.of(problem)
    scale = instant_bound(problem)
    caps = effects.caps_for(tolerance * max(scale, 1e-300))
    return float(np.prod(caps + 1.0)), float(effects.bytes_needed(caps))


def _rough_value(problem: Problem, effects: CapEffects, watch: Watch) -> float:
    """About what the optimum is, from a small box: what a relative error is relative to."""
    states = _ROUGH_STATES if problem.oracle.forms() is not None else _FEW_STATES
    side = max(2, int(states ** (1.0 / effects.dimensions)) - 1)
    box = np.full(effects.dimensions, side, dtype=np.int64)
    value, _ = sweep(problem, effects, box, watch=watch)
    return value


def _as_policy(
    problem: Problem,
    coordinate: IntArray,
    shape: tuple[int, ...],
    actions: npt.NDArray[np.unsignedinteger],
) -> CountPolicy:
    """One axis for each test: tests that share a count, or have none, get an axis of length 1."""
    box = actions.reshape(shape[::-1])  # the fast coordinate is the last axis
    leader = {int(c): i for i, c in reversed(list(enumerate(coordinate))) if c != ABSENT}
    axes = sorted(leader, key=lambda c: leader[c])
    box = np.transpose(box, [len(shape) - 1 - c for c in axes])
    lengths = [shape[c] if leader.get(int(c)) == i else 1 for i, c in enumerate(coordinate)]
    return CountPolicy(box.reshape(lengths), tuple(problem.sets), problem.start)


def _no_forms(sets: int, tests: int) -> DeviationForms:
    zeros = np.zeros(sets)
    unused = CompiledRisk.of_number(SquaredError())
    return DeviationForms(zeros, np.zeros((sets, 1)), np.zeros((sets, 1, tests)), zeros, unused)


def _check(problem: Problem, tolerance: float, caps: list[int] | int | None) -> None:
    why_not = why_not_lattice(problem)
    if why_not:
        raise NotApplicable(f"lattice: {why_not}")
    faults = []
    if not is_number(tolerance) or tolerance <= 0:
        faults.append(f"tolerance: {tolerance!r}, must be a positive number")
    if caps is not None:
        given = np.asarray(caps)
        if given.dtype.kind not in "iu" or given.min(initial=1) < 1:
            faults.append(f"caps: {caps!r}, must be whole numbers of at least 1")
        elif given.ndim and given.size != problem.size:
            faults.append(f"caps: {given.size} caps for {problem.size} tests")
    InvalidInput.raise_if(faults)


def _refuse_if_hopeless(problem: Problem, memory_limit: int) -> None:
    """Raise `TooLarge` if even two values of every count do not fit, or no table has the axes."""
    counted = coordinates(problem.sets)[1].shape[1]
    needed = 9 * 2**counted
    why = ""
    if problem.size > _MOST_AXES:
        why = (
            f"{problem.size} tests, but its table of what to show has an axis for each, and arrays "
            f"have at most {_MOST_AXES}"
        )
    elif needed > memory_limit:
        why = (
            f"{counted} counts have at least {2**counted:,} states, more than fit in "
            f"{memory_limit / 2**30:,.1f} GiB"
        )
    if why:
        raise TooLarge(f"lattice: {why}; use method='search' or 'certified'", bytes_needed=needed)


def why_not_lattice(problem: Problem) -> str:
    """Why counts alone are not the state."""
    if problem.horizon is None:
        return ""
    return f"solves infinite horizons, but this problem ends after {problem.horizon} rounds"


def lattice_work(problem: Problem) -> Work:
    """States of the box that the default tolerance asks for."""
    return remembered(problem, "lattice work", lambda: _work(problem))


def _work(problem: Problem) -> Work:
    # Every count of a test has two values at least. Where that alone is out of reach, the sets need
    # not be looked through, of which there may be a hundred thousand.
    counted = coordinates(problem.sets)[1].shape[1]
    if 2.0**counted * len(problem.sets) > _HOPELESS_WORK:
        states = 2.0**counted
        return Work(states, 8.0 * states, f"more than {many(states)} states")
    states, needed = states_needed(problem, DEFAULT_TOLERANCE)
    return Work(states, needed, f"{many(states)} states for an infinite horizon")


LATTICE = Solver(
    "lattice",
    solve_lattice,
    proves="the optimum to a tolerance, for every state",
    why_not=why_not_lattice,
    work=lattice_work,
)
