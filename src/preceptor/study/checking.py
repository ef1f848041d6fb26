"""What a study comes to, in words: what participants go through, how long, and what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from preceptor._base.words import counted, listed
from preceptor.study.arms import Arm
from preceptor.study.beginning import placeholders
from preceptor.study.config import Exclusions, Testing, Training
from preceptor.study.study import Study

# Seconds that things usually take: an estimate for consent forms and payment, no measurement.
_ROUND, _TOLD, _QUESTION, _WORD, _PAGE = 8.0, 3.0, 15.0, 0.3, 5.0


@dataclass(frozen=True)
class Overview:
    """A study in words.

    Attributes
    ----------
    steps
        What a participant goes through, a line for each block.
    rounds
        Rounds that everybody answers, checks not counted.
    minutes
        How long that may take, from usual reading and answering times.
    arms
        A line for each arm.
    excluded
        Whom the analysis leaves out.
    analysis
        What is going to be computed.
    doubts
        What is better looked at before anybody takes part.
    """

    steps: tuple[str, ...]
    rounds: int
    minutes: float
    arms: tuple[str, ...]
    excluded: str
    analysis: str
    doubts: tuple[str, ...]

    def in_words(self) -> str:
        """All of it, for the terminal."""
        lines = ["A participant goes through:"]
        lines += [f"  {number}. {step}" for number, step in enumerate(self.steps, start=1)]
        lines.append(f"That is {counted(self.rounds, 'round')}, about {self.minutes:.0f} minutes.")
        lines += ["", "Arms:", *(f"  {arm}" for arm in self.arms)]
        lines += ["", self.excluded, self.analysis]
        if self.doubts:
            lines += ["", "To look at:", *(f"  - {doubt}" for doubt in self.doubts)]
        return "\n".join(lines)


def overview(study: Study, arms: Sequence[Arm]) -> Overview:
    """A study in words.

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
    said = study.configuration
    return Overview(
        tuple(_step(study, number, block) for number, block in enumerate(said.block)),
        len(study.protocol.trials),
        _seconds(study) / 60.0,
        tuple(_arm_in_words(study, arm) for arm in arms),
        _excluded(said.exclusions),
        _analysis(study),
        tuple(doubts(study, arms)),
    )


def _step(study: Study, number: int, block: Any) -> str:
    length = study.protocol.length_of(number)
    if block.kind == "consent":
        return "Consent"
    if block.kind == "instructions":
        quiz = f", then a quiz of {counted(len(block.question), 'question')}"
        return f"Instructions: {counted(len(block.pages), 'page')}{quiz if block.question else ''}"
    if block.kind in ("break", "debrief"):
        return {"break": "A break", "debrief": "Debrief"}[block.kind]
    told = "with feedback" if getattr(block, "feedback", False) else "without feedback"
    parts = [f"{block.kind.title()}: {counted(length, 'round')} {told}"]
    if isinstance(block, Testing) and block.probe:
        given = sum(probe.values is not None for probe in block.probe)
        parts.append(f"{counted(given, 'probe')} with given results")
    elif not isinstance(block, Training):
        sets = list(dict.fromkeys(" + ".join(each) for each in block.show))
        parts.append(f"showing {listed(sets)}")
    checks = len(getattr(block, "check", ()))
    if checks:
        parts.append(counted(checks, "check"))
    return ", ".join(parts)


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


def _arm_in_words(study: Study, arm: Arm) -> str:
    rounds, world = study.training_rounds, study.problem.world
    schedule = arm.schedule(rounds, study.configuration.seed, 0)
    words = f"{arm.name} ({arm.policy})"
    if arm.is_adaptive:
        words += ": a tutor decides from the answers"
    elif schedule is not None:
        words += f": {_schedule_in_words(world, schedule)}"
        if arm.policy == "random order":
            words = f"{arm.name} ({arm.policy}): sets by chance, for everybody anew"
    if arm.value is not None:
        per = "" if study.problem.horizon is None else f", {arm.value / study.problem.horizon:.4g}"
        each = f"{per} a round" if per else ""
        words += f"; costs the problem's person {arm.value:.5g} in all{each}"
    if arm.gap is not None and arm.policy == "plan":
        words += f" (at most {arm.gap:.1%} above the best possible)" if arm.gap else " (the least)"
    return words


def _schedule_in_words(world: Any, schedule: Sequence[Any]) -> str:
    runs: list[list[Any]] = []
    for shown in schedule:
        if runs and runs[-1][0] == shown:
            runs[-1][1] += 1
        else:
            runs.append([shown, 1])
    said = [f"{' + '.join(world.name_of(shown)) or 'nothing'} x {n}" for shown, n in runs[:6]]
    if len(runs) > 6:
        said.append(f"... ({len(runs)} changes)")
    return ", ".join(said)


def _excluded(rules: Exclusions) -> str:
    said = ["do not finish"] if rules.unfinished else []
    if rules.failed_checks is not None:
        said.append(f"fail {counted(rules.failed_checks, 'check')} or more")
    if rules.fastest_seconds is not None:
        said.append(f"take less than {rules.fastest_seconds:g} s for half of their answers")
    if rules.same_answer is not None:
        said.append(f"give one and the same answer in more than {rules.same_answer:.0%} of rounds")
    if not said:
        return "Nobody is left out of the analysis."
    *others, last = said
    return (
        f"Left out of the analysis: those who {', '.join(others) + ' or ' * bool(others) + last}."
    )


def _analysis(study: Study) -> str:
    said = study.configuration.analysis
    whom = " against ".join(said.compare)
    if said.measure == "kind":
        return f"Analysis: how everybody learns, by their posterior, in {whom}."
    return (
        f"Analysis: {said.measure} of {whom}, {said.test} test, {said.alternative}, level "
        f"{said.level:g}."
    )


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
