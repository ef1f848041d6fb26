"""What somebody was shown, and what they answered, from the words of a screen to those of a world.

Tests come by name or index, results and answers in the units that people read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.logs import Log
from preceptor.logs.in_world import require_tests
from preceptor.logs.yes_no import score_of
from preceptor.model.sets import TestSet
from preceptor.model.world import World

# Of a Gauss-Hermite sum over scores.
_NODES = 41


def tests_shown(world: World, shown: Sequence[int | str]) -> TestSet:
    """Tests by index, in the order given.

    Parameters
    ----------
    world
        Whose tests they are.
    shown
        Names or indices.

    Returns
    -------
    tuple of int
        One index for each.

    Raises
    ------
    InvalidInput
        A test that is not known, or that comes twice.
    """
    labels = world.labels
    found, unknown = [], []
    for test in [shown] if isinstance(shown, str) else shown:
        if isinstance(test, str) and test in labels:
            found.append(labels.index(test))
        elif is_count(test, least=0) and int(test) < world.size:
            found.append(int(test))
        else:
            unknown.append(repr(test))
    if unknown:
        raise InvalidInput(
            f"shown: {', '.join(unknown)} not known; tests are {', '.join(labels)}, "
            f"or indices 0 to {world.size - 1}"
        )
    if len(set(found)) != len(found):
        raise InvalidInput(f"shown: {list(shown)}, a test can be shown once in a round")
    return tuple(found)


def results_read(world: World, shown: TestSet, values: npt.ArrayLike) -> FloatArray:
    """Results of the shown tests in the world's units.

    Parameters
    ----------
    world
        Whose tests they are.
    shown
        Indices of the shown tests.
    values
        Their results in the same order, in the units that people read.

    Returns
    -------
    array of shape (len(shown),)
        With mean 0 in the population.

    Raises
    ------
    InvalidInput
        Not one finite number for each.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (len(shown),) or not np.all(np.isfinite(given)):
        raise InvalidInput(
            f"values: {given.tolist()}, must be one finite number for each test shown"
        )
    if world.units is None or not shown:
        return given
    rows = list(shown)
    read: FloatArray = (given - world.units.means[rows]) / world.units.scales[rows]
    return read


def outcome_read(world: World, outcome: float) -> float:
    """An answer or an outcome in the world's units.

    Parameters
    ----------
    world
        Whose outcome it is.
    outcome
        In the units that people read.

    Returns
    -------
    float
        With mean 0 in the population.
    """
    return float(outcome if world.units is None else world.units.centre(outcome))


def outcome_told(world: World, outcome: float) -> float:
    """An outcome of the world in the units that people read.

    Parameters
    ----------
    world
        Whose outcome it is.
    outcome
        With mean 0 in the population.

    Returns
    -------
    float
        In the units that people read.
    """
    return float(outcome if world.units is None else world.units.uncentre(outcome))


def score_read(world: World, probability: float) -> float:
    """A probability that somebody answered, as a score without the base score.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    probability
        From 0 to 1; 0 and 1 count as half a percent off.

    Returns
    -------
    float
        With mean 0 in the population.
    """
    return float(score_of(world, np.asarray(probability)))


def chance_told(world: World, mean: float, variance: float) -> tuple[float, float]:
    """Mean and standard deviation of the probability that a normal score stands for.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    mean
        Of the score, without the base score.
    variance
        Of the same.

    Returns
    -------
    tuple of two floats
        Both from 0 to 1.
    """
    assert world.outcome is not None
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    scores = world.base_score + mean + np.sqrt(variance) * nodes
    chances, shares = world.outcome.from_score.probability(scores), weights / weights.sum()
    middle = float(shares @ chances)
    return middle, float(np.sqrt(shares @ (chances - middle) ** 2))


def yes_no_fault(name: str, given: float | None, *, decided: bool = False) -> list[str]:
    """Whether a number can be an answer, or an outcome or decision, where these are yes or no."""
    if given is None or (given in (0.0, 1.0) if decided else 0.0 <= given <= 1.0):
        return []
    wanted = "1 (yes) or 0 (no)" if decided else "a probability from 0 to 1"
    return [f"{name}: {given:g}, must be {wanted}"]


class LoggedRound(NamedTuple):
    """A round of a log, in the units that people read; `outcome` is None where it was not told."""

    shown: TestSet
    values: FloatArray
    answer: float
    outcome: float | None


def rounds_in(world: World, log: Log, follows: str) -> Iterator[LoggedRound]:
    """The rounds of one person, in order.

    Parameters
    ----------
    world
        Whose tests they are.
    log
        Of one participant.
    follows
        Why there must be one only, as part of a sentence.

    Returns
    -------
    iterator of LoggedRound
        One for each row.

    Raises
    ------
    InvalidInput
        Several participants, or other tests.
    """
    if len(log.participants) != 1:
        raise InvalidInput(
            f"log: {len(log.participants)} participants, {follows}; use log.for_participant(name)"
        )
    require_tests(world, log)
    for i in range(len(log)):
        seen = tuple(np.flatnonzero(log.shown[i]).tolist())
        outcome = float(log.outcome[i]) if log.told[i] else None
        yield LoggedRound(seen, log.values[i, list(seen)], float(log.prediction[i]), outcome)
