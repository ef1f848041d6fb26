"""One simulated participant, who goes through the very pages that people see.

They read forms and numbers off the pages, and answer as in `simulation.rollout`: what they meet in
training and how they slip comes from the streams of the place that they were given.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from typing import Any

import httpx
import numpy as np

from preceptor.bots.reading import ReadPage, read_page
from preceptor.client import Unreachable
from preceptor.errors import InvalidInput
from preceptor.model.sets import TestSet
from preceptor.people.acting import Acting
from preceptor.people.human import Human
from preceptor.simulation.cases import Stream, stream
from preceptor.study import Study
from preceptor.study.cases import CaseList, case_list
from preceptor.study.protocol import Step, Trial

# Seconds between two attempts while nobody answers.
_PAUSE = 0.2


class OwnStream(IntEnum):
    """Streams of chance of participants, apart from those of `simulation.cases.Stream`."""

    SLIPS = 300  # outside of training; the number of the case is added
    LEAVING = 400


@dataclass(frozen=True)
class Place:
    """Who somebody is in the store, and which arm and place they were given."""

    who: str
    arm: str
    number: int


@dataclass
class Participant:
    """Somebody who takes part.

    Parameters
    ----------
    http
        Calls the site; has no cookies yet, and a token that may write unless none is needed.
    study
        What they take part in.
    name
        The recruiter's name of them.
    human
        Answers and learns; nobody else's.
    leaves_after
        Cases after which they leave without a word; None for never.
    patience
        Seconds for which they keep trying while nobody answers.
    """

    http: httpx.Client
    study: Study
    name: str
    human: Human
    leaves_after: int | None = None
    patience: float = 30.0
    place: Place | None = None
    code: str | None = None
    answers: int = 0
    seconds: list[float] = field(default_factory=list)
    _cases: CaseList | None = None
    _pending: tuple[int, Trial, TestSet] | None = None

    def play(self) -> bool:
        """Go through the study; gives whether they reached the end."""
        address = f"/s/{self.study.id}"
        form = {"kind": "bot", "recruiter": self.name}
        page = self._ask("POST", address, form)
        if page.stage:
            raise InvalidInput(f"{self.name} has begun before; choose another prefix")
        while page.stage is not None:
            self._learn_of_place(page)
            self._settle(page.stage)
            step = self.study.protocol.steps[page.stage]
            if self._has_left(step):
                return False
            assert page.form is not None
            page = self._ask("POST", page.form.action, page.form.filled(**self._filled(page, step)))
        self._settle(self.study.protocol.end)
        self.code = page.data.get("code")
        return True

    def _has_left(self, step: Step) -> bool:
        if self.leaves_after is None or step.kind != "ask":
            return False
        return step.index >= self.leaves_after

    def _filled(self, page: ReadPage, step: Step) -> dict[str, str]:
        """What they put into the form of a step."""
        block: Any = None
        if step.block < len(self.study.configuration.block):
            block = self.study.configuration.block[step.block]
        if step.kind == "consent":
            return {"agree": "yes", "choice": "yes"}
        if step.kind == "quiz":
            return {f"question-{i}": str(each.right) for i, each in enumerate(block.question)}
        if step.kind == "check":
            return {"answer": repr(float(block.check[step.index].answer))}
        if step.kind == "ask":
            return {"answer": self._answered(page, self.study.protocol.trials[step.index])}
        return {}

    def _answered(self, page: ReadPage, trial: Trial) -> str:
        assert page.stage is not None
        assert self._cases is not None
        shown = self._seen(page, trial)
        features = self._cases.features[trial.number, list(shown)]
        given = self._asked(trial).predict(shown, features)
        self._pending = (page.stage, trial, shown)
        return as_typed(self.study, given)

    def _asked(self, trial: Trial) -> Human:
        """Who answers: in training with the slips of a rollout, elsewhere with slips of its own."""
        if trial.training is not None or not isinstance(self.human, Acting):
            return self.human
        assert self.place is not None
        key = (self.place.number, OwnStream.SLIPS + trial.number)
        seeds = np.random.SeedSequence(self.study.configuration.seed, spawn_key=key)
        return self.human.slipping(np.random.default_rng(seeds))

    def _seen(self, page: ReadPage, trial: Trial) -> TestSet:
        """Columns that the page shows; their values must be those of the case."""
        looks, world = self.study.configuration.tests, self.study.problem.world
        labels = {(looks[t].label or t) if t in looks else t: t for t in world.tests}
        shown = tuple(sorted(self.study.columns([labels[label] for label in page.results])))
        values = {self.study.columns([labels[each]])[0]: v for each, v in page.results.items()}
        assert self._cases is not None
        expected = self._cases.values[trial.number]
        wrong = [world.labels[i] for i in shown if values[i] != expected[i]]
        if wrong:
            raise InvalidInput(
                f"{self.name}: case {trial.number + 1} shows another {', '.join(wrong)} than the "
                "study's seed gives; the study file is another one"
            )
        return shown

    def _settle(self, stage: int) -> None:
        """What was answered before is over once the step is; they hear the truth if it is told."""
        if self._pending is None or stage <= self._pending[0]:
            return
        _, trial, shown = self._pending
        self._pending = None
        self.answers += 1
        self._hear(trial, shown)

    def _hear(self, trial: Trial, shown: TestSet) -> None:
        if trial.feedback:
            assert self._cases is not None
            features = self._cases.features[trial.number, list(shown)]
            self.human.feedback(shown, features, float(self._cases.outcomes[trial.number]))

    def _learn_of_place(self, page: ReadPage) -> None:
        """Their place, and with it what they meet, is known once they have an arm."""
        if self.place is not None or "place" not in page.data:
            return
        self.place = Place(page.data["who"], page.data["arm"], int(page.data["place"]))
        self._cases = case_list(self.study, self.place.number)
        seed = self.study.configuration.seed
        self.human.reset(stream(seed, self.place.number, Stream.ANSWERS))

    def _ask(self, method: str, path: str, form: dict[str, str] | None = None) -> ReadPage:
        """A page; while nobody answers, or the page is not ready, they try again."""
        end = time.monotonic() + self.patience
        while True:
            began = time.perf_counter()
            try:
                answer = self.http.request(method, path, data=form, follow_redirects=True)
            except httpx.TransportError as error:
                if time.monotonic() > end:
                    raise Unreachable(f"{self.http.base_url}: no answer ({error})") from error
                answer = None
            if answer is not None and answer.status_code not in (429, 503):
                self.seconds.append(time.perf_counter() - began)
                return self._taken(answer)
            if answer is not None and time.monotonic() > end:
                raise Unreachable(f"{answer.url}: is busy ({answer.status_code})")
            time.sleep(_PAUSE)
            if path.endswith("/now"):
                method, form = "GET", None  # whether it arrived is seen on the page

    def _taken(self, answer: httpx.Response) -> ReadPage:
        if answer.status_code != 200:
            raise InvalidInput(
                f"{self.name}: {answer.url.path} answered {answer.status_code}: {_words(answer)}"
            )
        return read_page(answer.text)


def _words(answer: httpx.Response) -> str:
    """What was wrong, short."""
    if "json" in answer.headers.get("content-type", ""):
        return str(answer.json().get("detail", ""))
    return read_page(answer.text).title


def as_typed(study: Study, given: float) -> str:
    """An answer in the world's units, as it is typed so that every bit arrives.

    Limits that the study sets are kept; percents are shifted as decimal digits, not divided.
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


def as_read(study: Study, typed: str) -> float:
    """The answer that the service keeps."""
    found = Decimal(typed)
    return float(found.scaleb(-2)) if study.answer == "percent" else float(found)
