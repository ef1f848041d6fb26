"""What is expected of people whose weights follow from what was shown, in a yes-or-no world.

They learn by showings, forget, drift, fold: chance plays no part, so everybody of the kind has the
same weights after the same schedule, and expected charges are exact. The price of another set in
one round is exact for that round; for later ones it is their slope times what the set changes,
so whoever plans confirms it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.expected import positions_of
from preceptor.people.first_order_walk import Stepwise
from preceptor.people.scores import scores_of


@dataclass(frozen=True, eq=False)
class Moved:
    """How a round moves a state of n numbers; see `_score_kernels.py`.

    Attributes
    ----------
    start
        The state before the first round, shape (n,).
    weights
        From states (rounds, n) to weights.
    slopes
        From states (rounds, n) to how much each weight changes per unit of its own state.
    mode
        0 for exposures, 1 for weights.
    fade
        Share of its exposure that a hidden test keeps.
    keep, push
        Weights become keep x weight + push, shape (sets, n).
    rows
        What shown weights take from all of them besides, shape (sets, k, n), or empty.
    """

    start: FloatArray
    weights: Callable[[FloatArray], FloatArray]
    slopes: Callable[[FloatArray], FloatArray]
    mode: int
    fade: float
    keep: FloatArray
    push: FloatArray
    rows: FloatArray

    @classmethod
    def by_weights(
        cls, start: FloatArray, keep: FloatArray, push: FloatArray, rows: FloatArray | None = None
    ) -> Moved:
        """The state is the weights themselves."""
        none = np.empty((0, 0, start.size))
        return cls(
            np.array(start), lambda states: states, np.ones_like, 1, 1.0,
            np.array(keep, dtype=np.float64), np.array(push, dtype=np.float64),
            none if rows is None else np.ascontiguousarray(rows),
        )  # fmt: skip

    @classmethod
    def by_exposure(
        cls, start: FloatArray, weights: Callable[[FloatArray], FloatArray], fade: float
    ) -> Moved:
        """The state is exposure, from which weights follow along curves."""

        def slopes(states: FloatArray) -> FloatArray:
            # Changes come in whole showings, and curves may have steps.
            before = np.maximum(states - 1.0, 0.0)
            return (weights(states + 1.0) - weights(before)) / (states + 1.0 - before)

        none = np.empty((0, start.size))
        return cls(
            np.array(start), weights, slopes, 0, fade, none, none, np.empty((0, 0, start.size))
        )


class CertainAnswers(Stepwise):
    """`Expected` of people whose weights follow from what was shown: exact, prices first order.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    scores
        What weights make of each set.
    moved
        How a round moves the state.
    """

    def __init__(
        self, world: World, sets: SetFamily, omega: FloatArray, risk: YesNoRisk, moved: Moved
    ) -> None:
        self.sets = sets
        self.start = moved.start
        self._truth = world.coefficients
        self._scores = scores_of(world, sets, omega, risk)
        self._moved = moved

    def floors(self) -> FloatArray:
        """What the best reader of each set is charged, price included."""
        return self._scores.floors()

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus weight before each round, shape (rounds, n)."""
        path = positions_of(schedule)
        states = self.play(self.start, path, 0)[1]
        return np.asarray(self._truth - self._moved.weights(states[:-1]))

    # --- what the walk asks ---

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path from a state, and the states before and after all its rounds."""
        from preceptor.people._score_kernels import path_losses, walk_states

        moved, scores = self._moved, self._scores
        states, losses = np.empty((path.size + 1, state.size)), np.empty(path.size)
        states[0] = state
        walk_states(
            path, states, scores.members, self.sets.sizes, moved.mode, moved.fade, moved.keep,
            moved.push, moved.rows,
        )  # fmt: skip
        path_losses(path, np.ascontiguousarray(moved.weights(states[:-1])), losses, *scores.arrays)
        return losses, states

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """Slopes of what is left of the cost (rounds + 1, n), per unit of state."""
        from preceptor.people._score_kernels import path_slopes, walk_back

        moved, scores = self._moved, self._scores
        slopes, out = np.empty((path.size, end.size)), np.empty((path.size + 1, end.size))
        weights = np.ascontiguousarray(moved.weights(states[:-1]))
        path_slopes(path, weights, slopes, *scores.arrays)
        slopes *= moved.slopes(states[:-1])
        out[-1] = end
        walk_back(
            path, slopes, out, discount, scores.members, self.sets.sizes, moved.mode, moved.fade,
            moved.keep, moved.rows,
        )  # fmt: skip
        return out

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Each set's loss in round t, and to first order what it makes of later rounds."""
        from preceptor.people._score_kernels import set_prices

        moved = self._moved
        out = np.empty(positions.size)
        weights = np.ascontiguousarray(moved.weights(state[None, :])[0])
        set_prices(
            positions, state, weights, adjoint, discount, out, moved.mode, moved.fade, moved.keep,
            moved.push, moved.rows, *self._scores.arrays,
        )  # fmt: skip
        return out
