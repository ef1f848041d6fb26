"""What users say about the table, the person, the budget and the number of cases, as model values.

Arguments carry the names that users know, and every message starts with the argument at fault. A
person may come from a learner file, which `preceptor fit` writes and `plan` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.files import read_json
from preceptor._base.numerics import discount_for
from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray
from preceptor._base.words import first_few, match_names
from preceptor.data.log import Log
from preceptor.data.opening import Reading
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.budgets import AtMost, Budget, Knapsack
from preceptor.model.person import Person, size_faults
from preceptor.model.problem import Problem
from preceptor.model.risks import Risk
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, Decision, LogLoss
from preceptor.people.beliefs import BELIEFS
from preceptor.people.by_showings import Learner
from preceptor.people.crowd import Crowd
from preceptor.people.curves import Geometric
from preceptor.people.matched import DEFAULT_HALF_LIFE
from preceptor.simulation.named import CROWD, WITHOUT_SPEED, check_kind, person_of_kind

FORMAT = "preceptor-learner/2"
_NOT_LEARNING = "none"


@dataclass(frozen=True, eq=False)
class FittedPerson:
    """A person from a learner file.

    Attributes
    ----------
    person
        The person to plan for.
    path
        The file.
    who
        The participant's name in the file; None for all participants pooled.
    shares
        Posterior probability of each kind, including those not planned for; empty if the file has
        none.
    """

    person: Person
    path: str
    who: str | None = None
    shares: Mapping[str, float] = field(default_factory=dict)

    def in_words(self) -> str:
        """One sentence: how the person learns, and which kinds were left out."""
        if isinstance(self.person, Crowd):
            kinds = {each.name: each.weight for each in self.person.members}
            what = _in_percent(kinds)
        else:
            kinds = dict.fromkeys(list(self.shares)[:1], 1.0)
            what = self.person.learning_in_words()
        left = {name: share for name, share in self.shares.items() if name not in kinds}
        gone = f"; left out as less likely: {_in_percent(left)}" if left else ""
        who = "this person" if self.who is None else self.who
        return f"How {who} learns is known from {self.path}: {what}{gone}"


def learner_to_dict(fitted: Mapping[str, Any], world: World) -> dict[str, Any]:
    """Return what `fit` writes: the estimate, with the tests and scales of its weights."""
    head = {"format": FORMAT, "tests": list(world.labels), "scales": _scales(world).tolist()}
    return head | dict(fitted)


def read_known(
    path: str | Path, world: World, participant: str | None = None, *, pooled: bool = False
) -> FittedPerson:
    """Read one participant, or all of them pooled, for this world.

    Weights in the file are per standard deviation of the table that the log was fitted with; they
    are converted to the units of `world`. With `pooled`, the pooled person stands in for a
    participant who is not in the file.
    """
    data = read_json(path)
    if data.get("format") != FORMAT:
        raise InvalidFile(
            f"{path}: format {data.get('format')!r}, must be {FORMAT!r}; "
            "`preceptor fit` writes such files"
        )
    InvalidFile.raise_if(f"{path}: {fault}; fit the log again" for fault in _head_faults(data))
    if tuple(data["tests"]) != world.labels:
        raise InvalidFile(
            f"{path}: about the tests {', '.join(data['tests'])}, but the table has "
            f"{', '.join(world.labels)}; fit the log with the same table"
        )
    people, shares = data.get("people", {}), data.get("shares") or {}
    chosen, place, likely = data["person"], "person", shares.get("everybody", {})
    name = participant if participant in people else None
    if name is not None:
        chosen, place = people[name], f"people, {name!r}"
        likely = shares.get("people", {}).get(name, {})
    elif participant is not None and not pooled:
        there = ", ".join(people) or "none by name"
        raise InvalidInput(f"participant: {participant!r} is not in {path}; there are {there}")
    if chosen is None:
        raise InvalidFile(
            f"{path}: has no person to plan for ({data.get('refusal', 'no reason given')}); "
            "leave out `learner` to plan for a crowd of all kinds"
        )
    try:
        person = Person.from_dict(chosen)
        InvalidInput.raise_if(size_faults(person.size, world.size))
    except InvalidInput as error:
        raise InvalidFile([f"{path}, {place}: {fault}" for fault in error.faults]) from None
    ratio = _scales(world) / np.array(data["scales"], dtype=np.float64)
    rescaled = Person.from_dict(_rescaled(person.to_dict(), ratio))
    return FittedPerson(rescaled, str(path), name, likely)


def _head_faults(data: Mapping[str, Any]) -> list[str]:
    """What is wrong with the file, apart from the people in it."""
    missing = [key for key in ("tests", "scales", "person") if key not in data]
    if missing:
        return [f"{', '.join(missing)} missing"]
    tests, scales, faults = data["tests"], data["scales"], []
    if not isinstance(tests, list) or not all(isinstance(test, str) for test in tests):
        faults.append("tests: must be a list of names")
    elif not isinstance(scales, list) or len(scales) != len(tests):
        faults.append(f"scales: must be a number for each of {len(tests)} tests")
    elif not all(is_number(scale) and scale > 0 for scale in scales):
        faults.append(f"scales: {scales}, must be positive numbers")
    faults += [
        f"{key}: must be a table of people by name"
        for key in ("people", "shares")
        if not isinstance(data.get(key) or {}, Mapping)
    ]
    return faults


def _in_percent(shares: Mapping[str, float]) -> str:
    """Kinds with their shares, likeliest first, separated by ";" since names contain commas."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    names = [
        f"{'not learning' + kind.removeprefix(_NOT_LEARNING)} {share:.0%}"
        if kind.startswith(_NOT_LEARNING)
        else f"{kind} {share:.0%}"
        for kind, share in ordered
    ]
    return first_few(names, separator="; ")


def _rescaled(data: dict[str, Any], ratio: FloatArray) -> dict[str, Any]:
    """Weights and prior variances, converted to other units of the tests."""
    changed = dict(data)
    for member in changed.get("members", ()):
        member["person"] = _rescaled(member["person"], ratio)
    for name in ("initial", "home"):
        if changed.get(name) is not None:
            changed[name] = (np.array(changed[name]) * ratio).tolist()
    if changed.get("prior_variance") is not None:
        spread = np.array(changed["prior_variance"])
        scale = ratio**2 if spread.ndim < 2 else np.outer(ratio, ratio)
        changed["prior_variance"] = (spread * scale).tolist()
    return changed


def _scales(world: World) -> FloatArray:
    return np.ones(world.size) if world.units is None else world.units.scales


DEFAULT_TESTS = 3
DEFAULT_CASES = 100.0
RISKS: dict[str, type[Risk]] = {each.kind: each for each in (Decision, Brier, LogLoss)}
"""Risks that can be given by name."""

Beliefs = str | Mapping[str, float] | Sequence[float] | FloatArray


@dataclass(frozen=True)
class TableOptions:
    """How to read the table of cases.

    Parameters
    ----------
    source
        What to call the table in the report; the name of its file if left out.
    unit
        The unit of the outcome, for the report.
    drop
        Columns to ignore.
    reading
        File format and meaning of values, where guessing would go wrong.
    as_number
        Read an outcome with two values as a number, with squared errors and a linear model.
    link
        How a score becomes a probability where the outcome is yes or no: "probit" (the default) or
        "logistic".

    Examples
    --------
    >>> TableOptions(drop=["patient number"], unit="mmHg").unit
    'mmHg'
    """

    source: str | None = None
    unit: str | None = None
    drop: Iterable[str] | None = None
    reading: Reading | None = None
    as_number: bool = False
    link: str | None = None


@dataclass(frozen=True, eq=False)
class PersonOptions:
    """Which person to plan for, and what that person has seen already.

    Parameters
    ----------
    person
        "crowd" (the default: seven kinds of person, since it is rarely known how a person learns),
        one kind ("by-showings", "delta-rule", "bayesian", "forgetful", ...), or a `Person` or
        `Crowd`. `half_life` and `beliefs` complete a kind.
    half_life
        Showings after which half of a weight's error is gone (14 if left out).
    beliefs
        Initial weights: "zero" (the default), "equal", "marginal", or by name of column, in units
        of the outcome per unit of the test, with 0 for columns that are not named.
    objective
        What a plan for a crowd minimises: "regret" (the default: the largest loss of any member
        relative to the best plan for that member alone), "mean" or "cvar".
    learner
        An estimated person or the path of a learner file, in place of `person`.
    participant
        Which participant of the learner file (all of them pooled if left out) and of the log.
    shown
        How often the person has seen each test already, by name. The plan's cases count from now.
    log
        The rounds that the person has been through, as a log or its path, in place of `shown`. A
        person who learns from outcomes is followed through it.

    Examples
    --------
    >>> PersonOptions("delta-rule", half_life=10, beliefs="marginal", shown={"bmi": 4}).person
    'delta-rule'
    """

    person: str | Person | None = None
    half_life: float | None = None
    beliefs: Beliefs | None = None
    objective: str | None = None
    learner: Person | str | Path | None = None
    participant: str | None = None
    shown: Mapping[str, int] | None = None
    log: Log | str | Path | None = None


@dataclass(frozen=True, eq=False)
class Charges:
    """What wrong answers cost, and what showing a test adds to the loss.

    Parameters
    ----------
    risk
        For yes-or-no outcomes "decision" (the default), "brier" or "log-loss"; or a risk such as
        `Decision(5, 1, threshold=0.3)`.
    miss_cost
        For decisions: the cost of saying no when the truth is yes (1 if left out).
    false_alarm_cost
        For decisions: the cost of saying yes when the truth is no (1 if left out).
    prices
        What showing a test adds to the loss of a case, by name of test.

    Examples
    --------
    >>> Charges(miss_cost=5.0, prices={"mri": 0.2}).miss_cost
    5.0
    """

    risk: str | Risk | None = None
    miss_cost: float | None = None
    false_alarm_cost: float | None = None
    prices: Mapping[str, float] | None = None


class Time(NamedTuple):
    """Discount factor per case and number of cases (None for no end)."""

    discount: float
    horizon: int | None


def refuse_choices(*records: object, but: Sequence[str] = (), **choices: object) -> None:
    """Refuse arguments that repeat what the data have decided already.

    Fields of `records` that are set count as given, except those named in `but`.
    """
    for record in records:
        choices |= vars(record)
    InvalidInput.raise_if(
        f"{name}: already decided by what else is given; leave out `{name}`"
        for name, value in choices.items()
        if value is not None and value is not False and name not in but
    )


def person_for(
    world: World, *, beliefs: Beliefs | None = None, half_life: float | None = None
) -> Learner:
    """Return a person who starts with these beliefs and learns by showings at this speed.

    Beliefs that are an array (n,) are in the world's own units.
    """
    showings = DEFAULT_HALF_LIFE if half_life is None else half_life
    try:
        curve = Geometric.from_half_life(showings)
    except InvalidInput:
        raise InvalidInput(
            f"half_life: {half_life!r}, must be a number of showings of at least 0.01"
        ) from None
    if isinstance(beliefs, Mapping):
        return Learner(_weights(world, beliefs), curve)
    named = "zero" if beliefs is None else beliefs
    if not isinstance(named, str):
        return Learner(named, curve)
    if named not in BELIEFS:
        raise InvalidInput(f"beliefs: {named!r}, must be {', '.join(BELIEFS)}, or weights")
    return Learner(BELIEFS[named](world), curve)


def budget_for(
    world: World,
    *,
    tests: int | Budget | None = None,
    costs: Mapping[str, float] | None = None,
    prices: Mapping[str, float] | None = None,
    limit: float | None = None,
) -> Budget:
    """Return the budget: a number of tests per case, or tests whose costs stay within a limit.

    `costs` (by name of test) restrict what may be shown at once; `prices` are added to the loss.
    """
    if isinstance(tests, Budget):
        if costs or prices or limit is not None:
            raise InvalidInput("tests: is a budget; leave out `costs`, `prices` and `limit`")
        return tests
    price: float | FloatArray = 0.0
    if prices:
        price = _by_test(world, "prices", prices, missing=0.0)
    if not costs:
        if limit is not None:
            raise InvalidInput("limit: needs costs to add up; give `costs` too")
        usual = min(DEFAULT_TESTS, len(world.tests))
        return AtMost(usual if tests is None else tests, price=price)
    if tests is not None:
        raise InvalidInput("tests: costs decide how many tests fit; leave it out, or `costs`")
    if limit is None:
        raise InvalidInput("limit: say what the tests of a case may cost together")
    return Knapsack(_by_test(world, "costs", costs), limit, price=price)


def time_from(cases: float | None = None, about: float | None = None) -> Time:
    """Return discount and horizon for `cases` cases, or for `about` that many without an end."""
    faults = []
    if about is not None and cases is not None:
        faults.append(
            "about: is for teaching without an end, which `cases` gives one; give one of them"
        )
    if cases is not None and not (is_number(cases) and cases >= 1 and float(cases).is_integer()):
        faults.append(
            f"cases: {_as_typed(cases)}, must be a whole number of at least 1; `about` is for "
            "teaching without an end"
        )
    if about is not None and not (is_number(about) and about >= 1.0):
        faults.append(f"about: {_as_typed(about)}, must be a number of at least 1")
    InvalidInput.raise_if(faults)
    if cases is not None:
        return Time(1.0, int(cases))
    return Time(discount_for(DEFAULT_CASES if about is None else about), None)


def _as_typed(number: Any) -> str:
    """A number without the ".0" that the command line's parser adds."""
    whole = isinstance(number, float) and number.is_integer()
    return f"{number:.0f}" if whole and abs(number) < 1e15 else f"{number}"


def _weights(world: World, named: Mapping[str, float]) -> FloatArray:
    called, faults = match_names("beliefs", named, world.labels)
    InvalidInput.raise_if(faults)
    given = {called[name]: float(weight) for name, weight in named.items()}
    weights = np.array([given.get(label, 0.0) for label in world.labels])
    return weights if world.units is None else weights * world.units.scales


def _by_test(
    world: World, what: str, numbers: Mapping[str, float], missing: float | None = None
) -> FloatArray:
    """One number per test, from numbers by name."""
    called, faults = match_names(what, numbers, world.tests)
    given = {called[name]: float(number) for name, number in numbers.items() if name in called}
    absent = [name for name in world.tests if name not in given] if missing is None else []
    if absent:
        faults.append(f"{what}: none for {', '.join(absent)}; give one for each test")
    InvalidInput.raise_if(faults)
    return np.array([given.get(name, missing or 0.0) for name in world.tests])


def risk_for(world: World, charged: Charges, table: TableOptions) -> Risk | None:
    """Return the risk that was asked for; None for the default risk of this world.

    Parameters
    ----------
    world
        The world whose outcome is charged.
    charged
        Risk and costs as the user gave them; prices are ignored here.
    table
        Its `link` is refused where the outcome is a number.

    Returns
    -------
    Risk or None
        For a `Problem` in that world.

    Raises
    ------
    InvalidInput
        Costs for an outcome that is a number, or costs that make no sense.
    """
    risk = charged.risk
    costs = {"miss_cost": charged.miss_cost, "false_alarm_cost": charged.false_alarm_cost}
    given = {name: cost for name, cost in costs.items() if cost is not None}
    if not world.is_binary:
        about = {**given, "link": table.link, "risk": risk if isinstance(risk, str) else None}
        name = "the outcome" if world.units is None else world.units.outcome
        remedy = "leave out `as_number`" if table.as_number else "leave it out"
        InvalidInput.raise_if(
            f"{each}: is about outcomes that are yes or no, but {name} is read as a number; "
            f"{remedy}"
            for each, value in about.items()
            if value is not None
        )
        return risk if isinstance(risk, Risk) else None
    if isinstance(risk, str) and risk not in RISKS:
        raise InvalidInput(f"risk: {risk!r}, must be {', '.join(RISKS)}")
    if given and risk is not None and risk != Decision.kind:
        InvalidInput.raise_if(
            f"{each}: is what a wrong decision costs, but `risk` says otherwise; leave one of them "
            "out"
            for each in given
        )
    InvalidInput.raise_if(
        f"{name}: {cost:g}, must be a cost above 0"
        for name, cost in given.items()
        if not is_number(cost) or not 0.0 < cost < 1e50
    )
    if isinstance(risk, Risk):
        return risk
    if risk is None or risk == Decision.kind:
        return Decision(given.get("miss_cost", 1.0), given.get("false_alarm_cost", 1.0))
    return RISKS[risk]()


def problem_for(
    world: World,
    budget: Budget,
    time: Time,
    options: PersonOptions,
    *,
    risk: Risk | None = None,
    progress: Progress | None = None,
) -> Problem:
    """Return the problem of showing tests to this person.

    With a log, a participant who is missing from the learner file is taken for one of those in it.
    """
    person, learner, participant = options.person, options.learner, options.participant
    kind = _kind(options)
    if kind is None:  # the person exists already, with beliefs and a learning speed
        refuse_choices(beliefs=options.beliefs, half_life=options.half_life)
    has_log = options.log is not None
    if isinstance(learner, (str, Path)):
        known_from = read_known(learner, world, participant, pooled=has_log)
        report(progress, "estimating", sentence=f"Note: {known_from.in_words()}")
        learner = known_from.person
    elif participant is not None and not has_log:
        raise InvalidInput(
            "participant: is a name in a learner file or a log; give `learner` or `log`"
        )
    known = person if isinstance(person, Person) else learner
    if known is None:
        known = person_for(world, beliefs=options.beliefs, half_life=options.half_life)
    try:
        problem = Problem(world, known, budget, time.discount, time.horizon, risk)
        if kind is None:
            return problem
        showings = DEFAULT_HALF_LIFE if options.half_life is None else options.half_life
        return problem.replace(learner=person_of_kind(problem, kind, showings))
    except InvalidInput as error:
        # The user gave `tests`, not a budget, so the message names that.
        faults = [re.sub(r"^budget:", "tests:", fault) for fault in error.faults]
        raise type(error)(faults) from None


def _kind(options: PersonOptions) -> str | None:
    """The kind of person to construct; None if the person exists already."""
    person = options.person
    if person is not None and options.learner is not None:
        raise InvalidInput("person: `learner` says already who it is; leave one of them out")
    if options.learner is not None or isinstance(person, Person):
        return None
    if person is None:
        return CROWD
    check_kind(person)
    if options.half_life is not None and person in WITHOUT_SPEED:
        raise InvalidInput(
            f"half_life: is a learning speed, which {person!r} does not have; leave it out"
        )
    return person
