"""What yes-or-no answers cost, integrated by brute force.

Given the person's score, the chance of yes is integrated over the true score, and the charge of the
answer over the person's score: Gauss-Legendre on panels, nothing in closed form. Shares no formula
with `loss`, which takes pairs of normals, mixtures and surfaces.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.problem import Problem

_REACH = 9.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def slow_yes_no_loss(problem: Problem, beliefs: FloatArray, shown: TestSet) -> float:
    """One round without its price, from the weights on the shown tests."""
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
    """Places and normal weights on panels that end at all cuts."""
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
    """At which the average chance is the prevalence; every round of a problem asks for the same."""

    def solved() -> float:
        from scipy.optimize import brentq

        z, weight = _panels([-_REACH, _REACH], max(24, math.ceil(6.0 * math.sqrt(spread))))
        scores, far = math.sqrt(spread) * z, 60.0 * (1.0 + math.sqrt(spread))

        def off(base: float) -> float:
            return float(_chance(problem, base + scores) @ weight) - prevalence

        return float(brentq(off, -far, far, xtol=1e-15))

    return remembered(problem, f"slow base {prevalence!r}", solved)
