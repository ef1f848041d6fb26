"""The infinite horizon solved exactly: one backward sweep over capped counts.

The best set depends on the counts alone, not on the round, and counts only grow. So on the box of
counts up to a cap for each test the Bellman equation is solved by visiting every state once, last
ones first. A count at its cap stays there; a set that moves no count is shown forever. What capping
can do to the value is bounded, caps are chosen to make that small, and the bound is reported.

Let D_i be how far the error of test i could still move beyond its cap M_i. A schedule's true and
capped losses differ only in rounds t > M_i for some i, and then by at most Σ_i w_i D_i with w_i =
max_S 2|R_Si|(|shift_S| + Σ_j |R_Sj||e_j|) · slope: the loss is a squared length |shift + R e|²
whose difference is (length of R d) x (sum of lengths), passed through a risk of that slope. Hence
|V - V_capped| <= Σ_i w_i D_i δ^(M_i + 1)/(1 - δ) for every policy, and so for the best one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.numerics import rounds_until
from preceptor._base.parallel import in_threads
from preceptor._base.progress import OPTIMAL_WITHIN, Status
from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor._base.words import many
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.model.count_policy import CountPolicy
from preceptor.model.evaluation import evaluate, worst_loss_of_all
from preceptor.model.loss import DeviationForms
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.model.risks import CompiledRisk, SquaredError
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.bounds import instant_bound
from preceptor.planning.count_space import ABSENT, coordinates
from preceptor.planning.finite import DEFAULT_MEMORY, asked_losses, parent_type
from preceptor.planning.solver import Solver, Work


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
            _scaled(_loss_per_error(problem), np.abs(problem.first_errors)),
            worst_loss_of_all(problem),
        )

    @property
    def dimensions(self) -> int:
        """How many counts there are."""
        return int(self.member_of.shape[1])

    def error(self, caps: IntArray) -> float:
        """Σ_i min(w_i D_i, largest) δ^(M_i + 1)/(1 - δ)."""
        total, discount = 0.0, self.problem.discount
        for i in self._counted:
            cap = caps[[self.coordinate[i]]]
            total += float(self._moved(i, cap)[0] * discount ** (cap[0] + 1) / (1.0 - discount))
        return total

    def caps_for(self, wanted: float) -> IntArray:
        """Per coordinate, the smallest cap at which its tests use up their share of the error."""
        caps = np.ones(self.dimensions, dtype=np.int64)
        share = wanted / max(self._counted.size, 1)
        counts = np.arange(1, self._matters() + 1)
        worth = self.problem.discount ** (counts + 1.0) / (1.0 - self.problem.discount)
        for i in self._counted:
            enough = np.flatnonzero(self._moved(i, counts) * worth <= share)
            cap = counts[enough[0]] if enough.size else counts[-1]
            caps[self.coordinate[i]] = max(caps[self.coordinate[i]], cap)
        return caps

    def given_caps(self, caps: list[int] | int) -> IntArray:
        """A user's caps, one number or one for each test, by coordinate."""
        per_test = np.broadcast_to(np.asarray(caps, dtype=np.int64), (self.problem.size,))
        chosen = np.ones(self.dimensions, dtype=np.int64)
        np.maximum.at(chosen, self.coordinate[self._counted], per_test[self._counted])
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
        """Raise `TooLarge` with the number of states and bytes, and the alternatives."""
        needed = self.bytes_needed(caps)
        if needed > memory_limit:
            states = math.prod(int(c) + 1 for c in caps)
            raise TooLarge(
                f"lattice: {states:,} states would take {needed / 2**30:,.1f} GiB, more than the "
                f"limit of {memory_limit / 2**30:,.1f} GiB; use method='search' "
                "(in Python: or smaller `caps`, or raise `memory_limit`)",
                bytes_needed=needed,
            )

    @property
    def _counted(self) -> IntArray:
        """Tests that some set shows."""
        return np.flatnonzero(self.coordinate != ABSENT)

    def _moved(self, test: int, counts: IntArray) -> FloatArray:
        """How much a round's loss can still change beyond these counts of a test."""
        start = self.problem.start_counts[test]
        left = self.problem.by_showings.curve_of[test].to_move(start + counts)
        return np.minimum(_scaled(self.weight[test], left), self.largest)

    def _matters(self) -> int:
        """Rounds after which the discounted weight is negligible."""
        discount = self.problem.discount
        if discount == 0.0:
            return 1
        # A curve that never saturates is capped here at the latest.
        return min(100_000, rounds_until(discount, 1e-18))


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


def _scaled(slopes: FloatArray | float, sizes: FloatArray) -> FloatArray:
    """Slope times size, where no size means no loss, however steep."""
    product: FloatArray = np.zeros(sizes.shape)
    np.multiply(slopes, sizes, out=product, where=sizes != 0.0)
    return product


DEFAULT_TOLERANCE = 1e-6
# Axes of a NumPy array.
_MOST_AXES = 64


def solve_lattice(
    problem: Problem,
    watch: Watch | None = None,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    caps: list[int] | int | None = None,
    memory_limit: int = DEFAULT_MEMORY,
) -> Plan:
    """The optimal policy for an infinite horizon, for every state a person can be in.

    If the box of counts does not fit in memory it is made smaller, and the gap of the plan grows.

    Parameters
    ----------
    problem
        What to plan, without a horizon.
    watch
        Its stop raises `OutOfTime`; no time limit if left out.
    tolerance
        Relative error allowed for capping counts; it determines the caps.
    caps
        Where to cap counts, one number or one for each test, in place of `tolerance`.
    memory_limit
        Bytes the solver may use.

    Returns
    -------
    Plan
        Its policy covers every vector of counts, on the plan or off it.

    Raises
    ------
    NotApplicable
        The problem has a horizon.
    InvalidInput
        An option is out of range.
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
    problem: Problem, effects: CapEffects, caps: IntArray, *, watch: Watch | None = None
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
    errors = table * problem.first_errors[:, None]
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

            # Planes that do not depend on each other are divided into eight pieces.
            in_threads(sweep_part, planes.size, -(-planes.size // 8))
        if halt[0]:
            raise OutOfTime
    return float(values[0]), _as_policy(problem, coordinate, shape, actions)


def _planes(shape: tuple[int, ...]) -> list[IntArray]:
    """Planes along the first two sides of the box, grouped: each depends on earlier groups only.

    A set leads on in its own plane, or to one whose other counts have a larger sum.
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
    """Contribution of a coordinate's tests to each set's deviation (sets, rows, counts)."""
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
    """Approximate optimum from a small box, to which the tolerance is relative."""
    # Losses that are not compiled take microseconds each, so fewer states have to do.
    states = 100_000 if problem.oracle.forms() is not None else 1_000
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
    """Why the state is not the counts alone; empty if it is."""
    if problem.horizon is None:
        return ""
    return f"solves infinite horizons, but this problem ends after {problem.horizon} rounds"


def lattice_work(problem: Problem) -> Work:
    """The states of the box for the default tolerance and the memory they need."""
    return remembered(problem, "lattice work", lambda: _work(problem))


def _work(problem: Problem) -> Work:
    # Every count has at least two values. Where that alone is too much, the sets need not be
    # enumerated, of which there may be a hundred thousand.
    counted = coordinates(problem.sets)[1].shape[1]
    # With more states x sets a sweep would take too long.
    if 2.0**counted * len(problem.sets) > 1e12:
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
