"""A crowd of simulated participants who go through a study over HTTP."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray
from preceptor.bots.participant import (
    OwnStream,
    Participant,
    Place,
    as_read,
    as_typed,
)
from preceptor.client import Client, Unreachable
from preceptor.client.sending import authorities
from preceptor.errors import InvalidInput
from preceptor.people.human import Human
from preceptor.people.person import Person
from preceptor.simulation import rollout
from preceptor.simulation.cast import acting_in
from preceptor.study import Study
from preceptor.study.arms import Arm, kept_arms
from preceptor.study.config import Practice


@dataclass(frozen=True, eq=False)
class Attended:
    """What became of a crowd.

    Attributes
    ----------
    names
        Recruiter's names of the participants.
    places
        Who, arm and place of each; None for those who never got one.
    finished
        Whether each of them reached the end.
    answers
        Cases answered now, by each.
    seconds
        From the first call to the last.
    calls
        How long each page took, in seconds.
    """

    names: tuple[str, ...]
    places: tuple[Place | None, ...]
    finished: tuple[bool, ...]
    answers: tuple[int, ...]
    seconds: float
    calls: FloatArray

    @property
    def arms(self) -> dict[str, int]:
        """How many are in each arm."""
        arms = [place.arm for place in self.places if place is not None]
        return {arm: arms.count(arm) for arm in dict.fromkeys(sorted(arms))}


@dataclass(frozen=True)
class StudyBots:
    """Simulated participants of a study that is open somewhere.

    Parameters
    ----------
    url
        The study's address, such as `http://127.0.0.1:8000/s/decisive`.
    people
        How many.
    human
        Whom they resemble: a `Person`, or anybody with the three methods of `Human`; the problem's
        own person if left out.
    token
        May write; None on the machine itself, while there are no tokens.
    prefix
        Begins the recruiter's names of them, before a number of five digits.
    drop_out
        Share of them who leave after some case.

    Raises
    ------
    InvalidInput
        An address that is not one, or numbers that make no sense.
    """

    url: str
    people: int
    human: Human | Person | None = None
    token: str | None = None
    prefix: str = "bot-"
    drop_out: float = 0.0
    _read: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/").split("/")
        if parts.scheme not in ("http", "https") or len(path) != 3 or path[1] != "s":
            raise InvalidInput(
                f"url: {self.url!r}, must be a study's address, such as "
                "http://127.0.0.1:8000/s/decisive"
            )
        if self.people < 1 or not 0.0 <= self.drop_out < 1.0:
            raise InvalidInput(
                f"people: {self.people}, drop_out: {self.drop_out}; at least one, and a share"
            )

    @property
    def site(self) -> str:
        """Where the service is."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def names(self) -> tuple[str, ...]:
        """Recruiter's names of them."""
        width = max(5, len(str(self.people)))
        return tuple(f"{self.prefix}{who:0{width}d}" for who in range(1, self.people + 1))

    @property
    def study(self) -> Study:
        """The study, as the service has it."""
        return self._fetched()[0]

    @property
    def arms(self) -> dict[str, Arm]:
        """Its arms, as the service has them."""
        return self._fetched()[1]

    def _fetched(self) -> tuple[Study, dict[str, Arm]]:
        if not self._read:
            name = urlsplit(self.url).path.rstrip("/").split("/")[2]
            try:
                with self._http() as http:
                    answer = http.get(f"/v1/studies/{name}")
            except httpx.TransportError as error:
                raise Unreachable(f"{self.site}: no answer ({error})") from error
            if answer.status_code == 404:
                raise InvalidInput(f"url: {self.site} has no study {name!r}")
            if not answer.is_success:
                raise InvalidInput(f"url: {self.site} answered {answer.status_code}: {answer.text}")
            said = answer.json()
            study = Study.from_json(said["config"])
            with Client(self.site, self.token) as client:
                bodies = {arm["name"]: client.plan_file(arm["plan"]) for arm in said["arms"]}
            self._read["study"] = study
            self._read["arms"] = {arm.name: arm for arm in kept_arms(study, bodies)}
        return self._read["study"], self._read["arms"]

    def _http(self) -> httpx.Client:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(
            base_url=self.site,
            headers=headers,
            timeout=60.0,
            trust_env=False,
            verify=authorities(),
        )

    def play(self, connections: int = 8, progress: Progress | None = None) -> Attended:
        """Let everybody take part, as many at once as there are connections.

        Parameters
        ----------
        connections
            How many take part at once.
        progress
            Told how far they are.

        Returns
        -------
        Attended
            Who finished, in which arm.
        """
        study = self.study
        chosen = study.problem.learner if self.human is None else self.human
        human = acting_in(study.problem, chosen)
        local, began = threading.local(), time.perf_counter()
        clients: list[httpx.Client] = []
        crowd: dict[int, Participant] = {}
        finished = [False] * self.people

        def one(number: int) -> None:
            if not hasattr(local, "http"):
                local.http = self._http()
                clients.append(local.http)
            local.http.cookies.clear()
            name, leaves = self.names[number], self._leaves_after(study, number)
            crowd[number] = Participant(local.http, study, name, copy.deepcopy(human), leaves)
            finished[number] = crowd[number].play()

        with ThreadPoolExecutor(connections, thread_name_prefix="bot") as pool:
            try:
                for done, _ in enumerate(pool.map(one, range(self.people)), start=1):
                    report(progress, "taking part", done=done / self.people)
            finally:  # where one of them fails, the others need not begin
                pool.shutdown(cancel_futures=True)
                for each in clients:
                    each.close()
        everybody = [crowd[number] for number in range(self.people)]
        calls = np.array([took for each in everybody for took in each.seconds])
        return Attended(
            self.names,
            tuple(each.place for each in everybody),
            tuple(finished),
            tuple(each.answers for each in everybody),
            time.perf_counter() - began,
            calls,
        )

    def _leaves_after(self, study: Study, number: int) -> int | None:
        key = (number, OwnStream.LEAVING)
        seeds = np.random.SeedSequence(study.configuration.seed, spawn_key=key)
        rng = np.random.default_rng(seeds)
        leaves, trials = rng.random() < self.drop_out, len(study.protocol.trials)
        return int(rng.integers(trials)) if leaves else None

    def check(self, attended: Attended) -> list[str]:
        """What the service's log of training and a rollout with the study's seed do not share.

        Parameters
        ----------
        attended
            What became of them.

        Returns
        -------
        list of str
            A sentence each; empty if they are the same to the last bit.

        Raises
        ------
        InvalidInput
            Something is learned outside of training, so that no rollout can be the same.
        """
        study = self.study
        blocks = study.configuration.block
        taught = any(isinstance(each, Practice) and each.feedback for each in blocks)
        untold = any(t.training is not None and not t.feedback for t in study.protocol.trials)
        if taught or untold:
            raise InvalidInput(
                "--check: a simulation learns in all rounds of training and nowhere else; this "
                f"study has {'practice with' if taught else 'training without'} feedback"
            )
        faults = []
        with Client(self.site, self.token) as client:
            for name, arm in self.arms.items():
                places = [each for each in attended.places if each and each.arm == name]
                if not arm.is_adaptive and places:
                    found = self._arm_differences(client, arm, places)
                    faults += [f"arm {name}: {each}" for each in found]
        return faults

    def _arm_differences(self, client: Client, arm: Arm, places: Sequence[Place]) -> list[str]:
        study = self.study
        problem, rounds = study.problem, study.training_rounds
        human = None if self.human is None else copy.deepcopy(self.human)
        most = 1 + max(place.number for place in places)
        assert arm.chooser is not None
        seed = study.configuration.seed
        played = rollout(problem, arm.chooser, rounds, most, rng=seed, human=human)
        typed = [
            as_read(study, as_typed(study, each)) for each in played.predictions.ravel().tolist()
        ]
        log, labels = played.log, np.array(problem.world.labels)
        order = {
            trial.number: trial.training
            for trial in study.protocol.trials
            if trial.training is not None
        }
        compared, wrong = 0, []
        for place in places:
            last = {row["round"]: row for row in client.log(person=place.who)}
            for number in sorted(last.keys() & order.keys()):
                training = order[number]
                i = place.number * rounds + training
                shown = log.shown[i]
                expected = {
                    "shown": labels[shown].tolist(),
                    "values": log.values[i, shown].tolist(),
                    "prediction": typed[i],
                    "outcome": float(log.outcome[i]),
                    "feedback": bool(log.feedback[i]),
                }
                differing = [
                    name for name, value in expected.items() if last[number][name] != value
                ]
                compared += 1
                if differing:
                    where = f"place {place.number}, round {training + 1} of training"
                    wrong.append(f"{where}: {', '.join(differing)}")
        if not wrong:
            return []
        return [f"{len(wrong):,} of {compared:,} rounds differ, first {wrong[0]}"]
