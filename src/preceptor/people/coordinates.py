"""What is expected of people each of whose errors moves by what is shown alone, and linearly.

If S is shown, the error e_i of weight i becomes keep[S, i] e_i + push[S, i]. That is everybody who
learns by showings at a constant ratio, who does not learn, who drifts back to first beliefs, or
whose hidden weights learn a little too. What a schedule costs from some round on is a quadratic
function of the errors before it, g'Qg with g = (e, 1); so what any other set would cost in a round
is read off Q, exactly, and nothing is played again. Errors do not mix, so a word of sets that is
repeated forever has a closed form: every product of two errors shrinks geometrically.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.deviations import deviations_of
from preceptor.people.expected import Tail, positions_of
from preceptor.people.second_moments import SecondMoments


class Coordinates(SecondMoments):
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
        self._maps = (self.keep, self.push, *self.deviations.arrays)
        calm = _calm(sets, self.keep, self.push)
        self._moved = _moved(self.keep, self.push, *calm)
        self._calm = (*calm, self._moved)

    def floors(self) -> FloatArray:
        """What the best reader of each set gets wrong, and its price."""
        return self.deviations.least.copy()

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path, and second moments before each round and after the last."""
        from preceptor.people._coordinate_kernels import walk_errors

        states, losses = np.empty((path.size + 1, *state.shape)), np.empty(path.size)
        states[0] = state
        walk_errors(path, states, losses, *self._maps)
        return losses, states

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """Q at every state of a path, given the one at the last."""
        from preceptor.people._coordinate_kernels import walk_back

        adjoints = np.empty((path.size + 1, *end.shape))
        adjoints[-1] = end
        walk_back(path, discount, adjoints, *self._maps)
        return adjoints

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Loss of each set, plus discount x <Q, P after it>."""
        from preceptor.people._coordinate_kernels import error_prices

        out = np.empty(positions.size)
        error_prices(positions, state, adjoint, discount, *self._calm, *self._maps, out)
        return out

    def tail_adjoint(self, tail: Tail, discount: float) -> FloatArray:
        """In closed form: every product of two errors is a geometric sum."""
        from preceptor.people._coordinate_kernels import repeat_forever

        adjoint = np.empty(self.start.shape)
        repeat_forever(positions_of(tail), discount, *self._maps, adjoint)
        return adjoint


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
