"""How well any plan can do for the worst off, if the plan may be drawn at random: a game.

One side draws a plan, the other a person; the stake is what the person loses against their own best
plan. A plan drawn from a few is at least as good as any single one, so the value of this game says
what the worst regret of one common plan could come down to, and whether it is worth looking at the
person's answers instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.deadline import UNCOUNTED
from preceptor._base.values import FloatArray
from preceptor.planning.crowd_plans import OwnPlans, Search, own_plans, positive_costs
from preceptor.planning.objectives import Mean
from preceptor.planning.price_search import Found

# A plan whose worst regret is so many times that of the best one is left out of the mixture.
_HOPELESS = 1e6


@dataclass(frozen=True, eq=False)
class CrowdGame:
    """How the game stands.

    `upper` is the worst regret of the mixed plan: `plans` drawn with probabilities `chances`.
    `lower` is the smallest mean regret found against people drawn with probabilities `weights`.
    `best` (people,) are the costs of everybody's own plan, `regrets` (plans, people) the stakes.
    `finished` says that the two estimates have met as closely as was asked.
    """

    upper: float
    lower: float
    plans: tuple[Found, ...]
    chances: FloatArray
    weights: FloatArray
    best: FloatArray
    regrets: FloatArray
    finished: bool


def crowd_game(
    search: Search,
    *,
    own: OwnPlans | None = None,
    plans: Sequence[Found] = (),
    tolerance: float = 1e-3,
    max_responses: int = 40,
    max_kicks: int = 5,
) -> CrowdGame:
    """Estimate the value of the game by a double oracle.

    Plans are added one at a time: the best answer to the weights of people that are least
    favourable to the plans so far. Best responses are by local search, so this is evidence, not
    proof: `upper` is reached by the mixed plan, but `lower` could be too high.

    Parameters
    ----------
    search
        The crowd and its rounds.
    own
        Everybody's own plans, if they are known.
    plans
        Plans to begin with besides those, such as the one with the least worst regret.
    tolerance
        How close the estimates must come, in regret.
    max_responses
        How many plans to add at most.
    max_kicks
        Random kicks for each plan.

    Returns
    -------
    CrowdGame
        Both estimates, and who draws what.
    """
    own = own_plans(search, max_kicks) if own is None else own
    pool = [*own.plans, *plans]
    costs = [search.costs(plan.schedule, plan.tail) for plan in pool]
    best, lower, finished = own.best.copy(), -np.inf, False
    for _ in range(max_responses + 1):
        best = positive_costs(np.minimum(best, np.min(costs, axis=0)))
        regrets = np.array(costs) / best - 1.0
        upper, chances, weights = solve_game(regrets)
        if finished or search.stop():
            break
        # From what is in the mix: an answer to slightly other weights is rarely far from it.
        mixed = np.argsort(-chances, kind="stable")[:3].tolist()
        starts = [(pool[j].schedule, pool[j].tail) for j in mixed]
        answer = search.together(Mean(weights, best), own.alone, max_kicks, starts)
        # Other people's infinite costs may meet a weight of 0.
        lower = answer.value - 1.0
        if lower >= upper - tolerance:
            finished = True
            if not np.any(answer.costs < best):
                break
        pool.append(answer)
        costs.append(answer.costs)
    drawn = np.flatnonzero(chances > 0)
    return CrowdGame(
        upper,
        float(min(lower, upper)),
        tuple(pool[j] for j in drawn.tolist()),
        chances[drawn],
        weights,
        best,
        regrets[drawn],
        finished,
    )


def solve_game(regrets: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Value and best mixtures of a game in which rows are drawn to keep the stake small.

    Parameters
    ----------
    regrets
        The stakes, shape (plans, people); may be infinite.

    Returns
    -------
    tuple
        The value, the chances of the rows and those of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> value, rows, columns = solve_game(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> round(value, 9), rows.round(9).tolist()
    (0.5, [0.5, 0.5])
    """
    with UNCOUNTED.within():
        from scipy.optimize import linprog

    # A plan that is infinitely bad for somebody is never drawn, nor one that is so bad that it
    # could be drawn once in a million times at most: the program could not tell such numbers apart.
    worst = np.max(np.where(np.isfinite(regrets), regrets, np.inf), axis=1)
    usable = np.flatnonzero(np.isfinite(worst) & (worst <= _HOPELESS * (1.0 + worst.min())))
    plans, people = usable.size, regrets.shape[1]
    if not plans:
        return np.inf, np.full(len(regrets), 1 / len(regrets)), np.full(people, 1 / people)
    stakes = regrets[usable]
    found: Any = linprog(
        np.append(np.zeros(plans), 1.0),
        A_ub=np.column_stack([stakes.T, -np.ones(people)]),
        b_ub=np.zeros(people),
        A_eq=np.append(np.ones(plans), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * plans + [(None, None)],
        method="highs",
    )
    chances = np.zeros(len(regrets))
    chances[usable] = _shares(found.x[:plans])
    return float(found.x[-1]), chances, _shares(-found.ineqlin.marginals)


def _shares(values: FloatArray) -> FloatArray:
    """Without what rounding leaves below zero, and with a sum of 1."""
    kept = np.where(values > 1e-12, values, 0.0)
    total = float(kept.sum())
    return np.asarray(kept / total) if total > 0 else np.full(kept.size, 1.0 / kept.size)
