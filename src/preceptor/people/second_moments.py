"""Expected losses and the walk of people whose errors change linearly, by second moments.

Let g = (e, 1) with e the errors of the weights, and P = E[gg'], an (n + 1) x (n + 1) matrix. The
loss of a round is linear in P, and so is P after the round, so the cost from some round on is
<Q, P> for one matrix Q, the adjoint, computed backward from round to round. The cost of any other
set in a round follows from Q, exactly and without replaying. A kind of person only defines the
forward step of P, the backward step of Q, and Q of a tail repeated forever (`Coordinates`
below, `moments.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Tail, check_endless, positions_of
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.first_order_walk import FirstOrderWalk, Stepwise
from preceptor.people.set_readings import deviations_of


class SecondMoments(Stepwise):
    """`Expected` of people whose errors change linearly: exact, with exact prices."""

    exact_prices: bool = True

    def __init__(self, sets: SetFamily, errors: npt.ArrayLike) -> None:
        self.sets = sets
        start = np.append(np.asarray(errors, dtype=np.float64), 1.0)
        self.start: FloatArray = np.outer(start, start)

    @property
    def has_closed_tails(self) -> bool:
        """Whether `repeated` gives the cost of a tail: in general, it does."""
        return True

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """True minus expected weights before each round, shape (rounds, n)."""
        states = self.play(self.start, positions_of(schedule), 0)[1]
        return states[:-1, :-1, -1]

    def tail_cost(self, state: FloatArray, discount: float, tail: Tail, first: int = 0) -> float:
        """Return the discounted cost of a tail: one product with its adjoint."""
        if not tail or not self.has_closed_tails:
            return super().tail_cost(state, discount, tail, first)
        adjoint = self.tail_adjoint(state, discount, tail, first)
        return np.inf if adjoint is None else float(np.vdot(adjoint, state))

    def tail_adjoint(
        self, state: FloatArray, discount: float, tail: Tail, first: int = 0
    ) -> FloatArray | None:
        """Return Q of a tail repeated forever; None if errors diverge."""
        if not self.has_closed_tails:
            return super().tail_adjoint(state, discount, tail, first)
        check_endless(discount)
        return self.repeated(tail, discount)

    def walk(self, rounds: int, discount: float) -> FirstOrderWalk:
        """Return a walk for schedules of this many rounds."""
        kind = AdjointWalk if self.has_closed_tails else FirstOrderWalk
        return kind(self, rounds, discount)

    @abstractmethod
    def repeated(self, tail: Tail, discount: float) -> FloatArray | None:
        """Return Q of a tail repeated forever in closed form; None if errors diverge."""


class AdjointWalk(FirstOrderWalk):
    """The walk of people whose adjoints do not depend on states: nothing is replayed."""

    def forward(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Set the schedule from `since` on, and reset the adjoint to the end."""
        total = super().forward(schedule, tail, since)
        self._adjoint(self._rounds)
        return total

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """Total cost with each set in round t, by one product with the adjoint each."""
        later, every = self._adjoints[self._at], positions_of(positions)
        out = self._person.set_prices(self._states[t], t, later, every, self._discount)
        return np.asarray(self._paid(t) + self._weights[t] * out)

    def step_back_over(self, t: int, positions: IntArray) -> None:
        """Move the adjoint several rounds earlier, and keep it at all rounds between."""
        between = slice(t, t + positions.size + 1)
        self._adjoints[between] = self._person.adjoints(
            self._states[between], positions, t, self._adjoints[self._at], self._discount
        )
        self._at = t

    def replace_block(self, t: int, positions: IntArray) -> float:
        """Play the block, and price everything later by the adjoint."""
        path = positions_of(positions)
        losses, states = self._person.play(self._states[t], path, t)
        last = t + path.size
        here = float(losses @ self._weights[t:last])
        later = float(np.vdot(self._adjoints[self._at], states[-1]))
        return self._paid(t) + here + float(self._weights[last]) * later


# Expected losses of people whose errors each change linearly, by what is shown alone.
#
# If S is shown, the error e_i of weight i becomes keep[S, i] e_i + push[S, i]. This covers people
# who learn by showings at a constant ratio, who do not learn, who drift back to their initial
# weights, or whose hidden weights learn a little too. The cost of a schedule from some round on is
# a quadratic function of the errors before it, g'Qg with g = (e, 1); so the cost of any other set
# in a round follows from Q, exactly and without replaying. Errors do not mix, so a sequence of
# sets that is repeated forever has a closed form: every product of two errors shrinks
# geometrically.


class Coordinates(SecondMoments):
    """`Expected` of people each of whose errors moves independently: exact, with exact prices.

    Parameters
    ----------
    world
        Model of tests and outcomes.
    sets
        Sets of tests that may be shown.
    start_errors
        True minus initial weights, shape (n,).
    keep
        Share of each error that a round with each set leaves, shape (sets, n), from -1 to 1.
    shift
        What the round adds to each error, shape (sets, n).
    imputation_covariance
        The covariance from which the person imputes hidden tests, shape (n, n).

    Raises
    ------
    InvalidProblem
        Arrays of wrong shape, or errors that would grow.

    Examples
    --------
    >>> import preceptor as pr
    >>> world, sets = pr.World([1.0], [[1.0]], 0.5), pr.AtMost(1).sets(1)   # () and (0,)
    >>> halved = Coordinates(world, sets, [1.0], [[1.0], [0.5]], np.zeros((2, 1)), np.eye(1))
    >>> halved.losses([1, 1, 1]).tolist()
    [1.5, 0.75, 0.5625]
    """

    def __init__(
        self,
        world: World,
        sets: SetFamily,
        start_errors: npt.ArrayLike,
        keep: npt.ArrayLike,
        shift: npt.ArrayLike,
        imputation_covariance: FloatArray,
    ) -> None:
        errors = np.array(start_errors, dtype=np.float64)
        self.keep = np.ascontiguousarray(keep, dtype=np.float64)
        self.push = np.ascontiguousarray(shift, dtype=np.float64)
        shape = (len(sets), world.size)
        faults = [
            f"{name}: shape {array.shape}, must be {wanted}"
            for name, array, wanted in (
                ("start_errors", errors, (world.size,)),
                ("keep", self.keep, shape),
                ("shift", self.push, shape),
            )
            if array.shape != wanted
        ]
        if not faults and not np.all(np.abs(self.keep) <= 1.0):
            worst = float(self.keep.flat[np.argmax(~(np.abs(self.keep) <= 1.0))])
            faults.append(f"keep: {worst:.6g}, must be between -1 and 1, or errors grow")
        InvalidProblem.raise_if(faults)
        super().__init__(sets, errors)
        self.deviations = deviations_of(world, sets, imputation_covariance)
        self._maps = (self.keep, self.push, self.deviations.arrays)
        usual = _usual_maps(sets, self.keep, self.push)
        self._usual = (*usual, _unusual_tests(self.keep, self.push, *usual))

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included."""
        return self.deviations.least.copy()

    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in losses and second moments along a path."""
        from preceptor.people._linear_kernels import walk_errors

        walk_errors(path, states, losses, *self._maps)

    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in Q at every state of a path."""
        from preceptor.people._linear_kernels import walk_errors_back

        walk_errors_back(path, discount, adjoints, *self._maps)

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return the loss of each set plus discount x <Q, P after it>."""
        from preceptor.people._linear_kernels import error_prices

        out = np.empty(positions.size)
        error_prices(positions, state, adjoint, discount, *self._usual, *self._maps, out)
        return out

    def repeated(self, tail: Tail, discount: float) -> FloatArray:
        """Return Q of a repeated tail in closed form, by geometric sums."""
        from preceptor.people._linear_kernels import repeat_forever

        adjoint = np.empty(self.start.shape)
        repeat_forever(positions_of(tail), discount, *self._maps, adjoint)
        return adjoint


def _usual_maps(
    sets: SetFamily, keep: FloatArray, push: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """For each test, the map (keep, push) of its error that most sets have in common."""
    usual = np.empty(keep.shape[1], dtype=np.complex128)
    for i in range(keep.shape[1]):
        # As complex numbers, because np.unique is far faster on those than on rows of pairs.
        pairs = keep[:, i] + 1j * push[:, i]
        hidden = pairs[~sets.membership[:, i]]
        maps, counts = np.unique(hidden if hidden.size else pairs, return_counts=True)
        usual[i] = maps[np.argmax(counts)]
    return usual.real.copy(), usual.imag.copy()


def _unusual_tests(
    keep: FloatArray, push: FloatArray, usual_keep: FloatArray, usual_push: FloatArray
) -> IntArray:
    """Tests (sets, most) whose errors each set moves differently, padded with -1."""
    differs = (keep != usual_keep) | (push != usual_push)
    most = max(int(differs.sum(axis=1).max(initial=0)), 1)
    order = np.argsort(~differs, axis=1, kind="stable")[:, :most]
    listed = np.where(np.take_along_axis(differs, order, axis=1), order, -1)
    return np.ascontiguousarray(listed, dtype=np.int64)
