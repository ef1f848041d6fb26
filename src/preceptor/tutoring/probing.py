"""Rounds that are played because the answers will tell who it is.

The hindsight rule counts on knowing the kind soon, whatever is shown. But some sets tell kinds
apart and others never do. Information-directed sampling (Russo and Van Roy, 2018) weighs both: of
all ways to begin it takes the one with the smallest squared regret per unit of information.
Information is what the answers of the next rounds say about the kind: half the logarithm of one
plus the variance of answers between kinds over that within. How far kinds will have come apart by
then is played with a few cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.people.acting import Imputer
from preceptor.people.expected import Expected
from preceptor.planning.crowd_plans import positive_costs
from preceptor.tutoring.bank import Bank
from preceptor.tutoring.hindsight import Ahead, relative_costs
from preceptor.tutoring.lookout import Basis, Outlook, people_now

# Rounds for which a set is shown to tell kinds apart.
_PROBED = 4
# Cases with which the next rounds are played.
_CASES = 12
# Regrets below this share are not worth a probe.
_NEGLIGIBLE = 0.005
# A probe must have a ratio smaller than the plan's by this factor.
_CLEARLY = 0.8


def with_probes(
    outlook: Outlook, bank: Bank, everybody: Sequence[Expected], shares: FloatArray, discount: float
) -> Outlook:
    """The outlook, or one that begins with a few probes if that is clearly worth it."""
    ahead, basis = outlook.ahead, outlook.basis
    regret = ahead.value - 1.0
    rounds = outlook.ways[0].schedule.size
    few = min(_PROBED, rounds, ahead.common.size)
    if regret < _NEGLIGIBLE or few < 2:
        return outlook
    weights = shares / shares.sum()
    begins = [np.full(few, s, dtype=np.int64) for s in range(len(basis.sets))]
    best = positive_costs([way.cost for way in outlook.ways])
    costs = relative_costs(everybody, outlook.ways, best, begins, discount)
    regrets = np.maximum(costs @ weights - 1.0, 1e-6)
    told = information(bank, outlook.planned, weights, basis, [ahead.common[:few], *begins])
    ratios = regrets**2 / np.maximum(told[1:], 1e-12)
    planned = regret**2 / max(float(told[0]), 1e-12)
    chosen = int(np.argmin(ratios))
    if not ratios[chosen] < _CLEARLY * planned or np.array_equal(
        begins[chosen], ahead.common[:few]
    ):
        return outlook
    probes = Ahead(begins[chosen], float(costs[chosen] @ weights), costs[chosen])
    return replace(outlook, ahead=probes, probes=few)


def information(
    bank: Bank,
    kinds: tuple[int, ...],
    weights: FloatArray,
    basis: Basis,
    begins: Sequence[IntArray],
) -> FloatArray:
    """Nats that the answers of each beginning (beginnings,) say about the kind.

    Parameters
    ----------
    bank
        What is known by now.
    kinds
        Positions of the kinds that it may be.
    weights
        How likely each is, shape (kinds,).
    basis
        The sets.
    begins
        Positions of sets, a few rounds each.

    Returns
    -------
    array of shape (beginnings,)
        Added up over the rounds; kinds that answer alike give nothing.
    """
    world = bank.world
    rounds = max(begin.size for begin in begins)
    drawn = world.sample(_CASES * rounds, rng=0)
    features = drawn.features.reshape(_CASES, rounds, world.size)
    outcomes = drawn.outcomes.reshape(_CASES, rounds)
    scatter = float(np.exp(bank.scatter @ np.log(bank.scatters)))
    now = people_now(bank, kinds)
    imputers = [Imputer(person.imputing_covariance(world)) for person, _spread in now]
    total = np.zeros(len(begins))
    for b, begin in enumerate(begins):
        states = [person.fresh(world, (_CASES,), None) for person, _spread in now]
        for t, position in enumerate(begin.tolist()):
            shown = basis.sets[position]
            if not shown:
                continue
            rows = list(shown)
            variance = world.covariance[np.ix_(rows, rows)]
            readings = [imputer.fill(shown) for imputer in imputers]
            # How each kind reads a result of each test by now, on each path of cases.
            slopes = np.array(
                [
                    person.weights_of(world, state) @ reading.T
                    for (person, _), state, reading in zip(now, states, readings, strict=True)
                ]
            )
            away = slopes - np.einsum("i,irk->rk", weights, slopes)
            between = np.einsum("i,irk,kl,irl->r", weights, away, variance, away)
            within = scatter + sum(
                weight * float(np.sum(variance * (reading @ spread @ reading.T)))
                for weight, reading, (_, spread) in zip(weights, readings, now, strict=True)
            )
            total[b] += 0.5 * float(np.mean(np.log1p(between / within)))
            shown_to_all = np.zeros((_CASES, world.size), dtype=np.bool_)
            shown_to_all[:, rows] = True
            states = [
                person.learn(
                    world, state, features[:, t, rows] @ reading, shown_to_all, outcomes[:, t]
                )
                for (person, _), state, reading in zip(now, states, readings, strict=True)
            ]
    return total
