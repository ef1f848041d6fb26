"""The talk with a person: what they read, what they type, and what is made of it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable

import typer

from preceptor._base.typed import number_in
from preceptor.cli._answers import YesNo

_A_NUMBER = "Type what you predict, as a plain number such as 12.5"
HELP = f"""\
{_A_NUMBER}, and press Enter.
  why   why these tests are shown
  q     stop; everything so far is kept; so does Ctrl-D
  ?     this help"""
# Beyond this many times the range of all outcomes an answer is taken for a slip.
_FAR = 1.0
_WIDTH = 88


class Stopped(Exception):
    """The person wants to stop."""


def read_line(prompt: str) -> str:
    """One line from the person; typed lines that come from a file are shown as if typed.

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
        typer.echo()
        raise Stopped from None
    if not line:
        typer.echo()
        raise Stopped
    typer.echo(line.rstrip("\r\n"))
    return line


def ask(lowest: float, highest: float, why: Callable[[], str]) -> float:
    """A prediction; asks again until there is one.

    Parameters
    ----------
    lowest, highest
        Between them lie all outcomes that occur.
    why
        The reason for what is shown.

    Returns
    -------
    float
        What the person predicts.

    Raises
    ------
    Stopped
        They want to stop.
    """
    margin = _FAR * (highest - lowest)
    doubted: float | None = None
    while True:
        typed = read_line("Your prediction: ").strip()
        word = typed.lower()
        if word in ("q", "quit", "exit"):
            raise Stopped
        if word in ("?", "help", "h"):
            typer.echo(HELP)
        elif word == "why":
            typer.echo(in_lines(why()))
        else:
            try:
                answer = number_in(typed)
            except ValueError as error:
                typer.echo(complaint(typed, error))
                continue
            if lowest - margin <= answer <= highest + margin or answer == doubted:
                return answer
            else:
                doubted = answer
                typer.echo(f"{answer:g} looks like a slip; type it once more if you mean it.")


def ask_yes_no(question: YesNo, why: Callable[[], str]) -> float:
    """An answer to a yes-or-no question; asks again until there is one.

    Parameters
    ----------
    question
        How yes and no are written, and whether probabilities are asked for.
    why
        The reason for what is shown.

    Returns
    -------
    float
        1 for yes, 0 for no, or a probability of yes.

    Raises
    ------
    Stopped
        They want to stop.
    """
    while True:
        typed = read_line("Your answer: ").strip()
        word = typed.lower()
        if word in ("q", "quit", "exit"):
            raise Stopped
        if word in ("?", "help", "h"):
            typer.echo(HELP.replace(_A_NUMBER, f"Type {question.in_words()}"))
        elif word == "why":
            typer.echo(in_lines(why()))
        else:
            try:
                return question.answer(typed)
            except ValueError as error:
                typer.echo(f"{typed!r} {error}; type that, or q to stop.")


def yes_no_verdict(question: YesNo, answer: float, outcome: float) -> str:
    """The truth, and what kind of mistake the answer was, if it was one."""
    truth = f"It was {question.truth(outcome)}"
    if not question.decides:
        return f"{truth}: you gave that {answer if outcome > 0.5 else 1.0 - answer:.0%}."
    if answer == outcome:
        return f"{truth}: right."
    return f"{truth}: {'a miss' if outcome > 0.5 else 'a false alarm'}."


def how_to_answer(lower: float, higher: float) -> str:
    """What a prediction is if there are only these two outcomes."""
    if (lower, higher) == (0.0, 1.0):
        return (
            "It is either 0 or 1. Answer with a probability: how likely 1 is, from 0 to 1, such as "
            "0.7 for seven times in ten."
        )
    middle = (lower + higher) / 2.0
    return (
        f"It is either {lower:g} or {higher:g}. Answer with a number between them that says how "
        f"likely {higher:g} is: {lower:g} for never, {middle:g} for half the time, {higher:g} for "
        "always."
    )


def in_lines(words: str) -> str:
    """A long sentence as lines that can be read at once."""
    return textwrap.fill(words, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def complaint(typed: str, error: ValueError) -> str:
    """What is wrong with what was typed, and what to type instead."""
    if not typed:
        return "Nothing was typed; type a number, or q to stop."
    return f"{typed!r} {error}. Type a plain number such as 12.5, or ? for help."


def verdict(answer: float, outcome: float) -> str:
    """The truth, and how far off the answer was."""
    off = answer - outcome
    truth = f"It was {outcome:.6g}"
    if abs(off) <= 1e-9 * max(abs(outcome), 1.0):
        return f"{truth}: exactly right."
    return f"{truth}: you were {abs(off):.4g} too {'high' if off > 0 else 'low'}."
