"""What every kind of person promises: that their faces agree with each other."""

from __future__ import annotations

import numpy as np

from preceptor._base.values import IntArray
from preceptor.errors import InvalidInput, NotApplicable, NotSerializable
from preceptor.model.budgets import AtMost
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.people.acting import Acting, Imputer
from preceptor.people.expected import Expected
from preceptor.people.human import Sessions, answer_one_by_one
from preceptor.people.person import Person
from preceptor.testing.kinds import MOST_FAULTS

_ROUNDS, _PEOPLE, _DISCOUNT = 12, 4_000, 0.9
# Standard errors by which an exact expectation may differ from people who act.
_STANDARD_ERRORS = 4.5
# How far an expectation that calls itself approximate may be off.
_APPROXIMATE = 0.2


def check_person(
    person: Person, world: World, *, tests: int = 2, seed: int = 0, risk: YesNoRisk | None = None
) -> None:
    """Raise `InvalidInput` naming every promise that a person breaks in a world.

    - one by one they answer as all at once;
    - given the record, their weights move as `moves` says;
    - what is expected of them is what happens on average when they act, or, where they say that it
      is approximate, near it;
    - totals, prices, blocks and tails of the expectation agree with its losses;
    - they can be written to a file and read back.

    Parameters
    ----------
    person
        Whom to check.
    world
        With as many tests as the person has beliefs about, and few of them.
    tests
        How many tests are shown at once, at most.
    seed
        Of the cases.
    risk
        How answers come about and what they cost, where the outcome is yes or no: decisions if
        left out.

    Raises
    ------
    InvalidInput
        What is broken, a sentence each.

    Examples
    --------
    >>> import preceptor as pr
    >>> check_person(pr.DeltaRule([0.2, 1.3], rate=0.1), pr.World.equicorrelated([1.0, 0.8], 0.8))
    """
    name = type(person).__name__
    rng = np.random.default_rng(seed)
    # Tests have different prices, so that an expectation that forgets them is found out.
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
            faults.append("to_dict: reading back what was written gives another person")
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
        return ["learn: people answer differently one by one and all at once"]
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
        before = person.weights_of(world, state)
        try:
            move = person.moves(world, state, filled, seen, outcome)
        except NotApplicable:
            return []
        state = person.learn(world, state, filled, seen, outcome)
        after = person.weights_of(world, state)
        if not np.allclose(move.turn @ before + move.push, after, rtol=1e-8, atol=1e-10):
            return [f"moves: says other weights than learn after round {t}"]
    return []


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
        return ["expected: must say in `accuracy` how far off it is if, and only if, it is"]
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
        f"expected: {said:.6g} in {len(schedule)} rounds, but people who act cost "
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
    laid = walk.lay(np.asarray(schedule, dtype=np.int64), (last,))
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
            walk.back(t, int(schedule[t]))
    return faults
