"""Studies in memory: a study that is open never changes, so each is read once.

What does change (whether it is open, how many people it wants, whether an arm is closed) is not
here: it is read from the store in the transaction that depends on it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.plan import Plan
from preceptor.service.access import needs
from preceptor.service.advising import Advice
from preceptor.service.guides import Guide
from preceptor.service.live import Live, live_of
from preceptor.service.views import answer
from preceptor.simulation.choosing import RandomOrder
from preceptor.store import plans, studies
from preceptor.store.studies import KeptArm, KeptStudy
from preceptor.study import Study
from preceptor.study.arms import Arm, kept_arms
from preceptor.study.protocol import Protocol, Step, Trial

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, eq=False)
class LiveStudy:
    """A study that people take part in.

    Attributes
    ----------
    study
        What its file says.
    arms
        Its policies by name, in the order of the file.
    plans
        The hash of each arm's plan, by name.
    guide
        The first arm's plan, whose list of tests is everybody's.
    key
        Of the hashes of recruiters' names of people.
    """

    study: Study
    arms: dict[str, Arm]
    plans: dict[str, str]
    guide: Guide
    key: str

    @property
    def id(self) -> str:
        """Its name in addresses."""
        return self.study.id

    @property
    def protocol(self) -> Protocol:
        """What participants go through."""
        return self.study.protocol

    def step(self, stage: int) -> Step:
        """The step of that number."""
        return self.protocol.steps[stage]

    def trial(self, step: Step) -> Trial:
        """The round that a step asks for, or tells the truth of."""
        return self.protocol.trials[step.index]

    @cached_property
    def _schedules(self) -> dict[tuple[str, int], list[tuple[int, ...]]]:
        return {}

    def settled(self, arm: str, place: int, trial: Trial) -> Advice | None:
        """What is shown in a round; None where a tutor decides."""
        if trial.show is not None:
            columns = tuple(sorted(self.study.columns(trial.show)))
            return Advice(columns, "The same in every arm.")
        own, turn = self.arms[arm], trial.training
        assert turn is not None
        if own.is_adaptive:
            return None
        chance = own.chooser if isinstance(own.chooser, RandomOrder) else None
        key = (arm, -1 if chance is None else place)
        if key not in self._schedules:
            seed, rounds = self.study.configuration.seed, self.study.training_rounds
            made = own.schedule(rounds, seed, place)
            assert made is not None
            self._schedules[key] = made
        propensity = 1.0 if chance is None else 1.0 / len(chance.sets)
        said = f"Arm {arm}, round {turn + 1} of training."
        return Advice(self._schedules[key][turn], said, propensity)


class Studies:
    """Studies by name, each read when somebody first asks for it.

    Parameters
    ----------
    live
        The service whose store has them.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._known: dict[str, LiveStudy] = {}
        self._reading = asyncio.Lock()

    async def find(self, name: str) -> LiveStudy:
        """A study that must be there; `NotThere` if it is not."""
        found = self._known.get(name)
        if found is not None:
            return found
        async with self._reading:
            if name not in self._known:
                row, arms, bodies = await self._live.store.reading(lambda c: _read(c, name))
                made = await asyncio.to_thread(lambda: _made(self._live, row, arms, bodies))
                self._known[name] = made
        return self._known[name]


def _read(connection: Connection, name: str) -> tuple[KeptStudy, list[KeptArm], dict[str, str]]:
    row, arms = studies.find(connection, name), studies.arms_of(connection, name)
    return row, arms, {arm.name: plans.body_of(connection, arm.plan) for arm in arms}


def _made(live: Live, row: KeptStudy, arms: list[KeptArm], bodies: dict[str, str]) -> LiveStudy:
    study = Study.from_json(row.config)
    own = {arm.name: arm for arm in kept_arms(study, bodies)}
    first = arms[0].plan
    guide = live.book.known(first)
    if guide is None:
        guide = Guide(Plan.from_json(bodies[arms[0].name]), first)
        live.book.add(guide)
    return LiveStudy(study, own, {arm.name: arm.plan for arm in arms}, guide, row.key)


def studies_of(request: Request) -> Studies:
    """The studies of the service that answers this request."""
    state = request.app.state
    if not hasattr(state, "studies"):
        state.studies = Studies(state.live)
    studies_here: Studies = state.studies
    return studies_here


@router.get("/v1/studies/{study}", dependencies=[needs("read")])
async def read(request: Request, study: str) -> Response:
    """A study for programs, as it was frozen; quiz and checks with their answers are in it."""

    def look(connection: Connection) -> dict[str, Any]:
        kept, arms = studies.find(connection, study), studies.arms_of(connection, study)
        return {
            "study": kept.id,
            "state": kept.state,
            "people": kept.people,
            "sha256": kept.sha256,
            "config": kept.config,
            "arms": [
                {
                    "name": arm.name,
                    "policy": arm.policy,
                    "plan": arm.plan,
                    "cap": arm.cap,
                    "is_open": arm.is_open,
                }
                for arm in arms
            ],
        }

    return answer(await live_of(request).store.reading(look))
