"""How the states of a finite-horizon plan are numbered.

After t rounds a state is a vector of counts. Which vectors can occur depends on the budget, and a
good numbering is what makes the exact program small. Three observations:

- tests that are always shown together, or never, need one coordinate or none;
- counting what was *hidden* instead of shown can be smaller ((3,2) becomes as small as (3,1));
- if every set moves the coordinates by the same total, the last one follows from the others.

Each choice leaves d coordinates that grow by at most B a round in total, so layer t fits in the
simplex {x >= 0, Σx <= Bt}. With partial sums s_j = x_0 + ... + x_j the rank Σ_j C(s_j + j, j + 1)
numbers that simplex without gaps, and numbers a smaller simplex by the same ranks. We take the
choice with the fewest states in the last layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.loss import DeviationForms
from preceptor.model.problem import Problem
from preceptor.model.sets import SetFamily

DROPPED = -2  # the coordinate that follows from the others
ABSENT = -1  # a test that no set shows


@dataclass(frozen=True)
class CountSpace:
    """A numbering of count vectors for up to `rounds` rounds.

    `coordinate` (n,) says which coordinate counts a test (or DROPPED, ABSENT); `moves` (sets, d)
    what a set adds to each coordinate; `growth` is B; `total` what every set adds to all
    coordinates including the dropped one (only used with one).
    """

    coordinate: IntArray
    moves: IntArray
    hidden: bool
    growth: int
    total: int
    rounds: int

    @classmethod
    def smallest(cls, sets: SetFamily, rounds: int) -> CountSpace:
        """The numbering with the fewest states in the last layer."""
        coordinate, shown = coordinates(sets)
        candidates = []
        for hidden in (False, True):
            moves = 1 - shown if hidden else shown
            totals = moves.sum(axis=1)
            candidates.append(cls(coordinate, moves, hidden, int(totals.max(initial=0)), 0, rounds))
            if moves.shape[1] > 1 and np.all(totals == totals[0]):
                last = moves.shape[1] - 1
                fewer = np.where(coordinate == last, DROPPED, coordinate)
                kept = np.ascontiguousarray(moves[:, :last])
                growth = int(kept.sum(axis=1).max(initial=0))
                candidates.append(cls(fewer, kept, hidden, growth, int(totals[0]), rounds))
        return min(candidates, key=lambda space: space.layer_size(rounds))

    @property
    def dimensions(self) -> int:
        """d."""
        return int(self.moves.shape[1])

    @property
    def is_timeless(self) -> bool:
        """Whether a rank means the same counts in every layer."""
        return not self.hidden and not np.any(self.coordinate == DROPPED)

    def layer_size(self, t: int) -> int:
        """How many ranks layer t has."""
        return math.comb(self.growth * t + self.dimensions, self.dimensions)

    def states(self) -> float:
        """Ranks in all layers after the first; a float, since this may be astronomical."""
        top = self.growth * np.arange(1.0, self.rounds + 1.0)
        sizes = np.ones(self.rounds)
        for j in range(1, self.dimensions + 1):
            sizes *= (top + j) / j
        return float(sizes.sum())

    @cached_property
    def offsets(self) -> IntArray:
        """Where the ranks of layer t+1 begin when layers 1..rounds lie one after another."""
        sizes = self.binomials[-1, self.growth * np.arange(1, self.rounds + 1) + 1]
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def binomials(self) -> IntArray:
        """Row j: C(x + j, j + 1) for x = 0..B·rounds + 1, what partial sum j adds to the rank."""
        row = np.arange(self.growth * self.rounds + 2, dtype=np.int64)
        table = np.empty((self.dimensions, row.size), dtype=np.int64)
        for j in range(self.dimensions):
            table[j] = row
            row = np.cumsum(row)
        return table

    @cached_property
    def partial_moves(self) -> IntArray:
        """What a set adds to each partial sum, shape (sets, d)."""
        sums: IntArray = np.cumsum(self.moves, axis=1)
        return np.ascontiguousarray(sums)

    def partial_sums(self, rank: int) -> IntArray:
        """Partial sums (d,) of the state with that rank."""
        sums = np.empty(self.dimensions, dtype=np.int64)
        for j in range(self.dimensions - 1, -1, -1):
            sums[j] = np.searchsorted(self.binomials[j], rank, side="right") - 1
            rank -= int(self.binomials[j, sums[j]])
        return sums


def coordinates(sets: SetFamily) -> tuple[IntArray, IntArray]:
    """Which coordinate counts each test (n,), and what each set adds to them (sets, d).

    Tests that are always shown together share a coordinate; a test in no set has none.
    """
    membership = sets.membership.astype(np.int64)
    coordinate = np.full(sets.tests, ABSENT, dtype=np.int64)
    first_with: dict[bytes, int] = {}
    for test in range(sets.tests):
        column = membership[:, test]
        if column.any():
            coordinate[test] = first_with.setdefault(column.tobytes(), len(first_with))
    leaders = [int(np.flatnonzero(coordinate == c)[0]) for c in range(len(first_with))]
    return coordinate, membership[:, leaders]


# The sets a finite plan has to consider round by round: all but the empty one.
#
# Showing nothing costs the same, c, in every state (the person predicts the average), and teaches
# nothing. Let X be the least cost of the h rounds that follow. Waiting first costs c + δX, waiting
# last X + δ^h c, and the first is no less: c(1 - δ^h) >= (1 - δ)X, because X can be no more than
# what showing nothing in all h rounds costs, c(1 - δ^h)/(1 - δ). So waiting can always be put off
# to the end, where it means: stop showing anything. A plan is then rounds without the empty set
# and a round to stop at, and its states are fewer by a power of the horizon.


@dataclass(frozen=True)
class PlannedSets:
    """`family` is planned round by round; it leaves out the first `skipped` (0 or 1) sets."""

    problem: Problem
    family: SetFamily
    skipped: int

    @classmethod
    def of(cls, problem: Problem) -> PlannedSets:
        """Set the empty set aside if it is allowed and costs the same in every state."""
        sets = problem.sets
        if len(sets) < 2 or sets.sizes[0] > 0 or not _is_constant(problem):
            return cls(problem, sets, 0)
        rest = SetFamily(sets.members[1:], sets.sizes[1:], sets.prices[1:], sets.tests)
        return cls(problem, rest, 1)

    @property
    def may_stop(self) -> bool:
        """Whether stopping for good stands for every wait."""
        return self.skipped == 1

    @property
    def forms(self) -> DeviationForms | None:
        """The compiled form of the planned sets' losses, if there is one."""
        forms = self.problem.oracle.forms()
        if forms is None or not self.skipped:
            return forms
        return DeviationForms(
            floor=forms.floor[1:],
            shift=forms.shift[1:],
            reading=forms.reading[1:],
            prices=forms.prices[1:],
            risk=forms.risk,
        )

    def losses(self, errors: FloatArray) -> FloatArray:
        """Losses (states, planned sets)."""
        return self.problem.oracle.losses(errors)[:, self.skipped :]

    def waiting_loss(self) -> float:
        """What a round in which nothing is shown costs."""
        return float(self.problem.oracle.loss_of(self.problem.initial_errors[None, :], ())[0])


def _is_constant(problem: Problem) -> bool:
    """Return whether the loss of showing nothing is the same for all errors.

    Not so where cases are sampled and not centred: there even a prediction without any test
    depends on the person's weights.
    """
    sizes = np.abs(problem.first_errors)
    return not np.any(problem.oracle.sensitivity_of(sizes, ()))
