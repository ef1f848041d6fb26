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

from preceptor._base.progress import UNCOUNTED
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import Expected, Tail
from preceptor.people.exposures import Exposures

# Maximum number of sets in the program; up to six join it at a time.
_MOST_SETS = 40
# A share closer to 1 than this counts as always: the slope of exposure is then irrelevant.
_ALWAYS = 1.0 - 1e-6
# Words passed to a search for each person who forgets.
_WORDS = 3
# Maximum length of a word, and number of words compared.
_LONGEST, _MOST_WORDS = 12, 12


@dataclass(frozen=True, eq=False)
class Mix:
    """Sets, how often each is shown, and the resulting loss per round in the long run.

    Attributes
    ----------
    positions
        Positions of the sets with a share, the largest share first.
    shares
        Shares of the rounds, shape (len(positions),), with sum 1.
    exposures
        Exposure to each test that the mix sustains, shape (n,).
    loss
        Expected loss of a round if every exposure were constant.
    """

    positions: tuple[int, ...]
    shares: FloatArray
    exposures: FloatArray
    loss: float


def best_mixes(expected: Exposures) -> list[Mix]:
    """Mixes of sets that maintain knowledge at the least loss, best first.

    The program is not convex; these are the different local optima from several starts.

    Parameters
    ----------
    expected
        Expectation of a person who forgets.

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
        Expectation of a person who forgets.
    discount
        Discount factor, below 1.
    longest
        Maximum length of a word in rounds.
    words
        Maximum number of words to return.

    Returns
    -------
    list of tuple of int
        Positions of sets in the order in which they are shown, sorted by the loss per round in the
        long run. Included are words with the least discounted cost from the exposures of the best
        mix; these draw on what is known and let some of it decay.

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
    # Exposure assumed for a test that is always shown when words are compared.
    start = np.minimum(mixes[0].exposures, 1_000.0)
    costs = {word: expected.tail_cost(start, discount, word) for word in found}
    soon = sorted(found, key=lambda word: (costs[word], len(word), word))[: words // 3]
    others = [word for word in forever if word not in soon]
    kept = {*soon, *others[: words - len(soon)]}
    return [word for word in forever if word in kept]


def words_to_repeat(people: Sequence[Expected], discount: float) -> tuple[Tail, ...]:
    """The best words to repeat forever, for each person who forgets."""
    forgetful = [each for each in people if isinstance(each, Exposures) and each.forgetting]
    words = [word for each in forgetful for word in maintenance_words(each, discount)[:_WORDS]]
    return tuple(dict.fromkeys(words))


class _Program:
    """Loss of a mix π and its slopes, for all sets at once."""

    def __init__(self, expected: Exposures) -> None:
        self.expected = expected
        self.count = len(expected.sets)
        self._membership = expected.sets.membership.astype(np.float64)

    def mix(self, shares: FloatArray) -> Mix:
        """The mix with this vector (sets,) of shares."""
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
        return np.asarray(often / ((1.0 - often) * self.expected.forgetting))


def _starts(order: IntArray) -> Iterator[list[int]]:
    """Initial sets of the program: the best one alone, the best few, as many as fit."""
    yield [int(order[0])]
    for several in (2, 4, _MOST_SETS):
        if order.size >= several or several == _MOST_SETS:
            yield [int(s) for s in order[:several]]


def _settle(program: _Program, start: list[int]) -> FloatArray:
    """Solve for the shares of some sets, add sets that would help, and repeat until none would."""
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
        room = min(6, max(_MOST_SETS - len(used), 0))
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
    # Smaller shares are not worth a round of any word.
    kept = [(s, x) for s, x in kept if x >= 0.03][:5]
    total = sum(x for _, x in kept)
    for length in range(2, longest + 1):
        wanted = [length * x / total for _, x in kept]
        around = [{math.floor(x), math.ceil(x)} for x in wanted]
        for counts in itertools.product(*around):
            if sum(counts) == length and math.gcd(*counts) == 1:
                yield regular_word([s for s, _ in kept], counts)


def regular_word(positions: list[int], counts: tuple[int, ...]) -> Tail:
    """The most regular word in which each set occurs the given number of times.

    Parameters
    ----------
    positions
        Positions of the sets.
    counts
        How often each occurs.

    Returns
    -------
    tuple of int
        The next set is always the one furthest behind its share.

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
