"""The protocol of a study played by simulated people, in this process.

Trials, matched cases, schedules and the draw of arms are those of the study itself; only people are
made up. Whoever drops out leaves their place to the next one, so that every place of every arm is
filled in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.human import Sessions, answers_of
from preceptor.study.allocation import Filled, draw
from preceptor.study.arms import Arm
from preceptor.study.assumed import Assumption, Member
from preceptor.study.cases import case_list
from preceptor.study.records import Records
from preceptor.study.study import Study

# Seconds that answers take, for rules about speed: assumptions, with the same spread for all.
_USUAL_SECONDS, _CARELESS_SECONDS, _SPREAD = 6.0, 0.6, 0.5


@dataclass(frozen=True, eq=False)
class Bank:
    """People taught by a tutor, who takes a good part of a second for each: played beforehand.

    `which` and `answers` (kinds, places, draws, trials); simulations draw among the draws.
    """

    which: IntArray
    answers: FloatArray

    def drawn(
        self, kind: int, places: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """For somebody of this kind at each of these places: what was shown, and answers."""
        draws = rng.integers(self.which.shape[2], size=len(places))
        return self.which[kind, places, draws], self.answers[kind, places, draws]


@dataclass(frozen=True, eq=False)
class Stage:
    """What everybody meets, place by place; made once, for all simulations.

    `which` (arms, places, trials) are positions in `sets`; arms with a tutor have -1 in training.
    """

    study: Study
    arms: tuple[str, ...]
    sets: tuple[TestSet, ...]
    which: IntArray
    told: npt.NDArray[np.bool_]
    features: FloatArray
    outcomes: FloatArray
    values: FloatArray
    truths: FloatArray
    bank: dict[int, Bank] = field(default_factory=dict)

    @property
    def trials(self) -> int:
        """Rounds of everybody."""
        return int(self.told.size)

    def of_kind(self, kind: int) -> Stage:
        """For people of one kind only, who are then the first."""
        only = slice(kind, kind + 1)
        banks = {a: Bank(b.which[only], b.answers[only]) for a, b in self.bank.items()}
        return replace(self, bank=banks)

    @cached_property
    def member(self) -> npt.NDArray[np.bool_]:
        """Which tests are in which set, (sets, n)."""
        member = np.zeros((len(self.sets), self.study.problem.size), dtype=np.bool_)
        for position, shown in enumerate(self.sets):
            member[position, list(shown)] = True
        return member

    def is_adaptive(self, arm: int) -> bool:
        """Whether a tutor decides."""
        return bool((self.which[arm] < 0).any())


def staged(study: Study, arms: Sequence[Arm], places: int) -> Stage:
    """The cases and schedules of so many places of every arm."""
    trials, world = study.protocol.trials, study.problem.world
    lists = [case_list(study, place) for place in range(places)]
    position: dict[TestSet, int] = {}
    which = np.full((len(arms), places, len(trials)), -1, dtype=np.int64)
    for a, arm in enumerate(arms):
        for place in range(places):
            schedule = arm.schedule(study.training_rounds, study.configuration.seed, place)
            for trial in trials:
                if trial.show is not None:
                    shown = tuple(sorted(world.columns_of(trial.show)))
                elif schedule is None:
                    continue
                else:
                    shown = tuple(schedule[trial.training or 0])
                which[a, place, trial.number] = position.setdefault(shown, len(position))
    return Stage(
        study,
        tuple(arm.name for arm in arms),
        tuple(position),
        which,
        np.array([trial.feedback for trial in trials]),
        np.array([each.features for each in lists]),
        np.array([each.outcomes for each in lists]),
        np.array([each.values for each in lists]),
        np.array([each.truths for each in lists]),
    )


@dataclass(frozen=True, eq=False)
class Recruits:
    """Everybody who was assigned to an arm in one study, in order.

    `leaves` is the trial before which somebody leaves; whoever finishes has the number of trials.
    """

    arms: IntArray
    places: IntArray
    kinds: IntArray
    members: IntArray
    leaves: IntArray
    careless: npt.NDArray[np.bool_]

    def until(self, finished: int, trials: int) -> int:
        """How many had come when so many had finished."""
        done = np.cumsum(self.leaves >= trials)
        return int(np.searchsorted(done, finished)) + 1


def recruited(
    stage: Stage, kinds: Sequence[Assumption], people: int, rng: np.random.Generator
) -> Recruits:
    """People who come one after the other, until so many of every arm have finished."""
    said = stage.study.configuration
    taken: list[set[int]] = [set() for _ in stage.arms]
    shares = np.array([kind.weight for kind in kinds])
    rows: list[tuple[int, int, int, int, int, bool]] = []
    while min(len(places) for places in taken) < people:
        arms = [
            Filled(name, frozenset(places), people)
            for name, places in zip(stage.arms, taken, strict=True)
        ]
        found = draw(arms, len(rows), said.seed)
        assert found is not None
        arm = stage.arms.index(found.arm)
        kind = int(rng.choice(len(kinds), p=shares / shares.sum()))
        member = int(rng.choice(len(kinds[kind].members), p=_shares(kinds[kind].members)))
        leaves = stage.trials
        if rng.random() < said.assumed.drop_out:
            leaves = int(rng.integers(stage.trials))
        else:
            taken[arm].add(found.place)
        careless = bool(rng.random() < said.assumed.careless)
        rows.append((arm, found.place, kind, member, leaves, careless))
    return Recruits(*(np.array(column) for column in zip(*rows, strict=True)))


def _shares(members: Sequence[Member]) -> FloatArray:
    shares = np.array([member.share for member in members])
    scaled: FloatArray = shares / shares.sum()
    return scaled


def played(
    stage: Stage, kinds: Sequence[Assumption], recruits: Recruits, rng: np.random.Generator
) -> Records:
    """What these people would have done, as the analysis takes it.

    Parameters
    ----------
    stage
        What everybody meets.
    kinds
        Whom people are taken for.
    recruits
        Who came, of which kind, to which arm and place.
    rng
        Of answers, and of all that is made up besides.

    Returns
    -------
    Records
        One row for each recruit, in their order.
    """
    study, people = stage.study, len(recruits.arms)
    world = study.problem.world
    which = stage.which[recruits.arms, recruits.places].copy()
    answers = np.empty((people, stage.trials))
    rngs = rng.spawn(people)
    for arm, kind, member in sorted(
        set(zip(recruits.arms, recruits.kinds, recruits.members, strict=True))
    ):
        rows = np.flatnonzero(
            (recruits.arms == arm) & (recruits.kinds == kind) & (recruits.members == member)
        )
        places = recruits.places[rows]
        if stage.is_adaptive(arm):
            kept = stage.bank[int(arm)]
            which[rows], answers[rows] = kept.drawn(kind, places, rng)
            continue
        human = kinds[kind].members[member].human
        parts = (which[rows], stage.features[places], stage.outcomes[places], stage.told)
        sessions = Sessions(stage.sets, *parts)
        answers[rows] = answers_of(human, sessions, [rngs[row] for row in rows])
    careless = recruits.careless
    answers[careless] = _guesses(world, answers.shape, rng)[careless]
    median = np.where(careless, _CARELESS_SECONDS, _USUAL_SECONDS)
    seconds = median[:, None] * np.exp(_SPREAD * rng.standard_normal(answers.shape))
    gone = np.arange(stage.trials) >= recruits.leaves[:, None]
    answers[gone] = seconds[gone] = np.nan
    shown = stage.member[which]
    checks = sum(len(getattr(block, "check", ())) for block in study.configuration.block)
    width = max(5, len(str(people)))
    return Records(
        tuple(f"p{number:0{width}d}" for number in range(1, people + 1)),
        np.array(stage.arms)[recruits.arms],
        recruits.places,
        recruits.leaves >= stage.trials,
        np.where(careless, checks, 0),
        shown,
        np.where(shown, stage.values[recruits.places], np.nan),
        answers if world.units is None else np.asarray(world.units.uncentre(answers)),
        stage.truths[recruits.places],
        seconds,
    )


def _guesses(world: World, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Answers of people who do not read: as outcomes are spread, whatever the case."""
    if world.is_binary:
        return rng.integers(0, 2, shape).astype(np.float64)
    guesses: FloatArray = world.outcome_variance**0.5 * rng.standard_normal(shape)
    return guesses
