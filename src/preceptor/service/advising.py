"""What tutors advise, worked out in the pool beside the service, if possible before somebody asks.

A tutor sometimes plans again, which may take seconds. So its advice for the next round is begun as
soon as a round ends, and whoever opens the next round usually finds it. If not, they wait for a
while (`patience`) and then hear 503: the work goes on, and whoever asks again finds it. They never
get older advice instead, because what a person is shown must not depend on how busy a machine is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from preceptor.service.access import Refusal
from preceptor.service.guides import Guide
from preceptor.service.pool import Pool, TookTooLong, WorkerDied
from preceptor.service.recent import Recent
from preceptor.service.settings import Settings
from preceptor.store.people import Person
from preceptor.store.rounds import Round
from preceptor.tutoring.rounds import Round as Followed

_Key = tuple[str, str, int, tuple[int, ...] | None]


@dataclass(frozen=True)
class Advice:
    """What to show, and why; `propensity` is how likely it was, 1 unless chance decides."""

    columns: Sequence[int]
    reason: str
    propensity: float = 1.0


@dataclass(frozen=True)
class Snapshot:
    """What has to be thought about: a person at a moment, and what can be shown."""

    guide: Guide
    person: Person
    rounds: list[Round]
    available: tuple[int, ...] | None

    @property
    def key(self) -> _Key:
        """The same moment, the same advice; a person's version moves with every change."""
        return self.person.id, self.guide.sha256, self.person.version, self.available


class Advising:
    """What tutors advise, begun early and remembered.

    Parameters
    ----------
    settings
        How long somebody waits for a tutor.
    pool
        Where tutors plan.
    """

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._patience, self._pool = settings.patience, pool
        self._begun: Recent[_Key, asyncio.Task[Advice]] = Recent()
        self._forgetting: set[asyncio.Task[None]] = set()

    def begin(self, snapshot: Snapshot) -> asyncio.Task[Advice]:
        """Work out what a tutor advises, unless that is under way or done."""
        task = self._begun.get(snapshot.key)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = asyncio.create_task(self._ask(snapshot))
            task.add_done_callback(_heard)
            self._begun.put(snapshot.key, task)
        return task

    async def advice(self, snapshot: Snapshot) -> Advice:
        """What a tutor advises, as soon as that is known."""
        task = self.begin(snapshot)
        await asyncio.wait({task}, timeout=self._patience)
        if not task.done():
            raise _later("is still planning for this person")
        try:
            return task.result()
        except (WorkerDied, TookTooLong, asyncio.CancelledError):
            raise _later("did not finish its plan for this person") from None

    async def _ask(self, snapshot: Snapshot) -> Advice:
        guide, who = snapshot.guide, snapshot.person.id
        args: dict[str, Any] = {
            "plan": guide.sha256,
            "problem": guide.problem.to_dict(),
            "who": who,
            "record": [each.to_dict() for each in record_of(guide, snapshot.rounds)],
            "available": snapshot.available,
        }
        said = await self._pool.ask("advise", args, who=who)
        return Advice(tuple(said["columns"]), said["reason"])

    def forget(self, who: str) -> None:
        """Nothing about somebody who was erased stays in memory, here or in the pool."""
        self._begun.forget(lambda key: key[0] == who)
        # A process that dies over it has forgotten, too.
        task = asyncio.create_task(self._pool.tell_all("forget", {"who": who}))
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    async def stop(self) -> None:
        """End what is under way."""
        tasks = [task for task in (*self._begun.values(), *self._forgetting) if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _heard(task: asyncio.Task[Advice]) -> None:
    """Whoever asks hears of a failure; if nobody does, it is no news either."""
    if not task.cancelled():
        task.exception()


def _later(said: str) -> Refusal:
    return Refusal(503, f"tutor: {said}; ask again", {"Retry-After": "1"})


def record_of(guide: Guide, rounds: Sequence[Round]) -> tuple[Followed, ...]:
    """Answered rounds in the order of the answers, each with when its truth was heard."""
    answered = [each for each in rounds if each.answered is not None]
    record = []
    for each in sorted(answered, key=lambda one: one.answered or 0):
        columns = guide.words.indices(each.shown or ())
        told = each.status == "told"
        record.append(
            Followed(
                columns,
                tuple(each.values or ()),
                each.prediction,
                each.outcome if told else None,
                each.heard if told else None,
            )
        )
    return tuple(record)
