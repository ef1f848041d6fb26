"""What a log cannot tell: whether hidden tests were folded into the shown ones.

Whoever learns from outcomes credits shown tests with what hidden ones cause; whoever learns by
showings does not. Once learned, answers to a case that shows S differ between the two by d·x_S with

    d = Σ_SS⁻¹ Σ_SH (a_H - h_H),    V(S) = d'Σ_SS d,

a the truth and h the weights of hidden tests. A round with S tells V/σ² about it, σ² being the
variance of answers around what weights say, and about 13 σ²/V rounds give 3.6 standard errors. Sets
that leave out nothing important have a small V: they predict well and tell nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray
from preceptor._base.words import counted, listed, many
from preceptor.errors import InvalidInput
from preceptor.logs import Log
from preceptor.model.budgets import Budget, as_budget
from preceptor.model.grouped import Grouped
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.person import RATE

# Information that tells the two apart by 3.6 standard errors, as squared standard errors.
ENOUGH = 13.0
# In published experiments answers scatter by this share of the outcome's standard deviation.
USUAL_SCATTER = 0.6
# Beyond so many sets only the small ones are looked at: they leave out most, so they tell most.
_MOST_SETS = 20_000
# Hidden tests are named that make up so much of what is folded.
_NAMED = 0.5
PROBES = 10
_FOREVER = 1e6


class Folding(NamedTuple):
    """What the shown tests are credited with: weights (k,), variance, and share by hidden test."""

    weights: FloatArray
    variance: float
    shares: dict[int, float]


def folded(world: World, shown: Sequence[int], weights: npt.ArrayLike | None = None) -> Folding:
    """What somebody who learns from outcomes credits these tests with, beyond their own weights.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    shown
        Columns that are shown.
    weights
        What the person believes, shape (n,); 0 if left out.

    Returns
    -------
    Folding
        In the world's units; shares of the hidden columns add up to 1.
    """
    seen = sorted(shown)
    hidden = [i for i in range(world.size) if i not in seen]
    believed = np.zeros(world.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if not seen or not hidden:
        return Folding(np.zeros(len(seen)), 0.0, {})
    sigma = world.covariance
    missing = (world.coefficients - believed)[hidden]
    parts = sigma[np.ix_(seen, hidden)] * missing
    credit = np.linalg.solve(sigma[np.ix_(seen, seen)], parts.sum(axis=1))
    each = credit @ parts
    variance = float(each.sum())
    shares = dict(zip(hidden, (each / variance).tolist(), strict=True)) if variance > 0 else {}
    return Folding(credit, max(variance, 0.0), shares)


def rounds_needed(variance: float, scatter: float) -> float:
    """Rounds with a set of this folding variance that tell the two apart; infinite if none do."""
    return ENOUGH * scatter**2 / variance if variance > 0 else math.inf


def rounds_to_show(needed: float) -> float:
    """Rounds to show a set if one must learn first, with probes at the end.

    Parameters
    ----------
    needed
        Rounds that would be enough once everything is learned (`rounds_needed`).

    Returns
    -------
    float
        For somebody with the median rate of published experiments.

    Examples
    --------
    >>> rounds_to_show(8.0), rounds_to_show(2107.0)
    (21.0, 2127.0)
    """
    assert RATE.usual is not None
    if not needed < _FOREVER:
        return needed
    kept, told, rounds = 1.0, 0.0, 0
    while told + PROBES * (1.0 - kept) ** 2 < needed:
        told += (1.0 - kept) ** 2
        kept *= 1.0 - RATE.usual[1]
        rounds += 1
    return float(rounds)


@dataclass(frozen=True, eq=False)
class Tells:
    """What was shown tells about the kind, and what would tell most.

    Parameters
    ----------
    so_far
        Squared standard errors that told rounds give so far, once everything is learned.
    best
        The set that tells most, of those that may be shown.
    rounds
        How many rounds with it are enough, once learned.
    hidden
        The hidden tests that it is mostly about.
    """

    so_far: float
    best: TestSet
    rounds: float
    hidden: TestSet

    @property
    def enough(self) -> bool:
        """Whether what was shown can tell the two apart."""
        return self.so_far >= ENOUGH


def what_it_tells(
    world: World,
    shown: Log | Mapping[TestSet, float],
    weights: npt.ArrayLike | None = None,
    scatter: float | None = None,
    budget: Budget | int | None = None,
) -> Tells:
    """How much a log can tell about learning from outcomes, and what would tell more.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    shown
        A log, of which told rounds count, averaged over people; or how often each set was shown.
    weights
        What the person believes, shape (n,); 0 if left out.
    scatter
        Standard deviation of answers around what weights say, in units of the outcome; 0.6 standard
        deviations of the outcome if left out, as in experiments.
    budget
        What may be shown; any one or two tests if left out.

    Returns
    -------
    Tells
        Sums of V(S)/σ², and the best set.

    Raises
    ------
    InvalidInput
        A scatter that makes no sense, or a set of tests that are not there.
    """
    spread = USUAL_SCATTER * math.sqrt(world.outcome_variance) if scatter is None else scatter
    if not is_number(spread) or spread <= 0:
        raise InvalidInput(f"scatter: {scatter!r}, must be a positive standard deviation")
    counts = _counts(world, shown)
    so_far = sum(
        count * folded(world, seen, weights).variance / spread**2 for seen, count in counts.items()
    )
    best: TestSet = ()
    most = folded(world, (), weights)
    for candidate in _candidates(world, budget):
        found = folded(world, candidate, weights)
        if found.variance > most.variance * (1.0 + 1e-9):
            best, most = candidate, found
    hidden: list[int] = []
    for column in sorted(most.shares, key=lambda i: -most.shares[i]):
        hidden.append(column)
        if sum(most.shares[i] for i in hidden) >= _NAMED:
            break
    return Tells(so_far, best, rounds_needed(most.variance, spread), tuple(sorted(hidden)))


def cannot_tell(
    world: World,
    shown: Log | Mapping[TestSet, float],
    weights: npt.ArrayLike | None = None,
    scatter: float | None = None,
    budget: Budget | int | None = None,
) -> tuple[str, ...]:
    """What cannot be told from what was shown, and what to show instead, in sentences.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    shown
        A log, of which told rounds count, averaged over people; or how often each set was shown.
    weights
        What the person believes, shape (n,); 0 if left out.
    scatter
        Standard deviation of answers around what weights say, in units of the outcome; 0.6 standard
        deviations of the outcome if left out, as in experiments.
    budget
        What may be shown; any one or two tests if left out.

    Returns
    -------
    tuple of str
        Empty where what was shown can tell.

    Raises
    ------
    InvalidInput
        A scatter that makes no sense, or a set of tests that are not there.

    Examples
    --------
    >>> world = World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> print(cannot_tell(world, {(0, 1): 40})[1])     # 40 rounds in which nothing was hidden
    Show bp without bmi for about 39 rounds, then 10 probes without telling the outcome.
    >>> cannot_tell(world, {(1,): 40})
    ()
    """
    tells = what_it_tells(world, shown, weights, scatter, budget)
    if tells.enough:
        return ()
    first = (
        "Whether they learn from outcomes cannot be told from what was shown: hidden tests would "
        f"move answers by {math.sqrt(tells.so_far):.1f} standard errors once learned, and it "
        f"takes {math.sqrt(ENOUGH):.1f}."
    )
    if not math.isfinite(tells.rounds):
        return (
            first,
            "No set that may be shown would tell: no hidden test goes together with a shown one, "
            "or all are known already. It makes no difference to what they learn, either.",
        )
    show, hide = (listed(list(world.name_of(part))) for part in (tells.best, tells.hidden))
    rounds = rounds_to_show(tells.rounds)
    return (
        first,
        f"Show {show} without {hide} for about {many(rounds)} round{'' if rounds == 1 else 's'}, "
        f"then {counted(PROBES, 'probe')} without telling the outcome.",
    )


def _counts(world: World, shown: Log | Mapping[TestSet, float]) -> dict[TestSet, float]:
    if isinstance(shown, Log):
        rows = shown.shown[shown.told]
        sets = Counter(tuple(np.flatnonzero(row).tolist()) for row in rows)
        return {seen: count / len(shown.participants) for seen, count in sets.items()}
    wrong = [i for seen in shown for i in seen if not 0 <= i < world.size]
    InvalidInput.raise_if(
        f"shown: test {i}, must be from 0 to {world.size - 1}" for i in sorted(set(wrong))
    )
    return {tuple(seen): float(count) for seen, count in shown.items()}


def allowed_sets(world: World, budget: Budget | int) -> Budget:
    """The budget over columns: budgets count tests, and a test may have several columns."""
    given = as_budget(budget)
    several = any(len(block) > 1 for block in world.blocks)
    allowed = Grouped(given, world.blocks) if several and not isinstance(given, Grouped) else given
    InvalidInput.raise_if(allowed.size_faults(world.size))
    return allowed


def _candidates(world: World, budget: Budget | int | None) -> list[TestSet]:
    """The sets that may be shown; of too many, only those of one or two tests."""
    allowed = None if budget is None else allowed_sets(world, budget)
    if allowed is not None and allowed.count(world.size) <= _MOST_SETS:
        return list(allowed.subsets(world.size))
    blocks = world.blocks
    small = [tuple(sorted((*a, *b))) for a, b in combinations(blocks, 2)]
    return [s for s in [*blocks, *small] if allowed is None or allowed.allows(s)]
