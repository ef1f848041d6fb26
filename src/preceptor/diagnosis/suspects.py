"""Who somebody may be, before anything is known: kinds, rates and ways to fill in, as a crowd.

Three groups are told apart: those who do not learn, those who learn by showings, and those who
learn from outcomes. Each has the same weight before the first answer, so that what comes out is
about the answers; within a group rates are those of published experiments.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.evidence.families import GROUPS as GROUPS
from preceptor.evidence.families import NONE as NONE
from preceptor.evidence.families import OUTCOMES as OUTCOMES
from preceptor.evidence.families import SHOWINGS as SHOWINGS
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.crowd import Crowd
from preceptor.people.curves import Geometric
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.folding import Folding
from preceptor.people.person import Person

KNOWING, IGNORING = "knowing correlations", "ignoring correlations"
# Middles of the fifths of ln rate ~ N(ln .05, 1.1).
USUAL_RATES = tuple(0.05 * math.exp(1.1 * z) for z in (-1.2816, -0.5244, 0.0, 0.5244, 1.2816))
# Share of the error that stays, in those who learn by showings: none, and the usual one.
_FLOORS = (0.0, 0.4)


def require_number(world: World) -> None:
    """Refuse worlds whose outcome is yes or no: what hidden tests fold into is known for numbers.

    Raises
    ------
    NotApplicable
        The outcome is yes or no.
    """
    if world.is_binary:
        raise NotApplicable(
            "diagnose: the outcome is yes or no, and blocks that tell kinds apart are worked out "
            "for numbers; `fit_learner` weighs kinds from any log of probabilities or decisions"
        )


def suspects(world: World, initial: npt.ArrayLike | None = None) -> Crowd:
    """Everybody somebody may be when nothing is known about how they learn.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    initial
        First weights, shape (n,); 0 if left out.

    Returns
    -------
    Crowd
        A third for each group, divided among rates and ways to fill in.
    """
    from preceptor.people.no_learning import NoLearning

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
                # a curve gives what is left of squared errors, so that shares are squared
                curve = Geometric(1.0 / (1.0 - rate), floor=floor**2)
                name = f"by showings, {how}, rate {rate:.2g}, floor {floor:g}"
                people[name] = (Learner(first, curve, kappa), share / len(_FLOORS))
    return Crowd(people)


def group_of(world: World, person: Person) -> str:
    """Which of the three groups somebody belongs to, found by how their weights move.

    Whoever folds hidden tests into shown ones is with those who learn from outcomes, whose
    weights they reach without looking at them.

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
    if not np.allclose(moves[0].push, moves[1].push):
        return OUTCOMES
    if np.allclose(moves[0].turn, np.eye(n)) and np.allclose(moves[0].push, 0.0):
        return NONE
    if isinstance(person, Folding) and person.folding > 0.5:
        return OUTCOMES
    return SHOWINGS


def fills_in(person: Person) -> str | None:
    """Whether they know or ignore correlations; None if it is something in between."""
    if isinstance(person.imputation, np.ndarray) or person.imputation not in (0.0, 1.0):
        return None
    return KNOWING if person.imputation == 0.0 else IGNORING


def shares(labels: list[str | None], weights: FloatArray) -> dict[str, FloatArray]:
    """Weights (..., members) added up by label, leaving out those without one."""
    names = list(dict.fromkeys(label for label in labels if label is not None))
    return {name: weights[..., [label == name for label in labels]].sum(axis=-1) for name in names}
