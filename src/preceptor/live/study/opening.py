"""Opening a study: what to look at before, then solve its arms, freeze it and store it.

After that it cannot change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from preceptor._base.progress import Progress
from preceptor._base.words import counted, listed
from preceptor.errors import InvalidInput
from preceptor.learners.case_choice import alone_shares
from preceptor.learners.case_policy import CaseAware
from preceptor.live.store import plans, studies
from preceptor.live.store.database import Store
from preceptor.live.store.studies import KeptArm, KeptStudy
from preceptor.live.store.tables import Conflict
from preceptor.live.study.analysis import FEW
from preceptor.live.study.arms import Arm, make_arms
from preceptor.live.study.config import Testing, Training
from preceptor.live.study.measures import trials_of
from preceptor.live.study.power import noise_in_words
from preceptor.live.study.registration import (
    Registration,
    Section,
    differences,
    freeze,
    placeholders,
    sections,
    unwritten,
)
from preceptor.live.study.study import Study
from preceptor.planning.candidate_sets import limited_to_candidates

# Typical seconds for a step or a question, and for a word: a rough estimate for consent forms and
# payment, not a measurement.
_STEP, _WORD = 6.0, 0.3


@dataclass(frozen=True)
class Overview:
    """A study before it is opened.

    Attributes
    ----------
    sections
        The registration, in words.
    rounds
        Rounds of each participant, without checks.
    minutes
        Estimated duration, from typical reading and answering times.
    noise
        What random answers would yield.
    doubts
        What to look at before opening the study.
    """

    sections: tuple[Section, ...]
    rounds: int
    minutes: float
    noise: str
    doubts: tuple[str, ...]

    def in_words(self) -> str:
        """The overview as text for the terminal."""
        lines = [line for section in self.sections for line in (*section.lines(), "")]
        lines.append(f"That is {counted(self.rounds, 'round')}, about {self.minutes:.0f} minutes.")
        lines.append(self.noise)
        if self.doubts:
            lines += ["", "To look at:", *(f"  - {doubt}" for doubt in self.doubts)]
        return "\n".join(lines)


def overview(study: Study, arms: Sequence[Arm]) -> Overview:
    """Make the overview of a study; `arms` are from `make_arms`."""
    found = sections(freeze(study, arms, is_draft=True))
    return Overview(
        tuple(found),
        len(study.protocol.trials),
        _seconds(study) / 60.0,
        noise_in_words(study, arms),
        tuple(doubts(study, arms)),
    )


def _seconds(study: Study) -> float:
    blocks = study.configuration.block
    questions = [each for block in blocks for each in getattr(block, "question", ())]
    texts = [getattr(block, "text", None) or "" for block in blocks]
    texts += [page for block in blocks for page in getattr(block, "pages", ())]
    texts += [text for each in questions for text in (each.text, *getattr(each, "choices", ()))]
    words = sum(len(text.split()) for text in texts)
    return _STEP * (study.protocol.end + len(questions)) + _WORD * words


def doubts(study: Study, arms: Sequence[Arm]) -> Iterator[str]:
    """What an experimenter should look at before opening a study, a sentence each.

    None of them prevents the study from being opened.
    """
    said = study.configuration
    left = placeholders(study)
    if left:
        yield f"{counted(len(left), 'place')} to fill in: {listed(list(dict.fromkeys(left))[:3])}"
    yield from _doubts_about_arms(study, arms)
    yield from _doubts_about_blocks(study)
    yield from _doubts_about_working_alone(study)
    compared, all_arms = len(said.analysis.compare), len(said.arm)
    if said.people // all_arms < FEW:
        yield (
            f"{said.people} people are {said.people // all_arms} per arm, enough for large effects "
            "only; `preceptor study power` computes what they can show"
        )
    if compared < min(all_arms, 2):
        yield "the analysis names one arm, though there are several: nothing is compared"
    if compared == 1 and "error" in said.analysis.measure:
        yield "errors of one arm are compared with nothing; name a second one in analysis.compare"
    if compared == 2 and said.analysis.measure == "kind":
        yield (
            "arms that show different tests tell more or less about a person, so that "
            "probabilities of kinds differ even if people do not; compare errors or slopes instead"
        )
    if len(said.assumed.kind) == 0:
        yield "assumed.kind: none, so power assumes the default mixture of kinds"


def _doubts_about_arms(study: Study, arms: Sequence[Arm]) -> Iterator[str]:
    told = {arm.name: arm.advice for arm in study.configuration.arm if arm.advice != "none"}
    if told:
        yield f"simulated people do not heed the advice of {listed([*told])}: power ignores it"
    seed, rounds = study.configuration.seed, study.training_rounds
    seen: dict[tuple[Any, ...], str] = {}
    for arm in arms:
        schedule = arm.schedule(rounds, seed, 0)
        if schedule is None or arm.policy == "random order":
            continue
        key = (told.get(arm.name), *schedule)
        if key in seen:
            yield f"arms {seen[key]} and {arm.name} show the same: there is no contrast"
        seen.setdefault(key, arm.name)
    values = {arm.name: arm.value for arm in arms if arm.value is not None}
    compare = [values.get(name) for name in study.configuration.analysis.compare]
    if len(compare) == 2 and compare[0] is not None and compare[1] is not None:
        first, second = study.configuration.analysis.compare
        if compare[0] > compare[1]:
            yield f"{first} is expected to do better, but costs the problem's person more"
        elif compare[1] - compare[0] < 0.02 * compare[1] and compare[0] != compare[1]:
            yield f"{first} saves the problem's person less than 2% of what {second} costs"


_LATER = {
    "any": "all of the largest sets that the budget allows",
    "best": "the most predictive set",
}


def _doubts_about_working_alone(study: Study) -> Iterator[str]:
    """An assistant that teaches for other sets than the test has teaches the wrong things."""
    problem, trials = study.problem, study.protocol.trials
    tested = [
        study.columns(trials[i].show or ()) for i in np.flatnonzero(trials_of(study, "test error"))
    ]
    family = limited_to_candidates(problem).sets
    for arm in study.configuration.arm:
        if arm.policy != CaseAware.kind or arm.tau == 0.0 or not tested:
            continue
        shares = alone_shares(problem, family, arm.alone)
        taught = {family[i] for i in np.flatnonzero(shares).tolist()}
        if {tuple(sorted(shown)) for shown in tested} != taught:
            yield (
                f"arm {arm.name}: its assistant prepares people for {_LATER[arm.alone]}, but the "
                "test shows other sets; make them the same"
            )


def _doubts_about_blocks(study: Study) -> Iterator[str]:
    blocks = study.configuration.block
    kinds = [block.kind for block in blocks]
    if "consent" not in kinds:
        yield "there is no consent"
    if "debrief" not in kinds:
        yield "there is no debrief"
    if not any(block.kind == "instructions" and block.question for block in blocks):
        yield "no quiz: it stays unknown whether participants understood the task"
    training = [i for i, block in enumerate(blocks) if isinstance(block, Training)]
    testing = [i for i, block in enumerate(blocks) if isinstance(block, Testing)]
    if training and not any(i > training[-1] for i in testing):
        yield "no test after training: learning is measured only while participants are helped"
    compares_with_before = study.configuration.analysis.measure in ("slope change", "kind")
    if compares_with_before and training and not any(i < training[0] for i in testing):
        yield "no test before training: initial weights stay unknown"
    for number, block in enumerate(blocks, start=1):
        for check in getattr(block, "check", ()):
            if check.after == 1:
                yield (
                    f"block {number} ({block.kind}): a check after the first round comes before "
                    "participants are used to the task"
                )
    rules = study.configuration.exclusions
    if rules.same_answer is not None and study.answer == "yes or no":
        yield (
            f"exclusions.same_answer is {rules.same_answer:g}, but answers are yes or no: "
            "participants who are right about a rare outcome may be excluded"
        )
    checks = sum(len(getattr(block, "check", ())) for block in blocks)
    if rules.failed_checks is not None and rules.failed_checks > checks:
        yield f"exclusions.failed_checks is {rules.failed_checks}, but there are {checks} checks"


@dataclass(frozen=True)
class OpenedStudy:
    """A stored study, its registration, and whether it is new."""

    study: KeptStudy
    registration: Registration
    is_new: bool


def open_study(
    store: Store,
    study: Study,
    power: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> OpenedStudy:
    """Solve, freeze and store a study; one that is stored already is returned.

    Parameters
    ----------
    store
        To store it in.
    study
        The study.
    power
        Result of `preceptor study power`.
    progress
        Called while solving.

    Returns
    -------
    OpenedStudy
        The stored study.

    Raises
    ------
    InvalidInput
        The study file has placeholders, or a study of that name exists and differs; then the
        message has a diff.
    """
    there = store.read(lambda connection: studies.look_up(connection, study.id))
    if there is not None:
        return _same(there, study)
    # Before solving, which may take minutes.
    InvalidInput.raise_if(unwritten(study))
    arms = make_arms(study, progress)
    registration = freeze(study, arms, power)
    try:
        kept, is_new = store.write(lambda connection: keep(connection, study, arms, registration))
    except Conflict:  # another process was faster, with another file
        return _same(store.read(lambda connection: studies.find(connection, study.id)), study)
    return OpenedStudy(kept, Registration(kept.registration), is_new)


def keep(
    connection: Connection, study: Study, arms: tuple[Arm, ...], registration: Registration
) -> tuple[KeptStudy, bool]:
    """Store a study with its plans, in one transaction; return it, and whether it is new."""
    said = study.configuration
    for arm in arms:
        plans.keep(connection, arm.plan)
    kept = [
        KeptArm(
            study.id, arm.name, position, arm.policy, plans.sha256_of(arm.plan), written.cap, True
        )
        for position, (arm, written) in enumerate(zip(arms, said.arm, strict=True))
    ]
    return studies.open_study(
        connection,
        study.id,
        config=study.to_json(),
        sha256=study.sha256,
        people=said.people,
        registration=registration.text,
        registration_sha256=registration.sha256,
        arms=kept,
    )


def _same(there: KeptStudy, study: Study) -> OpenedStudy:
    if there.sha256 == study.sha256:
        return OpenedStudy(there, Registration(there.registration), False)
    changed = differences(json.loads(there.config), json.loads(study.to_json()))
    raise InvalidInput(
        [
            f"study: {study.id!r} was opened on {there.opened[:10]}, and a study does not change "
            "once it is open; undo the changes, or give this one another id",
            *changed,
        ]
    )
