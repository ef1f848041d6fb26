"""Contract check for kinds of person: acting, filtering and expectation must agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput, NotApplicable, NotSerializable
from preceptor.model.budgets import AtMost
from preceptor.model.expected import Expected
from preceptor.model.person import Person
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.people.acting import Acting, Imputer
from preceptor.people.human import Sessions, answer_one_by_one
from preceptor.testing.budgets_and_risks import MOST_FAULTS

_ROUNDS, _PEOPLE, _DISCOUNT = 12, 4_000, 0.9
# Allowed error of an expectation: standard errors of the simulation, and the relative error of one
# that declares itself approximate.
_STANDARD_ERRORS, _APPROXIMATE = 4.5, 0.2


def check_person(
    person: Person, world: World, *, tests: int = 2, seed: int = 0, risk: YesNoRisk | None = None
) -> None:
    """Raise `InvalidInput` naming every rule that a person breaks in a world.

    - answers are the same one by one and in batch;
    - given the record, weights move as `moves` says;
    - the expected loss is the mean loss of simulated people, or close to it if declared
      approximate;
    - totals, prices, blocks and tails of the expectation agree with its losses;
    - the person can be written to a file and read back.

    Parameters
    ----------
    person
        The person to check.
    world
        A world with as many tests as the person has weights, and few of them.
    tests
        Largest number of tests shown at once.
    seed
        Seed of the cases.
    risk
        Risk of yes/no answers; `Decision()` if omitted.

    Raises
    ------
    InvalidInput
        One sentence for each broken rule.

    Examples
    --------
    >>> import preceptor as pr
    >>> check_person(pr.DeltaRule([0.2, 1.3], rate=0.1), pr.World.equicorrelated([1.0, 0.8], 0.8))
    """
    name = type(person).__name__
    rng = np.random.default_rng(seed)
    # Tests have different prices, to catch expectations that omit them.
    prices = world.outcome_variance * np.linspace(0.05, 0.5, world.size)
    sets = AtMost(tests, price=prices).sets(world.size)
    schedule = rng.integers(len(sets), size=_ROUNDS)
    if world.is_binary and risk is None:
        risk = Decision()
    faults = [*_acting_faults(person, world, sets, schedule, rng, risk)]
    faults += _following_faults(person, world, sets, schedule, rng)
    expected = person.expectation(world, sets, risk=risk)
    faults += _expected_faults(person, world, sets, schedule, expected, rng, risk)
    faults += _price_faults(expected, schedule, len(sets))
    try:
        if Person.from_dict(person.to_dict()) != person:
            faults.append("to_dict: reading it back gives a different person")
    except NotSerializable:
        pass
    InvalidInput.raise_if(f"{name}.{fault}" for fault in faults[:MOST_FAULTS])


def _sessions(
    world: World, sets: SetFamily, schedule: IntArray, people: int, rng: np.random.Generator
) -> Sessions:
    cases = world.sample(people * len(schedule), rng)
    shape = (people, len(schedule))
    which = np.broadcast_to(schedule, shape).copy()
    features = cases.features.reshape(*shape, world.size)
    whole = type(cases)(features, cases.outcomes.reshape(shape))
    return Sessions.hiding(tuple(sets), which, whole)


def _acting_faults(
    person: Person,
    world: World,
    sets: SetFamily,
    schedule: IntArray,
    rng: np.random.Generator,
    risk: YesNoRisk | None,
) -> list[str]:
    acting = person.acting(world, risk=risk)
    sessions = _sessions(world, sets, schedule, 3, rng)
    streams = [[np.random.default_rng(i) for i in range(3)] for _ in range(2)]
    together = acting.predict_many(sessions, streams[0])
    alone = answer_one_by_one(acting, sessions, streams[1])
    if not np.all(np.isfinite(together)):
        return ["learn: answers are not finite"]
    if world.is_binary and not np.all((together >= 0.0) & (together <= 1.0)):
        return ["acting: answers are not between 0 (no) and 1 (yes)"]
    if not np.allclose(together, alone, rtol=1e-9, atol=1e-12):
        return ["learn: answers differ between one by one and in batch"]
    return []


def _following_faults(
    person: Person, world: World, sets: SetFamily, schedule: IntArray, rng: np.random.Generator
) -> list[str]:
    acting = person.acting(world)
    if not isinstance(acting, Acting):
        return []
    imputer = Imputer(person.imputing_covariance(world))
    cases = world.sample(len(schedule), rng)
    state = person.fresh(world, (), None)
    for t, position in enumerate(schedule):
        shown = sets[int(position)]
        filled = imputer.one(shown, cases.features[t, list(shown)])
        seen = sets.membership[int(position)]
        outcome = np.asarray(cases.outcomes[t])
        before = _moving(person, world, state)
        try:
            move = person.moves(world, state, filled, seen, outcome)
        except NotApplicable:
            return []
        state = person.learn(world, state, filled, seen, outcome)
        after = _moving(person, world, state)
        if not np.allclose(move.turn @ before + move.push, after, rtol=1e-8, atol=1e-10):
            return [f"moves: disagrees with learn after round {t}"]
    return []


def _moving(person: Person, world: World, state: Any) -> FloatArray:
    """Weights, and the level of a person who has one."""
    weights = person.weights_of(world, state)
    return np.append(weights, person.level_of(world, state)) if person.has_level else weights


def _expected_faults(
    person: Person,
    world: World,
    sets: SetFamily,
    schedule: IntArray,
    expected: Expected,
    rng: np.random.Generator,
    risk: YesNoRisk | None,
) -> list[str]:
    if expected.exact != (expected.accuracy == ""):
        return ["expected: `accuracy` must describe the error if, and only if, it is not exact"]
    sessions = _sessions(world, sets, schedule, _PEOPLE, rng)
    streams = [np.random.default_rng(i) for i in range(_PEOPLE)]
    answers = person.acting(world, risk=risk).predict_many(sessions, streams)
    weights = _DISCOUNT ** np.arange(len(schedule))
    if risk is None:
        charges = (sessions.outcomes - answers) ** 2
    else:
        charges = risk.charge(answers, sessions.outcomes)
    totals = (charges + sets.prices[schedule]) @ weights
    error = float(totals.std(ddof=1) / np.sqrt(_PEOPLE))
    said = float(weights @ expected.losses(schedule))
    allowed = _STANDARD_ERRORS * error
    if not expected.exact:
        allowed += _APPROXIMATE * float((charges @ weights).mean())
    if abs(said - totals.mean()) <= allowed:
        return []
    return [
        f"expected: {said:.6g} in {len(schedule)} rounds, but simulated people have a loss of "
        f"{totals.mean():.6g} ± {error:.2g}"
    ]


def _price_faults(expected: Expected, schedule: IntArray, sets: int) -> list[str]:
    rounds, last = len(schedule), sets - 1
    weights = _DISCOUNT ** np.arange(rounds)
    faults = []
    total = expected.total(schedule, _DISCOUNT, ())
    if not np.isclose(total, weights @ expected.losses(schedule), rtol=1e-9):
        faults.append("expected.total: is not the discounted sum of its losses")
    walk = expected.walk(rounds, _DISCOUNT)
    laid = walk.forward(np.asarray(schedule, dtype=np.int64), (last,))
    whole = expected.total(schedule, _DISCOUNT, (last,))
    if not np.isclose(laid, whole, rtol=1e-9):
        faults.append(f"walk.lay: {laid:.10g}, but the total is {whole:.10g}")
    if expected.exact_prices:
        positions = np.arange(sets)
        for t in range(rounds - 1, -1, -1):
            priced = walk.prices(t, positions)
            changed = np.array(schedule, dtype=np.int64)
            changed[t] = t % sets
            cost = expected.total(changed, _DISCOUNT, (last,))
            if not np.isclose(priced[t % sets], cost, rtol=1e-8):
                faults.append(f"walk.prices: {priced[t % sets]:.10g} in round {t}, is {cost:.10g}")
                break
            walk.step_back(t, int(schedule[t]))
    return faults
