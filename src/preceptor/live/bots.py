"""Simulated participants, who go through the pages of a study over HTTP as people do.

They read forms and numbers from the pages and answer as in `simulation.rollout`: their cases in
training and their random errors come from the streams of the place that they were assigned. Other
participants are programs, which get the pages as JSON (`bot_programs`).
"""

from __future__ import annotations

import copy
import math
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from preceptor._base.checks import parse_number
from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.live.bot_pages import ReadPage, read_page
from preceptor.live.bot_programs import BotProgram, RunningProgram
from preceptor.live.client import Client, http_client, persist, refusal
from preceptor.live.study.arms import Arm, kept_arms
from preceptor.live.study.cases import DrawnCases, case_list
from preceptor.live.study.config import (
    ChoiceQuestion,
    NumberQuestion,
    RatingScale,
    Survey,
    SurveyQuestion,
    TextQuestion,
)
from preceptor.live.study.simulated_people import assumptions
from preceptor.live.study.study import Step, Study, Trial
from preceptor.model.person import Person
from preceptor.model.sets import TestSet
from preceptor.people.acting import Acting
from preceptor.people.human import Human
from preceptor.simulation.cases import Stream, stream
from preceptor.simulation.named import HUMAN_NAMES, acting_in, human_named


class OwnStream(IntEnum):
    """Random streams of participants, distinct from those of `simulation.cases.Stream`."""

    SLIPS = 300  # outside training; the number of the case is added
    LEAVING = 400
    KIND = 500
    OWN_ERRORS = 600


# Share of optional questions of a survey that bots leave out.
_LEFT_OUT = 0.2


@dataclass(frozen=True)
class Place:
    """Name of a participant in the store, with their arm and place."""

    who: str
    arm: str
    number: int


@dataclass
class BotParticipant:
    """A simulated participant.

    Parameters
    ----------
    http
        Without cookies, and with a token that may write unless none is needed.
    study
        The study to take part in.
    name
        The recruiter's name for the participant.
    human
        Answers and learns, or is a program; not shared with other participants.
    leaves_after
        Cases after which the participant drops out; None for never.
    own_errors
        Source of random errors; by default they are those of a rollout at the place, which
        participants at that place of other arms share.
    patience
        Seconds for which calls are repeated while the service does not respond.
    """

    http: httpx.Client
    study: Study
    name: str
    human: Human | RunningProgram
    leaves_after: int | None = None
    own_errors: np.random.Generator | None = None
    patience: float = 30.0
    place: Place | None = None
    code: str | None = None
    answers: int = 0
    seconds: list[float] = field(default_factory=list)
    _cases: DrawnCases | None = None
    _pending: tuple[int, Callable[[], None]] | None = None
    _refused: int = 0

    def play(self) -> bool:
        """Go through the study; return whether the end was reached."""
        address = f"/s/{self.study.id}"
        form = {"kind": "bot", "recruiter": self.name}
        page = self._ask("POST", address, form)
        if page.stage or "code" in page.data:  # in the middle, or at the end
            raise InvalidInput(f"{self.name} has taken part before; choose another prefix")
        last = 0
        while page.stage is not None:
            last = page.stage
            self._learn_of_place(page)
            self._settle(page.stage)
            step = self.study.protocol.steps[page.stage]
            if step.kind == "ask" and step.index == self.leaves_after:
                return False
            assert page.form is not None
            page = self._ask("POST", page.form.action, page.form.filled(**self._filled(page, step)))
        self._settle(self.study.protocol.end)
        if isinstance(self.human, RunningProgram):
            self.human.tell(page)
        self.code = page.data.get("code")
        return last == self.study.protocol.end - 1  # or the study ended earlier for them

    def _filled(self, page: ReadPage, step: Step) -> dict[str, str]:
        """Values for the form of a step."""
        if isinstance(self.human, RunningProgram):
            if step.kind == "ask":
                self._pending = (page.stage or 0, lambda: None)
            return self.human.fill(page)
        block: Any = None
        if step.block < len(self.study.configuration.block):
            block = self.study.configuration.block[step.block]
        if step.kind == "consent":
            return {"agree": "yes", "choice": "yes"}
        if step.kind == "quiz":
            return {f"question-{i}": str(each.right) for i, each in enumerate(block.question)}
        if step.kind == "check":
            return {"answer": repr(float(block.check[step.index].answer))}
        if step.kind == "survey":
            return self._surveyed(block, step.block)
        if step.kind == "ask":
            trial = self.study.protocol.trials[step.index]
            given = {"answer": self._answered(page, trial, self.human)}
            if block.confidence is not None:
                given["confidence"] = _any_answer(block.confidence, self._rng(step.index, "sure"))
            return given
        return {}

    def _surveyed(self, block: Survey, number: int) -> dict[str, str]:
        """Random answers; some optional questions are left out."""
        rng = self._rng(number, "survey")
        answers = {}
        for i, question in enumerate(block.question):
            if question.optional and rng.random() < _LEFT_OUT:
                continue
            answers[f"question-{i}"] = _any_answer(question, rng)
        return answers

    def _rng(self, number: int, what: str) -> np.random.Generator:
        """For answers that are about nothing in the world."""
        key = [self.study.configuration.seed, number, *f"{what} {self.name}".encode()]
        return np.random.default_rng(key)

    def _answered(self, page: ReadPage, trial: Trial, human: Human) -> str:
        assert page.stage is not None
        assert self._cases is not None
        case = int(page.data["case"])
        shown = self._seen(page, case)
        features = self._cases.features[case, list(shown)]
        given = self._asked(trial, human).predict(shown, features)

        def learn() -> None:
            assert self._cases is not None
            if trial.feedback:
                human.feedback(shown, features, float(self._cases.outcomes[case]))

        self._pending = (page.stage, learn)
        return as_typed(self.study, given)

    def _asked(self, trial: Trial, human: Human) -> Human:
        """Who answers: in training with the random errors of a rollout, elsewhere with others."""
        is_own = self.own_errors is not None or not isinstance(human, Acting)
        if trial.training is not None or is_own:
            return human
        assert isinstance(human, Acting)
        assert self.place is not None
        key = (self.place.number, OwnStream.SLIPS + trial.number)
        seeds = np.random.SeedSequence(self.study.configuration.seed, spawn_key=key)
        return human.with_noise_from(np.random.default_rng(seeds))

    def _seen(self, page: ReadPage, case: int) -> TestSet:
        """Columns that the page shows; their values are checked against the case."""
        looks, world = self.study.configuration.tests, self.study.problem.world
        labels = {(looks[t].label or t) if t in looks else t: t for t in world.tests}
        shown = tuple(sorted(self.study.columns([labels[label] for label in page.results])))
        values = {self.study.columns([labels[each]])[0]: v for each, v in page.results.items()}
        assert self._cases is not None
        expected = self._cases.values[case]
        wrong = [world.labels[i] for i in shown if values[i] != expected[i]]
        if wrong:
            raise InvalidInput(
                f"{self.name}: case {case + 1} shows other values of {', '.join(wrong)} "
                "than the study's seed gives; the study file differs"
            )
        return shown

    def _settle(self, stage: int) -> None:
        """Count the last answer once its step is over, and learn from its outcome if it is told."""
        if self._pending is None or stage <= self._pending[0]:
            return
        _, learn = self._pending
        self._pending = None
        self.answers += 1
        learn()

    def _learn_of_place(self, page: ReadPage) -> None:
        """Read arm and place from the first page that has them; they determine the cases."""
        if self.place is not None or "place" not in page.data:
            return
        self.place = Place(page.data["who"], page.data["arm"], int(page.data["place"]))
        self._cases = case_list(self.study, self.place.number)
        seed = self.study.configuration.seed
        errors = self.own_errors or stream(seed, self.place.number, Stream.ANSWERS)
        if not isinstance(self.human, RunningProgram):
            self.human.reset(errors)

    def _ask(self, method: str, path: str, form: dict[str, str] | None = None) -> ReadPage:
        """Return a page; repeat the call while the service is unreachable or busy."""
        sent = [(method, form)]

        def attempt() -> httpx.Response:
            began, (how, fields) = time.perf_counter(), sent[-1]
            if path.endswith("/now"):
                sent.append(("GET", None))  # the page shows whether the form arrived
            answer = self.http.request(how, path, data=fields, follow_redirects=True)
            if answer.status_code in (429, 503):
                raise refusal(answer)
            self.seconds.append(time.perf_counter() - began)
            return answer

        return self._taken(persist(attempt, str(self.http.base_url), self.patience))

    def _taken(self, answer: httpx.Response) -> ReadPage:
        # A program reads what was wrong, as a person does, and may try again.
        is_refused = answer.status_code == 422 and isinstance(self.human, RunningProgram)
        self._refused = self._refused + 1 if is_refused else 0
        if is_refused and self._refused < _ATTEMPTS:
            return read_page(answer.text)
        if answer.status_code != 200:
            raise InvalidInput(
                f"{self.name}: {answer.url.path} answered {answer.status_code}: {_words(answer)}"
            )
        return read_page(answer.text)


def _any_answer(question: SurveyQuestion | RatingScale, rng: np.random.Generator) -> str:
    """A random valid answer to a question of a survey, or on a scale."""
    if isinstance(question, TextQuestion):
        return "simulated"[: question.longest]
    if isinstance(question, NumberQuestion):
        low = -math.inf if question.low is None else question.low
        high = math.inf if question.high is None else question.high
        value = min(max(float(rng.integers(100)), low), high)
        return repr(value)
    assert isinstance(question, (ChoiceQuestion, RatingScale))
    return str(rng.integers(question.size) + 1)


def _words(answer: httpx.Response) -> str:
    """The message of an error response."""
    if "json" in answer.headers.get("content-type", ""):
        return str(answer.json().get("detail", ""))
    page = read_page(answer.text)
    return " ".join(page.text.splitlines()[:2]) if answer.status_code == 422 else page.title


# Answers of a program to one page, until the participant gives up.
_ATTEMPTS = 3


def as_typed(study: Study, given: float) -> str:
    """Format an answer in the world's units for a form, without losing precision.

    It is clipped to the study's limits; percentages are shifted as decimal digits, not divided.
    """
    look, units = study.configuration.outcome, study.problem.world.units
    if study.answer == "yes or no":
        return str(int(given))
    if study.answer == "percent":
        return str(Decimal(repr(float(given))).scaleb(2))
    value = float(given if units is None else units.uncentre(given))
    if look.low is not None:
        value = max(value, float(look.low))
    if look.high is not None:
        value = min(value, float(look.high))
    return repr(value)


@dataclass(frozen=True)
class BotKind:
    """A kind of simulated participants, its weight, and the people it has, all equally common."""

    name: str
    weight: float
    humans: tuple[Human, ...]


def humans_named(
    study: Study, said: str | None, noise: float = 0.0, seconds: float = 60.0
) -> Human | Sequence[BotKind] | BotProgram:
    """Who takes part, as the command line names them.

    Parameters
    ----------
    study
        The study.
    said
        A name of `HUMAN_NAMES`; several with weights, as in `delta-rule=0.7,exemplar=0.3`;
        `assumed` for the kinds that the study file assumes; a command; None for the problem's
        person.
    noise
        Standard deviation of the response noise, in units of the outcome; `assumed` has its own.
    seconds
        Time that a program has for a page.

    Returns
    -------
    Human, sequence of BotKind, or BotProgram
        For `StudyBots`.

    Raises
    ------
    InvalidInput
        Neither names nor a command that can be run.
    """
    if said is None or said in HUMAN_NAMES:
        return human_named(study.problem, said, noise)
    if said == "assumed":
        return tuple(
            BotKind(kind.name, kind.weight, tuple(each.human for each in kind.members))
            for kind in assumptions(study)
        )
    parts = [part.partition("=") for part in said.split(",")]
    names = [name.strip() for name, _, _ in parts]
    if all(name in HUMAN_NAMES for name in names):
        kinds, faults = [], []
        for name, (_, _, given) in zip(names, parts, strict=True):
            try:
                weight = parse_number(given) if given.strip() else 1.0
            except ValueError:
                weight = 0.0
            if weight <= 0.0:
                faults.append(f"human: {name} has the weight {given!r}, must be a number above 0")
            kinds.append(BotKind(name, weight, (human_named(study.problem, name, noise),)))
        InvalidInput.raise_if(faults)
        return tuple(kinds)
    command = tuple(shlex.split(said))
    if command and shutil.which(command[0]) is not None:
        return BotProgram(command, seconds)
    raise InvalidInput(
        f"human: {said!r}, must be assumed, one of {', '.join(HUMAN_NAMES)}, several of them with "
        "weights (delta-rule=0.7,exemplar=0.3), or a command that can be run"
    )


@dataclass(frozen=True, eq=False)
class Attended:
    """Outcome of a run of simulated participants.

    Attributes
    ----------
    names
        Recruiter's names for the participants.
    places
        Name, arm and place of each; None for those who were not assigned.
    finished
        Whether each reached the end.
    answers
        Cases answered by each.
    seconds
        Duration of the run.
    calls
        Duration of each call, in seconds.
    kinds
        Kind of each; empty unless several were given.
    """

    names: tuple[str, ...]
    places: tuple[Place | None, ...]
    finished: tuple[bool, ...]
    answers: tuple[int, ...]
    seconds: float
    calls: FloatArray
    kinds: tuple[str, ...] = ()

    @property
    def arms(self) -> dict[str, int]:
        """Number of participants in each arm."""
        arms = [place.arm for place in self.places if place is not None]
        return {arm: arms.count(arm) for arm in dict.fromkeys(sorted(arms))}


@dataclass(frozen=True)
class StudyBots:
    """Simulated participants of an open study.

    Parameters
    ----------
    url
        Address of the study, such as `http://127.0.0.1:8000/s/decisive`.
    people
        Number of participants.
    human
        How they learn: a `Person`, or an object with the three methods of `Human`; several kinds
        with their weights, who share no random errors; or a program. By default the problem's
        person.
    token
        With scope write; None on the same machine while no token exists.
    prefix
        Of the recruiter's names, before a number of five digits.
    drop_out
        Share of participants who drop out.

    Raises
    ------
    InvalidInput
        The address or a number is invalid.
    """

    url: str
    people: int
    human: Human | Person | Sequence[BotKind] | BotProgram | None = None
    token: str | None = None
    prefix: str = "bot-"
    drop_out: float = 0.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/").split("/")
        if parts.scheme not in ("http", "https") or len(path) != 3 or path[1] != "s":
            raise InvalidInput(
                f"url: {self.url!r}, must be the address of a study, such as "
                "http://127.0.0.1:8000/s/decisive"
            )
        if self.people < 1 or not 0.0 <= self.drop_out < 1.0:
            raise InvalidInput(
                f"people: {self.people}, drop_out: {self.drop_out}; must be at least 1, and a share"
            )

    @property
    def site(self) -> str:
        """URL of the service."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def names(self) -> tuple[str, ...]:
        """Recruiter's names for the participants."""
        width = max(5, len(str(self.people)))
        return tuple(f"{self.prefix}{who:0{width}d}" for who in range(1, self.people + 1))

    @property
    def study(self) -> Study:
        """The study, from the service."""
        return self._fetched[0]

    @property
    def arms(self) -> dict[str, Arm]:
        """Its arms, from the service."""
        return self._fetched[1]

    @cached_property
    def _fetched(self) -> tuple[Study, dict[str, Arm]]:
        with Client(self.site, self.token, patience=0.0) as client:
            said = client.study(urlsplit(self.url).path.rstrip("/").split("/")[2])
            bodies = {arm["name"]: client.plan_file(arm["plan"]) for arm in said["arms"]}
        study = Study.from_json(said["config"])
        return study, {arm.name: arm for arm in kept_arms(study, bodies)}

    def play(self, connections: int = 8, progress: Progress | None = None) -> Attended:
        """Let all participants take part.

        Parameters
        ----------
        connections
            Number of participants at once.
        progress
            Called after each participant.

        Returns
        -------
        Attended
            Who finished, and in which arm.
        """
        study = self.study
        kinds, humans = self._humans(study)
        local, began = threading.local(), time.perf_counter()
        clients: list[httpx.Client] = []
        crowd: dict[int, BotParticipant] = {}
        finished = [False] * self.people

        def one(number: int) -> None:
            if not hasattr(local, "http"):
                local.http = http_client(self.site, self.token, timeout=60.0)
                clients.append(local.http)
            local.http.cookies.clear()
            name, leaves = self.names[number], self._leaves_after(study, number)
            human = humans[number]
            own = human.start(name) if isinstance(human, BotProgram) else copy.deepcopy(human)
            try:
                errors = self._rng(study, number, OwnStream.OWN_ERRORS) if kinds else None
                crowd[number] = BotParticipant(local.http, study, name, own, leaves, errors)
                finished[number] = crowd[number].play()
            finally:
                if isinstance(own, RunningProgram):
                    own.stop()

        with ThreadPoolExecutor(connections, thread_name_prefix="bot") as pool:
            try:
                for done, _ in enumerate(pool.map(one, range(self.people)), start=1):
                    report(progress, "taking part", done=done / self.people)
            finally:  # if one fails, the others need not begin
                pool.shutdown(cancel_futures=True)
                for each in clients:
                    each.close()
        participants = [crowd[number] for number in range(self.people)]
        calls = np.array([took for each in participants for took in each.seconds])
        return Attended(
            self.names,
            tuple(each.place for each in participants),
            tuple(finished),
            tuple(each.answers for each in participants),
            time.perf_counter() - began,
            calls,
            kinds,
        )

    def _humans(self, study: Study) -> tuple[tuple[str, ...], list[Human | BotProgram]]:
        """The kind of each participant, if there are several, and who they are."""
        if isinstance(self.human, BotProgram):
            return (), [self.human] * self.people
        if not isinstance(self.human, Sequence):
            chosen = study.problem.learner if self.human is None else self.human
            return (), [acting_in(study.problem, chosen)] * self.people
        weights = np.array([kind.weight for kind in self.human])
        names, humans = [], list[Human | BotProgram]()
        for number in range(self.people):
            rng = self._rng(study, number, OwnStream.KIND)
            kind = self.human[int(rng.choice(weights.size, p=weights / weights.sum()))]
            names.append(kind.name)
            humans.append(kind.humans[int(rng.integers(len(kind.humans)))])
        return tuple(names), humans

    def _rng(self, study: Study, number: int, purpose: OwnStream) -> np.random.Generator:
        seeds = np.random.SeedSequence(study.configuration.seed, spawn_key=(number, purpose))
        return np.random.default_rng(seeds)

    def _leaves_after(self, study: Study, number: int) -> int | None:
        rng = self._rng(study, number, OwnStream.LEAVING)
        leaves, trials = rng.random() < self.drop_out, len(study.protocol.trials)
        return int(rng.integers(trials)) if leaves else None
