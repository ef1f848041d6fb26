"""A tutoring session in the terminal: questions, answers, the summary, and the log on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import preceptor
from preceptor._base.checks import parse_number, parse_share, parse_yes_no
from preceptor._base.values import FloatArray
from preceptor._base.words import counted, wrap
from preceptor.data.log import Log
from preceptor.data.log_cells import LogTests
from preceptor.data.log_files import ignored_columns
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.learners.case_choice import CasePool
from preceptor.learners.families import NONE
from preceptor.learners.tutor import Tutor
from preceptor.learners.tutor_record import TutorRound
from preceptor.report.session import Run

if TYPE_CHECKING:
    from preceptor.cli._tables import Deck

_HELP = """\
Type {answer}, and press Enter.
  why   why these tests are shown
  q     stop and keep everything so far (also Ctrl-D)
  ?     this help"""
# Rounds compared at the beginning and the end, and the fewest rounds for a comparison.
_COMPARED, _FEWEST = 10, 8
# Kinds less likely than this are not listed.
_LISTED = 0.005


class Stopped(Exception):
    """The trainee asked to stop."""


@dataclass(frozen=True)
class Quantity:
    """Asks for a number; outcomes lie between `lowest` and `highest`."""

    name: str
    lowest: float
    highest: float
    prompt: str = "Your prediction: "

    def in_words(self) -> str:
        """What to type."""
        return "a plain number such as 12.5"

    def greeting(self, outcomes: FloatArray) -> list[str]:
        """Opening lines, with the average outcome."""
        return [
            f"Predict {self.name} of each case from what you see. The average is "
            f"{outcomes.mean():.4g}.",
            "Answer with a number; ? for help, q to stop.",
        ]

    def answer(self, typed: str) -> float:
        """Parse a finite number, with a decimal point or comma."""
        return parse_number(typed)

    def is_doubtful(self, answer: float) -> bool:
        """Whether the answer lies outside the outcomes by more than their whole range."""
        margin = self.highest - self.lowest
        return not self.lowest - margin <= answer <= self.highest + margin

    def said(self, answer: float) -> str:
        """The answer in words."""
        return f"{answer:.6g}"

    def verdict(self, answer: float, outcome: float) -> str:
        """The true outcome, and how far off the answer was."""
        off, truth = answer - outcome, f"It was {outcome:.6g}"
        if abs(off) <= 1e-9 * max(abs(outcome), 1.0):
            return f"{truth}: exactly right."
        return f"{truth}: you were {abs(off):.4g} too {'high' if off > 0 else 'low'}."


@dataclass(frozen=True)
class YesNo:
    """A yes-or-no question.

    Attributes
    ----------
    name
        Name of the outcome.
    words
        The table's words for no and yes.
    decides
        Whether answers are decisions; otherwise probabilities are allowed too.
    """

    name: str = ""
    words: tuple[str, str] = ("no", "yes")
    decides: bool = True
    prompt: str = "Your answer: "

    def in_words(self) -> str:
        """E.g. "malignant or benign (yes or no)"."""
        no, yes = self.words
        plain = "" if (no, yes) == ("no", "yes") else " (yes or no)"
        asked = f"{yes} or {no}{plain}"
        return asked if self.decides else f"{asked}, or a probability such as 0.7 or 70%"

    def greeting(self, outcomes: FloatArray) -> list[str]:
        """Opening lines, with the prevalence."""
        return [
            f"Predict {self.name} of each case from what you see: {self.in_words()}.",
            f"{100.0 * outcomes.mean():.3g} of 100 cases are {self.words[1]}. Help: ?, stop: q.",
        ]

    def answer(self, typed: str) -> float:
        """Parse 1 for yes, 0 for no, or a probability of yes where allowed.

        >>> YesNo(words=("benign", "malignant")).answer("Malignant"), YesNo().answer("no")
        (1.0, 0.0)
        >>> YesNo(decides=False).answer("70%"), YesNo(decides=False).answer("0,7")
        (0.7, 0.7)
        """
        decision = parse_yes_no(typed, self.words)
        if decision is not None:
            return float(decision)
        if self.decides:
            raise ValueError("is no answer")
        share = parse_share(typed)
        if not 0.0 <= share <= 1.0:
            raise ValueError("is not between 0 and 1")
        return share

    def is_doubtful(self, answer: float) -> bool:
        """No answer is implausible."""
        return False

    def said(self, answer: float) -> str:
        """The answer in words."""
        return self.words[int(answer)] if self.decides else f"{answer:.0%}"

    def verdict(self, answer: float, outcome: float) -> str:
        """The true outcome, and the kind of mistake if there was one."""
        truth = f"It was {self.words[int(outcome)]}"
        if not self.decides:
            return f"{truth}: you gave that {answer if outcome > 0.5 else 1.0 - answer:.0%}."
        if answer == outcome:
            return f"{truth}: right."
        return f"{truth}: {'a miss' if outcome > 0.5 else 'a false alarm'}."


Question = Quantity | YesNo
"""How an outcome is asked for, parsed and judged."""


def question_of(problem: preceptor.Problem, name: str, outcomes: FloatArray) -> Question:
    """The question for a problem's outcome; `outcomes` are those of all cases."""
    if not problem.is_binary:
        return Quantity(name, float(outcomes.min()), float(outcomes.max()))
    units = problem.world.units
    words = None if units is None else units.outcome_levels
    if words is None or words == ("0", "1"):
        words = ("no", "yes")
    return YesNo(name, words, isinstance(problem.risk, preceptor.Decision))


def read_line(prompt: str) -> str:
    """Read one line; lines piped from a file are echoed as if typed.

    Raises
    ------
    Stopped
        At end of input or on Ctrl-C.
    """
    try:
        if sys.stdin.isatty():
            return input(prompt)  # with the editing that a terminal offers
        typer.echo(prompt, nl=False)
        line = sys.stdin.readline()
    except (EOFError, KeyboardInterrupt):
        line = ""
    typer.echo(line.rstrip("\r\n"))
    if not line:
        raise Stopped
    return line


def ask(question: Question, why: Callable[[], str]) -> float:
    """Ask until a valid answer is given.

    Parameters
    ----------
    question
        The question.
    why
        Returns the reason for the shown tests.

    Returns
    -------
    float
        The answer.

    Raises
    ------
    Stopped
        The trainee asked to stop.
    """
    doubted: float | None = None
    while True:
        typed = read_line(question.prompt).strip()
        word = typed.lower()
        if word in ("q", "quit", "exit"):
            raise Stopped
        if word in ("?", "help", "h"):
            typer.echo(_HELP.format(answer=question.in_words()))
            continue
        if word == "why":
            typer.echo(in_lines(why()))
            continue
        try:
            answer = question.answer(typed)
        except ValueError as error:
            wrong = f"{typed!r} {error}" if typed else "Nothing was typed"
            typer.echo(f"{wrong}; type {question.in_words()}, or q to stop.")
            continue
        if answer == doubted or not question.is_doubtful(answer):
            return answer
        doubted = answer
        typer.echo(f"{answer:g} looks like a typo; type it again to confirm.")


def in_lines(words: str) -> str:
    """Wrap a long sentence."""
    return "\n".join(wrap(words, "", "  "))


def summary(tutor: Tutor, name: str, now: int, unit: str) -> str:
    """Summary of a session: errors, and the posterior over kinds.

    Parameters
    ----------
    tutor
        After the session.
    name
        Name of the trainee.
    now
        Number of rounds in this session.
    unit
        Name of the outcome.
    """
    if not tutor.rounds:
        return "No rounds yet."
    earlier = f", {now} of them now" if now != tutor.rounds else ""
    lines = [f"{name}: {counted(tutor.rounds, 'round')}{earlier}.", *_how_far(tutor, unit)]
    lines += ["", "How you seem to learn:", *kind_lines(tutor)]
    return "\n".join(map(in_lines, lines))


def picked_in_words(tutor: Tutor, pool: CasePool, unit: str) -> str:
    """Say how the cases that were played differ from all cases: picked ones look more lawful."""
    world = tutor.problem.world
    results, outcomes = pool.in_world(world)
    played = sorted({entry.case for entry in tutor.record if entry.case is not None})
    if world.is_binary or len(played) < _FEWEST:
        return ""
    left = (outcomes - np.nan_to_num(results) @ world.coefficients) ** 2

    def explained(rows: Any) -> float:
        return 1.0 - float(left[rows].mean() / outcomes[rows].var())

    return in_lines(
        f"These cases were picked to teach: the tests explain {explained(played):.0%} of the "
        f"variance of {unit} in them, and {explained(slice(None)):.0%} in the whole table."
    )


def kind_lines(tutor: Tutor) -> list[str]:
    """Ways of learning by posterior probability, as of `preceptor fit`, and doubts."""
    ordered = sorted(tutor.groups.items(), key=lambda item: -item[1])
    named = {NONE: "not learning"}
    listed = [f"  {share:>4.0%}  {named.get(n, n)}" for n, share in ordered if share >= _LISTED]
    return [*listed, *(f"Doubt: {doubt}" for doubt in tutor.doubts())]


def _how_far(tutor: Tutor, unit: str) -> list[str]:
    """Errors at the beginning and the end: RMSE, error rate or Brier score."""
    run = Run.of(tutor)
    known = np.isfinite(run.errors)
    if not known.any():
        return []

    def said(errors: FloatArray) -> str:
        mean = float(np.mean(errors**2))
        if not tutor.problem.is_binary:
            return f"off by {mean**0.5:.3g}"
        if isinstance(tutor.problem.risk, preceptor.Decision):
            return f"{mean:.0%} wrong"
        return f"a Brier score of {mean:.3g}"

    errors, least = run.errors[known], run.least[known]
    if errors.size < _FEWEST:
        return [f"Typically {said(errors)} so far ({unit})."]
    few = min(_COMPARED, errors.size // 2)
    return [
        f"Typically {said(errors[:few])} in the first {few} rounds and {said(errors[-few:])} in "
        f"the last {few} ({unit}). An expert in those last rounds: {said(least[-few:])}."
    ]


_FIELDS = (
    *("participant", "rounds", "shown", "values"),
    *("prediction", "outcome", "feedback", "when"),
)


@dataclass(frozen=True, eq=False)
class Session:
    """A trainee and their tutor; the log is the only state and tells where to resume.

    `log` and `content` are the file as last read or written by this session, None if there was
    none; it may contain other participants' rounds. `reasons` belong to this session's rounds.
    """

    name: str
    path: Path
    tutor: Tutor
    log: Log | None = None
    content: bytes | None = None
    reasons: tuple[str, ...] = ()

    @classmethod
    def resumed(cls, name: str, path: Path, tutor: Tutor) -> Session:
        """Resume after this person's last round in the log, or start a new session."""
        world = tutor.problem.world
        split = [label for label in world.labels if ";" in label]
        if path.suffix.lower() == ".csv" and split:
            raise InvalidInput(
                f"--log: the name {split[0]!r} has a semicolon, which a .csv log cannot hold; "
                "name a .jsonl file"
            )
        if not path.exists():
            return cls(name, path, tutor)
        log = Log.read(path, world)
        lost = ignored_columns(path, LogTests.of(world))
        if lost:
            raise InvalidInput(
                f"--log: {path} has other columns ({', '.join(lost)}), which would be lost; use "
                "another file for --log"
            )
        if name in log.participants:
            tutor = tutor.through(log.for_participant(name))
        return cls(name, path, tutor, log, path.read_bytes())

    def after(
        self,
        shown: tuple[int, ...],
        values: list[float],
        answer: float,
        outcome: float,
        reason: str,
        deck: Deck,
    ) -> Session:
        """Record an answered case; the round is on disk before this returns."""
        there = self.path.read_bytes() if self.path.exists() else None
        if there != self.content:
            raise InvalidFile(
                f"{self.path}: was changed by another program during this session; this "
                "answer was not recorded, start again"
            )
        case = deck.position(
            TutorRound(shown, tuple(values), answer, outcome), deck.uses(self.tutor.record)
        )
        tutor = self.tutor.after(shown, values, answer, outcome, case)
        log = self._with_round(shown, values, answer, outcome)
        log.write(self.path, world=tutor.problem.world)
        return replace(
            self,
            tutor=tutor,
            log=log,
            content=self.path.read_bytes(),
            reasons=(*self.reasons, reason),
        )

    def _with_round(
        self, shown: tuple[int, ...], values: list[float], answer: float, outcome: float
    ) -> Log:
        """The log with one more round appended."""
        problem = self.tutor.problem
        row, results = np.zeros(problem.size, dtype=np.bool_), np.full(problem.size, np.nan)
        row[list(shown)], results[list(shown)] = True, values
        when = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "s")
        number = 1
        if self.log is not None and self.name in self.log.participants:
            own = self.log.for_participant(self.name)
            number = int(own.rounds[-1]) + 1
            # Dates never run backward, even if a clock was set back.
            when = np.fmax(when, own.when[-1])
        decided = getattr(problem.risk, "decides", None) if problem.is_binary else None
        new = Log(
            problem.world.labels,
            *([self.name], [number], [row], [results], [answer], [outcome], [True], [when]),
            decided=decided,
        )
        if self.log is None:
            return new
        parts = (np.concatenate([getattr(each, f) for each in (self.log, new)]) for f in _FIELDS)
        return Log(new.names, *parts, decided=decided)
