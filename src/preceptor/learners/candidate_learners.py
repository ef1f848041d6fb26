"""Candidate learners when nothing is known about a person: kinds, rates and imputation, as a crowd.

Three groups are distinguished: people who do not learn, who learn by showings, and who learn from
outcomes. Each group has the same prior weight, so that the posterior reflects the answers; within a
group, rates are those of published experiments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.learners.families import NONE, OUTCOMES, SHOWINGS
from preceptor.model.person import Person
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.crowd import Crowd
from preceptor.people.curves import Geometric
from preceptor.people.folding import Folding
from preceptor.people.outcome_learners import DeltaRule

KNOWING, IGNORING = "knowing correlations", "ignoring correlations"
# Medians of the fifths of ln rate ~ N(ln .05, 1.1).
USUAL_RATES = tuple(0.05 * math.exp(1.1 * z) for z in (-1.2816, -0.5244, 0.0, 0.5244, 1.2816))
# Share of the error that remains in people who learn by showings: none, and the usual one.
_FLOORS = (0.0, 0.4)


def require_number(world: World) -> None:
    """Reject worlds whose outcome is yes or no: folding of hidden tests is known for numbers only.

    Raises
    ------
    NotApplicable
        The outcome is yes or no.
    """
    if world.is_binary:
        raise NotApplicable(
            "diagnose: the outcome is yes or no, and diagnostic blocks are available for numeric "
            "outcomes only; `fit_learner` weighs kinds from any log of probabilities or decisions"
        )


def candidate_learners(world: World, initial: npt.ArrayLike | None = None) -> Crowd:
    """Return all candidate learners.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    initial
        First weights, shape (n,); 0 by default.

    Returns
    -------
    Crowd
        A third for each group, divided among rates and ways to fill in hidden tests.
    """
    first = np.zeros(world.size) if initial is None else np.asarray(initial, dtype=np.float64)
    people: dict[str, tuple[Person, float]] = {}
    variance = float(np.mean(np.diag(world.covariance)))
    fills = ((KNOWING, 0.0), (IGNORING, 1.0))
    for how, kappa in fills:
        people[f"not learning, {how}"] = (NoLearning(first, kappa), 1 / (3 * len(fills)))
        for rate in USUAL_RATES:
            share = 1 / (3 * len(fills) * len(USUAL_RATES))
            step = DeltaRule(first, rate / variance, kappa)
            people[f"by outcomes, {how}, rate {rate:.2g}"] = (step, share)
            for floor in _FLOORS:
                # A curve gives what is left of squared errors, so shares are squared.
                curve = Geometric(1.0 / (1.0 - rate), floor=floor**2)
                name = f"by showings, {how}, rate {rate:.2g}, floor {floor:g}"
                people[name] = (Learner(first, curve, kappa), share / len(_FLOORS))
    return Crowd(people)


def group_of(world: World, person: Person) -> str:
    """Return which of the three groups a person belongs to, judged by how their weights move.

    People who fold hidden tests into shown ones count as learning from outcomes, whose weights they
    reach without looking at them. The level that some people learn too does not matter here.

    Examples
    --------
    >>> import preceptor as pr
    >>> group_of(pr.World([1.0], [[1.0]]), pr.DeltaRule([0.0], rate=0.1))
    'by outcomes'
    """
    n = world.size
    deviations = np.sqrt(np.diag(world.covariance))
    shown = np.ones(n, dtype=np.bool_)
    state = person.fresh(world, (), None)
    truths = (0.0, math.sqrt(world.outcome_variance))
    moves = [person.moves(world, state, deviations, shown, np.asarray(y)) for y in truths]
    turn, push = moves[0].turn[:n], moves[0].push[:n]
    if not np.allclose(push, moves[1].push[:n]):
        return OUTCOMES
    if np.allclose(turn, np.eye(n, turn.shape[1])) and np.allclose(push, 0.0):
        return NONE
    if isinstance(person, Folding) and person.folding > 0.5:
        return OUTCOMES
    return SHOWINGS


def fills_in(person: Person) -> str | None:
    """Whether a person knows or ignores correlations; None for anything in between."""
    if isinstance(person.imputation, np.ndarray) or person.imputation not in (0.0, 1.0):
        return None
    return KNOWING if person.imputation == 0.0 else IGNORING


def shares(labels: Sequence[str | None], weights: FloatArray) -> dict[str, FloatArray]:
    """Sum weights (..., members) by label, leaving out members without one."""
    names = list(dict.fromkeys(label for label in labels if label is not None))
    return {name: weights[..., [label == name for label in labels]].sum(axis=-1) for name in names}
