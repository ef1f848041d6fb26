"""How people of published experiments learn: every arm weighed as any log is, and the push tests.

Numbers of people are summed up by the 10, 50 and 90 % points of the participants' estimates.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.progress import Progress
from preceptor._base.values import Value
from preceptor.data.log import Log
from preceptor.data.public_experiments import ExperimentArm
from preceptor.learners.evidence_cells import Estimate
from preceptor.learners.families import FAMILIES, LEVEL_ONLY, select_families
from preceptor.learners.populations import GroupWeighed, weigh_people
from preceptor.learners.posterior import NuisancePrior
from preceptor.learners.push_test import PushTest, level_test, push_test
from preceptor.learners.records import Record
from preceptor.learners.weighing import Weighed

Points = tuple[float, float, float]
_FLOOR = "floor"


@dataclass(frozen=True, eq=False)
class FamilyResult(Value):
    """What an arm says about one family.

    Attributes
    ----------
    evidence, held_out
        Log density of all answers, and of the last quarter one step ahead, beyond that of no
        learning; summed over participants, in nats.
    best_of
        Number of participants with the largest evidence for this family.
    frequency
        Its estimated share of participants.
    """

    evidence: float
    held_out: float
    best_of: int
    frequency: float


@dataclass(frozen=True, eq=False)
class ArmResult(Value):
    """What an arm says about how its participants learn.

    Attributes
    ----------
    name
        Experiment and arm.
    people, answers, told
        Numbers of participants, of their answers, and of outcomes they were told.
    groups
        Share of each way of learning, with its 95 % interval. Where nothing was told, as a placebo,
        as if it had been.
    none_of_these
        Mean probability that no kind in the list is right.
    families
        By name.
    rate
        Share of an error that a showing removes, among people who learn.
    floor
        Share of an error that remains, if learning has a floor.
    scatter
        Of answers, in standard deviations of the outcome, or of the score behind it.
    bias
        Constant bias of answers, in the same units.
    follow
        Share of the last surprise that answers follow; not of decisions.
    push, level
        Whether weights, and the level of answers, follow earlier outcomes.
    """

    name: str
    people: int
    answers: int
    told: int
    groups: dict[str, Estimate]
    none_of_these: float
    families: dict[str, FamilyResult]
    rate: Points
    floor: Points
    scatter: Points
    bias: Points
    follow: Points | None
    push: PushTest
    level: PushTest


def measure(arm: ExperimentArm, *, progress: Progress | None = None) -> ArmResult:
    """Weigh the participants of one arm, alone and together.

    People who learn only the level of outcomes are weighed too; their weights stay.

    If there are participants who were never told, their answers give the prior of first weights and
    bias: with the usual prior, around 0, knowledge that people bring along passes for fast learning
    of all those who are weighed.

    Parameters
    ----------
    arm
        Who was shown what.
    progress
        Called as people are finished.

    Returns
    -------
    ArmResult
        What the arm says.
    """
    someone = Record.of(arm.world, arm.log, arm.log.participants[0])
    usual = [family.name for family in select_families(None, someone)]
    weighed = functools.partial(
        weigh_people, arm.world, workers=1, progress=progress, dials=(arm.imputation,),
        families=[name for name in FAMILIES if name in (*usual, LEVEL_ONLY)],
    )  # fmt: skip
    first = {} if arm.untaught is None else _first_beliefs(weighed(arm.untaught))
    told = int(arm.log.told.sum())
    found = weighed(arm.log if told else _as_if_told(arm.log), **first)
    people = list(found.people.values())
    follows = people[0].setting.answers.follows_surprises
    return ArmResult(
        name=arm.name,
        people=len(people),
        answers=len(arm.log),
        told=told,
        groups=found.groups,
        none_of_these=found.none_of_these,
        families=_families(found),
        rate=_rates(found),
        floor=_points(map(_floor, found.alone.values())),
        scatter=_points(each.scatter.mean for each in people),
        bias=_points(each.bias.mean / each.setting.rounds.record.outcome_sd for each in people),
        follow=_points(each.follow.mean for each in people) if follows else None,
        push=push_test(arm.world, arm.log),
        level=level_test(arm.world, arm.log),
    )


def _as_if_told(log: Log) -> Log:
    return Log(
        log.names, log.participant, log.rounds, log.shown, log.values, log.prediction, log.outcome,
        np.ones(len(log), dtype=np.bool_), decided=log.decided,
    )  # fmt: skip


def _first_beliefs(untaught: GroupWeighed) -> dict[str, Any]:
    """Mean of first weights among people, and how much they and biases differ, as options."""
    people = untaught.people.values()
    record = next(iter(people)).setting.rounds.record
    firsts = np.array([[each.mean for each in weighed.initial] for weighed in people])
    biases = np.array([weighed.bias.mean for weighed in people]) / record.outcome_sd
    spread = float(np.sqrt(np.mean(np.var(record.to_standard(firsts), axis=0))))
    prior = NuisancePrior(weights=spread, bias=float(np.sqrt(np.mean(biases**2))))
    return {"default": firsts.mean(axis=0), "spread": prior}


def _families(found: GroupWeighed) -> dict[str, FamilyResult]:
    best = [
        max(each.log_evidence, key=each.log_evidence.__getitem__) for each in found.alone.values()
    ]
    evidence, ahead = found.log_evidence, found.held_out
    return {
        name: FamilyResult(
            evidence[name] - evidence["none"],
            ahead[name] - ahead["none"],
            best.count(name),
            share.mean,
        )
        for name, share in found.families.items()
    }


def _rates(found: GroupWeighed) -> Points:
    """Of the estimated population, as rates of single people are hardly known."""
    middle, spread = found.rate.predictive
    low, mid, high = np.exp(middle + spread * np.array([-1.2816, 0.0, 1.2816])).tolist()
    return low, mid, high


def _floor(weighed: Weighed) -> float:
    cells = weighed.cells_of(_FLOOR)
    axis = [axis.name for axis in cells.family.axes].index(_FLOOR)
    floors = cells.family.axes[axis].value(cells.coordinates[:, axis])
    return float(cells.posterior.sum(axis=0) @ floors)


def _points(numbers: Iterable[float]) -> Points:
    low, middle, high = np.quantile(list(numbers), (0.1, 0.5, 0.9)).tolist()
    return low, middle, high
