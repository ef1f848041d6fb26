"""Classes for tests: tables with a known rule, courses in a store, servers that teach them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar

import httpx
import numpy as np

from preceptor.live.bot_pages import ReadPage, read_page
from preceptor.live.course.course import Course, course_of, read
from preceptor.live.store.database import Store
from tests.live.service.servers import Server, caller, start

NAMES = ("bmi", "bp", "age", "hdl")
WEIGHTS = np.array([8.0, 5.0, -3.0, 2.0])


def write_table(
    path: Path, rows: int = 120, *, is_binary: bool = False, images: bool = False
) -> Path:
    """Cases in which the outcome follows a linear rule and noise; all tests are numbers."""
    drawn = np.random.default_rng(3)
    values = drawn.normal(size=(rows, len(NAMES))) @ (np.eye(4) + 0.3)
    score = values @ WEIGHTS + drawn.normal(scale=6.0, size=rows)
    outcome = np.where(score > 0, "ill", "well") if is_binary else np.round(100.0 + score, 1)
    shown = np.round(25.0 + 4.0 * values, 1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, *(["file"] if images else []), "y"])
        for i in range(rows):
            extra = [f"case{i % 3}.png"] if images else []
            writer.writerow([*shown[i], *extra, outcome[i]])
    return path


def teach(folder: Path, *arguments: object, table: bool = True, **options: object) -> Server:
    """A server with a course about `cases.csv` of the folder; local ones trust this machine."""
    if "--host" not in arguments and "--demo" not in arguments:
        arguments = (*arguments, "--trust-this-machine")
    given = [folder / "cases.csv", "--outcome", "y", "--tests", 2] if table else []
    started: Server = start(
        folder,
        *given,
        "--rate",
        0,
        *arguments,
        command="teach",
        **options,  # type: ignore[arg-type]
    )
    return started


def course_in(database: Path | str) -> Course:
    """The course of a database."""
    with Store(str(database)) as store:
        return course_of(*store.read(read))


class TraineeClient:
    """A trainee without a browser: reads pages and fills in their forms."""

    made: ClassVar[list[TraineeClient]] = []

    def __init__(self, address: str, name: str | None = None) -> None:
        self.http: httpx.Client = caller(address, follow_redirects=True)
        self.made.append(self)
        self.page = ReadPage()
        self.text = ""
        if name is not None:
            self.take(self.http.post("/c", data={"name": name}))

    def take(self, answer: httpx.Response, status: int = 200) -> ReadPage:
        """The page of a response."""
        assert answer.status_code == status, answer.text
        self.text, self.page = answer.text, read_page(answer.text)
        return self.page

    def now(self) -> ReadPage:
        """The current page."""
        return self.take(self.http.get("/c/now"))

    def send(self, status: int = 200, **given: str) -> ReadPage:
        """Send the form of the page."""
        assert self.page.form is not None, self.text
        data = self.page.form.filled(**given)
        return self.take(self.http.post(self.page.form.action, data=data), status)

    def next(self) -> ReadPage:
        """Go on to the next case."""
        return self.send(do="next")

    def answer(self, typed: str) -> ReadPage:
        """Answer the case."""
        return self.send(do="answer", answer=typed)
