"""What is expected of people each of whose errors moves by what is shown alone, and linearly.

If S is shown, the error e_i of weight i becomes keep[S, i] e_i + push[S, i]. That is everybody who
learns by showings at a constant ratio, who does not learn, who drifts back to first beliefs, or
whose hidden weights learn a little too. What a schedule costs from some round on is a quadratic
function of the errors before it, g'Qg with g = (e, 1); so what any other set would cost in a round
is read off Q, exactly, and nothing is played again. Errors do not mix, so a word of sets that is
repeated forever has a closed form: every product of two errors shrinks geometrically.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from preceptor._base.discounting import weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.deviations import deviations_of
from preceptor.people.expected import Expected, Tail

Maps: TypeAlias = tuple[
    FloatArray, FloatArray, FloatArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray
]
Pricing: TypeAlias = tuple[
    FloatArray, FloatArray, FloatArray, FloatArray, IntArray, FloatArray, IntArray, IntArray,
    FloatArray, FloatArray, FloatArray,
]  # fmt: skip


class Coordinates:
    """`Expected` of people whose errors each move by a map of their own: exact, exact prices.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    sets
        What may be shown.
    start_errors
        Truth minus weight before the first round, shape (n,).
    keep
        Share of each error that a round with each set leaves, shape (sets, n), from -1 to 1.
    shift
        What the round adds to it, shape (sets, n).
    imputation_covariance
        The covariance from which the person fills in what is hidden, shape (n, n).

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

    exact = True
    exact_prices = True
    accuracy = ""

    def __init__(
        self,
        world: World,
        sets: SetFamily,
        start_errors: npt.ArrayLike,
        keep: npt.ArrayLike,
        shift: npt.ArrayLike,
        imputation_covariance: FloatArray,
    ) -> None:
        self.sets = sets
        self.start = np.array(start_errors, dtype=np.float64)
        self.keep = np.ascontiguousarray(keep, dtype=np.float64)
        self.push = np.ascontiguousarray(shift, dtype=np.float64)
        shape = (len(sets), world.size)
        faults = [
            f"{name}: shape {array.shape}, must be {wanted}"
            for name, array, wanted in (
                ("start_errors", self.start, (world.size,)),
                ("keep", self.keep, shape),
                ("shift", self.push, shape),
            )
            if array.shape != wanted
        ]
        if not faults and not np.all(np.abs(self.keep) <= 1.0):
            worst = float(self.keep.flat[np.argmax(~(np.abs(self.keep) <= 1.0))])
            faults.append(f"keep: {worst:.6g}, must be between -1 and 1, or errors grow")
        InvalidProblem.raise_if(faults)
        self.deviations = deviations_of(world, sets, imputation_covariance)
        self._calm_keep, self._calm_push = _calm(sets, self.keep, self.push)
        self._moved = _moved(self.keep, self.push, self._calm_keep, self._calm_push)

    @property
    def maps(self) -> Maps:
        """How errors move and what they cost, in the order in which kernels take it."""
        return (self.keep, self.push, *self.deviations.arrays)

    @property
    def pricing(self) -> Pricing:
        """The same for prices, with the map of an undisturbed error."""
        calm = (self._calm_keep, self._calm_push, self._moved)
        return (self.keep, self.push, *calm, *self.deviations.arrays)

    def with_spread(self, covariance: FloatArray) -> Expected:
        """The same person, whose errors now have this covariance (n, n) around the start."""
        from preceptor.people.spread_coordinates import SpreadCoordinates

        return SpreadCoordinates(self, covariance)

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Expected loss of each round, from the start."""
        from preceptor.people._coordinate_kernels import play

        sets = positions_of(schedule)
        out = np.empty(sets.size)
        play(sets, 1.0, *self.maps, self.start.copy(), out)
        return out

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus weight before each round, shape (rounds, n)."""
        sets = positions_of(schedule)
        errors = np.empty((sets.size, self.start.size))
        now = self.start
        for t, position in enumerate(sets):
            errors[t] = now
            now = self.keep[position] * now + self.push[position]
        return errors

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted loss of a schedule and of its tail repeated forever."""
        from preceptor.people._coordinate_kernels import play, quadratic

        sets = positions_of(schedule)
        errors = self.start.copy()
        total = float(play(sets, discount, *self.maps, errors, np.empty(sets.size)))
        if not tail:
            return total
        rest = float(quadratic(self.tail_adjoint(tail, discount), errors))
        return total + discount**sets.size * rest

    def tail_adjoint(self, tail: Tail, discount: float) -> FloatArray:
        """Q of a tail repeated forever, shape (n + 1, n + 1); zeros if there is none.

        Parameters
        ----------
        tail
            Positions of sets.
        discount
            What a round weighs against the one before.

        Returns
        -------
        array of shape (n + 1, n + 1)
            g'Qg is what the tail costs from errors e, with g = (e, 1).
        """
        from preceptor.people._coordinate_kernels import repeat_forever

        adjoint = np.zeros((self.start.size + 1, self.start.size + 1))
        if tail:
            check_endless(discount)
            repeat_forever(positions_of(tail), discount, *self.maps, adjoint)
        return adjoint

    def walk(self, rounds: int, discount: float) -> CoordinateWalk:
        """Room for schedules of so many rounds."""
        return CoordinateWalk(self, rounds, discount)

    def floors(self) -> FloatArray:
        """Loss of the best reader of each set, price included, shape (sets,)."""
        return self.deviations.least.copy()


class CoordinateWalk:
    """A `Walk` with exact prices: the adjoint Q goes back with the planner."""

    def __init__(self, expected: Coordinates, rounds: int, discount: float) -> None:
        from preceptor.people import _coordinate_kernels

        self._kernels = _coordinate_kernels
        self._expected = expected
        self._discount = float(discount)
        n = expected.start.size
        widest = expected.deviations.members.shape[1]
        self._maps, self._pricing = expected.maps, expected.pricing
        self._weights = weights(discount, rounds + 1)
        self._states = np.tile(expected.start, (rounds + 1, 1))
        self._paid = np.zeros(rounds + 1)
        self._adjoints = np.zeros((rounds + 1, n + 1, n + 1))  # one at each round taken in
        self._adjoint = self._adjoints[-1]
        self._tails: dict[Tail, FloatArray] = {}
        self._scratch = (np.zeros(n), np.empty((widest, n)), np.empty(widest))

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward; gives what it costs in all."""
        sets = positions_of(schedule)
        self._kernels.walk_errors(
            sets, since, self._discount, *self._maps, self._states, self._paid
        )
        if tail not in self._tails:
            self._tails[tail] = self._expected.tail_adjoint(tail, self._discount)
        self._adjoint = self._adjoints[-1]
        self._adjoint[:] = self._tails[tail]
        rest = self._kernels.quadratic(self._adjoint, self._states[-1])
        return float(self._paid[-1] + self._weights[-1] * rest)

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """What the whole schedule costs in all with each of these sets in round t instead."""
        out = np.empty(positions.size)
        self._kernels.error_prices(
            positions_of(positions), self._states[t], self._paid[t], self._weights[t],
            self._discount, self._adjoint, *self._pricing, out,
        )  # fmt: skip
        return out

    def back(self, t: int, position: int) -> None:
        """Take in that this set is shown in round t."""
        before = self._adjoints[t]
        before[:] = self._adjoint
        self._kernels.step_back(position, self._discount, *self._maps, before, *self._scratch)
        self._adjoint = before

    def back_over(self, t: int, positions: IntArray) -> None:
        """Take in rounds t, t + 1, ..., which end where the walk stands."""
        for later in range(positions.size - 1, -1, -1):
            self.back(t + later, int(positions[later]))

    def resume(self, t: int) -> None:
        """Stand at round t again; rounds from t on are as they were when last taken in."""
        self._adjoint = self._adjoints[t]

    def block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs in all with these sets in rounds t, t + 1, ... instead."""
        sets = positions_of(positions)
        errors = self._states[t].copy()
        block = self._kernels.play(sets, self._discount, *self._maps, errors, np.empty(sets.size))
        rest = self._kernels.quadratic(self._adjoint, errors)
        after = self._weights[t + sets.size]
        return float(self._paid[t] + self._weights[t] * block + after * rest)

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the laid schedule costs in all with each of these tails instead of its own."""
        rest = np.empty(len(tails))
        words, lengths = packed_words(tails)
        if words.size:
            check_endless(self._discount)
        self._kernels.tail_values(
            words, lengths, self._discount, *self._maps, self._states[-1], rest
        )
        total: FloatArray = self._paid[-1] + self._weights[-1] * rest
        return total


def positions_of(schedule: Sequence[int] | IntArray) -> IntArray:
    """Positions of sets as kernels take them."""
    return np.ascontiguousarray(schedule, dtype=np.int64)


def packed_words(words: Sequence[Tail]) -> tuple[IntArray, IntArray]:
    """Words side by side (words, longest), padded with -1, and their lengths."""
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    packed = np.full((len(words), int(lengths.max(initial=0))), -1, dtype=np.int64)
    for row, word in zip(packed, words, strict=True):
        row[: len(word)] = word
    return packed, lengths


def check_endless(discount: float) -> None:
    """Raise if rounds without end would add up to infinity."""
    if not discount < 1.0:
        raise InvalidProblem(
            f"discount: {discount!r}, must be below 1 where a set is repeated forever; give a "
            "horizon instead"
        )


def _calm(sets: SetFamily, keep: FloatArray, push: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each test the map (keep, push) of its error that most sets have in common."""
    calm_keep, calm_push = np.ones(keep.shape[1]), np.zeros(keep.shape[1])
    for i in range(keep.shape[1]):
        # As complex numbers, because pairs of them are found far faster.
        pairs = keep[:, i] + 1j * push[:, i]
        hidden = pairs[~sets.membership[:, i]]
        maps, counts = np.unique(hidden if hidden.size else pairs, return_counts=True)
        common = maps[np.argmax(counts)]
        calm_keep[i], calm_push[i] = common.real, common.imag
    return calm_keep, calm_push


def _moved(
    keep: FloatArray, push: FloatArray, calm_keep: FloatArray, calm_push: FloatArray
) -> IntArray:
    """Which errors (sets, most) each set moves otherwise, padded with -1."""
    differs = (keep != calm_keep) | (push != calm_push)
    most = max(int(differs.sum(axis=1).max(initial=0)), 1)
    order = np.argsort(~differs, axis=1, kind="stable")[:, :most]
    listed = np.where(np.take_along_axis(differs, order, axis=1), order, -1)
    return np.ascontiguousarray(listed, dtype=np.int64)
