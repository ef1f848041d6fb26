"""A study with simulated people, in this process: their kinds, recruitment and answers.

Trials, matched cases, schedules and the draw of arms are those of the study; only the people are
simulated. A place that is dropped goes to the next person, so that every place of every arm is
filled in the end. People taught by a tutor are simulated in advance, as a bank that simulations
draw from.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.many import run_many
from preceptor._base.parallel import Executor
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray, IntArray
from preceptor.learners.case_choice import CasePool
from preceptor.learners.families import NONE, OUTCOMES
from preceptor.learners.kind_posterior import USUAL_RATES, group_of
from preceptor.learners.tutor import Tutor
from preceptor.live.study.arms import Arm, in_view_of
from preceptor.live.study.cases import Chance, Filled, case_list, draw, pool_rows
from preceptor.live.study.config import AssumedKind
from preceptor.live.study.measures import Records
from preceptor.live.study.study import WITHOUT_RATE, Study
from preceptor.model.person import Person
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.people.human import HandlesMissingOutcome, Human, Seed, Sessions, answers_of
from preceptor.simulation.named import EXEMPLAR, acting_in, human_named, person_named, resembled

# A judgment, the same as in `Crowd.default`: most people learn from outcomes.
USUAL_KINDS = (
    AssumedKind(human="delta-rule", weight=0.7),
    AssumedKind(human="by-showings", weight=0.2),
    AssumedKind(human="no-learning", weight=0.1),
)


@dataclass(frozen=True)
class AssumedMember:
    """A person of a kind with one learning rate; all rates are equally common."""

    human: Human
    group: str


@dataclass(frozen=True)
class Assumption:
    """A kind of people: its name, how common it is, and its members by rate."""

    name: str
    weight: float
    members: tuple[AssumedMember, ...]

    @property
    def group(self) -> str:
        """How they learn: none, by showings, by outcomes."""
        return self.members[0].group


def assumptions(study: Study) -> tuple[Assumption, ...]:
    """Kinds of people that the study file assumes; a default mixture if it names none.

    Parameters
    ----------
    study
        The study.

    Returns
    -------
    tuple of Assumption
        Weights add up to 1.

    Raises
    ------
    InvalidInput
        Unknown name.

    Examples
    --------
    >>> from preceptor._base.files import parse_toml
    >>> from preceptor.live.study.registration import from_template
    >>> study = Study.from_dict(parse_toml(from_template("decisive", "try", 1)))
    >>> [(kind.name, round(kind.weight, 2), kind.group) for kind in assumptions(study)]
    [('delta-rule 0.05', 0.7, 'by outcomes'), ('by-showings 0.05', 0.3, 'by showings')]
    """
    kinds: Sequence[AssumedKind] = study.configuration.assumed.kind or USUAL_KINDS
    total = sum(kind.weight for kind in kinds)
    return tuple(
        Assumption(_name(kind), kind.weight / total, tuple(_members(study, kind))) for kind in kinds
    )


def _name(kind: AssumedKind) -> str:
    rate = "" if kind.rate is None else f" {kind.rate:g}"
    fills = "" if kind.imputation is None else f", imputation {kind.imputation:g}"
    return f"{kind.human}{rate}{fills}"


def _members(study: Study, kind: AssumedKind) -> list[AssumedMember]:
    problem = resembled(study.problem)
    world = problem.world
    # For yes-or-no outcomes, the noise is in the latent score.
    deviation = (world.score_variance if world.is_binary else world.outcome_variance) ** 0.5
    noise = study.configuration.assumed.scatter * deviation
    if kind.human == EXEMPLAR:
        return [AssumedMember(human_named(problem, EXEMPLAR, noise), OUTCOMES)]
    rates: Sequence[float | None] = (kind.rate,) if kind.rate is not None else USUAL_RATES
    if kind.human in WITHOUT_RATE:
        rates = (None,)
    found = []
    for rate in rates:
        person = problem.by_showings
        curves = person.curves if rate is None else Geometric(1.0 / (1.0 - rate))
        fills = person.imputation if kind.imputation is None else kind.imputation
        like = problem.replace(learner=Learner(person.initial, curves, fills))
        named = person_named(like, kind.human)
        human = acting_in(like, named, noise)
        found.append(AssumedMember(human, _group(study, named)))
    return found


def _group(study: Study, person: Person) -> str:
    if study.problem.is_binary:
        return OUTCOMES
    return group_of(study.problem.world, person)


class RandomAnswers:
    """A person who answers between two limits, whatever is shown and told.

    Parameters
    ----------
    low, high
        Limits, as deviations from the mean outcome where the world has units.
    is_decided
        Answers are only the limits themselves, as with yes or no.
    """

    def __init__(self, low: float, high: float, *, is_decided: bool = False) -> None:
        self.low, self.high, self.is_decided = low, high, is_decided

    def reset(self, rng: Seed = None) -> None:
        """Become a new person."""
        self._rng = np.random.default_rng(rng)
        self.skip_outcome()

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Return the answer, drawn when the round began."""
        return self._answer

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """End the round."""
        self.skip_outcome()

    def skip_outcome(self) -> None:
        """End the round."""
        share = self._rng.random()
        if self.is_decided:
            share = round(share)
        self._answer = self.low + share * (self.high - self.low)


def noise(study: Study) -> Assumption:
    """People who answer at random within the limits of an answer, pass all checks and finish.

    Without limits, within two standard deviations of the mean outcome.
    """
    world, look = study.problem.world, study.configuration.outcome
    if world.is_binary:
        human = RandomAnswers(0.0, 1.0, is_decided=study.answer == "yes or no")
    else:
        wide, mean = 2.0 * world.outcome_variance**0.5, 0.0
        if world.units is not None:
            mean = world.units.outcome_mean
        low = -wide if look.low is None else look.low - mean
        human = RandomAnswers(low, wide if look.high is None else look.high - mean)
    return Assumption("random answers", 1.0, (AssumedMember(human, NONE),))


# Assumed median answer times in seconds, attentive and careless, and their log-scale spread.
_USUAL_SECONDS, _CARELESS_SECONDS, _SPREAD = 6.0, 0.6, 0.5


@dataclass(frozen=True, eq=False)
class TutoredBank:
    """People taught by a tutor, simulated in advance because each takes a fraction of a second.

    All have shape (kinds, places, draws, trials): positions of cases and of sets, and answers.
    Simulations pick a draw.
    """

    cases: IntArray
    which: IntArray
    answers: FloatArray

    def drawn(
        self, kind: int, places: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Pick a person of this kind at each of these places: cases, sets, and their answers."""
        draws = rng.integers(self.which.shape[2], size=len(places))
        rows = (kind, places, draws)
        return self.cases[rows], self.which[rows], self.answers[rows]


@dataclass(frozen=True, eq=False)
class SimulatedStudy:
    """Cases and schedules of each place; made once for all simulations.

    `which` (arms, places, trials) are positions in `sets`; -1 where a tutor decides. Cases are
    those of `case_list` at each place.
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
    bank: dict[int, TutoredBank] = field(default_factory=dict)

    @property
    def trials(self) -> int:
        """Trials of each person."""
        return int(self.told.size)

    def of_kinds(self, kinds: Sequence[int]) -> SimulatedStudy:
        """The same for people of some kinds only, numbered in this order."""
        some = list(kinds)
        banks = {
            a: TutoredBank(b.cases[some], b.which[some], b.answers[some])
            for a, b in self.bank.items()
        }
        return replace(self, bank=banks)

    @cached_property
    def member(self) -> npt.NDArray[np.bool_]:
        """Membership of tests in sets, (sets, n)."""
        member = np.zeros((len(self.sets), self.study.problem.size), dtype=np.bool_)
        for position, shown in enumerate(self.sets):
            member[position, list(shown)] = True
        return member

    def is_adaptive(self, arm: int) -> bool:
        """Whether a tutor decides."""
        return bool((self.which[arm] < 0).any())


def make_stage(study: Study, arms: Sequence[Arm], places: int) -> SimulatedStudy:
    """Draw cases and schedules for this many places of every arm."""
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
    return SimulatedStudy(
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
    """People assigned to an arm in one study, in order.

    `leaves` is the trial before which a person drops out; the number of trials if they finish.
    """

    arms: IntArray
    places: IntArray
    kinds: IntArray
    members: IntArray
    leaves: IntArray
    careless: npt.NDArray[np.bool_]

    def until(self, finished: int, trials: int) -> int:
        """Number of recruits at the time when `finished` of them had finished."""
        done = np.cumsum(self.leaves >= trials)
        return int(np.searchsorted(done, finished)) + 1


def recruited(
    stage: SimulatedStudy, kinds: Sequence[Assumption], people: int, rng: np.random.Generator
) -> Recruits:
    """Recruit people one by one until `people` of every arm have finished."""
    said = stage.study.configuration
    taken: list[set[int]] = [set() for _ in stage.arms]
    shares = np.array([kind.weight for kind in kinds])
    delayed = _first_delayed_trial(stage.study)
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
        member = int(rng.random() * len(kinds[kind].members))
        leaves = stage.trials
        if rng.random() < said.assumed.drop_out:
            leaves = int(rng.integers(stage.trials))
        elif delayed is not None and rng.random() < said.assumed.no_return:
            leaves = delayed
        else:
            taken[arm].add(found.place)
        careless = bool(rng.random() < said.assumed.careless)
        rows.append((arm, found.place, kind, member, leaves, careless))
    return Recruits(*(np.array(column) for column in zip(*rows, strict=True)))


def _first_delayed_trial(study: Study) -> int | None:
    blocks = study.configuration.block
    late = (t for t in study.protocol.trials if getattr(blocks[t.block], "after_days", None))
    return next((trial.number for trial in late), None)


def played(
    stage: SimulatedStudy, kinds: Sequence[Assumption], recruits: Recruits, rng: np.random.Generator
) -> Records:
    """Simulate the answers of these people.

    Parameters
    ----------
    stage
        Cases and schedules.
    kinds
        Kinds of people.
    recruits
        Kind, arm and place of each person.
    rng
        For answers and answer times.

    Returns
    -------
    Records
        One row per recruited, in order.
    """
    study, people = stage.study, len(recruits.arms)
    world = study.problem.world
    which = stage.which[recruits.arms, recruits.places].copy()
    cases = np.tile(np.arange(stage.trials), (people, 1))
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
            cases[rows], which[rows], answers[rows] = kept.drawn(kind, places, rng)
            continue
        human = kinds[kind].members[member].human
        features, outcomes = stage.features[places], stage.outcomes[places]
        some = slice(stage.trials)
        parts = (which[rows], features[:, some], outcomes[:, some], stage.told)
        sessions = Sessions(stage.sets, *parts)
        answers[rows] = answers_of(human, sessions, [rngs[row] for row in rows])
    careless = recruits.careless
    answers[careless] = _guesses(world, answers.shape, rng)[careless]
    median = np.where(careless, _CARELESS_SECONDS, _USUAL_SECONDS)
    seconds = median[:, None] * np.exp(_SPREAD * rng.standard_normal(answers.shape))
    gone = np.arange(stage.trials) >= recruits.leaves[:, None]
    answers[gone] = seconds[gone] = np.nan
    shown = stage.member[which]
    at = (recruits.places[:, None], cases)
    checks = sum(len(getattr(block, "check", ())) for block in study.configuration.block)
    width = max(5, len(str(people)))
    return Records(
        tuple(f"p{number:0{width}d}" for number in range(1, people + 1)),
        np.array(stage.arms)[recruits.arms],
        recruits.places,
        recruits.leaves >= stage.trials,
        np.where(careless, checks, 0),
        shown,
        np.where(shown, stage.values[at], np.nan),
        answers if world.units is None else np.asarray(world.units.uncentre(answers)),
        stage.truths[at],
        seconds,
    )


def _guesses(world: World, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Answers of careless people: draws from the distribution of outcomes."""
    if world.is_binary:
        return rng.integers(0, 2, shape).astype(np.float64)
    guesses: FloatArray = world.outcome_variance**0.5 * rng.standard_normal(shape)
    return guesses


# People of every kind at every place. With D of them, effects are known as well as from D studies.
# Intervals of power take that into account: 0.8 is between 0.52 and 0.95 with six of one kind in
# both arms, between 0.67 and 0.89 with 24, which take minutes more.
DRAWS = 6


def with_tutored_banks(
    stage: SimulatedStudy,
    kinds: Sequence[Assumption],
    seed: int,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SimulatedStudy:
    """Simulate the arms with a tutor; without such arms, return the stage unchanged.

    Parameters
    ----------
    stage
        Cases and schedules.
    kinds
        Kinds of people.
    seed
        For their answers.
    executor
        Where to run; by default in this process.
    progress
        Called as people finish.

    Returns
    -------
    SimulatedStudy
        For `played`.
    """
    adaptive = [arm for arm in range(len(stage.arms)) if stage.is_adaptive(arm)]
    places = stage.which.shape[1]
    sets = {shown: i for i, shown in enumerate(stage.sets)}
    banks = {}
    for arm in adaptive:
        shape = (len(kinds), places, DRAWS)
        items = [(arm, *(int(i) for i in where)) for where in np.ndindex(shape)]
        done = run_many(
            functools.partial(_taught, stage=stage, kinds=tuple(kinds), seed=seed),
            items,
            executor=executor,
            progress=progress,
            noun="people with a tutor",
        )
        which = np.array([[sets.setdefault(s, len(sets)) for s in shown] for _, shown, _ in done])
        cases, answers = (np.array([each[part] for each in done]) for part in (0, 2))
        banks[arm] = TutoredBank(*(a.reshape(*shape, -1) for a in (cases, which, answers)))
    return replace(stage, sets=tuple(sets), bank=banks) if banks else stage


def _taught(
    item: tuple[int, int, int, int], stage: SimulatedStudy, kinds: tuple[Assumption, ...], seed: int
) -> tuple[list[int], list[TestSet], FloatArray]:
    """Simulate one person: their cases, what was shown of them, and their answers."""
    arm, kind, place, number = item
    key = (Chance.TUTORED, arm, kind, place, number)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    members = kinds[kind].members
    human = members[int(rng.random() * len(members))].human
    human.reset(rng)
    problem = stage.study.problem
    own = stage.study.configuration.arm[arm]
    units, policy = problem.world.units, in_view_of(own)
    tutor = Tutor(problem) if policy is None else policy.tutor(problem)
    rows = [] if own.pool is None else pool_rows(stage.study, own.pool)
    pool = CasePool(stage.values[place, rows], stage.truths[place, rows]) if rows else None
    cases, all_shown, answers = list(range(stage.trials)), [], np.empty(stage.trials)
    last = int(np.flatnonzero(stage.which[arm, place] < 0)[-1])
    for t in range(stage.trials):
        position, picked = int(stage.which[arm, place, t]), None
        if position >= 0:
            shown = stage.sets[position]
        elif pool is not None:
            picked, shown = tutor.next(pool=pool)
            cases[t] = rows[picked]
        else:
            case = stage.values[place, t]
            shown = tutor.next(case=None if policy is None else policy.known(problem.world, case))
        at, columns = cases[t], list(shown)
        values = stage.features[place, at, columns]
        answers[t] = human.predict(shown, values)
        read = answers[t] if units is None else float(units.uncentre(answers[t]))
        told = float(stage.truths[place, at]) if stage.told[t] else None
        if t < last:  # later on the tutor is not asked any more
            tutor = tutor.after(shown, stage.values[place, at, columns], read, told, picked)
        if stage.told[t]:
            human.feedback(shown, values, float(stage.outcomes[place, at]))
        elif isinstance(human, HandlesMissingOutcome):
            human.skip_outcome()
        all_shown.append(shown)
    return cases, all_shown, answers
