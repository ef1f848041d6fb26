"""A crowd of simulated people who call a service at once."""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray
from preceptor.bots.acting import Bot, Cases, check_sendable
from preceptor.bots.comparing import differences, log_of
from preceptor.bots.crowding import numbered, play_at_once
from preceptor.client import Client, NotThere
from preceptor.people.human import Human
from preceptor.people.person import Person
from preceptor.plan import Plan
from preceptor.simulation import rollout
from preceptor.simulation.cases import Stream, draw_cases, stream
from preceptor.simulation.cast import acting_in
from preceptor.simulation.rollouts import check_request


@dataclass(frozen=True, eq=False)
class Played:
    """What became of a crowd.

    Attributes
    ----------
    names
        Pseudonyms of the people.
    predictions
        Answers in the units that people read, (people, rounds); NaN for rounds that had been
        played before.
    seconds
        From the first call to the last.
    calls
        How long each call took, in seconds; repeated attempts and waits are in it.
    repeated
        Calls that had to be repeated.
    """

    names: tuple[str, ...]
    predictions: FloatArray
    seconds: float
    calls: FloatArray
    repeated: int

    @property
    def rounds(self) -> int:
        """How many rounds were played now."""
        return int(np.isfinite(self.predictions).sum())


@dataclass(frozen=True)
class Bots:
    """Simulated people, and the plan by which the service advises them.

    Parameters
    ----------
    plan
        The text of the plan file.
    people
        How many.
    rounds
        Cases of each of them.
    human
        Whom they resemble: a `Person`, or anybody with the three methods of `Human`; the plan's
        own person if left out.
    seed
        Of people, cases and answers, as in `simulation.rollout`.
    prefix
        Begins their pseudonyms, before a number of five digits; "p" gives the names of `rollout`.
    policy
        "plan" or "tutor".

    Raises
    ------
    InvalidInput
        Numbers that make no sense, or tests whose simulated results nobody can send.
    """

    plan: str
    people: int
    rounds: int
    human: Human | Person | None = None
    seed: int = 0
    prefix: str = "p"
    policy: str = "plan"

    def __post_init__(self) -> None:
        problem = self.read_plan().problem
        check_request(problem, self.rounds, self.people)
        check_sendable(problem.world)

    def read_plan(self) -> Plan:
        """The plan."""
        return Plan.from_json(self.plan)

    @property
    def sha256(self) -> str:
        """What the service calls the plan."""
        return hashlib.sha256(self.plan.encode()).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """Pseudonyms."""
        return numbered(self.prefix, self.people)

    def play(
        self, client: Client, connections: int = 8, progress: Progress | None = None
    ) -> Played:
        """Let everybody play, as many at once as there are connections.

        Parameters
        ----------
        client
            Calls the service.
        connections
            How many people play at once.
        progress
            Told how far they are.

        Returns
        -------
        Played
            Answers, and how long calls took.
        """
        self._hand_over(client)
        problem = self.read_plan().problem
        chosen = problem.learner if self.human is None else self.human
        human, world = acting_in(problem, chosen), problem.world
        drawn = draw_cases(world, self.rounds, self.people, self.seed)
        enrolment = {"plan": self.sha256, "policy": self.policy}
        bots = [
            Bot(
                client,
                name,
                world,
                copy.deepcopy(human),
                Cases.of(world, drawn.features[who], drawn.outcomes[who]),
                enrolment,
            )
            for who, name in enumerate(self.names)
        ]
        answers = np.full((self.people, self.rounds), np.nan)
        began, before = time.perf_counter(), client.repeated

        def one(who: int, stops: Callable[[], bool]) -> None:
            bot = bots[who]
            bot.human.reset(stream(self.seed, who, Stream.ANSWERS))
            for t in range(bot.begin(), self.rounds):
                if stops():
                    return
                answers[who, t] = bot.play(t)

        def tell(_: int) -> None:
            report(progress, "playing", done=float(np.isfinite(answers).mean()))

        play_at_once(one, self.people, connections, tell)
        calls = np.array([took for bot in bots for took in bot.seconds])
        seconds = time.perf_counter() - began
        return Played(self.names, answers, seconds, calls, client.repeated - before)

    def check(self, client: Client) -> list[str]:
        """What the service's log of them and a rollout with the same seed do not share.

        Parameters
        ----------
        client
            Calls the service.

        Returns
        -------
        list of str
            Empty if they are the same to the last bit (but for a prefix other than "p", which
            changes names).
        """
        plan = self.read_plan()
        human = None if self.human is None else copy.deepcopy(self.human)
        played = rollout(plan.problem, plan, self.rounds, self.people, rng=self.seed, human=human)
        found = differences(log_of(client, plan.problem.world, self.names), played.log)
        return [each for each in found if self.prefix == "p" or not each.startswith("participant")]

    def _hand_over(self, client: Client) -> None:
        """The service may have the plan already; then nobody needs the right to add one."""
        try:
            client.plan_file(self.sha256)
        except NotThere:
            client.put_plan(self.plan)
