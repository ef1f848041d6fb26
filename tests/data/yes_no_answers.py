"""People who answer with probabilities and decisions, written from the formulas alone."""

from __future__ import annotations

from scipy.special import expit, ndtr

import preceptor as pr
from preceptor.data.log import Log

from .answering import simulate, world_of


def yes_no_world(size: int = 3, *, link: str = "probit", prevalence: float = 0.35) -> pr.World:
    numbers, scale = world_of(size), 1.0 if link == "probit" else 1.702
    return pr.World(
        0.8 * scale * numbers.coefficients, numbers.covariance, names=numbers.names,
        outcome=pr.Binary(prevalence, link),
    )  # fmt: skip


def answered(world: pr.World, *, decided: bool, threshold: float = 0.0, **how) -> Log:
    """As `simulate`: score = base + weights · tests + noise, which is a chance or a decision."""
    log = simulate(world, **how)
    scores = world.base_score + log.prediction
    if decided:
        answers = (scores > threshold).astype(float)
    else:
        answers = ndtr(scores) if world.outcome.link == "probit" else expit(scores)
    return Log(
        log.names, log.participant, log.rounds, log.shown, log.values, answers, log.outcome,
        log.feedback, decided=decided,
    )  # fmt: skip
