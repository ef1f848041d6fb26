"""Power: the study as it will be run, played by simulated people and analysed as registered.

One simulation is a whole study: people come one by one and are drawn into arms, some are careless,
some leave and their places go to others; then the registered analysis decides. Smaller studies are
the beginnings of larger ones. Everything that is made up comes from one seed; cases, schedules and
arms are those of the study file.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from preceptor._base.checks import is_count
from preceptor._base.executors import executor_of
from preceptor._base.many import run_many
from preceptor._base.progress import Progress
from preceptor.diagnosis.suspects import OUTCOMES
from preceptor.errors import InvalidInput
from preceptor.study.allocation import Chance
from preceptor.study.analysis import judged, left_out
from preceptor.study.analysis_result import Verdicts, plain
from preceptor.study.arms import Arm, make_arms
from preceptor.study.assumed import Assumption, assumptions
from preceptor.study.measures import MEASURES
from preceptor.study.playing import Recruits, Stage, played, recruited, staged
from preceptor.study.records import together
from preceptor.study.study import Study
from preceptor.study.tutored_arms import with_banks

EVERYBODY = "everybody"
# Permutations of each simulated analysis: enough for a level of 0.05.
_RESAMPLES = 999
# People who are played at once, at most.
_CHUNK = 1_500


@dataclass(frozen=True)
class Share:
    """A share of simulations or people, with its 95% Wilson interval."""

    share: float
    low: float
    high: float
    of: int

    @classmethod
    def counted(cls, hits: int, of: int) -> Share:
        """So many of so many."""
        if of == 0:
            return cls(math.nan, 0.0, 1.0, 0)
        made = stats.binomtest(hits, of).proportion_ci(0.95, method="wilson")
        return cls(hits / of, float(made.low), float(made.high), of)


@dataclass(frozen=True)
class Cell:
    """What simulations found for one kind of person and one number of people an arm.

    Attributes
    ----------
    kind
        Who they were; `everybody` is the mixture of the study file.
    people
        Per arm, finished.
    power
        Share of simulations in which p was below the level.
    effect, standardised
        On average over simulations: in units of the measure, and in average standard deviations of
        what the test compares (differences between people at the same place; Welch: people). The
        latter is NaN for a sign test.
    signal
        The effect divided by its standard error, on average, for one person an arm: with n of them
        it is the square root of n times as large.
    excluded
        Share of those assigned to an arm who were left out.
    failed
        Simulations in which the test could not be carried out.
    """

    kind: str
    people: int
    power: Share
    effect: float
    standardised: float
    signal: float
    excluded: float
    failed: int


@dataclass(frozen=True)
class Told:
    """How people of a kind are read: shares that are right, left open and wrong.

    The question is whether somebody learns from outcomes or not, at a probability of 0.9.
    """

    kind: str
    right: Share
    undecided: Share
    wrong: Share


@dataclass(frozen=True)
class Power:
    """What a study can show.

    Attributes
    ----------
    cells
        Kind by kind and size by size.
    told
        For the measure `kind`: how people of every kind are read.
    simulations, seed
        How many, and of what.
    target
        The power that is wanted.
    measure, test, level
        As registered.
    tutored
        Whether arms with a tutor were drawn from a bank of people.
    """

    cells: tuple[Cell, ...]
    told: tuple[Told, ...]
    simulations: int
    seed: int
    target: float
    measure: str
    test: str
    level: float
    tutored: bool = False

    def needed(self, kind: str = EVERYBODY) -> tuple[int | None, bool]:
        """People an arm for the target, and whether that many were simulated.

        Parameters
        ----------
        kind
            Who they are.

        Returns
        -------
        tuple
            The smallest size that reached the target, and True; or a guess from the average
            effect, and False; None where there is no effect to speak of.
        """
        cells = sorted((c for c in self.cells if c.kind == kind), key=lambda c: c.people)
        for cell in cells:
            if cell.power.share >= self.target:
                return cell.people, True
        if not cells:
            return None, False
        last = cells[-1]
        # How far the average over simulations can be off by chance.
        noise = 2.0 / math.sqrt(last.power.of * last.people)
        if not abs(last.signal) > noise:
            return None, False
        reach = stats.norm.ppf(1.0 - self.level / 2.0) + stats.norm.ppf(self.target)
        return max(math.ceil((reach / last.signal) ** 2) + 1, last.people + 1), False

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None where a number could not be computed."""
        needed = [
            {"kind": kind, "people": people, "simulated": known}
            for kind in dict.fromkeys(cell.kind for cell in self.cells)
            for people, known in [self.needed(kind)]
        ]
        said: dict[str, Any] = plain({**asdict(self), "needed": needed})
        return said


def power(
    study: Study,
    people: Sequence[int] = (10, 20, 40),
    *,
    simulations: int = 200,
    target: float = 0.8,
    seed: int = 0,
    arms: Sequence[Arm] | None = None,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> Power:
    """Simulate a study and analyse it as registered, again and again.

    Parameters
    ----------
    study
        What the file says, with whom it takes people for.
    people
        Sizes to try: people of each arm who finish.
    simulations
        Studies to simulate, for every kind of person and for their mixture.
    target
        The power that is wanted, from 0 to 1.
    seed
        Of people and their answers; cases come from the study's own.
    arms
        As `make_arms` makes them; made if left out.
    workers
        Processes; None is one for each core. Results do not depend on it.
    progress
        Told how far it is.

    Returns
    -------
    Power
        For every kind, and everybody together.

    Raises
    ------
    InvalidInput
        Numbers that make no sense.
    """
    faults = []
    if not people or not all(is_count(n, least=2) for n in people):
        faults.append(f"people: {list(people)}, must be whole numbers of at least 2")
    if not is_count(simulations, least=10):
        faults.append(f"simulations: {simulations!r}, must be a whole number of at least 10")
    if not 0.0 < target < 1.0:
        faults.append(f"target: {target!r}, must be between 0 and 1")
    InvalidInput.raise_if(faults)
    sizes, kinds = sorted(set(people)), assumptions(study)
    made = make_arms(study, progress) if arms is None else tuple(arms)
    stage = staged(study, made, sizes[-1])
    whom: list[tuple[str, tuple[Assumption, ...]]]
    whom = [(kind.name, (kind,)) for kind in kinds]
    if len(kinds) > 1:
        whom.append((EVERYBODY, kinds))
    with executor_of(workers) as executor:
        full = with_banks(stage, kinds, seed, executor, progress)
        stages = [*(full.of_kind(number) for number in range(len(kinds))), full]
        at_once = max(1, _CHUNK // (len(stage.arms) * sizes[-1]))
        items = [
            (which, first, min(first + at_once, simulations))
            for which in range(len(whom))
            for first in range(0, simulations, at_once)
        ]
        work = functools.partial(
            _simulated, stages=stages, whom=[who for _, who in whom], sizes=sizes, seed=seed
        )
        found = run_many(work, items, executor=executor, progress=progress, noun="simulations")
    said = study.configuration.analysis
    cells, told = [], []
    for which, (name, who) in enumerate(whom):
        mine = [each for item, each in zip(items, found, strict=True) if item[0] == which]
        runs = [run for each in mine for run in each.runs]
        for size in sizes:
            cells.append(_cell(name, size, [r for r in runs if r.people == size], said.level))
        if said.measure == "kind" and len(who) == 1:
            counts = np.sum([each.told for each in mine], axis=0)
            total = int(counts.sum())
            told.append(Told(name, *(Share.counted(int(count), total) for count in counts)))
    return Power(
        tuple(cells),
        tuple(told),
        simulations,
        seed,
        target,
        said.measure,
        said.test,
        said.level,
        any(arm.is_adaptive for arm in made),
    )


class _Run(NamedTuple):
    people: int
    p: float
    effect: float
    deviation: float
    signal: float
    excluded: float


class _Several(NamedTuple):
    runs: list[_Run]
    told: tuple[int, int, int]


def _simulated(
    item: tuple[int, int, int],
    stages: list[Stage],
    whom: list[tuple[Assumption, ...]],
    sizes: list[int],
    seed: int,
) -> _Several:
    """Some simulations of one kind: all people are played at once, then study by study."""
    which, first, last = item
    stage, kinds = stages[which], whom[which]
    study = stage.study
    said = study.configuration.analysis
    crowds = []
    for number in range(first, last):
        key = (Chance.SIMULATED, which, number)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        crowds.append((recruited(stage, kinds, sizes[-1], rng), rng))
    # Played simulation by simulation, measured together: reading many costs little more than one.
    parts = [played(stage, kinds, recruits, rng) for recruits, rng in crowds]
    everybody = together(parts)
    all_numbers = MEASURES[said.measure](study, everybody)
    all_reasons = left_out(study, everybody, all_numbers)
    runs, told, at = [], np.zeros(3, dtype=int), 0
    for (recruits, rng), records in zip(crowds, parts, strict=True):
        # Permutations of its own for each: those that all had in common would err in common.
        chance = int(rng.integers(2**31))
        mine = slice(at, at + len(records))
        why, numbers, at = all_reasons[mine], all_numbers[mine], at + len(records)
        for size in sizes:
            until = recruits.until(size * len(stage.arms), stage.trials)
            rows = np.arange(until)
            part = judged(study, records.of(rows), numbers[rows], why[:until], _RESAMPLES, chance)
            share_out = sum(map(bool, why[:until])) / until
            # Intervals are about four standard errors wide.
            error = (part.high - part.low) / (2.0 * stats.norm.ppf(1.0 - said.level / 2.0))
            signal = part.effect / error / math.sqrt(size) if error > 0.0 else math.nan
            deviation = part.effect_deviation
            runs.append(_Run(size, part.p, part.effect, deviation, signal, share_out))
        if said.measure == "kind":
            told += _told(kinds, recruits, numbers, why)
    return _Several(runs, (int(told[0]), int(told[1]), int(told[2])))


def _told(kinds: Sequence[Assumption], recruits: Recruits, numbers: Any, why: Sequence[str]) -> Any:
    """How many of those analysed are read rightly, left open, read wrongly."""
    kept = np.array([not reason for reason in why])
    truly = np.array(
        [kinds[k].members[m].group == OUTCOMES
         for k, m in zip(recruits.kinds, recruits.members, strict=True)]
    )  # fmt: skip
    found = Verdicts.of(np.where(truly, numbers, 1.0 - numbers)[kept])
    return np.array([found.outcomes, found.undecided, found.others])


def _cell(name: str, size: int, runs: Sequence[_Run], level: float) -> Cell:
    table = np.array([run[1:] for run in runs])  # p, effect, deviation, signal, excluded
    there = np.isfinite(table)
    sums = np.where(there, table, 0.0).sum(axis=0)
    count = there.sum(axis=0)
    means = np.where(count > 0, sums / np.maximum(count, 1), np.nan)
    hits = int((table[there[:, 0], 0] < level).sum())
    effect, deviation, signal, excluded = (float(x) for x in means[1:])
    # Not the average of standardised effects, which may differ in sign from the average effect.
    standardised = effect / deviation if deviation > 0.0 else math.nan
    failed = int((~there[:, 0]).sum())
    # A test that could not be carried out has shown nothing.
    return Cell(
        name, size, Share.counted(hits, len(runs)), effect, standardised, signal, excluded, failed
    )
