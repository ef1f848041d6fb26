"""Worlds that come with the explorer: the paper's two tests, five like them, real patients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from preceptor.errors import InvalidInput
from preceptor.explorer.ground import Ground
from preceptor.model.world import World


def _two_tests() -> Ground:
    return Ground(
        "two-tests",
        "The paper's two tests",
        "Two tests that go together, of which one may be shown. The person underrates the first "
        "(0.2 in place of 1.0) and overrates the second (1.3 in place of 0.8).",
        World.equicorrelated([1.0, 0.8], 0.8, names=["first test", "second test"]),
        correlations=(-0.9, 0.95),
        initial=np.array([0.2, 1.3]),
        # The paper divides an error by 1.10 with every showing: half of it is gone after 7.27.
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
    from preceptor.datasets import load_diabetes
    from preceptor.estimation.world import fit_source

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
"""By name in addresses: a title, and what makes it."""

FIRST = "two-tests"


@cache
def preset(name: str) -> Ground:
    """A world that comes with the explorer.

    >>> preset("two-tests").most_tests
    2
    """
    if name not in PRESETS:
        raise InvalidInput(f"preset: {name!r} is not known; there are {', '.join(PRESETS)}")
    title, make = PRESETS[name]
    return replace(make(), name=name, title=title)
