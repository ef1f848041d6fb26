"""Which arm and place a participant gets, and which cases each place has.

The next arm is the least filled, ties broken by permuted blocks from the study's seed. Participants
who completed the study or are active fill an arm; a place that was dropped goes to the next
participant, so that cases stay matched. Arms that are closed or full are left out.

A place has one list of cases, whatever the arm, so arms differ only in what is shown of a case.
Training draws from the streams of `simulation.rollout`: place p has the cases of person p there,
under the study's seed. Arms that pick cases do so from a pool, which begins with these cases and
goes on with those that a longer training would have; so pools of a place are matched, too.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.live.study.config import Practice, Testing
from preceptor.live.study.study import Study, Trial
from preceptor.model.world import SampledCases, World
from preceptor.simulation.cases import cases_of


class Chance(enum.IntEnum):
    """Random streams under a study's seed, distinct from those of a rollout."""

    OTHER_BLOCKS = 100
    ALLOCATION = 200
    TUTORED = 300
    SIMULATED = 400


@dataclass(frozen=True)
class Filled:
    """State of an arm.

    Attributes
    ----------
    name
        Name of the arm.
    places
        Places of participants who completed the study or are active.
    cap
        Places, at most; None for no limit.
    is_open
        Whether participants may still be assigned.
    """

    name: str
    places: frozenset[int]
    cap: int | None = None
    is_open: bool = True

    @property
    def has_free_place(self) -> bool:
        """Whether it takes one more participant."""
        return self.is_open and (self.cap is None or len(self.places) < self.cap)


@dataclass(frozen=True)
class ArmDraw:
    """The drawn arm and place, with the number of the draw and the order of its block."""

    arm: str
    place: int
    number: int
    order: tuple[str, ...]


def draw(arms: Sequence[Filled], number: int, seed: int) -> ArmDraw | None:
    """Draw the arm and the place of the next participant.

    Parameters
    ----------
    arms
        State of all arms, in the order of the study file.
    number
        Participants assigned before, including those who dropped out.
    seed
        Seed of the study.

    Returns
    -------
    ArmDraw or None
        None if no arm has a free place.

    Examples
    --------
    >>> arms = [Filled("plan", frozenset({0, 1})), Filled("fixed", frozenset({1}))]
    >>> found = draw(arms, 3, seed=1)
    >>> found.arm, found.place
    ('fixed', 0)
    """
    rng = np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(Chance.ALLOCATION, number // len(arms)))
    )
    order = tuple(arms[i].name for i in rng.permutation(len(arms)))
    available = {arm.name: arm for arm in arms if arm.has_free_place}
    if not available:
        return None
    fewest = min(len(arm.places) for arm in available.values())
    chosen = next(n for n in order if n in available and len(available[n].places) == fewest)
    taken = available[chosen].places
    place = next(i for i in range(len(taken) + 1) if i not in taken)
    return ArmDraw(chosen, place, number, order)


@dataclass(frozen=True, eq=False)
class DrawnCases:
    """The cases of one place: one per trial, then those that only arms with a pool may pick.

    Attributes
    ----------
    features, outcomes
        In the world's units, (cases, n) and (cases,).
    values, truths
        The same in the units that people read.
    """

    features: FloatArray
    outcomes: FloatArray
    values: FloatArray
    truths: FloatArray


def case_list(study: Study, place: int) -> DrawnCases:
    """Draw the cases of a place: one per trial, then further ones for arms that pick.

    Parameters
    ----------
    study
        The study, with its seed and protocol.
    place
        From 0; the same in every arm.

    Returns
    -------
    DrawnCases
        Case t is that of trial t, unless an arm picks another one.
    """
    world, trials = study.problem.world, study.protocol.trials
    rounds, seed = study.training_rounds, study.configuration.seed
    trained = cases_of(world, max(rounds, study.pool), place, seed)
    size = len(trials) + trained.outcomes.size - rounds
    features, outcomes = np.empty((size, world.size)), np.empty(size)
    features[len(trials) :], outcomes[len(trials) :] = (each[rounds:] for each in trained)
    for number, block in enumerate(study.configuration.block):
        own = [trial for trial in trials if trial.block == number]
        if not own:
            continue
        rows = [trial.number for trial in own]
        if own[0].training is not None:
            which = [trial.training for trial in own if trial.training is not None]
            features[rows], outcomes[rows] = trained.features[which], trained.outcomes[which]
            continue
        assert isinstance(block, (Practice, Testing))
        whose = 0 if block.cases == "common" else place + 1
        key = (whose, Chance.OTHER_BLOCKS + number)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        drawn = _with_given_results(world, own, world.sample(len(own), rng), rng)
        features[rows], outcomes[rows] = drawn
    units = world.units
    if units is None:
        return DrawnCases(features, outcomes, features, outcomes)
    return DrawnCases(features, outcomes, units.restore(features), units.uncentre(outcomes))


def pool_rows(study: Study, size: int) -> list[int]:
    """Rows of `case_list` that a pool of this size has, in its order."""
    trained = [trial.number for trial in study.protocol.trials if trial.training is not None]
    first = len(study.protocol.trials)
    return [*trained, *range(first, first + size)][:size]


def _with_given_results(
    world: World, trials: Sequence[Trial], drawn: SampledCases, rng: np.random.Generator
) -> SampledCases:
    """Cases whose results are those that probes prescribe.

    Hidden tests move along by their regression on the prescribed ones, which gives a draw from
    their conditional distribution. The outcome keeps its noise.
    """
    features, outcomes = drawn.features.copy(), drawn.outcomes.copy()
    for row, trial in enumerate(trials):
        if trial.values is None or trial.show is None:
            continue
        if world.is_binary or not world.is_gaussian:
            raise InvalidInput(
                "probe: given results need jointly normal tests and a numeric outcome; leave out "
                "`values`"
            )
        columns = [int(world.columns_of([name])[0]) for name in trial.show]
        asked = np.full(world.size, np.nan)
        asked[columns] = trial.values
        if world.units is not None:
            asked = world.units.standardise(asked)
        covariance = world.covariance
        share = np.linalg.solve(covariance[np.ix_(columns, columns)], covariance[columns])
        moved = (asked[columns] - features[row, columns]) @ share
        outcomes[row] += moved @ world.coefficients
        features[row] += moved
        features[row, columns] = asked[columns]
    return SampledCases(features, outcomes)
