"""Cost of a policy, added up round by round from independently computed losses.

Losses of yes-or-no answers are integrated by brute force. Given the person's score, the probability
of yes is integrated over the true score, and the loss of the answer over the person's score:
Gauss-Legendre on panels, nothing in closed form. Shares no formula with `loss`, which uses pairs of
normals, mixtures and surfaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.proofs.losses import AT_A_TIME, ReferenceLosses

_REACH = 9.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def slow_yes_no_loss(problem: Problem, beliefs: FloatArray, shown: TestSet) -> float:
    """Loss of one round without its price, from the weights on the shown tests."""
    world, risk = problem.world, problem.risk
    assert world.outcome is not None
    assert isinstance(risk, YesNoRisk)
    sigma, truth = world.covariance, world.coefficients
    imputes = problem.learner.imputing_covariance(world)
    s = list(shown)
    believed = imputes @ beliefs
    weights = np.linalg.solve(imputes[np.ix_(s, s)], believed[s]) if s else np.zeros(0)
    own = float(weights @ sigma[np.ix_(s, s)] @ weights)
    shared = float(weights @ (sigma @ truth)[s])
    spread = float(truth @ sigma @ truth)
    base = _base_score(problem, world.outcome.prevalence, spread)
    mine = base
    if risk.believed_prevalence is not None:
        mine = _base_score(problem, risk.believed_prevalence, spread)
    return _mean_charge(problem, risk, base, mine, spread, shared, own)


def _mean_charge(
    problem: Problem,
    risk: YesNoRisk,
    base: float,
    mine: float,
    spread: float,
    shared: float,
    own: float,
) -> float:
    deviation = math.sqrt(max(own, 0.0))
    cuts = [-_REACH, _REACH]
    if isinstance(risk, Decision):
        limit = _score_of(problem, risk.yes_above) - mine
        if deviation > 0.0:
            cuts.append(min(max(limit / deviation, -_REACH), _REACH))
    panels = max(24, math.ceil(6.0 * max(deviation, math.sqrt(spread))))
    z, weight = _panels(sorted(cuts), panels)
    scores = mine + deviation * z
    slope = shared / deviation if deviation > 0.0 else 0.0
    left = math.sqrt(max(spread - slope * slope, 0.0))
    inner, inner_weight = _panels([-_REACH, _REACH], max(16, math.ceil(4.0 * left)))
    true = base + slope * z[:, None] + left * inner
    chance = _chance(problem, true) @ inner_weight
    if isinstance(risk, Decision):
        said = np.where(scores - mine > limit, 1.0, 0.0)
        charge = risk.miss * chance * (1.0 - said) + risk.false_alarm * (1.0 - chance) * said
    elif risk.kind == "brier":
        stated = _chance(problem, scores)
        charge = chance * (1.0 - stated) ** 2 + (1.0 - chance) * stated**2
    else:
        log = problem.world.outcome.from_score.log_probability  # type: ignore[union-attr]
        charge = -chance * log(scores) - (1.0 - chance) * log(-scores)
    return float(charge @ weight)


def _panels(cuts: list[float], panels: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and normal weights on panels that end at all cuts."""
    edges = np.unique(np.concatenate([np.linspace(cuts[0], cuts[-1], panels + 1), cuts]))
    half = np.diff(edges)[:, None] / 2.0
    places = (edges[:-1] + edges[1:])[:, None] / 2.0 + half * _NODES
    weights = half * _WEIGHTS * np.exp(-0.5 * places**2) / math.sqrt(2.0 * math.pi)
    return places.ravel(), weights.ravel()


def _chance(problem: Problem, score: FloatArray) -> FloatArray:
    from scipy.special import expit, ndtr

    assert problem.world.outcome is not None
    return np.asarray(ndtr(score) if problem.world.outcome.link == "probit" else expit(score))


def _score_of(problem: Problem, chance: float) -> float:
    from scipy.special import logit, ndtri

    assert problem.world.outcome is not None
    return float(ndtri(chance) if problem.world.outcome.link == "probit" else logit(chance))


def _base_score(problem: Problem, prevalence: float, spread: float) -> float:
    """The base score at which the mean probability is the prevalence; cached per problem."""

    def solved() -> float:
        from scipy.optimize import brentq

        z, weight = _panels([-_REACH, _REACH], max(24, math.ceil(6.0 * math.sqrt(spread))))
        scores, far = math.sqrt(spread) * z, 60.0 * (1.0 + math.sqrt(spread))

        def off(base: float) -> float:
            return float(_chance(problem, base + scores) @ weight) - prevalence

        return float(brentq(off, -far, far, xtol=1e-15))

    return remembered(problem, f"slow base {prevalence!r}", solved)


MOST_ROUNDS = 2_000_000


def slow_value(problem: Problem, policy: Policy) -> float:
    """Discounted loss of a policy's schedule, summed round by round.

    An infinite horizon is followed until the rest weighs less than rounding; from there on the loss
    of the last round is repeated.
    """
    schedule = policy.schedule(rounds_that_count(problem))
    return added_up(problem, losses_along(problem, schedule, _errors_by_showings(problem)))


def rounds_that_count(problem: Problem) -> int:
    """The horizon or, if it is infinite, rounds after which the rest is below rounding."""
    if problem.horizon is not None:
        return problem.horizon
    if problem.discount == 0.0:
        return 1
    negligible = math.log(1e-15 * (1.0 - problem.discount))
    return min(math.ceil(negligible / math.log(problem.discount)), MOST_ROUNDS)


def added_up(problem: Problem, losses: FloatArray) -> float:
    """Discounted sum of losses; with an infinite horizon, the last loss is repeated."""
    weights = problem.discount ** np.arange(losses.size, dtype=np.float64)
    total = math.fsum((losses * weights).tolist())
    if problem.horizon is None:
        total += problem.discount**losses.size / (1.0 - problem.discount) * float(losses[-1])
    return total


ErrorsOf = Callable[[ReferenceLosses, IntArray, int], FloatArray]


def losses_along(problem: Problem, schedule: list[TestSet], errors_of: ErrorsOf) -> FloatArray:
    """Loss of each round (rounds,) for a person whose errors are known in every round.

    `errors_of` is called for consecutive batches of rounds, with the positions of the sets that
    they show and the number of the first round, and returns the errors before each of them.
    """
    sets = list(dict.fromkeys(schedule))
    place = {shown: row for row, shown in enumerate(sets)}
    which = np.array([place[shown] for shown in schedule], dtype=np.int64)
    own = ReferenceLosses.of(problem, sets)
    losses = np.empty(which.size)
    known: dict[bytes, float] = {}  # late rounds, with nothing left to learn, are all alike
    batch = AT_A_TIME // problem.size
    for first in range(0, which.size, batch):
        part = which[first : first + batch]
        errors = errors_of(own, part, first)
        for row in np.unique(part):
            at = np.flatnonzero(part == row)
            if not problem.is_binary:
                losses[first + at] = own.losses(int(row), errors[at])
                continue
            for t in at:
                key = row.tobytes() + errors[t].tobytes()
                if key not in known:
                    beliefs = problem.world.coefficients - errors[t]
                    known[key] = slow_loss(problem, beliefs, sets[row])
                losses[first + t] = known[key]
    return losses


def _errors_by_showings(problem: Problem) -> ErrorsOf:
    """Errors from how often each test was shown before a round."""
    counts = np.zeros(problem.size, dtype=np.int64)

    def errors_of(own: ReferenceLosses, which: IntArray, first: int) -> FloatArray:
        nonlocal counts
        shown = own.member_of[which].astype(np.int64)
        before = counts + np.cumsum(shown, axis=0) - shown
        counts = before[-1] + shown[-1]
        table = own.errors_after(range(first + which.size + 1))
        return np.asarray(table[np.arange(problem.size), before])

    return errors_of


def slow_loss(problem: Problem, beliefs: FloatArray, shown: TestSet) -> float:
    """Loss of one round from first principles: weights on the shown tests, then three moments.

    Losses that are averages over a sample are defined by that sample, and come from the problem's
    own oracle.
    """
    if problem.loss.kind != "closed-form":
        errors = (problem.world.coefficients - beliefs)[None, :]
        return float(problem.oracle.loss_of(errors, shown)[0])
    prices = problem.budget.prices(problem.size)[list(shown)].sum()
    if problem.is_binary:
        return slow_yes_no_loss(problem, beliefs, shown) + float(prices)
    assert isinstance(problem.risk, NumberRisk)
    sigma, a = problem.world.covariance, problem.world.coefficients
    imputes = problem.learner.imputing_covariance(problem.world)
    s = list(shown)
    weights = np.linalg.solve(imputes[np.ix_(s, s)], imputes[s] @ beliefs) if s else np.zeros(0)
    variance = (
        problem.world.noise_variance
        + a @ sigma @ a
        - 2.0 * weights @ (sigma @ a)[s]
        + weights @ sigma[np.ix_(s, s)] @ weights
    )
    return float(problem.risk.expected(max(float(variance), 0.0))) + float(prices)
