"""Expected losses of a learner by showings under any charge for the variance of the residual.

Squared errors in closed form have exact prices of their own (`people.exposures`). Every other
charge is tabulated as a function of the standard deviation, so that a compiled loop can play
schedules for built-in and user-defined risks alike. A set that differs from the present one by up
to two tests is priced exactly in one pass; the most promising of the others are played.

Under an empirical loss, charges depend on more than the variance; here the residuals are then taken
to be normal with the variance of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.numerics import discounted_sum, rounds_until, weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import Tail, check_endless, positions_of
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk, SquaredError

if TYPE_CHECKING:
    from preceptor.planning._charged_kernels import Model, Word

# Cells of the table of charges: enough for nine digits.
_CELLS = 2048
# Turns of a tail that are all played; then every turn stands for a tenth of those before it, until
# they weigh less than the share, or there are too many.
_PLAYED_TURNS, _SPACING, _NEGLIGIBLE, _MOST_TAIL_ROUNDS = 32, 1.1, 1e-9, 20_000


class ChargedRounds:
    """`Expected` of a problem whose person learns by showings; a state is its counts, (n,)."""

    exact: bool = True
    exact_prices: bool = True
    accuracy: str = ""

    def __init__(self, problem: Problem) -> None:
        forms = problem.replace(risk=SquaredError()).oracle.forms()
        assert forms is not None
        assert isinstance(problem.risk, NumberRisk)
        self._problem = problem
        self._wrong = problem.first_errors
        self._errors = np.empty((problem.size, 0))
        self._forms = (forms.floor, forms.shift, forms.reading, forms.prices)
        reach = np.abs(forms.shift) + np.abs(forms.reading) @ np.abs(problem.initial_errors)
        largest = np.max(forms.floor + np.sum(reach**2, axis=1))
        self._charges = _tabulated(
            problem.risk, float(np.sqrt(forms.floor.min())), float(np.sqrt(largest))
        )
        self.shown = problem.sets.membership.astype(np.int64)

    def floors(self) -> FloatArray:
        """A loss that each set never goes below (sets,)."""
        return self._problem.oracle.floors()

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Expected loss of each round."""
        return self._played(schedule, 0.0, ())[0]

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted cost of a schedule and of its tail repeated forever."""
        losses, rest = self._played(schedule, discount, tail)
        return discounted_sum(losses, discount) + discount**losses.size * rest

    def walk(self, rounds: int, discount: float) -> ChargedWalk:
        """A walk over schedules of this many rounds."""
        return ChargedWalk(self, rounds, discount)

    def _played(
        self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail
    ) -> tuple[FloatArray, float]:
        from preceptor.planning._charged_kernels import play_charged

        path = positions_of(schedule)
        counts = np.zeros((path.size + 1, self._problem.size), dtype=np.int64)
        losses = np.empty(path.size)
        word = word_of(tail, discount)
        model = self.model(path.size, word)
        rest = play_charged(path, 0, float(discount), word, model, counts, losses)
        return losses, float(rest)

    def model(self, rounds: int, word: Word) -> Model:
        """Sets, errors, forms and charges as kernels read them, for counts that this can reach."""
        most = rounds + word[0].size * (int(word[1][-1]) + 1 if word[1].size else 0) + 1
        if self._errors.shape[1] <= most:
            problem = self._problem
            left = problem.by_showings.retention_table(problem.start_counts, 2 * most)
            self._errors = np.ascontiguousarray(self._wrong[:, None] * left)
        return (self.shown, self._errors, *self._forms, *self._charges)


def word_of(tail: Tail, discount: float) -> Word:
    """A repeated word as kernels read it: turns that are played, and the weights of all near them.

    Losses between two of these turns are interpolated, and stay as they are after the last.
    """
    word = positions_of(tail)
    if not tail:
        return word, np.empty(0, dtype=np.int64), np.empty(0)
    check_endless(discount)
    ratio = discount**word.size
    last = 1 if ratio == 0.0 else rounds_until(ratio, _NEGLIGIBLE)
    last = max(1, min(last, _MOST_TAIL_ROUNDS // word.size))
    turns = list(range(min(_PLAYED_TURNS, last) + 1))
    while turns[-1] < last:
        turns.append(min(int(turns[-1] * _SPACING), last))
    played = np.array(turns, dtype=np.int64)
    each = weights(ratio, last + 1)
    each[-1] /= 1.0 - ratio
    turn = np.arange(last + 1)
    below = np.minimum(np.searchsorted(played, turn, side="right") - 1, played.size - 2)
    above = (turn - played[below]) / (played[below + 1] - played[below])
    share = np.zeros(played.size)
    np.add.at(share, below, each * (1.0 - above))
    np.add.at(share, below + 1, each * above)
    return word, played, share


def _tabulated(risk: NumberRisk, low: float, high: float) -> tuple[float, float, FloatArray]:
    """Expected charge by standard deviation: cubics through four points of each cell."""
    high = max(high, low + 1e-9 * max(low, 1.0)) * (1.0 + 1e-9)
    deviations = np.linspace(low, high, 3 * _CELLS + 1)
    charges = np.asarray(risk.expected(deviations**2))
    points = np.lib.stride_tricks.sliding_window_view(charges, 4)[::3]
    through = np.linalg.inv(np.vander(np.arange(4) / 3.0, increasing=True))
    return low, _CELLS / (high - low), np.ascontiguousarray(points @ through.T)


class ChargedWalk:
    """A `Walk` that knows what one showing more or less, or two of them, would change later."""

    def __init__(self, expected: ChargedRounds, rounds: int, discount: float) -> None:
        import preceptor.planning._charged_kernels as _charged_kernels

        self._kernels = _charged_kernels
        self._expected = expected
        self._rounds, self._discount = rounds, float(discount)
        tests = expected.shown.shape[1]
        self._weights = weights(discount, rounds + 1)
        self._counts = np.zeros((rounds + 1, tests), dtype=np.int64)
        self._losses = np.zeros(rounds)
        self._schedule = np.zeros(rounds, dtype=np.int64)
        self._one = np.zeros((2, tests))
        self._two = np.zeros((2, 2, tests, tests))
        self._word = word_of((), self._discount)
        self._model = expected.model(rounds, self._word)
        self._total = self._rest = 0.0

    def forward(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward from `since`, or from where other rounds were taken in."""
        since = int(np.argmax(np.append(self._schedule[:since] != schedule[:since], True)))
        self._schedule[:] = schedule
        if tuple(self._word[0].tolist()) != tail:
            self._word = word_of(tail, self._discount)
        self._forward(since)
        return self._total

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """Exact costs in all of the sets worth considering for round t; infinite for the others."""
        positions, present = positions_of(positions), self._schedule[t]
        out, changed = np.empty(positions.size), np.empty(positions.size, dtype=np.int64)
        weight = self._weights[t]
        self._kernels.price_sets(
            positions, present, self._counts[t], weight, self._model, self._one, self._two, out,
            changed,
        )  # fmt: skip
        out += self._total - weight * self._losses[t]
        far = np.flatnonzero(changed > 2)
        if far.size:
            to_play = self._rounds - t + self._word[1].size * self._word[0].size
            # About 4,000 rounds may be played to price the sets of one round.
            few, most = far, max(4_000 // to_play, 3)
            if far.size > most:
                few = far[np.argpartition(out[far], most)[:most]]
            out[far] = np.inf
            out[few] = self._replayed(t, positions[few, None])
        return out

    def step_back(self, t: int, position: int) -> None:
        """Take in that this set is shown in round t."""
        self.step_back_over(t, np.array([position], dtype=np.int64))

    def step_back_over(self, t: int, positions: IntArray) -> None:
        """Take in several rounds at once; what has moved is played again."""
        end = t + positions.size
        if not np.array_equal(self._schedule[t:end], positions):
            self._schedule[t:end] = positions
            self._forward(t)
            end = self._rounds
        self._kernels.add_rounds(
            self._schedule, t, end, self._weights, self._model, self._counts, self._one, self._two
        )

    def replace_block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs in all with these sets in rounds t, t + 1, ... instead."""
        return float(self._replayed(t, positions_of(positions)[None, :])[0])

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the present schedule costs in all with each of these tails instead of its own."""
        costs = []
        for tail in tails:
            word = word_of(tail, self._discount)
            model = self._expected.model(self._rounds, word)
            arguments = (self._discount, word, model, self._counts, self._losses)
            costs.append(self._kernels.play_charged(self._schedule, self._rounds, *arguments))
        head = self._total - self._weights[-1] * self._rest
        return np.asarray(head + self._weights[-1] * np.array(costs))

    def _replayed(self, t: int, blocks: IntArray) -> FloatArray:
        """Costs in all with each of the blocks (b, rounds) from round t on."""
        out = np.empty(blocks.shape[0])
        self._kernels.replay_blocks(
            self._schedule, t, np.ascontiguousarray(blocks), self._discount, self._word,
            self._model, self._counts[t], out,
        )  # fmt: skip
        return np.asarray(self._losses[:t] @ self._weights[:t] + self._weights[t] * out)

    def _forward(self, since: int) -> None:
        """Play the present schedule from a round on, then the tail; move to the end."""
        self._model = self._expected.model(self._rounds, self._word)
        self._rest = self._kernels.play_charged(
            self._schedule, since, self._discount, self._word, self._model, self._counts,
            self._losses,
        )  # fmt: skip
        self._kernels.start_at_tail(
            self._word, self._weights[-1], self._discount, self._model, self._counts[-1],
            self._one, self._two,
        )  # fmt: skip
        self._total = float(self._losses @ self._weights[:-1] + self._weights[-1] * self._rest)
