"""What capping counts can do to the value of an infinite horizon, and what boxes of them cost.

Let D_i be how far the error of test i could still move beyond its cap M_i. A schedule's true and
capped losses differ only in rounds t > M_i for some i, and then by at most Σ_i w_i D_i with
w_i = max_S 2|R_Si|(|shift_S| + Σ_j |R_Sj||e_j|) · slope: the loss is a squared length
|shift + R e|² whose difference is (length of R d) x (sum of lengths), passed through a risk of
that slope. Hence |V - V_capped| <= Σ_i w_i D_i δ^(M_i + 1)/(1 - δ) for every policy, and so for the
best one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.discounting import rounds_until
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import TooLarge
from preceptor.evaluation.value import worst_loss_of_all
from preceptor.planning.count_space import ABSENT, coordinates
from preceptor.planning.finite import parent_type
from preceptor.problem import Problem

# A curve that never saturates is capped here at the latest.
_LONGEST = 100_000


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
            _scaled(_loss_per_error(problem), np.abs(first_errors(problem))),
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

    @property
    def _counted(self) -> IntArray:
        """Tests that some set shows."""
        return np.flatnonzero(self.coordinate != ABSENT)

    def _moved(self, test: int, counts: IntArray) -> FloatArray:
        """How much a round's loss can still change if the count of a test is capped there."""
        start = self.problem.start_counts[test]
        left = self.problem.by_showings.curve_of[test].to_move(start + counts)
        return np.minimum(_scaled(self.weight[test], left), self.largest)

    def _matters(self) -> int:
        """Rounds after which nothing weighs anything."""
        discount = self.problem.discount
        if discount == 0.0:
            return 1
        return min(_LONGEST, rounds_until(discount, 1e-18))


def first_errors(problem: Problem) -> FloatArray:
    """(n,) errors of somebody who has been shown nothing."""
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


def _scaled(slopes: FloatArray | float, sizes: FloatArray) -> FloatArray:
    """Slope times size, where no size means no loss, however steep."""
    product: FloatArray = np.zeros(sizes.shape)
    np.multiply(slopes, sizes, out=product, where=sizes != 0.0)
    return product
