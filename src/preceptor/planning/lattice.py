"""The infinite horizon solved exactly: one backward sweep over capped counts.

The best set depends on the counts alone, not on the round, and counts only grow. So on the box of
counts up to a cap for each test the Bellman equation is solved by visiting every state once, last
ones first. A count at its cap stays there; a set that moves no count is shown forever.

**What capping can do.** Let D_i be how far the error of test i could still move beyond
its cap M_i. A schedule's true and capped losses differ only in rounds t > M_i for some i, and
then by at most Σ_i w_i D_i with w_i = max_S 2|R_Si|(|shift_S| + Σ_j |R_Sj||e_j|) · slope: the
loss is a squared length |shift + R e|² whose difference is (length of R d) x (sum of lengths),
passed through a risk of that slope. Hence |V - V_capped| <= Σ_i w_i D_i δ^(M_i + 1)/(1 - δ) for
every policy, and so for the best one. Caps are chosen to make that small; the bound is reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.discounting import rounds_until
from preceptor._base.progress import Status
from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor._base.words import many
from preceptor.certificate import Certificate
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.evaluation.value import evaluate, worst_loss
from preceptor.loss import DeviationForms
from preceptor.model.compiled_risks import CompiledRisk
from preceptor.model.risks import SquaredError
from preceptor.plan import Plan
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.bounds import instant_bound
from preceptor.planning.count_space import ABSENT, coordinates
from preceptor.planning.finite import BATCH_NUMBERS, DEFAULT_MEMORY, parent_type
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver, Work
from preceptor.policies import CountPolicy
from preceptor.problem import Problem

DEFAULT_TOLERANCE = 1e-6
DEFAULT_EDGE_SECONDS = 10.0
# A curve that never saturates is capped here at the latest.
_LONGEST = 100_000
_ROUGH_STATES = 100_000
# The same where losses are not compiled.
_FEW_STATES = 1_000
# Two values each of so many counts are more states than any memory holds.
_HOPELESS = 36
# and so many states x sets more than anybody waits for.
_HOPELESS_WORK = 1e12


def solve_lattice(
    problem: Problem,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    caps: list[int] | int | None = None,
    edge_seconds: float = DEFAULT_EDGE_SECONDS,
    memory_limit: int = DEFAULT_MEMORY,
) -> Plan:
    """The optimal policy for an infinite horizon, for every state a person can be in.

    If the box of counts does not fit in memory it is made smaller; the bound then comes from a
    sweep whose edge is bounded by a dual, and the plan says how far off it can be.

    Parameters
    ----------
    problem
        What to plan, without a horizon.
    tolerance
        The wanted relative error from capping counts, from which the caps follow.
    caps
        Where to cap counts, one number or one for each test, in place of `tolerance`.
    edge_seconds
        Seconds for the dual that bounds the edge of the box; 0 for none.
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
    return lattice_plan(
        problem,
        Watch(None),
        tolerance=tolerance,
        caps=caps,
        edge_seconds=edge_seconds,
        memory_limit=memory_limit,
    )


def lattice_plan(
    problem: Problem,
    watch: Watch,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    caps: list[int] | int | None = None,
    edge_seconds: float = DEFAULT_EDGE_SECONDS,
    memory_limit: int = DEFAULT_MEMORY,
) -> Plan:
    """As `solve_lattice`; raises `OutOfTime` when the watch stops it."""
    started = watch.seconds
    _check(problem, tolerance, caps, edge_seconds)
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
    certificate: Certificate | None = None
    if value - bound > 2 * tolerance * abs(value) and edge_seconds > 0:
        edge = edge_bounds(problem, chosen, min(edge_seconds, 0.5 * watch.left))
        if edge is not None:
            below, _ = sweep(problem, effects, chosen, edge, watch=watch)
            if below - rounding > bound:
                bound, certificate = below - rounding, edge.certificate
                notes = (*notes, "The bound uses dual bounds at the edge of the box.")
    bound = min(bound, value)
    close = value - bound <= 2 * max(tolerance, 1e-12) * abs(value)
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=bound,
        status=Status.OPTIMAL if close else Status.BOUNDED,
        method="lattice",
        seconds=watch.seconds - started,
        states=int(np.prod(chosen + 1)),
        notes=notes,
        options={"tolerance": tolerance, "caps": chosen.tolist(), "capping_error": error},
        certificate=certificate,
    )


@dataclass(frozen=True)
class CapEffects:
    """What capping each coordinate can do to the value, and what boxes cost."""

    problem: Problem
    coordinate: IntArray  # (n,) which coordinate counts a test, or ABSENT
    member_of: npt.NDArray[np.bool_]  # (sets, d)
    weight: FloatArray  # (n,) w_i |e_i|: loss per unit of retention
    largest: float  # no round's loss can change by more, whatever is capped

    @classmethod
    def of(cls, problem: Problem) -> CapEffects:
        """Weights from the loss of every set."""
        coordinate, member_of = coordinates(problem.sets)
        return cls(
            problem,
            coordinate,
            member_of.astype(np.bool_),
            _scaled(_loss_per_error(problem), np.abs(_first_errors(problem))),
            worst_loss(problem, problem.sets),
        )

    @property
    def dimensions(self) -> int:
        """How many counts there are."""
        return int(self.member_of.shape[1])

    def error(self, caps: IntArray) -> float:
        """Σ_i min(w_i D_i, largest) δ^(M_i + 1)/(1 - δ)."""
        total = 0.0
        discount = self.problem.discount
        for i, cap in self._capped_tests(caps):
            moved = self._moved(i, np.array([cap]))[0]
            total += moved * discount ** (cap + 1) / (1.0 - discount)
        return float(total)

    def caps_for(self, wanted: float) -> IntArray:
        """Per coordinate, the smallest cap at which its tests use up their share of the error."""
        caps = np.ones(self.dimensions, dtype=np.int64)
        share = wanted / max(int(np.sum(self.coordinate != ABSENT)), 1)
        counts = np.arange(1, self._matters() + 1)
        worth = self.problem.discount ** (counts + 1.0) / (1.0 - self.problem.discount)
        for i in range(self.problem.size):
            c = self.coordinate[i]
            if c == ABSENT:
                continue
            enough = np.flatnonzero(self._moved(i, counts) * worth <= share)
            cap = counts[enough[0]] if enough.size else counts[-1]
            caps[c] = max(caps[c], int(cap))
        return caps

    def given_caps(self, caps: list[int] | int) -> IntArray:
        """A user's caps, one number or one for each test, by coordinate."""
        per_test = np.broadcast_to(np.asarray(caps, dtype=np.int64), (self.problem.size,))
        chosen = np.ones(self.dimensions, dtype=np.int64)
        for i in range(self.problem.size):
            if self.coordinate[i] != ABSENT:
                chosen[self.coordinate[i]] = max(chosen[self.coordinate[i]], per_test[i])
        return chosen

    def bytes_needed(self, caps: IntArray) -> int:
        """Values and actions of all states, and losses where the oracle has no form."""
        states = math.prod(int(c) + 1 for c in caps)
        size = np.dtype(parent_type(len(self.problem.sets))).itemsize
        needed = states * (8 + size)
        if self.problem.oracle.forms() is None:
            needed += states * 8 * (len(self.problem.sets) + self.problem.size)
        return needed

    def shrink_to_fit(self, caps: IntArray, memory_limit: int) -> IntArray:
        """Scale the caps down together until the box fits."""
        fitting = caps
        while self.bytes_needed(fitting) > memory_limit:
            smaller = np.maximum((fitting * 0.97).astype(np.int64), 1)
            if np.array_equal(smaller, fitting):
                self.refuse_if_too_large(fitting, memory_limit)
            fitting = smaller
        return fitting

    def refuse_if_too_large(self, caps: IntArray, memory_limit: int) -> None:
        """Say how many states and bytes, and what else to use."""
        needed = self.bytes_needed(caps)
        if needed > memory_limit:
            states = math.prod(int(c) + 1 for c in caps)
            raise TooLarge(
                f"lattice: {states:,} states would take {needed / 2**30:,.1f} GiB, more than the "
                f"limit of {memory_limit / 2**30:,.1f} GiB; use method='search', smaller caps, "
                "or raise `memory_limit`",
                bytes_needed=needed,
            )

    def _capped_tests(self, caps: IntArray) -> list[tuple[int, int]]:
        tests = range(self.problem.size)
        return [(i, int(caps[self.coordinate[i]])) for i in tests if self.coordinate[i] != ABSENT]

    def _left(self, test: int, counts: IntArray) -> FloatArray:
        """How far the retention of test `test` can still move after `counts` showings."""
        start = self.problem.start_counts[test]
        return self.problem.by_showings.curve_of[test].to_move(start + counts)

    def _moved(self, test: int, counts: IntArray) -> FloatArray:
        """How much a round's loss can still change if the count of a test is capped there."""
        left = self._left(test, counts)
        moved = np.zeros(left.shape)
        np.multiply(self.weight[test], left, out=moved, where=left != 0.0)
        return np.minimum(moved, self.largest)

    def _matters(self) -> int:
        """Rounds after which nothing weighs anything."""
        discount = self.problem.discount
        if discount == 0.0:
            return 1
        return min(_LONGEST, rounds_until(discount, 1e-18))


def sweep(
    problem: Problem,
    effects: CapEffects,
    caps: IntArray,
    edge: EdgeBounds | None = None,
    *,
    watch: Watch | None = None,
) -> tuple[float, CountPolicy]:
    """V at the start and the policy over the whole box; raises `OutOfTime` if the watch stops it.

    With `edge`, states at the edge of the box take its lower bounds, and V is a lower bound.
    """
    from preceptor.planning._lattice_kernels import sweep

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
    errors = table * _first_errors(problem)[:, None]
    forms = problem.oracle.forms()
    losses = np.empty((0, 0))
    if forms is None:
        losses = _loss_table(problem, coordinate, shape, errors, watch)
        forms = _no_forms(len(problem.sets), problem.size)
    fast = np.flatnonzero(coordinate == 0)
    fast_part = np.einsum("kri,ix->krx", forms.reading[:, :, fast], errors[fast, : shape[0]])
    values = np.empty(states)
    actions = np.zeros(states, dtype=parent_type(len(problem.sets)))
    edges = _in_order(edge, effects, order, shape) if edge else (np.empty((0, 0, 0)), np.empty(0))
    with watch.halting() as halt:
        sweep(
            caps,
            strides,
            coordinate,
            member_of,
            problem.discount,
            *forms.arrays,
            errors,
            np.ascontiguousarray(fast_part),
            np.sum(fast_part**2, axis=1),
            losses,
            *edges,
            values,
            actions,
            halt,
        )
        if halt[0]:
            raise OutOfTime
    return float(values[0]), _as_policy(problem, coordinate, shape, actions)


def states_needed(problem: Problem, tolerance: float) -> tuple[float, float]:
    """States and bytes of a box with that relative error, before anything is allocated."""
    effects = CapEffects.of(problem)
    scale = instant_bound(problem)
    caps = effects.caps_for(tolerance * max(scale, 1e-300))
    return float(np.prod(caps + 1.0)), float(effects.bytes_needed(caps))


@dataclass(frozen=True)
class EdgeBounds:
    """Separable lower bounds on the cost of going on: constant + Σ_i potential[i, count of i]."""

    potentials: FloatArray  # (bounds, n, counts)
    constants: FloatArray  # (bounds,)
    certificate: Certificate  # what proves them


def edge_bounds(problem: Problem, caps: IntArray, seconds: float) -> EdgeBounds | None:
    """From a dual bound worked out in about so many seconds, for the edge of this box.

    φ_t(m) + C_t bounds the cost of going on from counts m for every t >= max(m); the problem has
    no clock, so several t are tried and the best one counts.
    """
    from preceptor.engine.dual import solve_dual
    from preceptor.planning.reduction import to_instance
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
    left_behind = Certificate(
        bound.kappa, bound.r, bound.N, bound.constants, bound.round_minima, bound.value
    )
    return EdgeBounds(potentials, bound.constants[rounds], left_behind)


def _in_order(
    edge: EdgeBounds, effects: CapEffects, order: IntArray, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Potentials by coordinate in the order of the box; tests that share a count add up."""
    bounds, _, counts = edge.potentials.shape
    by_coordinate = np.zeros((bounds, order.size, counts))
    constants = edge.constants.copy()
    for test, coordinate in enumerate(effects.coordinate):
        if coordinate == ABSENT:
            constants += edge.potentials[:, test, 0]
        else:
            by_coordinate[:, coordinate] += edge.potentials[:, test]
    return np.ascontiguousarray(by_coordinate[:, order]), constants


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


def _loss_table(
    problem: Problem,
    coordinate: IntArray,
    shape: tuple[int, ...],
    errors: FloatArray,
    watch: Watch,
) -> FloatArray:
    """Losses (sets, states) asked from the oracle, some states at a time."""
    states = math.prod(shape)
    losses = np.empty((len(problem.sets), states))
    tests = np.arange(problem.size)
    step = max(1, BATCH_NUMBERS // len(problem.sets))
    for start in range(0, states, step):
        if watch.stop():
            raise OutOfTime
        index = np.arange(start, min(start + step, states))
        counts = np.zeros((index.size, problem.size), dtype=np.int64)
        rest = index
        for c, length in enumerate(shape):
            counts[:, coordinate == c] = (rest % length)[:, None]
            rest = rest // length
        losses[:, index] = problem.oracle.losses(errors[tests, counts]).T
    return losses


def _no_forms(sets: int, tests: int) -> DeviationForms:
    zeros = np.zeros(sets)
    unused = CompiledRisk.of_number(SquaredError())
    return DeviationForms(zeros, np.zeros((sets, 1)), np.zeros((sets, 1, tests)), zeros, unused)


def _first_errors(problem: Problem) -> FloatArray:
    difference: FloatArray = problem.world.coefficients - problem.learner.initial
    return difference


def _loss_per_error(problem: Problem) -> FloatArray:
    """w_i (n,): how fast any round's loss can change with the error of test i."""
    weights = np.zeros(problem.size)
    sizes = np.abs(problem.initial_errors)
    forms = problem.oracle.forms()
    if forms is not None and forms.is_squared:
        # what `sensitivity_of` says of each set, all at once
        lengths = np.linalg.norm(forms.reading, axis=1)
        reach = np.linalg.norm(forms.shift, axis=1) + lengths @ sizes
        return np.asarray(np.max(2.0 * lengths * reach[:, None], axis=0))
    for shown in problem.sets:
        weights = np.maximum(weights, problem.oracle.sensitivity_of(sizes, shown))
    return weights


def _scaled(slopes: FloatArray, sizes: FloatArray) -> FloatArray:
    """Slope times size, where no size means no loss, however steep."""
    product: FloatArray = np.zeros(sizes.shape)
    np.multiply(slopes, sizes, out=product, where=sizes != 0.0)
    return product


def _check(
    problem: Problem, tolerance: float, caps: list[int] | int | None, edge_seconds: float
) -> None:
    why_not = why_not_lattice(problem)
    if why_not:
        raise NotApplicable(f"lattice: {why_not}")
    faults = []
    if not is_number(tolerance) or tolerance <= 0:
        faults.append(f"tolerance: {tolerance!r}, must be a positive number")
    if not is_number(edge_seconds) or edge_seconds < 0:
        faults.append(f"edge_seconds: {edge_seconds!r}, must be a number of at least 0")
    if caps is not None:
        given = np.asarray(caps)
        if given.dtype.kind not in "iu" or given.min(initial=1) < 1:
            faults.append(f"caps: {caps!r}, must be whole numbers of at least 1")
        elif given.ndim and given.size != problem.size:
            faults.append(f"caps: {given.size} caps for {problem.size} tests")
    InvalidInput.raise_if(faults)


def _refuse_if_hopeless(problem: Problem, memory_limit: int) -> None:
    """Raise `TooLarge` if even two values of every count do not fit."""
    counted = coordinates(problem.sets)[1].shape[1]
    needed = 9 * 2**counted
    if needed > memory_limit:
        raise TooLarge(
            f"lattice: {counted} counts have at least {2**counted:,} states, more than fit in "
            f"{memory_limit / 2**30:,.1f} GiB; use method='search' or 'certified'",
            bytes_needed=needed,
        )


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
    if counted > _HOPELESS or 2.0**counted * len(problem.sets) > _HOPELESS_WORK:
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
