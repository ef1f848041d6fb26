"""Simulated trainees, who answer through the same pages as people; `preceptor teach --demo`."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import httpx
import numpy as np

from preceptor.errors import PreceptorError
from preceptor.learners.tutor_record import outcome_in_world_units, results_in_world_units
from preceptor.live.bot_pages import ReadPage, read_page
from preceptor.live.course.course import Course
from preceptor.model.evaluation import people_of
from preceptor.model.person import Person
from preceptor.people.acting import Acting

# Names of the trainees of a demonstration.
_NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay")
# Scatter of simulated answers, as a share of the outcome's deviation: people are not exact.
_SCATTER = 0.15


@dataclass
class SimulatedTrainee:
    """A simulated trainee.

    Parameters
    ----------
    http
        With cookies of its own, and with a token that may write unless none is needed.
    course
        The course that is taught.
    name
        Name to join with.
    human
        Answers and learns; not shared with others.
    """

    http: httpx.Client
    course: Course
    name: str
    human: Acting
    answers: int = 0

    def join(self) -> ReadPage:
        """Join; return the first page."""
        return self._ask("POST", "/c", {"kind": "bot", "name": self.name})

    def turn(self, page: ReadPage) -> ReadPage:
        """Fill in the form of a page; return the next page."""
        assert page.form is not None
        if "answer" not in page.form.values and "answer" not in page.form.choices:
            return self._ask("POST", page.form.action, page.form.filled(do="next"))
        world, words = self.course.problem.world, self.course.guide.words
        labels, values = words.seen(list(page.results), page.results)
        shown = words.indices(labels)
        features = results_in_world_units(world, shown, values)
        typed = self._typed(float(self.human.predict(shown, features)))
        after = self._ask("POST", page.form.action, page.form.filled(do="answer", answer=typed))
        self.answers += 1
        if "truth" in after.data:
            truth = outcome_in_world_units(world, float(after.data["truth"]))
            self.human.feedback(shown, features, truth)
        else:
            self.human.skip_outcome()
        return after

    def _typed(self, given: float) -> str:
        kind, units = self.course.config.answer, self.course.problem.world.units
        if kind == "yes or no":
            return str(int(given))
        if kind == "percent":
            return str(Decimal(repr(given)).scaleb(2))
        return repr(float(given if units is None else units.uncentre(given)))

    def _ask(self, method: str, path: str, form: dict[str, str]) -> ReadPage:
        answer = self.http.request(method, path, data=form, follow_redirects=True)
        if answer.status_code != 200:
            raise PreceptorError(f"{self.name}: {path} answered {answer.status_code}")
        return read_page(answer.text)


def simulated_class(
    course: Course,
    address: str,
    names: Sequence[str] = _NAMES,
    seed: int = 0,
    kinds: Sequence[Person] = (),
) -> list[SimulatedTrainee]:
    """One simulated trainee for each name, of these kinds in turn, or those the tutor considers."""
    kinds, world = kinds or list(people_of(course.problem).values()), course.problem.world
    scatter = _SCATTER * float(np.sqrt(world.outcome_variance))
    made = []
    for i, name in enumerate(names):
        human = kinds[i % len(kinds)].acting(world, None, scatter, course.problem.risk)
        human.reset(np.random.default_rng([seed, i]))
        http = httpx.Client(base_url=address, timeout=30.0, verify=False)
        made.append(SimulatedTrainee(http, course, name, human))
    return made


def play_along(course: Course, address: str, pause: float) -> Callable[[], None]:
    """Let simulated trainees answer until the returned function is called."""
    over = threading.Event()

    def play(trainee: SimulatedTrainee, waits: random.Random) -> None:
        try:
            page = trainee.join()
            while page.form is not None and not over.wait(pause * waits.uniform(0.5, 1.5)):
                page = trainee.turn(page)
        except (httpx.HTTPError, PreceptorError):
            if not over.is_set():
                raise

    for i, trainee in enumerate(simulated_class(course, address)):
        threading.Thread(target=play, args=(trainee, random.Random(i)), daemon=True).start()
    return over.set
