"""The problem that the sliders describe, and how to have it elsewhere: as a command, as TOML."""

from __future__ import annotations

import shlex

from preceptor.advice.choices import time_from
from preceptor.explorer.choice import Choice
from preceptor.explorer.ground import Ground
from preceptor.model.budgets import AtMost
from preceptor.people.beliefs import BELIEFS
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.problem import Problem

# The file that `preceptor solve` is told to read.
FILE = "problem.toml"


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
