"""A checker for user-defined people: does this class follow the `Human` protocol?

Like Gymnasium's environment checker: run it in your tests. It plays short sessions in several
variants that must agree, and lists every rule that was broken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from numbers import Real

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.human import BatchHuman, Human, Seed, Sessions, answer_one_by_one
from preceptor.simulation.cases import Stream, draw_cases, seed_of, stream

_PEOPLE = 3


def check_human(
    make_human: Callable[[], Human], world: World, rounds: int = 12, rng: Seed = 0
) -> None:
    """Raise `InvalidInput` with every rule of the protocol that a user-defined person breaks.

    - the three methods exist, and answers are finite numbers whatever is shown, even nothing;
    - `predict` has no side effects, and neither method modifies or keeps the values;
    - `reset` starts a new person, and with the same `rng` the same one;
    - all randomness comes from `rng`;
    - `predict_many`, if defined, returns the same answers as playing one person after the other.

    Parameters
    ----------
    make_human
        Makes a new person each time it is called.
    world
        Where the cases come from.
    rounds
        Least number of cases to play; more if there are more kinds of sets to try.
    rng
        A seed or a generator.

    Raises
    ------
    InvalidInput
        One sentence for each broken rule.

    Examples
    --------
    >>> from preceptor import Geometric, Learner
    >>> world = World.equicorrelated([1.0, 0.8], 0.8)
    >>> check_human(lambda: Learner([0.2, 1.3], Geometric(1.1)).acting(world), world)
    """
    human = make_human()
    missing = [
        name
        for name in ("reset", "predict", "feedback")
        if not callable(getattr(human, name, None))
    ]
    InvalidInput.raise_if(f"{name}: missing, every human has this method" for name in missing)
    seed = seed_of(rng)
    sessions = _sessions(world, rounds, seed)
    first = sessions.of(slice(0, 1))
    plain, broken = _played(human, first, seed)
    InvalidInput.raise_if(broken)
    others = {
        "reset: answers differ when a session is played again with the same rng": _played(
            human, first, seed
        ),
        "reset: two new people with the same rng answer differently; draw all chance from rng": (
            _played(make_human(), first, seed)
        ),
        "predict: answers depend on earlier questions; only feedback may change a person": (
            _played(human, first, seed, extra_questions=_sets(world.size))
        ),
        "feedback: keeps the array of values, which belongs to the caller; copy what is needed": (
            _played(human, first, seed, spoil_values=True)
        ),
    }
    faults = [fault for fault, (other, _) in others.items() if not np.array_equal(plain, other)]
    if isinstance(human, BatchHuman) and not faults:
        faults += _batch_faults(human, sessions, seed)
    InvalidInput.raise_if(faults)


def _played(
    human: Human,
    sessions: Sessions,
    seed: int,
    extra_questions: tuple[TestSet, ...] = (),
    spoil_values: bool = False,
) -> tuple[FloatArray, list[str]]:
    """Answers of one person's session, and faults in how they were given.

    Optionally asks additional questions, and overwrites arrays after use.
    """
    human.reset(_answers_rng(seed))
    answers = np.full(sessions.rounds, np.nan)
    faults: dict[str, None] = {}
    for t in range(sessions.rounds):
        for asked in extra_questions:
            human.predict(asked, np.full(len(asked), 0.5))
        shown = sessions.sets[sessions.which[0, t]]
        values = sessions.values[0, t, list(shown)]
        given = values.copy()
        answer = human.predict(shown, given)
        if not isinstance(answer, Real) or not math.isfinite(answer):
            fault = f"predict: answered {answer!r} when {shown} was shown, must be a finite number"
            return answers, [*faults, fault]
        answers[t] = float(answer)
        human.feedback(shown, given, float(sessions.outcomes[0, t]))
        if not np.array_equal(given, values):
            faults["predict or feedback: modifies values, must leave them alone"] = None
        if spoil_values:
            given.fill(1e3)
    return answers, list(faults)


def _batch_faults(human: BatchHuman, sessions: Sessions, seed: int) -> list[str]:
    rngs = [[_answers_rng(seed, person) for person in range(_PEOPLE)] for _ in range(2)]
    batch = np.asarray(human.predict_many(sessions, rngs[0]))
    if batch.shape != (sessions.people, sessions.rounds):
        wanted = (sessions.people, sessions.rounds)
        return [f"predict_many: answers of shape {batch.shape}, must be {wanted}"]
    single = answer_one_by_one(human, sessions, rngs[1])
    off = float(np.max(np.abs(batch - single)))
    if not off <= 1e-9 * max(1.0, float(np.max(np.abs(single)))):
        return [f"predict_many: differs from one person after the other by up to {off:.1e}"]
    return []


def _answers_rng(seed: int, person: int = 0) -> np.random.Generator:
    return stream(seed, person, Stream.ANSWERS)


def _sets(size: int) -> tuple[TestSet, ...]:
    """The empty set, each of the first tests alone, some pairs, all tests."""
    few = range(min(size, 4))
    some = [(), *((i,) for i in few), *itertools.combinations(few, 2), tuple(range(size))]
    return tuple(dict.fromkeys(some))


def _sessions(world: World, rounds: int, seed: int) -> Sessions:
    """Sessions that cycle through all kinds of sets, each person starting at another one."""
    sets = _sets(world.size)
    which = (np.arange(_PEOPLE)[:, None] + np.arange(max(rounds, len(sets)))) % len(sets)
    cases = draw_cases(world, which.shape[1], _PEOPLE, seed)
    return Sessions.hiding(sets, which, cases)
