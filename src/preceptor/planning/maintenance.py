"""What to repeat forever for people who forget: how often each set, and in which order.

Showing a test in a share d of the rounds holds the exposure to it at m = d / ((1 - d) f), where f
is what a round without it takes away. So the best upkeep is a mix of sets, π, that minimises

    Σ_S π_S loss_S(errors at m(π)),

a small smooth program, in which few sets get a share. The most regular word with these shares
(always the set that is furthest behind its own) plays it. The program knows nothing of the ups and
downs within a word, so words are judged by what they cost when they are played.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.deadline import UNCOUNTED
from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Expected, Tail
from preceptor.people.exposures import Exposures

# Sets that the program mixes at most, and how many join it at a time.
_MOST_SETS = 40
_JOINING = 6
# A share nearer to 1 than this is as good as always: exposure then has no slope that matters.
_ALWAYS = 1.0 - 1e-6
# Shares below this are not worth a round of any word.
_LEAST_SHARE = 0.03
# A test that is always shown is taken to have been shown so often when words are compared.
_WELL_KNOWN = 1_000.0
# Words that a search is told of for each person who forgets.
_WORDS = 3
# Rounds of a word, and words that are compared, at most.
_LONGEST, _MOST_WORDS = 12, 12


@dataclass(frozen=True, eq=False)
class Mix:
    """Sets, how often each is shown, and what that costs a round in the long run.

    Attributes
    ----------
    positions
        Of the sets that have a share, the largest first.
    shares
        Of the rounds, shape (len(positions),); they add up to 1.
    exposures
        At which the mix holds each test, shape (n,).
    loss
        Expected loss of a round, as if every exposure stood still.
    """

    positions: tuple[int, ...]
    shares: FloatArray
    exposures: FloatArray
    loss: float


def best_mixes(expected: Exposures) -> list[Mix]:
    """Mixes of sets that keep what is known at the least loss, best first.

    The program is not convex. These are the different local optima from several starts.

    Parameters
    ----------
    expected
        Somebody who forgets.

    Returns
    -------
    list of Mix
        At least one.
    """
    program = _Program(expected)
    alone = np.array([expected.orbit_losses((s,))[0] for s in range(program.count)])
    order = np.argsort(alone, kind="stable")
    found: list[Mix] = []
    for start in _starts(order):
        mix = program.mix(_settle(program, start))
        if all(abs(mix.loss - other.loss) > 1e-6 * abs(other.loss) for other in found):
            found.append(mix)
    return sorted(found, key=lambda mix: mix.loss)


def maintenance_words(
    expected: Exposures, discount: float, longest: int = _LONGEST, words: int = _MOST_WORDS
) -> list[Tail]:
    """Words of sets worth repeating forever, best first.

    Parameters
    ----------
    expected
        Somebody who forgets.
    discount
        What a round weighs against the one before, below 1.
    longest
        Rounds of a word at most.
    words
        How many to give at most.

    Returns
    -------
    list of tuple of int
        Positions of sets, in the order in which they are shown, by what a round costs in the long
        run. Among them are words that cost least, discounted, from the exposures that the best mix
        holds: those live on what is known and let some of it go.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])
    >>> novice = pr.Learner([0.0, 0.0], pr.Geometric(1.1))
    >>> forgetful = Exposures(novice, world, pr.Exactly(1).sets(2), forgetting=0.05)
    >>> maintenance_words(forgetful, 0.99)[0]   # one of two equal tests, and never the other
    (0,)
    """
    mixes = best_mixes(expected)
    found = {word for mix in mixes for word in _words_of(mix, longest)}
    late = {word: float(expected.orbit_losses(word).mean()) for word in found}
    forever = sorted(found, key=lambda word: (late[word], len(word), word))
    start = np.minimum(mixes[0].exposures, _WELL_KNOWN)
    costs = {word: expected.tail_value(start, discount, word) for word in found}
    soon = sorted(found, key=lambda word: (costs[word], len(word), word))[: words // 3]
    others = [word for word in forever if word not in soon]
    kept = {*soon, *others[: words - len(soon)]}
    return [word for word in forever if word in kept]


def words_to_repeat(everybody: Sequence[Expected], discount: float) -> tuple[Tail, ...]:
    """What those who forget should be shown over and over: the best words for each of them."""
    forgetful = [each for each in everybody if isinstance(each, Exposures) and each.forgetting]
    words = [word for each in forgetful for word in maintenance_words(each, discount)[:_WORDS]]
    return tuple(dict.fromkeys(words))


class _Program:
    """Loss of a mix π and its slopes, for all sets at once."""

    def __init__(self, expected: Exposures) -> None:
        self.expected = expected
        self.count = len(expected.sets)
        self._membership = expected.sets.membership.astype(np.float64)

    def mix(self, shares: FloatArray) -> Mix:
        """What a vector (sets,) of shares amounts to."""
        kept = np.where(shares >= 1e-4, shares, 0.0)
        kept /= kept.sum()
        order = np.argsort(-kept, kind="stable")[: int(np.count_nonzero(kept))]
        exposures = self._exposures(kept)
        positions = tuple(int(s) for s in order)
        return Mix(positions, kept[order], exposures, self.loss(kept)[0])

    def loss(self, shares: FloatArray) -> tuple[float, FloatArray]:
        """Loss of a mix, and its slope in every share (sets,)."""
        f = self.expected.forgetting
        exposures = self._exposures(shares)
        errors, slopes = self.expected.smoothed_errors(exposures)
        omega, members, _, least, bend, factor = self.expected.deviations.arrays
        # Padding meets zeros in the factors, whichever test it stands for.
        q = omega @ errors
        deviation = bend + np.einsum("sij,sj->si", factor, q[members])
        losses = least + np.sum(deviation * deviation, axis=1)
        pulled = np.zeros(q.size)
        np.add.at(pulled, members, shares[:, None] * np.einsum("sij,si->sj", factor, deviation))
        often = np.minimum(shares @ self._membership, _ALWAYS)
        by_share = 2.0 * (omega @ pulled) * slopes / ((1.0 - often) ** 2 * f)
        return float(shares @ losses), losses + self._membership @ by_share

    def _exposures(self, shares: FloatArray) -> FloatArray:
        often = np.minimum(shares @ self._membership, _ALWAYS)
        held: FloatArray = often / ((1.0 - often) * self.expected.forgetting)
        return held


def _starts(order: IntArray) -> Iterator[list[int]]:
    """Which sets the program begins with: the best one alone, the best few, all that fit."""
    yield [int(order[0])]
    for several in (2, 4, _MOST_SETS):
        if order.size >= several or several == _MOST_SETS:
            yield [int(s) for s in order[:several]]


def _settle(program: _Program, start: list[int]) -> FloatArray:
    """Solve for the shares of some sets; let those join that would help; until none would."""
    active, shares = list(start), np.full(len(start), 1.0 / len(start))
    best, least = np.zeros(program.count), math.inf
    while True:
        full = _spread(program.count, active, _solve(program, active, shares))
        loss, slopes = program.loss(full)
        if loss > least - 1e-8 * abs(loss):
            return best if least <= loss else full
        best, least = full, loss
        gains = slopes - full @ slopes
        used = [s for s in active if full[s] > 1e-9]  # the others make room
        gains[used] = 0.0
        room = min(_JOINING, max(_MOST_SETS - len(used), 0))
        joining = [int(s) for s in np.argsort(gains, kind="stable")[:room]]
        joining = [s for s in joining if gains[s] < -1e-7 * abs(loss)]
        if not joining:
            return best
        active = used + joining
        shares = np.append(0.9 * full[used] / full[used].sum(), [0.1 / len(joining)] * len(joining))


def _solve(program: _Program, active: list[int], shares: FloatArray) -> FloatArray:
    """Shares of the active sets at a local optimum near these."""
    if len(active) == 1:
        return np.ones(1)
    with UNCOUNTED.within():
        from scipy.optimize import LinearConstraint, minimize

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        value, slopes = program.loss(_spread(program.count, active, x))
        return value, slopes[active]

    result: Any = minimize(
        loss, shares, jac=True, method="SLSQP", bounds=[(0.0, 1.0)] * len(active),
        constraints=[LinearConstraint(np.ones(len(active)), 1.0, 1.0)],
        options={"maxiter": 200, "ftol": 1e-10},
    )  # fmt: skip
    found = np.clip(np.nan_to_num(result.x), 0.0, None)
    total = float(found.sum())
    return np.asarray(found / total) if total > 0.0 else shares


def _spread(count: int, active: list[int], shares: FloatArray) -> FloatArray:
    full = np.zeros(count)
    full[active] = shares
    return full


def _words_of(mix: Mix, longest: int) -> Iterator[Tail]:
    """The most regular words with about these shares, and the sets on their own."""
    for position in mix.positions[:4]:
        yield (position,)
    kept = [(s, float(x)) for s, x in zip(mix.positions, mix.shares, strict=True)]
    kept = [(s, x) for s, x in kept if x >= _LEAST_SHARE][:5]
    total = sum(x for _, x in kept)
    for length in range(2, longest + 1):
        wanted = [length * x / total for _, x in kept]
        around = [{math.floor(x), math.ceil(x)} for x in wanted]
        for counts in itertools.product(*around):
            if sum(counts) == length and math.gcd(*counts) == 1:
                yield regular_word([s for s, _ in kept], counts)


def regular_word(positions: list[int], counts: tuple[int, ...]) -> Tail:
    """The most regular word in which each set occurs so often.

    Parameters
    ----------
    positions
        Of the sets.
    counts
        How often each occurs.

    Returns
    -------
    tuple of int
        Always the set that is furthest behind its share comes next.

    Examples
    --------
    >>> regular_word([7, 3], (3, 2))
    (7, 3, 7, 3, 7)
    """
    length = sum(counts)
    shown = [0] * len(positions)
    word = []
    for t in range(1, length + 1):
        behind = [t * count / length - done for count, done in zip(counts, shown, strict=True)]
        following = max(range(len(positions)), key=lambda j: (round(behind[j], 9), -j))
        shown[following] += 1
        word.append(positions[following])
    return tuple(word)
