"""Which world and which length show most clearly how kinds of people differ.

Every combination of settings is a study of its own, judged without drop-out or carelessness by
people of each kind. For the measure `kind` it is the information that answers give about the kind,
in bits, and how often people are read rightly; for any other it is how far apart the effects of the
kinds are, in standard deviations of what the test compares.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.executors import executor_of
from preceptor._base.many import run_many
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray
from preceptor.diagnosis.block_search import screen_of
from preceptor.diagnosis.courses import Step
from preceptor.diagnosis.kind_posterior import SURE
from preceptor.diagnosis.suspects import OUTCOMES, suspects
from preceptor.errors import InvalidInput, PreceptorError
from preceptor.study.analysis_result import plain
from preceptor.study.arms import Arm, make_arms
from preceptor.study.assumed import Assumption, assumptions
from preceptor.study.measures import MEASURES
from preceptor.study.playing import Recruits, Stage, played, staged
from preceptor.study.records import Records
from preceptor.study.significance import welch
from preceptor.study.study import Study
from preceptor.study.tutored_arms import with_banks
from preceptor.study.variations import Setting, tried_test, varied

# Of those that are screened by information, so many are tried on simulated people.
_TRIED = 8


@dataclass(frozen=True)
class Candidate:
    """One setting and how well it does.

    Attributes
    ----------
    setting
        What was changed.
    score
        What candidates are ranked by: the smallest share of a kind that is read rightly, or how far
        apart the effects of kinds are.
    by_kind
        For each kind the share that is read rightly, or the effect in standard deviations.
    bits
        For the measure `kind`: information about learning from outcomes; NaN otherwise.
    problem
        Why it could not be tried; empty if it was.
    """

    setting: Setting
    score: float
    by_kind: dict[str, float]
    bits: float = math.nan
    problem: str = ""


@dataclass(frozen=True)
class Design:
    """Candidates, best first, with the study as it stands among them (all settings None)."""

    candidates: tuple[Candidate, ...]
    measure: str
    test: str
    people: int
    seed: int

    @property
    def best(self) -> Candidate:
        """The first one that could be tried."""
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None where a number could not be computed."""
        rows = [{**vars(each), "setting": each.setting._asdict()} for each in self.candidates]
        found: dict[str, Any] = plain({**vars(self), "candidates": rows})
        return found

    def in_words(self, most: int = 12) -> str:
        """A table of the best ones.

        Parameters
        ----------
        most
            Rows.

        Returns
        -------
        str
            For the terminal.
        """
        kinds = list(self.best.by_kind)
        what = "share read rightly" if self.measure == "kind" else "effect in standard deviations"
        head = f"{'correlation':>11}  {'weight':>7}  {'noise':>6}  {'rounds':>6}"
        head += "".join(f"  {kind:>{max(len(kind), 7)}}" for kind in kinds) + "    score"
        lines = [
            f"{what[0].upper()}{what[1:]}, by {self.people} people of each kind an arm (seed "
            f"{self.seed}). The weight is that of {self.test}, as a share of the largest other.",
            "",
            head,
        ]
        for each in self.candidates[:most]:
            own = "".join(
                f"{_cell(x):>{w}}" for x, w in zip(each.setting, (11, 9, 8, 8), strict=True)
            )
            shares = "".join(
                f"  {each.by_kind.get(k, math.nan):>{max(len(k), 7)}.2f}" for k in kinds
            )
            lines.append(
                f"{own}{shares}  {each.score:>7.2f}"
                + ("" if not each.problem else f"  {each.problem}")
            )
        lines.append("")
        lines.append("A dash: as in the file.")
        return "\n".join(lines)


def design(
    study: Study,
    *,
    correlations: Sequence[float] = (),
    weights: Sequence[float] = (),
    noises: Sequence[float] = (),
    rounds: Sequence[int] = (),
    people: int = 60,
    seed: int = 0,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> Design:
    """Try settings of a study on people of every kind.

    Parameters
    ----------
    study
        What is varied; its kinds of people are told apart.
    correlations
        Between every two tests; left as they are if empty.
    weights
        Of the probed test (or the first), as shares of the largest other weight.
    noises
        Shares of the outcome's variance that no test explains.
    rounds
        Of training.
    people
        Of every kind, in each arm.
    seed
        Of simulated people.
    workers
        Processes; None is one for each core.
    progress
        Told how far it is.

    Returns
    -------
    Design
        Best first.

    Raises
    ------
    InvalidInput
        Limits that make no sense, or fewer than two kinds of people.
    """
    faults = [
        f"correlations: {x!r}, must be above -1 and below 1" for x in correlations if abs(x) >= 1
    ]
    faults += [f"noises: {x!r}, must be from 0 to below 1" for x in noises if not 0 <= x < 1]
    faults += [f"rounds: {x!r}, must be at least 2" for x in rounds if x < 2]
    if len(assumptions(study)) < 2:
        faults.append("assumed.kind: one kind alone; name at least two that shall be told apart")
    if people < 5:
        faults.append(f"people: {people!r}, must be at least 5")
    InvalidInput.raise_if(faults)
    grids = [tuple(each) or (None,) for each in (correlations, weights, noises, rounds)]
    settings = [Setting(*each) for each in itertools.product(*grids)]  # type: ignore[arg-type]
    settings = list(dict.fromkeys([Setting(), *settings]))
    by_kind = study.configuration.analysis.measure == "kind"
    with executor_of(workers) as executor:
        run = functools.partial(run_many, executor=executor, progress=progress)
        if by_kind and len(settings) > _TRIED:
            bits = run(functools.partial(_bits, study=study), settings, noun="settings screened")
            order = sorted(range(1, len(settings)), key=lambda i: -bits[i])
            settings = [settings[0], *(settings[i] for i in order[: _TRIED - 1])]
        work = functools.partial(_tried, study=study, people=people, seed=seed)
        found = run(work, settings, noun="settings")
    ranked = sorted(found, key=lambda each: (bool(each.problem), -each.score))
    wrong = [f"{each.setting}: {each.problem}" for each in ranked if each.problem]
    if len(wrong) >= len(ranked) - 1 > 0:
        # Nothing but the study as it stands could be tried.
        raise InvalidInput(wrong)
    name = study.problem.world.labels[tried_test(study)]
    measure = study.configuration.analysis.measure
    return Design(tuple(ranked), measure, name, people, seed)


def _tried(setting: Setting, study: Study, people: int, seed: int) -> Candidate:
    try:
        changed = varied(study, setting)
        arms = make_arms(changed)
    except PreceptorError as error:
        return Candidate(setting, -math.inf, {}, problem=str(error).splitlines()[0])
    kinds = assumptions(changed)
    stage = staged(changed, arms, people)
    by_kind = {}
    for number, kind in enumerate(kinds):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(500, number)))
        by_kind[kind.name] = _of_kind(with_banks(stage, (kind,), seed), kind, people, rng)
    numbers = list(by_kind.values())
    if changed.configuration.analysis.measure == "kind":
        return Candidate(setting, min(numbers), by_kind, _bits(setting, study, arms))
    return Candidate(setting, max(numbers) - min(numbers), by_kind)


def everybody_of(stage: Stage, kind: Assumption, people: int, rng: np.random.Generator) -> Records:
    """People of one kind at the first places of the arms that are compared; nobody leaves.

    Rates are the same at the same place of every arm, so that arms differ in nothing else.
    """
    compare = stage.study.configuration.analysis.compare
    compared = [stage.arms.index(name) for name in compare]
    arms, places = np.repeat(compared, people), np.tile(np.arange(people), len(compared))
    shares = [member.share for member in kind.members]
    count = len(arms)
    recruits = Recruits(
        arms,
        places,
        np.zeros(count, dtype=np.int64),
        np.tile(rng.choice(len(shares), size=people, p=shares), len(compared)),
        np.full(count, stage.trials),
        np.zeros(count, dtype=np.bool_),
    )
    return played(stage, (kind,), recruits, rng)


def _of_kind(stage: Stage, kind: Assumption, people: int, rng: np.random.Generator) -> float:
    """Share of this kind that is read rightly, or its effect in standard deviations."""
    said = stage.study.configuration.analysis
    records = everybody_of(stage, kind, people, rng)
    numbers = MEASURES[said.measure](stage.study, records)
    if said.measure == "kind":
        right = numbers >= SURE if kind.group == OUTCOMES else numbers <= 1.0 - SURE
        return float(np.mean(right))
    groups: list[FloatArray] = [numbers[records.arms == name] for name in said.compare]
    if len(groups) > 1 and said.test != "welch":
        # As the registered test compares them: people at the same place.
        groups = [groups[0] - groups[1]]
    return welch(groups[0], groups[1] if len(groups) > 1 else None, "two-sided", 0.05).standardised


def _bits(setting: Setting, study: Study, arms: Sequence[Arm] | None = None) -> float:
    """Information about the kind in the rounds of the first arm that is compared."""
    try:
        changed = varied(study, setting)
        made = make_arms(changed) if arms is None else arms
    except PreceptorError:
        return -math.inf
    arm = next(each for each in made if each.name == changed.configuration.analysis.compare[0])
    schedule = arm.schedule(changed.training_rounds, changed.configuration.seed, 0)
    if schedule is None:
        return math.nan
    world = changed.problem.world
    deviations = np.sqrt(np.diag(world.covariance))
    steps = []
    for trial in changed.protocol.trials:
        if trial.training is not None:
            steps.append(Step(tuple(schedule[trial.training]), trial.feedback))
            continue
        columns = list(changed.columns(trial.show or ()))
        order = np.argsort(columns)
        at = None
        if trial.values is not None:
            asked = np.full(world.size, np.nan)
            asked[columns] = trial.values
            results = asked if world.units is None else world.units.standardise(asked)
            at = tuple((results[columns] / deviations[columns])[order].tolist())
        steps.append(Step(tuple(np.array(columns)[order].tolist()), trial.feedback, at))
    scatter = max(changed.configuration.assumed.scatter, 0.05) * world.outcome_variance**0.5
    crowd = suspects(world, changed.problem.learner.initial)
    return screen_of(world, crowd, scatter).bits(steps)


def _cell(number: float | None) -> str:
    return "-" if number is None else f"{number:g}"
