"""A checker for people of your own: does this class keep to the protocol?

Like Gymnasium's environment checker: run it in your tests. It plays short sessions in several
ways that must not matter, and lists every promise that was broken.
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
# How far the batch may be from one by one, relative to the largest answer.
_ROUNDING = 1e-9


def check_human(
    make_human: Callable[[], Human], world: World, rounds: int = 12, rng: Seed = 0
) -> None:
    """Raise `InvalidInput` with every promise of the protocol that people of your own break.

    - the three methods are there, and answers are finite numbers whatever is shown, even nothing;
    - `predict` changes nothing, and neither method writes into the values or keeps them;
    - `reset` makes the person new, and with the same `rng` the same;
    - all chance comes from `rng`;
    - `predict_many`, where there is one, gives the answers that one person gives after the other.

    Parameters
    ----------
    make_human
        Makes a new person each time it is called.
    world
        Where the cases come from.
    rounds
        How many cases to play, at least; more if there are more kinds of sets to try.
    rng
        A seed or a generator.

    Raises
    ------
    InvalidInput
        One sentence for each broken promise.

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
    first = sessions.of(0, 1)
    human.reset(_answers_rng(seed))
    plain = _Careful(human).play(first)
    InvalidInput.raise_if(plain.faults)
    faults: list[str] = []

    def must_agree(answers: FloatArray, fault: str) -> None:
        if not np.array_equal(plain.answers, answers):
            faults.append(fault)

    human.reset(_answers_rng(seed))
    again = _Careful(human).play(first).answers
    must_agree(again, "reset: answers differ when a session is played again with the same rng")
    other = make_human()
    other.reset(_answers_rng(seed))
    must_agree(
        _Careful(other).play(first).answers,
        "reset: two new people with the same rng answer differently; take all chance from rng",
    )
    human.reset(_answers_rng(seed))
    must_agree(
        _Careful(human, extra_questions=_sets(world.size)).play(first).answers,
        "predict: answers depend on what else was asked; only feedback may change a person",
    )
    human.reset(_answers_rng(seed))
    must_agree(
        _Careful(human, spoil_values=True).play(first).answers,
        "feedback: keeps the array of values, which belongs to the caller; copy what is needed",
    )
    if isinstance(human, BatchHuman) and not faults:
        faults += _batch_faults(human, sessions, seed)
    InvalidInput.raise_if(faults)


class _Played:
    def __init__(self, answers: FloatArray, faults: list[str]) -> None:
        self.answers, self.faults = answers, faults


class _Careful:
    """Plays one person's session; may ask more than needed, and spoil arrays after use."""

    def __init__(
        self,
        human: Human,
        extra_questions: tuple[TestSet, ...] = (),
        spoil_values: bool = False,
    ) -> None:
        self._human, self._extra, self._spoil = human, extra_questions, spoil_values

    def play(self, sessions: Sessions) -> _Played:
        answers = np.full(sessions.rounds, np.nan)
        faults: dict[str, None] = {}
        for t in range(sessions.rounds):
            for asked in self._extra:
                self._human.predict(asked, np.full(len(asked), 0.5))
            shown = sessions.sets[sessions.which[0, t]]
            values = sessions.values[0, t, list(shown)]
            given = values.copy()
            answer = self._human.predict(shown, given)
            if not isinstance(answer, Real) or not math.isfinite(answer):
                faults[
                    f"predict: answered {answer!r} when {shown} was shown, must be a finite number"
                ] = None
                break
            answers[t] = float(answer)
            self._human.feedback(shown, given, float(sessions.outcomes[0, t]))
            if not np.array_equal(given, values):
                faults["predict or feedback: writes into values, must leave them alone"] = None
            if self._spoil:
                given.fill(1e3)
        return _Played(answers, list(faults))


def _batch_faults(human: BatchHuman, sessions: Sessions, seed: int) -> list[str]:
    rngs = [[_answers_rng(seed, person) for person in range(_PEOPLE)] for _ in range(2)]
    batch = np.asarray(human.predict_many(sessions, rngs[0]))
    if batch.shape != (sessions.people, sessions.rounds):
        wanted = (sessions.people, sessions.rounds)
        return [f"predict_many: answers of shape {batch.shape}, must be {wanted}"]
    single = answer_one_by_one(human, sessions, rngs[1])
    off = float(np.max(np.abs(batch - single)))
    if not off <= _ROUNDING * max(1.0, float(np.max(np.abs(single)))):
        return [f"predict_many: differs from one person after the other by up to {off:.1e}"]
    return []


def _answers_rng(seed: int, person: int = 0) -> np.random.Generator:
    return stream(seed, person, Stream.ANSWERS)


def _sets(size: int) -> tuple[TestSet, ...]:
    """Nothing, each of the first tests alone, some pairs, everything."""
    few = range(min(size, 4))
    some = [(), *((i,) for i in few), *itertools.combinations(few, 2), tuple(range(size))]
    return tuple(dict.fromkeys(some))


def _sessions(world: World, rounds: int, seed: int) -> Sessions:
    """Every kind of set in turn, for people who begin at different ones."""
    sets = _sets(world.size)
    which = (np.arange(_PEOPLE)[:, None] + np.arange(max(rounds, len(sets)))) % len(sets)
    cases = draw_cases(world, which.shape[1], _PEOPLE, seed)
    return Sessions.hiding(sets, which, cases)
