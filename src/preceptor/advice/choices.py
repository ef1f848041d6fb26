"""What people say about a person, a budget and the time to come, as the model's numbers.

Arguments carry the names that users know; every message begins with the one it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.discounting import discount_for
from preceptor._base.values import FloatArray
from preceptor._base.words import as_known
from preceptor.errors import InvalidInput
from preceptor.model.budgets import AtMost, Budget, Knapsack
from preceptor.model.world import World
from preceptor.people.beliefs import BELIEFS
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric

DEFAULT_TESTS = 3
DEFAULT_HALF_LIFE = 14.0
DEFAULT_CASES = 100.0


class Time(NamedTuple):
    """What a case counts against the one before, and how many there are (None for no end)."""

    discount: float
    horizon: int | None


Beliefs = str | Mapping[str, float] | Sequence[float] | FloatArray


def person_for(
    world: World,
    *,
    beliefs: Beliefs = "zero",
    standardised: bool = False,
    half_life: float | None = None,
    alpha: float | None = None,
) -> Learner:
    """Somebody who starts with these beliefs and learns by showings at this speed.

    `beliefs` is "zero", "equal" or "marginal"; or weights by name of column, in units of the
    outcome per unit of the test (per standard deviation of it if `standardised`), 0 for columns
    that are not named; or an array (n,) in the world's own units.
    """
    if half_life is not None and alpha is not None:
        raise InvalidInput("half_life: says the same thing as `alpha`; give one of them")
    if alpha is not None:
        curve = Geometric(alpha)
    else:
        showings = DEFAULT_HALF_LIFE if half_life is None else half_life
        try:
            curve = Geometric.from_half_life(showings)
        except InvalidInput:
            raise InvalidInput(
                f"half_life: {half_life!r}, must be a number of showings of at least 0.01"
            ) from None
    if isinstance(beliefs, Mapping):
        return Learner(_weights(world, beliefs, standardised), curve)
    if standardised:
        raise InvalidInput("standardised: is about weights by name; give such `beliefs`")
    if not isinstance(beliefs, str):
        return Learner(beliefs, curve)
    if beliefs not in BELIEFS:
        raise InvalidInput(f"beliefs: {beliefs!r}, must be {', '.join(BELIEFS)}, or weights")
    return Learner(BELIEFS[beliefs](world), curve)


def budget_for(
    world: World,
    *,
    tests: int | Budget | None = None,
    costs: Mapping[str, float] | None = None,
    prices: Mapping[str, float] | None = None,
    limit: float | None = None,
) -> Budget:
    """At most so many tests per case, or tests that together cost at most the limit.

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


def time_from(
    cases: float | None = None, about: float | None = None, discount: float | None = None
) -> Time:
    """How long it goes on: `cases` are counted, `about` so many matter of teaching without an end.

    A discount factor says the same as `about`; beside `cases` it says how much later ones count.
    """
    faults = []
    if about is not None and cases is not None:
        faults.append(
            "about: is for teaching without an end, which `cases` gives one; give one of them"
        )
    if about is not None and discount is not None:
        faults.append("about: says the same thing as `discount`; give one of them")
    if cases is not None and not (is_number(cases) and cases >= 1 and float(cases).is_integer()):
        faults.append(
            f"cases: {_as_typed(cases)}, must be a whole number of at least 1; `about` is for "
            "teaching without an end"
        )
    if about is not None and not (is_number(about) and about >= 1.0):
        faults.append(f"about: {_as_typed(about)}, must be a number of at least 1")
    InvalidInput.raise_if(faults)
    if cases is not None:
        return Time(1.0 if discount is None else discount, int(cases))
    if discount is not None:
        return Time(discount, None)
    return Time(discount_for(DEFAULT_CASES if about is None else about), None)


def _as_typed(number: Any) -> str:
    """The command line reads 0 as 0.0, which nobody typed."""
    whole = isinstance(number, float) and number.is_integer()
    return f"{number:.0f}" if whole and abs(number) < 1e15 else f"{number}"


def _weights(world: World, named: Mapping[str, float], standardised: bool) -> npt.ArrayLike:
    called, faults = as_known("beliefs", named, world.labels)
    InvalidInput.raise_if(faults)
    given = {called[name]: float(weight) for name, weight in named.items()}
    weights = np.array([given.get(label, 0.0) for label in world.labels])
    if standardised:
        return weights / np.sqrt(np.diag(world.covariance))
    return weights if world.units is None else weights * world.units.scales


def _by_test(
    world: World, what: str, numbers: Mapping[str, float], missing: float | None = None
) -> FloatArray:
    """One number per test, by name."""
    called, faults = as_known(what, numbers, world.tests)
    given = {called[name]: float(number) for name, number in numbers.items() if name in called}
    absent = [name for name in world.tests if name not in given] if missing is None else []
    if absent:
        faults.append(f"{what}: none for {', '.join(absent)}; give one for each test")
    InvalidInput.raise_if(faults)
    return np.array([given.get(name, missing or 0.0) for name in world.tests])


def refuse_choices(**choices: object) -> None:
    """What is already decided by the data must not be given again."""
    given = [name for name, value in choices.items() if value is not None]
    InvalidInput.raise_if(
        f"{name}: already decided by what else is given; leave out `{name}`" for name in given
    )
