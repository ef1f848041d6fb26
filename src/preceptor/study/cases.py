"""Matched lists of cases: the third person of every arm meets the very same cases.

People of an arm are numbered by places. A place has one list of cases, whatever the arm, so arms
differ in what is shown of a case and in nothing else. Training draws from the streams of
`simulation.rollout`: place p meets what person p meets there under the study's seed. Whoever drops
out leaves the place to somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.model.world import Cases, World
from preceptor.simulation.cases import cases_of
from preceptor.study.allocation import Chance
from preceptor.study.config import Practice, Testing
from preceptor.study.protocol import Trial
from preceptor.study.study import Study


@dataclass(frozen=True, eq=False)
class CaseList:
    """The cases of one place, one for each trial.

    Attributes
    ----------
    features, outcomes
        In the world's units, (trials, n) and (trials,).
    values, truths
        The same as people read them.
    """

    features: FloatArray
    outcomes: FloatArray
    values: FloatArray
    truths: FloatArray


def case_list(study: Study, place: int) -> CaseList:
    """What whoever has this place meets, trial by trial.

    Parameters
    ----------
    study
        Whose seed and protocol are meant.
    place
        From 0; the same in every arm.

    Returns
    -------
    CaseList
        One case for each trial.
    """
    world, trials = study.problem.world, study.protocol.trials
    features, outcomes = np.empty((len(trials), world.size)), np.empty(len(trials))
    seed = study.configuration.seed
    trained = cases_of(world, study.training_rounds, place, seed)
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
        return CaseList(features, outcomes, features, outcomes)
    return CaseList(features, outcomes, units.restore(features), units.uncentre(outcomes))


def _with_given_results(
    world: World, trials: Sequence[Trial], drawn: Cases, rng: np.random.Generator
) -> Cases:
    """Cases in which the results that a probe asks for are as it asks.

    Hidden tests move along by what they share with those that are set, which gives a draw from
    their distribution given these. The outcome keeps its noise.
    """
    features, outcomes = drawn.features.copy(), drawn.outcomes.copy()
    for row, trial in enumerate(trials):
        if trial.values is None or trial.show is None:
            continue
        if world.is_binary or not world.is_gaussian:
            raise InvalidInput(
                "probe: given results need tests that are jointly normal and an outcome that is a "
                "number; leave out `values`"
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
    return Cases(features, outcomes)
