"""The conversation with a person: what they are asked, what they type, and how it went."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import typer

import preceptor
from preceptor._base.typed import number_in, share_in, yes_no_in
from preceptor._base.values import FloatArray
from preceptor._base.words import WIDTH, counted
from preceptor.report.run import Run
from preceptor.tutoring import Tutor

_HELP = """\
Type {answer}, and press Enter.
  why   why these tests are shown
  q     stop; everything so far is kept; so does Ctrl-D
  ?     this help"""
# Rounds at the beginning and at the end that are compared, and how many there must be for that.
_COMPARED, _FEWEST = 10, 8
# Kinds less likely than this are not listed.
_LISTED = 0.005


class Stopped(Exception):
    """The person wants to stop."""


@dataclass(frozen=True)
class Quantity:
    """A prediction of a number whose outcomes lie between `lowest` and `highest`."""

    name: str
    lowest: float
    highest: float
    prompt: str = "Your prediction: "

    def in_words(self) -> str:
        """What to type."""
        return "a plain number such as 12.5"

    def greeting(self, outcomes: FloatArray) -> list[str]:
        """The average is what people start from."""
        return [
            f"Predict {self.name} of each case from what you see. The average is "
            f"{outcomes.mean():.4g}.",
            "A number is an answer; ? is help, q stops.",
        ]

    def answer(self, typed: str) -> float:
        """A finite number, with a point or a comma."""
        return number_in(typed)

    def is_doubtful(self, answer: float) -> bool:
        """Whether it is further away than the whole range of outcomes is wide."""
        margin = self.highest - self.lowest
        return not self.lowest - margin <= answer <= self.highest + margin

    def said(self, answer: float) -> str:
        """The number."""
        return f"{answer:.6g}"

    def verdict(self, answer: float, outcome: float) -> str:
        """The truth, and how far off the answer was."""
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
        What is asked about.
    words
        How the table writes no and yes.
    decides
        Whether an answer is yes or no; otherwise it may be a probability.
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
        """How to answer, and how common yes is."""
        return [
            f"Predict {self.name} of each case from what you see: {self.in_words()}.",
            f"Of 100 cases {100.0 * outcomes.mean():.3g} are {self.words[1]}. ? is help, q stops.",
        ]

    def answer(self, typed: str) -> float:
        """1 for yes, 0 for no, or a probability of yes where those are asked for.

        >>> YesNo(words=("benign", "malignant")).answer("Malignant"), YesNo().answer("no")
        (1.0, 0.0)
        >>> YesNo(decides=False).answer("70%"), YesNo(decides=False).answer("0,7")
        (0.7, 0.7)
        """
        decision = yes_no_in(typed, self.words)
        if decision is not None:
            return float(decision)
        if self.decides:
            raise ValueError("is no answer")
        share = share_in(typed)
        if not 0.0 <= share <= 1.0:
            raise ValueError("is not between 0 and 1")
        return share

    def is_doubtful(self, answer: float) -> bool:
        """Every answer is possible."""
        return False

    def said(self, answer: float) -> str:
        """The word for a decision, or the probability."""
        return self.words[int(answer)] if self.decides else f"{answer:.0%}"

    def verdict(self, answer: float, outcome: float) -> str:
        """The truth, and what kind of mistake the answer was, if it was one."""
        truth = f"It was {self.words[int(outcome)]}"
        if not self.decides:
            return f"{truth}: you gave that {answer if outcome > 0.5 else 1.0 - answer:.0%}."
        if answer == outcome:
            return f"{truth}: right."
        return f"{truth}: {'a miss' if outcome > 0.5 else 'a false alarm'}."


Question = Quantity | YesNo
"""How one kind of outcome is asked for, read and judged."""


def question_of(problem: preceptor.Problem, name: str, outcomes: FloatArray) -> Question:
    """How the outcome of a problem is asked for; `outcomes` are those of all cases."""
    if not problem.is_binary:
        return Quantity(name, float(outcomes.min()), float(outcomes.max()))
    units = problem.world.units
    words = None if units is None else units.outcome_levels
    if words is None or words == ("0", "1"):
        words = ("no", "yes")
    return YesNo(name, words, isinstance(problem.risk, preceptor.Decision))


def read_line(prompt: str) -> str:
    """One line from the person; lines that come from a file are shown as if typed.

    Raises
    ------
    Stopped
        There are no more lines, or they pressed Ctrl-C.
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
    """An answer; asks again until there is one.

    Parameters
    ----------
    question
        What is asked for.
    why
        The reason for what is shown.

    Returns
    -------
    float
        What the person answers.

    Raises
    ------
    Stopped
        They want to stop.
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
        typer.echo(f"{answer:g} looks like a slip; type it once more if you mean it.")


def in_lines(words: str) -> str:
    """A long sentence as lines that can be read at once."""
    return textwrap.fill(words, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def summary(tutor: Tutor, name: str, now: int, unit: str) -> str:
    """How a session went and who the person may be.

    Parameters
    ----------
    tutor
        After the session.
    name
        Whom it taught.
    now
        How many of the rounds are new.
    unit
        What is predicted.
    """
    if not tutor.rounds:
        return "No rounds yet."
    earlier = f", {now} of them now" if now != tutor.rounds else ""
    lines = [f"{name}: {counted(tutor.rounds, 'round')}{earlier}.", *_how_far(tutor, unit)]
    lines += ["", "Who this may be:", *kind_lines(tutor)]
    return "\n".join(map(in_lines, lines))


def kind_lines(tutor: Tutor) -> list[str]:
    """The kinds that are still possible, likeliest first, and what speaks against all of them."""
    ordered = sorted(tutor.kinds.items(), key=lambda item: -item[1])
    listed = [f"  {share:>4.0%}  {name}" for name, share in ordered if share >= _LISTED]
    return [*listed, *(f"Doubt: {doubt}" for doubt in tutor.doubts())]


def _how_far(tutor: Tutor, unit: str) -> list[str]:
    """Errors at the beginning and at the end: root mean squares, shares of wrong, Brier scores."""
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
        f"the last {few} ({unit}). With the right weights, those last ones: {said(least[-few:])}."
    ]
