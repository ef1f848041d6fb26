"""One simulated person who asks the service what they see, answers, and hears the truth.

What they meet and how they slip comes from the streams of chance that `simulation.rollout` uses, so
they say what they would say there. Whoever was stopped goes on: rounds that the service has
are played again in the person's head.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from preceptor._base.values import FloatArray
from preceptor.client import Client
from preceptor.errors import InvalidInput
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.human import Human

T = TypeVar("T")


@dataclass(frozen=True)
class Cases:
    """What one person meets: results and truths of the world, and as people read them.

    Attributes
    ----------
    features, outcomes
        In the world's units, (rounds, n) and (rounds,).
    values, truths
        The same in the units that people read.
    """

    features: FloatArray
    outcomes: FloatArray
    values: FloatArray
    truths: FloatArray

    @classmethod
    def of(cls, world: World, features: FloatArray, outcomes: FloatArray) -> Cases:
        """In both units."""
        if world.units is None:
            return cls(features, outcomes, features, outcomes)
        restored = world.units.restore(features)
        return cls(features, outcomes, restored, world.units.uncentre(outcomes))


@dataclass
class Bot:
    """Somebody who plays.

    Parameters
    ----------
    client
        Calls the service.
    name
        The pseudonym.
    world
        How tests and outcomes come about.
    human
        Answers and learns; nobody else's, and ready for the first round.
    cases
        What they meet.
    enrolment
        Plan and policy by which they are advised.

    Attributes
    ----------
    seconds
        How long each call took.
    """

    client: Client
    name: str
    world: World
    human: Human
    cases: Cases
    enrolment: dict[str, Any]
    seconds: list[float] = field(default_factory=list)

    def begin(self) -> int:
        """Enrol, or go on where they were; gives the number of the next round."""
        me = self._timed(lambda: self.client.enrol(self.name, is_bot=True, **self.enrolment))
        return self._caught_up() if me.rounds else 0

    def play(self, t: int) -> float:
        """Round t, whole; gives the answer in the units that people read."""
        name, client = self.name, self.client
        opened = self._timed(lambda: client.open_round(name))
        if opened.round != t:
            raise InvalidInput(
                f"prefix: {name} is in round {opened.round}, not {t}: somebody else plays under "
                "that name; choose another prefix"
            )
        shown = self.world.columns_of(opened.recommended or [])
        labels = [self.world.labels[i] for i in shown]
        values = dict(zip(labels, self.cases.values[t, list(shown)].tolist(), strict=True))
        self._timed(lambda: client.show(name, t, values))
        answer = self._answer(t, shown)
        self._timed(lambda: client.predict(name, t, answer))
        self._hear(t, shown)
        self._tell(t)
        return answer

    def _answer(self, t: int, shown: TestSet) -> float:
        given = self.human.predict(shown, self.cases.features[t, list(shown)])
        units = self.world.units
        return float(given if units is None else units.uncentre(given))

    def _hear(self, t: int, shown: TestSet) -> None:
        values = self.cases.features[t, list(shown)]
        self.human.feedback(shown, values, float(self.cases.outcomes[t]))

    def _tell(self, t: int) -> None:
        truth = float(self.cases.truths[t])
        self._timed(lambda: self.client.tell(self.name, t, truth))

    def _caught_up(self) -> int:
        """Live through the rounds that the service has; one that waits for its truth gets it."""
        rows = {row["round"]: row for row in self.client.log(person=self.name)}
        for t in range(len(rows)):
            row = rows.get(t)
            if row is None or t >= self.cases.outcomes.size:
                break
            shown = self.world.columns_of(row["shown"])
            if row["prediction"] != self._answer(t, shown):
                raise InvalidInput(
                    f"prefix: {self.name} has answered otherwise in round {t}, so they are "
                    "somebody else (another seed, plan or kind of person); choose another prefix"
                )
            self._hear(t, shown)
            if row["status"] == "predicted":
                self._tell(t)
        return len(rows)

    def _timed(self, call: Callable[[], T]) -> T:
        began = time.perf_counter()
        answer = call()
        self.seconds.append(time.perf_counter() - began)
        return answer


def check_sendable(world: World) -> None:
    """Raise `InvalidInput` for tests whose simulated results nobody can send."""
    levels = {} if world.units is None else world.units.levels or {}
    blocks = zip(world.tests, world.blocks, strict=True)
    wrong = [test for test, block in blocks if test in levels or len(block) > 1]
    if wrong:
        raise InvalidInput(
            f"plan: {', '.join(wrong)} has levels, but simulated results lie between them, so "
            "nobody could have seen them; leave it out of the table, or use `preceptor simulate`"
        )
