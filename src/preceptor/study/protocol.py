"""What a participant goes through: blocks as a list of steps, one a page.

Where somebody is in a study is one number, the step they are at; it only ever grows, and only by
answers that name the step. So reload, back button, second tab and second device all see one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from preceptor.study.config import Practice, Testing, Training

StepKind = Literal["consent", "page", "quiz", "ask", "told", "check", "break", "debrief", "end"]


@dataclass(frozen=True)
class Trial:
    """A round of somebody: the t-th of theirs is the t-th trial.

    Attributes
    ----------
    number
        From 0, over all blocks.
    block
        Which block, from 0.
    place
        Which round of its block, from 0.
    show
        Names of the tests; None where the arm decides.
    values
        Results that the case must have, in units that people read; None for any case.
    feedback
        Whether the outcome is told.
    training
        Which round of training, from 0; None outside of it.
    """

    number: int
    block: int
    place: int
    show: tuple[str, ...] | None
    values: tuple[float, ...] | None
    feedback: bool
    training: int | None


@dataclass(frozen=True)
class Step:
    """One page: `index` says which page of instructions, which trial, or which check it is."""

    kind: StepKind
    block: int
    index: int = 0


@dataclass(frozen=True)
class Protocol:
    """Steps in order; the last one is the end."""

    steps: tuple[Step, ...]
    trials: tuple[Trial, ...]

    @cached_property
    def assigned_at(self) -> int:
        """The first step of an arm: whoever gets there has passed consent and quiz."""
        return next(i for i, step in enumerate(self.steps) if step.kind == "ask")

    @property
    def end(self) -> int:
        """The last step."""
        return len(self.steps) - 1

    def length_of(self, block: int) -> int:
        """Rounds of a block."""
        return sum(trial.block == block for trial in self.trials)


def protocol_of(blocks: Sequence[Any]) -> Protocol:
    """The steps of these blocks."""
    trials = tuple(_trials(blocks))
    steps: list[Step] = []
    for number, block in enumerate(blocks):
        own = [trial for trial in trials if trial.block == number]
        steps += _steps(number, block, own)
    return Protocol((*steps, Step("end", len(blocks))), trials)


def _trials(blocks: Sequence[Any]) -> Iterator[Trial]:
    number = training = 0
    for index, block in enumerate(blocks):
        for place, (show, values, feedback) in enumerate(_rounds(block)):
            of_training = None
            if isinstance(block, Training):
                of_training, training = training, training + 1
            yield Trial(number, index, place, show, values, feedback, of_training)
            number += 1


def _rounds(
    block: Any,
) -> Iterator[tuple[tuple[str, ...] | None, tuple[float, ...] | None, bool]]:
    """What each round of a block shows, with which results, and whether its outcome is told."""
    if isinstance(block, Training):
        yield from [(None, None, block.feedback)] * block.rounds
    elif isinstance(block, Practice):
        for place in range(block.rounds):
            yield tuple(block.show[place % len(block.show)]), None, block.feedback
    elif isinstance(block, Testing):
        every: list[tuple[tuple[str, ...], tuple[float, ...] | None]]
        every = [(tuple(each), None) for each in block.show]
        every += [
            (tuple(each.show), None if each.values is None else tuple(each.values))
            for each in block.probe
        ]
        for place in range(block.rounds or len(every)) if every else ():
            yield (*every[place % len(every)], False)


def _steps(number: int, block: Any, trials: Sequence[Trial]) -> Iterator[Step]:
    if block.kind in ("consent", "break", "debrief"):
        yield Step(block.kind, number)
        return
    if block.kind == "instructions":
        for page in range(len(block.pages)):
            yield Step("page", number, page)
        if block.question:
            yield Step("quiz", number)
        return
    if block.text is not None:
        yield Step("page", number)
    checks = {check.after: i for i, check in enumerate(getattr(block, "check", ()))}
    pause = getattr(block, "break_every", None)
    for trial in trials:
        if trial.place in checks:
            yield Step("check", number, checks[trial.place])
        if pause is not None and trial.place and trial.place % pause == 0:
            yield Step("break", number, trial.place)
        yield Step("ask", number, trial.number)
        if trial.feedback:
            yield Step("told", number, trial.number)
