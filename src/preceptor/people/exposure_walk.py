"""Prices of changes for people who count showings: what one showing more or less would do later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.discounting import weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Tail, check_endless, positions_of
from preceptor.people.exposures import Arrays, Exposures, rounds_that_weigh


class ExposureWalk:
    """A `Walk` that knows what one showing more or less of each test would change later.

    Exposures along the present schedule are always at hand. A set that is taken in and was not laid
    moves all later ones, so everything after it is played again: prices stay as good as they were.
    """

    def __init__(self, expected: Exposures, rounds: int, discount: float) -> None:
        from preceptor.people import _exposure_kernels

        self._kernels = _exposure_kernels
        self._expected = expected
        self._rounds = rounds
        self._discount = float(discount)
        n = expected.start.size
        widest = expected.deviations.members.shape[1]
        self._weights = weights(discount, rounds + 1)
        self._states = np.tile(expected.start, (rounds + 1, 1))
        self._errors = np.empty((rounds + 1, n))
        self._costs = np.empty(rounds)
        self._paid = np.zeros(rounds + 1)
        self._schedule = np.zeros(rounds, dtype=np.int64)
        self._tail: Tail = ()
        self._lin = np.zeros((2, n))
        self._cross = np.zeros((3 if expected.has_tables else 1, n, n))
        self._togo = 0.0
        self._rest = 0.0
        self._recorded = 256
        self._scratch = (np.empty((widest, n)), np.empty(widest), np.empty((4, n)))

    def _arrays(self, tail: Tail) -> Arrays:
        rest = rounds_that_weigh(self._discount) + len(tail) if tail else 0
        return self._expected.arrays(self._rounds + rest)

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward; gives what it costs in all."""
        if tail:
            check_endless(self._discount)
        self._schedule[:] = schedule
        self._tail = tail
        self._forward(since)
        return float(self._paid[-1] + self._weights[-1] * self._rest)

    def _forward(self, since: int) -> None:
        """Play the present schedule from a round on, then the tail; stand at the end."""
        arrays = self._arrays(self._tail)
        self._kernels.walk_exposures(
            self._schedule, since, self._discount, *arrays, self._states, self._errors,
            self._costs, self._paid,
        )  # fmt: skip
        self._lin[:] = 0.0
        self._cross[:] = 0.0
        self._rest = 0.0
        if len(self._tail) == 1 and self._expected.exact_prices:
            self._rest = self._kernels.show_forever(
                self._tail[0], self._discount, *arrays, self._states[-1], True, self._lin,
                self._cross,
            )  # fmt: skip
        elif self._tail:
            word = positions_of(self._tail)
            exposures = self._states[-1].copy()
            record = np.empty((self._recorded, exposures.size))
            self._rest, played, near = self._kernels.play_word(
                word, self._discount, *arrays, exposures, record
            )
            needed = played if self._expected.exact_prices else near
            if needed > self._recorded:
                self._recorded = 2 * needed
                record = np.empty((self._recorded, exposures.size))
                exposures = self._states[-1].copy()
                self._kernels.play_word(word, self._discount, *arrays, exposures, record)
            self._kernels.take_back_word(
                word, self._discount, *arrays, exposures, record[:needed], self._lin, self._cross
            )
        self._togo = self._rest

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """What the whole schedule costs in all with each of these sets in round t instead."""
        out = np.empty(positions.size)
        self._kernels.exposure_prices(
            positions_of(positions), self._schedule[t], self._states[t], self._errors[t],
            self._states[t + 1], self._paid[t], self._weights[t], self._togo, self._lin,
            self._cross, self._discount, *self._arrays(self._tail), out,
        )  # fmt: skip
        return out

    def back(self, t: int, position: int) -> None:
        """Take in that this set is shown in round t."""
        arrays = self._arrays(self._tail)
        if position == self._schedule[t]:
            self._kernels.take_back(
                position, self._states[t], self._errors[t], self._discount, *arrays, self._lin,
                self._cross, *self._scratch,
            )  # fmt: skip
            self._togo = float(self._costs[t]) + self._discount * self._togo
            return
        self._schedule[t] = position
        self._forward(t)
        self._kernels.take_back_all(
            self._schedule, t, self._discount, *arrays, self._states, self._errors, self._lin,
            self._cross,
        )  # fmt: skip
        later = self._costs[t:] @ self._weights[: self._rounds - t]
        self._togo = float(later + self._weights[self._rounds - t] * self._rest)

    def back_over(self, t: int, positions: IntArray) -> None:
        """Take in rounds t, t + 1, ... at once; what has moved is played again only once."""
        end = t + positions.size
        moved = not np.array_equal(self._schedule[t:end], positions)
        if moved:
            self._schedule[t:end] = positions
            self._forward(t)
            end = self._rounds
        self._kernels.take_back_all(
            self._schedule[:end], t, self._discount, *self._arrays(self._tail), self._states,
            self._errors, self._lin, self._cross,
        )  # fmt: skip
        here = self._costs[t:end] @ self._weights[: end - t]
        self._togo = float(here + self._weights[end - t] * self._togo)

    def block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs in all with these sets in rounds t, t + 1, ... instead."""
        changed = self._schedule.copy()
        changed[t : t + len(positions)] = positions
        exposures = self._states[t].copy()
        arrays = self._arrays(self._tail)
        later = self._kernels.replay(
            changed, t, self._discount, *arrays, exposures, np.empty(changed.size)
        )
        rest = self._expected.tail_value(exposures, self._discount, self._tail, self._rounds)
        return float(self._paid[t] + self._weights[t] * later + self._weights[-1] * rest)

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the present schedule costs in all with each of these tails instead of its own."""
        end = self._states[-1]
        rest = [
            self._expected.tail_value(end, self._discount, tail, self._rounds) for tail in tails
        ]
        total: FloatArray = self._paid[-1] + self._weights[-1] * np.array(rest)
        return total
