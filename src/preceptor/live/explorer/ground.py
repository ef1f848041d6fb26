"""What is explored: a world of tests, and slider positions that make a problem of it.

It is a built-in example (`PRESETS`: the paper's two tests, five similar tests, real patients), or
the table or the problem that `preceptor explore` was started with. Slider positions are read from a
query string, with all faults at once, and written back; the problem that they describe is also a
command and TOML.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np

from preceptor._base.checks import parse_number, parse_yes_no
from preceptor._base.numerics import effective_cases
from preceptor._base.values import FloatArray, Value
from preceptor._base.words import counted
from preceptor.advice.options import DEFAULT_CASES, DEFAULT_TESTS, time_from
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput
from preceptor.model.budgets import AtMost
from preceptor.model.problem import Problem
from preceptor.model.world import World
from preceptor.people.beliefs import BELIEFS
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.people.matched import DEFAULT_HALF_LIFE
from preceptor.planning.candidate_sets import SET_LIMITS

# Name of what `preceptor explore` was started with.
OWN = "own"


@dataclass(frozen=True, eq=False)
class Ground(Value):
    """A world to explore, and what a visitor is told about it.

    Attributes
    ----------
    name
        In URLs.
    title
        For readers.
    about
        A description of a sentence or two.
    world
        The distribution of tests and outcomes; with `correlations`, at one of them.
    correlations
        Range of the common correlation between tests; None if the world was estimated from cases.
    initial
        Initial weights (n,) that come with it; None if there are only those of `BELIEFS`.
    start
        Initial slider values by name; missing ones have defaults.
    command
        Start of a command that reads the same table; empty if there is no table.
    notes
        Remarks on how the table was read, a sentence each.
    """

    name: str
    title: str
    about: str
    world: World
    correlations: tuple[float, float] | None = None
    initial: FloatArray | None = None
    start: Mapping[str, float | str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether it is no built-in example, so that links to it hold only while it is served."""
        return self.name == OWN

    @property
    def most_tests(self) -> int:
        """Tests per case for which a plan can be found at once, at most."""
        tests = len(self.world.blocks)
        sets = accumulate(math.comb(tests, shown) for shown in range(tests + 1))
        return max(sum(many <= SET_LIMITS.searched for many in sets) - 1, 1)

    def at(self, correlation: float | None) -> World:
        """The world at this correlation."""
        if correlation is None:
            return self.world
        world = self.world
        return World.equicorrelated(
            world.coefficients, correlation, world.noise_variance, world.names
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], /) -> Self:
        """Rebuild from `to_dict`."""
        initial = np.array(data["initial"]) if "initial" in data else None
        return cls(**{**data, "world": World.from_dict(data["world"]), "initial": initial})


def ground_of_table(
    path: Path,
    outcome: str | None,
    *,
    drop: Sequence[str] = (),
    reading: Reading | None = None,
    options: Sequence[str] = (),
) -> Ground:
    """Make a ground from a table of cases; arguments are those of `advise`.

    `options` are further options of a command that reads it in the same way.
    """
    from preceptor.data.world_fitting import fit_source

    estimate = fit_source(path, outcome, drop=drop, reading=reading)
    world = estimate.world
    known = f"{counted(estimate.rows, 'case')} and {counted(len(world.tests), 'test')}"
    about = f"{known}; the outcome is {outcome}."
    command = ["preceptor", "plan", str(path), "--outcome", str(outcome)]
    for column in drop:
        command += ["--drop", column]
    command += options
    notes = tuple(estimate.warnings)
    return Ground(OWN, path.name, about, world, command=tuple(command), notes=notes)


def ground_of_problem(problem: Problem, called: str) -> Ground:
    """Make a ground from a problem; what sliders cannot express goes into its notes."""
    notes = []
    start: dict[str, float | str] = {}
    budget, person = problem.budget, problem.learner
    if isinstance(budget, AtMost) and not np.any(budget.prices(problem.size)):
        start["tests"] = int(budget.k)
    else:
        notes.append("Costs and other limits on what may be shown are left out here.")
    if problem.horizon is not None:
        start |= {"cases": problem.horizon, "ends": "yes"}
        if problem.discount < 1.0:
            notes.append("Here all cases count the same until the last one.")
    else:
        start |= {"cases": round(effective_cases(problem.discount)), "ends": "no"}
    if isinstance(person, Learner) and isinstance(person.curves, Geometric):
        half_life = float(np.log(2.0) / np.log(person.curves.alpha))
        start["half_life"] = round(4.0 * half_life) / 4.0
    if isinstance(person, Learner) and isinstance(person.imputation, (int, float)):
        start["imputation"] = round(float(person.imputation), 1)
    if not isinstance(person, Learner) or "half_life" not in start:
        notes.append("The plan here is for a person who learns by showings.")
    if any(problem.start_counts):
        notes.append("Here the person has not seen any test yet.")
    about = f"{counted(len(problem.world.tests), 'test')}, as in that file."
    initial = np.array(person.initial, dtype=np.float64)
    given = {**start, "beliefs": "given"}
    return Ground(OWN, called, about, problem.world, None, initial, given, (), tuple(notes))


def _two_tests() -> Ground:
    return Ground(
        "two-tests",
        "The paper's two tests",
        "Two tests that go together, of which one may be shown. The person underrates the first "
        "(0.2 in place of 1.0) and overrates the second (1.3 in place of 0.8).",
        World.equicorrelated([1.0, 0.8], 0.8, names=["first test", "second test"]),
        correlations=(-0.9, 0.95),
        initial=np.array([0.2, 1.3]),
        # In the paper each showing divides the error by 1.10: it is halved after 7.27 showings.
        start={"correlation": 0.8, "half_life": 7.25, "tests": 1, "beliefs": "given"},
    )


def _five_tests() -> Ground:
    names = [f"test {letter}" for letter in "ABCDE"]
    return Ground(
        "five-tests",
        "Five tests",
        "Five tests that go together, of which two may be shown; their weights go from 1.0 down to "
        "0.2, and the person is new to all of them.",
        World.equicorrelated([1.0, 0.8, 0.6, 0.4, 0.2], 0.6, names=names),
        correlations=(-0.2, 0.95),
        start={"correlation": 0.6, "half_life": 7.0, "tests": 2},
    )


def _diabetes() -> Ground:
    from preceptor.data.datasets import load_diabetes
    from preceptor.data.world_fitting import fit_source

    data = load_diabetes()
    return Ground(
        "diabetes",
        "Diabetes",
        f"{data.rows} patients and {len(data.tests)} tests; the outcome is how far the disease got "
        "in a year.",
        fit_source(data, None).world,
        start={"half_life": 14.0, "tests": 3},
        command=("preceptor", "plan"),
    )


PRESETS: dict[str, tuple[str, Callable[[], Ground]]] = {
    "two-tests": ("The paper's two tests", _two_tests),
    "five-tests": ("Five tests", _five_tests),
    "diabetes": ("Diabetes", _diabetes),
}
"""By name in URLs: a title, and a function that makes the ground."""

FIRST = "two-tests"


@cache
def preset(name: str) -> Ground:
    """Return a built-in example.

    >>> preset("two-tests").most_tests
    2
    """
    if name not in PRESETS:
        raise InvalidInput(f"preset: {name!r} is not known; there are {', '.join(PRESETS)}")
    title, make = PRESETS[name]
    return replace(make(), name=name, title=title)


# Initial weights in words; `given` are those of the example.
BELIEFS_IN_WORDS = {
    "given": "as in this example",
    "zero": "none: predicts the average",
    "equal": "all tests count the same",
    "marginal": "each test as it does alone",
}
# Query parameters that are not sliders.
ASIDE = ("preset", "proof")
# File name in the command `preceptor solve`.
FILE = "problem.toml"


@dataclass(frozen=True)
class Slider:
    """One slider: its name in the query, label, unit, hint, range and initial value."""

    name: str
    label: str
    unit: str
    hint: str
    low: float
    high: float
    step: float
    start: float

    def snapped(self, value: float) -> float:
        """The nearest value that the slider can take."""
        steps = round((value - self.low) / self.step)
        return min(max(round(self.low + steps * self.step, 6), self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """Values of all sliders.

    Attributes
    ----------
    correlation
        Between every two tests; None if the world was estimated from cases.
    half_life
        Showings of a test that halve the error of its weight.
    tests
        Tests that may be shown per case.
    cases
        Number of cases, or roughly how many matter.
    ends
        Whether there are no more cases after these.
    imputation
        0: hidden tests are inferred from those shown; 1: they are taken to be average.
    beliefs
        Initial weights, one of `BELIEFS_IN_WORDS`.
    """

    correlation: float | None
    half_life: float
    tests: int
    cases: int
    ends: bool
    imputation: float
    beliefs: str

    def to_fields(self) -> dict[str, str]:
        """Text by name, for `read_choice`."""
        said = {}
        for name, value in asdict(self).items():
            if isinstance(value, bool):
                said[name] = "yes" if value else "no"
            elif value is not None:
                said[name] = value if isinstance(value, str) else f"{value:g}"
        return said

    def to_query(self, preset: str) -> str:
        """Query string with all values in a fixed order, so that equal choices have equal URLs."""
        return urlencode({"preset": preset, **self.to_fields()})


def sliders_of(ground: Ground) -> list[Slider]:
    """The sliders of a ground, with their ranges."""
    found = []
    start = ground.start
    if ground.correlations is not None:
        low, high = ground.correlations
        hint = "between every two tests"
        at = float(start.get("correlation", 0.5))
        found.append(Slider("correlation", "Correlation", "", hint, low, high, 0.05, at))
    return [
        *found,
        Slider(
            "half_life", "Half-life", "showings",
            "showings of a test that halve the error of its weight", 1.0, 60.0, 0.25,
            float(start.get("half_life", DEFAULT_HALF_LIFE)),
        ),
        Slider(
            "tests", "Tests shown per case", "", "at most", 1.0, float(ground.most_tests), 1.0,
            float(start.get("tests", DEFAULT_TESTS)),
        ),
        Slider(
            "cases", "Cases", "cases", "how many there are, or about how many matter",
            5.0, 600.0, 1.0, float(start.get("cases", DEFAULT_CASES)),
        ),
        Slider(
            "imputation", "Ignores correlations", "",
            "0: what is hidden is filled in from how tests go together; 1: it is taken to be "
            "average", 0.0, 1.0, 0.1, float(start.get("imputation", 0.0)),
        ),
    ]  # fmt: skip


def beliefs_of(ground: Ground) -> list[str]:
    """Initial weights that can be chosen."""
    return [*(["given"] if ground.initial is not None else []), *BELIEFS]


def read_choice(said: Mapping[str, str], ground: Ground) -> Choice:
    """Read slider values from a query or a form; missing ones take their initial values.

    Parameters
    ----------
    said
        Text by name.
    ground
        What is explored; it determines the sliders and their ranges.

    Returns
    -------
    Choice
        Within the ranges of all sliders.

    Raises
    ------
    InvalidInput
        Unknown names, or numbers that are invalid or out of range; all at once.

    Examples
    --------
    >>> read_choice({"half_life": "10"}, preset("two-tests")).half_life
    10.0
    """
    faults: list[str] = []
    found: dict[str, Any] = {"correlation": None}
    sliders = {slider.name: slider for slider in sliders_of(ground)}
    for slider in sliders.values():
        found[slider.name] = _number(said.get(slider.name), slider, faults)
    beliefs = beliefs_of(ground)
    usual = str(ground.start.get("beliefs", beliefs[0]))
    found["beliefs"] = said.get("beliefs", usual)
    if found["beliefs"] not in beliefs:
        faults.append(f"beliefs: {_short(found['beliefs'])!r}, must be one of {', '.join(beliefs)}")
    ends = parse_yes_no(said.get("ends", str(ground.start.get("ends", "no"))))
    if ends is None:
        faults.append(f"ends: {_short(said['ends'])!r}, must be yes or no")
    known = {*sliders, "beliefs", "ends", *ASIDE}
    faults += [
        f"{_short(name)}: is not known; there are {', '.join(sorted(known))}"
        for name in said
        if name not in known
    ][:3]
    InvalidInput.raise_if(faults)
    found |= {name: int(found[name]) for name in ("tests", "cases")}
    return Choice(**found, ends=bool(ends))


def _number(text: str | None, slider: Slider, faults: list[str]) -> float:
    if text is None:
        return slider.snapped(slider.start)
    allowed = f"must be a number from {slider.low:g} to {slider.high:g}"
    if slider.step.is_integer():
        allowed = allowed.replace("a number", "a whole number")
    try:
        value = parse_number(text)
    except ValueError:
        value = math.nan
    fits = slider.low - 1e-9 <= value <= slider.high + 1e-9
    if not fits or (slider.step.is_integer() and not value.is_integer()):
        faults.append(f"{slider.name}: {_short(text)!r}, {allowed}")
        return slider.start
    return slider.snapped(value)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def problem_of(ground: Ground, choice: Choice) -> Problem:
    """The problem of a person who learns by showings, with these slider values.

    >>> ground = preset("two-tests")
    >>> problem_of(ground, read_choice({"cases": "60", "ends": "yes"}, ground)).horizon
    60
    """
    world = ground.at(choice.correlation)
    initial = ground.initial if choice.beliefs == "given" else BELIEFS[choice.beliefs](world)
    assert initial is not None, "a choice has beliefs of its ground"
    time = time_from(cases=choice.cases) if choice.ends else time_from(about=choice.cases)
    person = Learner(initial, Geometric.from_half_life(choice.half_life), choice.imputation)
    return Problem(world, person, AtMost(choice.tests), time.discount, time.horizon)


def command_of(ground: Ground, choice: Choice) -> str:
    """The command for the same plan: from the table if options suffice, otherwise from TOML."""
    if not ground.command or choice.imputation > 0.0 or choice.beliefs == "given":
        return shlex.join(["preceptor", "solve", FILE])
    options = {
        "tests": f"{choice.tests}",
        "half-life": f"{choice.half_life:g}",
        "cases" if choice.ends else "about": f"{choice.cases}",
        "beliefs": choice.beliefs,
        "person": "by-showings",
    }
    named = [word for name, value in options.items() for word in (f"--{name}", value)]
    return shlex.join([*ground.command, *named, "--full-plan"])
