"""Where the sliders are: read from an address or a form, every fault at once, and written back.

And the problem that they describe, with how to have it elsewhere: as a command, as TOML.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from preceptor._base.typed import number_in, yes_no_in
from preceptor.advice.choices import (
    DEFAULT_CASES,
    DEFAULT_HALF_LIFE,
    DEFAULT_TESTS,
    time_from,
)
from preceptor.errors import InvalidInput
from preceptor.explorer.ground import Ground
from preceptor.model.budgets import AtMost
from preceptor.people.beliefs import BELIEFS
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.problem import Problem

# First beliefs in a few words; `given` are those that come with a ground.
BELIEFS_IN_WORDS = {
    "given": "as in this example",
    "zero": "none: predicts the average",
    "equal": "all tests count the same",
    "marginal": "each test as it does alone",
}
# Other words that an address may hold: they say what is asked for, not where sliders are.
ASIDE = ("preset", "proof", "table")
# The file that `preceptor solve` is told to read.
FILE = "problem.toml"


@dataclass(frozen=True)
class Slider:
    """One slider: its name in addresses, label, unit and hint, its range, and where it begins."""

    name: str
    label: str
    unit: str
    hint: str
    low: float
    high: float
    step: float
    start: float

    def snapped(self, value: float) -> float:
        """The nearest place where the slider can be."""
        steps = round((value - self.low) / self.step)
        return min(max(round(self.low + steps * self.step, 6), self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """Where all sliders are.

    Attributes
    ----------
    correlation
        Between every two tests; None where the world is as its cases are.
    half_life
        Showings of a test that halve the error of its weight.
    tests
        How many tests may be shown per case.
    cases
        How many cases there are, or about how many matter.
    ends
        Whether it ends after these cases.
    imputation
        From 0, hidden tests are filled in from how tests go together, to 1, they are average.
    beliefs
        First beliefs, one of `BELIEFS_IN_WORDS`.
    """

    correlation: float | None
    half_life: float
    tests: int
    cases: int
    ends: bool
    imputation: float
    beliefs: str

    def to_fields(self) -> dict[str, str]:
        """Text by name, as `read_choice` takes it."""
        said = {}
        for name, value in asdict(self).items():
            if isinstance(value, bool):
                said[name] = "yes" if value else "no"
            elif value is not None:
                said[name] = value if isinstance(value, str) else f"{value:g}"
        return said

    def to_query(self, preset: str) -> str:
        """For an address: all of it, in one order, so that equal choices have equal addresses."""
        return urlencode({"preset": preset, **self.to_fields()})


def sliders_of(ground: Ground) -> list[Slider]:
    """The sliders that make sense for a ground, with their ranges."""
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
    """First beliefs that can be chosen."""
    return [*(["given"] if ground.initial is not None else []), *BELIEFS]


def first_choice(ground: Ground) -> Choice:
    """Where sliders begin."""
    return read_choice({}, ground)


def read_choice(said: Mapping[str, str], ground: Ground) -> Choice:
    """Where sliders are, by what an address or a form says; what it leaves out begins as usual.

    Parameters
    ----------
    said
        Text by name.
    ground
        What is explored, which decides which sliders there are and how far they go.

    Returns
    -------
    Choice
        Within the ranges of all sliders.

    Raises
    ------
    InvalidInput
        Names that are not known, numbers that are none or out of range: a sentence each.

    Examples
    --------
    >>> from preceptor.explorer import preset
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
    found["beliefs"] = _word(said, "beliefs", beliefs, usual, faults)
    ends = yes_no_in(said.get("ends", str(ground.start.get("ends", "no"))))
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
        value = number_in(text)
    except ValueError:
        value = math.nan
    fits = slider.low - 1e-9 <= value <= slider.high + 1e-9
    if not fits or (slider.step.is_integer() and not value.is_integer()):
        faults.append(f"{slider.name}: {_short(text)!r}, {allowed}")
        return slider.start
    return slider.snapped(value)


def _word(said: Mapping[str, str], name: str, allowed: Any, usual: str, faults: list[str]) -> str:
    word = said.get(name, usual)
    if word not in allowed:
        faults.append(f"{name}: {_short(word)!r}, must be one of {', '.join(allowed)}")
        return usual
    return word


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def problem_of(ground: Ground, choice: Choice) -> Problem:
    """Somebody who learns by showings, in this world, for so long.

    >>> from preceptor.explorer import preset, read_choice
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
    """What to type for the same plan: from the table where options can say it, else from TOML."""
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


def toml_of(ground: Ground, choice: Choice) -> str:
    """The problem file that `preceptor solve` takes."""
    return problem_of(ground, choice).to_toml()
