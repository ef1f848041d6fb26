"""A study before anybody takes part: what is registered, how long it takes, what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from preceptor._base.words import counted, listed
from preceptor.study.arms import Arm
from preceptor.study.beginning import placeholders
from preceptor.study.config import Testing, Training
from preceptor.study.freezing import freeze
from preceptor.study.registered_words import Section, sections
from preceptor.study.study import Study

# Seconds that things usually take: an estimate for consent forms and payment, no measurement.
_ROUND, _TOLD, _QUESTION, _WORD, _PAGE = 8.0, 3.0, 15.0, 0.3, 5.0


@dataclass(frozen=True)
class Overview:
    """A study before it is opened.

    Attributes
    ----------
    sections
        What would be registered, in words.
    rounds
        Rounds that everybody answers, checks not counted.
    minutes
        How long that may take, from usual reading and answering times.
    doubts
        What is better looked at before anybody takes part.
    """

    sections: tuple[Section, ...]
    rounds: int
    minutes: float
    doubts: tuple[str, ...]

    def in_words(self) -> str:
        """All of it, for the terminal."""
        lines = [line for section in self.sections for line in (*section.lines(), "")]
        lines.append(f"That is {counted(self.rounds, 'round')}, about {self.minutes:.0f} minutes.")
        if self.doubts:
            lines += ["", "To look at:", *(f"  - {doubt}" for doubt in self.doubts)]
        return "\n".join(lines)


def overview(study: Study, arms: Sequence[Arm]) -> Overview:
    """A study before it is opened.

    Parameters
    ----------
    study
        What the file says.
    arms
        As `make_arms` makes them.

    Returns
    -------
    Overview
        With whatever is doubtful.
    """
    found = sections(freeze(study, arms, is_draft=True))
    return Overview(
        tuple(found), len(study.protocol.trials), _seconds(study) / 60.0, tuple(doubts(study, arms))
    )


def _seconds(study: Study) -> float:
    total = 0.0
    for step in study.protocol.steps:
        if step.kind == "end":
            break
        block: Any = study.configuration.block[step.block]
        if step.kind in ("consent", "debrief", "break"):
            total += _PAGE + _WORD * len(str(block.text).split())
        elif step.kind == "page":
            pages = getattr(block, "pages", None)
            text = block.text if pages is None else pages[step.index]
            total += _PAGE + _WORD * len(str(text).split())
        elif step.kind == "quiz":
            total += _QUESTION * len(block.question)
        else:
            total += _TOLD if step.kind == "told" else _ROUND
    return total


def doubts(study: Study, arms: Sequence[Arm]) -> Iterator[str]:
    """What an experimenter should look at before anybody takes part, a sentence each.

    Parameters
    ----------
    study
        What the file says.
    arms
        As `make_arms` makes them.

    Yields
    ------
    str
        None of them keeps a study from being run.
    """
    said = study.configuration
    left = placeholders(study)
    if left:
        yield f"{counted(len(left), 'place')} to fill in: {listed(list(dict.fromkeys(left))[:3])}"
    yield from _doubts_about_arms(study, arms)
    yield from _doubts_about_blocks(study)
    compared, all_arms = len(said.analysis.compare), len(said.arm)
    if said.people // all_arms < 10:
        yield (
            f"{said.people} people are {said.people // all_arms} an arm, which shows large effects "
            "only; `preceptor study power` says what they can show"
        )
    if compared < min(all_arms, 2):
        yield "the analysis names one arm, though there are several: nothing is compared"
    if compared == 1 and "error" in said.analysis.measure:
        yield "errors of one arm are compared with nothing; name a second one in analysis.compare"
    if len(said.assumed.kind) == 0:
        yield "assumed.kind: none, so that power takes people for a usual mixture of kinds"


def _doubts_about_arms(study: Study, arms: Sequence[Arm]) -> Iterator[str]:
    seed, rounds = study.configuration.seed, study.training_rounds
    seen: dict[tuple[Any, ...], str] = {}
    for arm in arms:
        schedule = arm.schedule(rounds, seed, 0)
        if schedule is None or arm.policy == "random order":
            continue
        key = tuple(schedule)
        if key in seen:
            yield f"arms {seen[key]} and {arm.name} show the very same: there is no contrast"
        seen.setdefault(key, arm.name)
    values = {arm.name: arm.value for arm in arms if arm.value is not None}
    compare = [values.get(name) for name in study.configuration.analysis.compare]
    if len(compare) == 2 and compare[0] is not None and compare[1] is not None:
        first, second = study.configuration.analysis.compare
        if compare[0] > compare[1]:
            yield f"{first} is expected to do better, but costs the problem's person more"
        elif compare[1] - compare[0] < 0.02 * compare[1] and compare[0] != compare[1]:
            yield f"{first} saves the problem's person less than 2% of what {second} costs"


def _doubts_about_blocks(study: Study) -> Iterator[str]:
    blocks = study.configuration.block
    kinds = [block.kind for block in blocks]
    if "consent" not in kinds:
        yield "there is no consent"
    if "debrief" not in kinds:
        yield "there is no debrief"
    if not any(getattr(block, "question", ()) for block in blocks):
        yield "no quiz: nobody knows whether participants understood the task"
    training = [i for i, block in enumerate(blocks) if isinstance(block, Training)]
    testing = [i for i, block in enumerate(blocks) if isinstance(block, Testing)]
    if training and not any(i > training[-1] for i in testing):
        yield "no test after training: what people learned is seen only while they are helped"
    compares_with_before = study.configuration.analysis.measure in ("slope change", "kind")
    if compares_with_before and training and not any(i < training[0] for i in testing):
        yield "no test before training: nobody knows what people believed at first"
    for number, block in enumerate(blocks, start=1):
        for check in getattr(block, "check", ()):
            if check.after == 1:
                yield (
                    f"block {number} ({block.kind}): a check after the first round comes before "
                    "people are used to the task"
                )
    rules = study.configuration.exclusions
    if rules.same_answer is not None and study.answer == "yes or no":
        yield (
            f"exclusions.same_answer is {rules.same_answer:g}, but answers are yes or no: whoever "
            "is right about a rare outcome may be left out"
        )
    checks = sum(len(getattr(block, "check", ())) for block in blocks)
    if rules.failed_checks is not None and rules.failed_checks > checks:
        yield f"exclusions.failed_checks is {rules.failed_checks}, but there are {checks} checks"
