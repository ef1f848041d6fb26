"""What a log can reveal about folding: whether hidden tests were credited to the shown ones.

People who learn from outcomes credit shown tests with what hidden ones cause; people who learn by
showings do not. Once learned, answers to a case that shows S differ between the two by d·x_S with

    d = Σ_SS⁻¹ Σ_SH (a_H - h_H),    V(S) = d'Σ_SS d,

a the truth and h the weights of hidden tests. A round with S gives information V/σ², σ² being the
variance of answers around what the weights predict, so about 13 σ²/V rounds give 3.6 standard
errors. Sets that leave out nothing important have a small V: they predict well and reveal nothing.
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
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.model.budgets import Budget, Grouped, as_budget
from preceptor.model.person import RATE
from preceptor.model.sets import TestSet
from preceptor.model.world import World

# Information that separates the two by 3.6 standard errors, as squared standard errors.
ENOUGH = 13.0
# In published experiments answers scatter by this share of the outcome's standard deviation.
USUAL_SCATTER = 0.6
# With more sets than this only small ones are considered: they leave out most and reveal most.
_MOST_SETS = 20_000
# Hidden tests are named until they make up this share of what is folded.
_NAMED = 0.5
PROBES = 10
_FOREVER = 1e6


class FoldedCredit(NamedTuple):
    """Credit of the shown tests: weights (k,), variance, and share by hidden test."""

    weights: FloatArray
    variance: float
    shares: dict[int, float]


def folded(
    world: World, shown: Sequence[int], weights: npt.ArrayLike | None = None
) -> FoldedCredit:
    """Return what a person who learns from outcomes credits these tests with.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    shown
        The columns shown.
    weights
        The person's weights, shape (n,); 0 by default.

    Returns
    -------
    FoldedCredit
        In the world's units; shares of the hidden columns add up to 1.
    """
    seen = sorted(shown)
    hidden = [i for i in range(world.size) if i not in seen]
    believed = np.zeros(world.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if not seen or not hidden:
        return FoldedCredit(np.zeros(len(seen)), 0.0, {})
    sigma = world.covariance
    missing = (world.coefficients - believed)[hidden]
    parts = sigma[np.ix_(seen, hidden)] * missing
    credit = np.linalg.solve(sigma[np.ix_(seen, seen)], parts.sum(axis=1))
    each = credit @ parts
    variance = float(each.sum())
    shares = dict(zip(hidden, (each / variance).tolist(), strict=True)) if variance > 0 else {}
    return FoldedCredit(credit, max(variance, 0.0), shares)


def rounds_needed(variance: float, scatter: float) -> float:
    """Rounds with a set of this folding variance that separate the two; infinite if none do."""
    return ENOUGH * scatter**2 / variance if variance > 0 else math.inf


def rounds_to_show(needed: float) -> float:
    """Rounds to show a set when learning takes time, with probes at the end.

    Parameters
    ----------
    needed
        Rounds that would be enough once everything is learned (`rounds_needed`).

    Returns
    -------
    float
        For a person with the median rate of published experiments.

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
class Informativeness:
    """How much the rounds so far reveal about folding, and what would reveal most.

    Parameters
    ----------
    so_far
        Information from told rounds, as squared standard errors, once everything is learned.
    best
        The most informative set that the budget allows.
    rounds
        Rounds with it that are enough, once learned.
    hidden
        The hidden tests that it is mostly about.
    """

    so_far: float
    best: TestSet
    rounds: float
    hidden: TestSet

    @property
    def enough(self) -> bool:
        """Whether the rounds so far can separate the two."""
        return self.so_far >= ENOUGH


def informativeness(
    world: World,
    shown: Log | Mapping[TestSet, float],
    weights: npt.ArrayLike | None = None,
    scatter: float | None = None,
    budget: Budget | int | None = None,
) -> Informativeness:
    """Measure how much rounds reveal about learning from outcomes, and what would reveal more.

    Parameters are those of `cannot_tell`.
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
    return Informativeness(
        so_far, best, rounds_needed(most.variance, spread), tuple(sorted(hidden))
    )


def cannot_tell(
    world: World,
    shown: Log | Mapping[TestSet, float],
    weights: npt.ArrayLike | None = None,
    scatter: float | None = None,
    budget: Budget | int | None = None,
) -> tuple[str, ...]:
    """Say what cannot be told from the tests shown, and what to show instead.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    shown
        A log, of which told rounds count, averaged over people; or how often each set was shown.
    weights
        The person's weights, shape (n,); 0 by default.
    scatter
        Standard deviation of answers around what the weights predict, in units of the outcome; by
        default 0.6 standard deviations of the outcome, as in experiments.
    budget
        What may be shown; by default any one or two tests.

    Returns
    -------
    tuple of str
        Sentences; empty where the tests shown are informative enough.

    Raises
    ------
    InvalidInput
        An invalid scatter, or a set with unknown tests.

    Examples
    --------
    >>> world = World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> print(cannot_tell(world, {(0, 1): 40})[1])     # 40 rounds in which nothing was hidden
    Show bp without bmi for about 39 rounds, then 10 probes without telling the outcome.
    >>> cannot_tell(world, {(1,): 40})
    ()
    """
    tells = informativeness(world, shown, weights, scatter, budget)
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
            "No allowed set would tell: no hidden test is correlated with a shown one, or all "
            "weights are known already. It makes no difference to what they learn, either.",
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
    """Return the budget over columns: budgets count tests, and a test may have several columns."""
    given = as_budget(budget)
    several = any(len(block) > 1 for block in world.blocks)
    allowed = Grouped(given, world.blocks) if several and not isinstance(given, Grouped) else given
    InvalidInput.raise_if(allowed.size_faults(world.size))
    return allowed


def _candidates(world: World, budget: Budget | int | None) -> list[TestSet]:
    """Sets that the budget allows; if there are too many, only those of one or two tests."""
    allowed = None if budget is None else allowed_sets(world, budget)
    if allowed is not None and allowed.count(world.size) <= _MOST_SETS:
        return list(allowed.subsets(world.size))
    blocks = world.blocks
    small = [tuple(sorted((*a, *b))) for a, b in combinations(blocks, 2)]
    return [s for s in [*blocks, *small] if allowed is None or allowed.allows(s)]
