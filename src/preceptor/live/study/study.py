"""A study: its file and its problem, checked as a whole, and the steps of its participants.

The position of a participant is one number, their step, which moves only by answers that name it.
Reload, back button, second tab and second device therefore all see the same state.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from preceptor._base.files import parse_toml, read_text
from preceptor._base.values import plain
from preceptor._base.words import listed, repeated, unknown_name_faults
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.live.service.schemas import sentences
from preceptor.live.store.plans import sha256_of
from preceptor.live.study.config import (
    ArmConfig,
    ChoiceQuestion,
    Configuration,
    LookOfOutcome,
    NumberQuestion,
    PlausibleCases,
    Practice,
    Survey,
    Testing,
    Training,
)
from preceptor.live.wording import Words, change_faults, changed_words, words_in
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.simulation.named import EXEMPLAR, HUMAN_NAMES

StepKind = Literal[
    "consent",
    "page",
    "quiz",
    "wait",
    "ask",
    "told",
    "check",
    "break",
    "survey",
    "debrief",
    "end",
]


@dataclass(frozen=True)
class Trial:
    """A round of the protocol: the t-th round of each participant is the t-th trial.

    Attributes
    ----------
    number
        From 0, over all blocks.
    block
        Its block, from 0.
    place
        Its position in the block, from 0.
    show
        Names of the tests; None where the arm decides.
    values
        Prescribed results of the case, in the units that people read; None for any case.
    feedback
        Whether the outcome is told.
    training
        Its number among the rounds of training, from 0; None outside training.
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
    """One page; `index` numbers the page of instructions, the trial, or the check."""

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
        """The first case, where an arm is assigned: consent and quiz are passed."""
        return next(i for i, step in enumerate(self.steps) if step.kind == "ask")

    @cached_property
    def agreed_at(self) -> int:
        """The step of consent, which reserves a place; the first case if there is none."""
        consent = (i for i, step in enumerate(self.steps) if step.kind == "consent")
        return min(next(consent, self.end), self.assigned_at)

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


def _rounds(block: Any) -> Iterator[tuple[tuple[str, ...] | None, tuple[float, ...] | None, bool]]:
    """What each round of a block shows, prescribed results, and whether there is feedback."""
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
    if block.kind in ("consent", "break", "survey", "debrief"):
        yield Step(block.kind, number)
        return
    if block.kind == "instructions":
        for page in range(len(block.pages)):
            yield Step("page", number, page)
        if block.question:
            yield Step("quiz", number)
        return
    if getattr(block, "after_days", None) is not None:
        yield Step("wait", number)
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


# Characters of all texts of a form: each may take 12 bytes of the 64 kB that the service accepts.
LONGEST_TEXTS = 5_000
# People without a learning rate that could be set.
WITHOUT_RATE = ("no-learning", "bayesian", "bayes", "crowd", EXEMPLAR)
_FOR_CASE_AWARE = ("tau", "knows", "alone", "pool", "plausible")
# Ids that collide with addresses of the owner's pages.
_TAKEN = ("enter", "leave")
_NUMERIC, _YES_NO = ("number", "slider"), ("yes or no", "percent")


@dataclass(frozen=True, eq=False)
class Study:
    """A configuration that fits its problem.

    Parameters
    ----------
    configuration
        Content of the study file.
    problem
        World, person, budget and risk; plans are made for its person.

    Raises
    ------
    InvalidInput
        All inconsistencies at once.
    """

    configuration: Configuration
    problem: Problem

    def __post_init__(self) -> None:
        InvalidInput.raise_if(_faults(self))

    @property
    def id(self) -> str:
        """Its name in URLs."""
        return self.configuration.id

    @cached_property
    def words(self) -> Words:
        """The words of its pages."""
        return changed_words(self.configuration.language, self.configuration.words)

    @cached_property
    def protocol(self) -> Protocol:
        """The steps that a participant goes through."""
        return protocol_of(self.configuration.block)

    @cached_property
    def training_rounds(self) -> int:
        """Rounds in which the arm decides."""
        return sum(trial.training is not None for trial in self.protocol.trials)

    @cached_property
    def pool(self) -> int:
        """Cases of a place that arms may pick from in training; 0 if no arm does."""
        return max(arm.pool or 0 for arm in self.configuration.arm)

    def columns(self, names: Sequence[str]) -> TestSet:
        """Columns of tests by name."""
        return self.problem.world.columns_of(names)

    @cached_property
    def answer(self) -> str:
        """How participants answer: number, slider, yes or no, percent."""
        if self.configuration.outcome.answer is not None:
            return self.configuration.outcome.answer
        if not self.problem.is_binary:
            return "number"
        return "yes or no" if getattr(self.problem.risk, "decides", False) else "percent"

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a study file; its problem is a table in it, or a file next to it.

        Parameters
        ----------
        path
            A .toml file.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        InvalidFile
            The file cannot be read or is invalid; all faults at once, each with the name of the
            file.
        """
        try:
            return cls.from_dict(parse_toml(read_text(path)), Path(path).parent)
        except InvalidInput as error:
            raise InvalidFile([f"{path}: {fault}" for fault in error.faults]) from error

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], folder: Path | None = None) -> Study:
        """Rebuild from plain data; `folder` may contain the problem file.

        Titles and texts that a block does not have are in the language of the study.
        """
        given = _worded(data)
        faults: list[str] = []
        problem = configuration = None
        try:
            problem = _problem(given.pop("problem", None), folder)
        except InvalidInput as error:
            faults += [f"problem: {fault}" for fault in error.faults]
        try:
            configuration = Configuration.model_validate(given)
        except ValidationError as error:
            found = [{**fault, "loc": _place(fault["loc"], given)} for fault in error.errors()]
            faults += sentences(found, [*Configuration.model_fields, "problem"])
        InvalidInput.raise_if(faults)
        assert problem is not None
        assert configuration is not None
        return cls(configuration, problem)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the problem included."""
        said = self.configuration.model_dump(mode="json", exclude_defaults=True)
        if self.words.messages is not words_in("en").messages:
            # Titles are kept even where they are those of English studies.
            for block, kept in zip(self.configuration.block, said["block"], strict=True):
                kept |= {name: getattr(block, name) for name in _BUILT_IN[block.kind]}
                if (scale := getattr(block, "confidence", None)) is not None:
                    kept["confidence"] = scale.model_dump(mode="json")
        return {**said, "format": self.configuration.format, "problem": self.problem.to_dict()}

    @classmethod
    def from_json(cls, text: str) -> Study:
        """Rebuild from `to_json`."""
        return cls.from_dict(json.loads(text))

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces."""
        return json.dumps(plain(self.to_dict()), sort_keys=True, separators=(",", ":"))

    @cached_property
    def sha256(self) -> str:
        """Hash of `to_json`, which the registration fixes."""
        return sha256_of(self.to_json())


# Fields of blocks that are written in the language of the study, and the keys of their messages.
_BUILT_IN: dict[str, dict[str, str]] = {
    "consent": {"title": "title_consent", "agree": "agree"},
    "instructions": {"title": "title_instructions"},
    "practice": {"title": "title_practice"},
    "training": {"title": "title_training"},
    "test": {"title": "title_test"},
    "break": {"title": "title_break", "text": "break_text"},
    "survey": {"title": "title_survey"},
    "debrief": {"title": "title_debrief"},
}


def _worded(data: Mapping[str, Any]) -> dict[str, Any]:
    """A study's data with the built-in texts of its language where it has none of its own.

    Whatever is not as it must be is left to the checks.
    """
    given = dict(data)
    language, changes, blocks = (given.get(key) for key in ("language", "words", "block"))
    is_sound = isinstance(changes or {}, Mapping) and not any(change_faults("", changes or {}))
    if not isinstance(language or "en", str) or not isinstance(blocks, list) or not is_sound:
        return given
    messages = changed_words(language or "en", changes or {}).messages
    if messages is words_in("en").messages:
        return given
    given["block"] = [
        _worded_block(block, messages) if isinstance(block, Mapping) else block for block in blocks
    ]
    return given


def _worded_block(block: Mapping[str, Any], messages: Mapping[str, Any]) -> dict[str, Any]:
    fields = _BUILT_IN.get(str(block.get("kind")), {})
    made = {**{name: messages[key] for name, key in fields.items()}, **block}
    if isinstance(made.get("confidence"), Mapping):
        sure = {"text": messages["how_sure"], "ends": [messages["sure_low"], messages["sure_high"]]}
        made["confidence"] = {**sure, **made["confidence"]}
    return made


def _problem(given: Any, folder: Path | None) -> Problem:
    if isinstance(given, str) and folder is not None:
        return Problem.load(folder / given)
    if isinstance(given, Mapping):
        return Problem.from_dict(given)
    raise InvalidInput("missing; name a problem file, or write it as a table [problem]")


def _place(where: Sequence[Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Location of a fault, counted from 1: the third block is "block 3 (training)"."""
    place: list[str] = []
    parts = list(where)
    while parts:
        part = parts.pop(0)
        if isinstance(part, int) and place:
            place[-1] += f" {part + 1}"
            if place[-1].startswith("block ") and parts and isinstance(parts[0], str):
                blocks = given.get("block")
                kind = blocks[part].get("kind") if isinstance(blocks, list) else None
                if parts[0] == kind:
                    place[-1] += f" ({parts.pop(0)})"
        else:
            place.append(str(part))
    # `sentences` drops the first part, which it expects for requests.
    return ("body", *place)


def _faults(study: Study) -> Iterator[str]:
    said, problem = study.configuration, study.problem
    if said.id in _TAKEN:
        yield f"id: {said.id!r} is the address of another page; choose another one"
    yield from change_faults("words", said.words)
    names = [arm.name for arm in said.arm]
    yield from (f"arm: the name {name!r} occurs twice" for name in repeated(names))
    tests = problem.world.tests
    yield from unknown_name_faults("tests", said.tests, tests)
    yield from _arm_faults(study)
    yield from _advice_faults(study)
    yield from _block_faults(study)
    if said.recruiting.payments and said.recruiting.parameter is None:
        yield "recruiting.payments: true, but without a parameter no recruiter's name is known"
    yield from _survey_faults(study)
    yield from _answer_faults(study)
    yield from unknown_name_faults("analysis.compare", said.analysis.compare, names)
    if said.analysis.probe is not None:
        yield from unknown_name_faults("analysis.probe", [said.analysis.probe], tests)
    elif said.analysis.measure == "slope change":
        yield "analysis.probe: missing; name the test whose slope is measured"
    if said.analysis.block is not None:
        yield from _measured_block_faults(study, said.analysis.block)
    if said.analysis.measure == "kind" and problem.is_binary:
        yield "analysis.measure: 'kind' needs a numeric outcome; choose another"
    yield from _assumed_faults(study)
    if said.analysis.measure in ("test error", "slope change") and not any(
        isinstance(block, Testing) for block in said.block
    ):
        yield f"analysis.measure: {said.analysis.measure!r}, but there is no block of kind test"


def _measured_block_faults(study: Study, number: int) -> Iterator[str]:
    tests = [i for i, b in enumerate(study.configuration.block, 1) if isinstance(b, Testing)]
    if study.configuration.analysis.measure != "test error":
        yield "analysis.block: is for the measure 'test error' only; leave it out"
    elif number not in tests:
        known = ", ".join(map(str, tests)) or "none"
        yield f"analysis.block: {number} is not a test block, which are: {known}"


def _assumed_faults(study: Study) -> Iterator[str]:
    for number, kind in enumerate(study.configuration.assumed.kind, start=1):
        where = f"assumed.kind {number}"
        if kind.human not in HUMAN_NAMES:
            yield f"{where}: {kind.human!r}, must be one of {', '.join(HUMAN_NAMES)}"
        elif kind.rate is not None and kind.human in WITHOUT_RATE:
            yield f"{where}: {kind.human} has no rate that could be set; leave it out"
        if kind.human == EXEMPLAR and kind.imputation is not None:
            yield f"{where}: {kind.human} remembers cases and imputes nothing; leave that out"
        if kind.human == EXEMPLAR and study.problem.is_binary:
            yield f"{where}: {kind.human} needs a numeric outcome; leave it out"


def _arm_faults(study: Study) -> Iterator[str]:
    for arm in study.configuration.arm:
        where = f"arm {arm.name!r}"
        if arm.policy == "sets":
            if not arm.sets:
                yield f"{where}: policy is sets, but none is named; add [[arm.sets]]"
            total = sum(each.rounds for each in arm.sets)
            if arm.sets and total != study.training_rounds:
                yield (
                    f"{where}: its sets are for {total} rounds, but training has "
                    f"{study.training_rounds}; make them equal"
                )
        elif arm.sets:
            yield f"{where}: has sets, but policy is {arm.policy!r}; leave them out"
        given = [name for name in _FOR_CASE_AWARE if name in arm.model_fields_set]
        if arm.policy != "case-aware" and given:
            yield f"{where}: has {listed(given)}, but policy is {arm.policy!r}; leave that out"
        yield from _pool_faults(study, where, arm)
        yield from unknown_name_faults(
            f"{where}: knows", arm.knows or [], study.problem.world.tests
        )
        for each in arm.sets:
            yield from _set_faults(study, f"{where}: sets", each.show, within_budget=True)


def _pool_faults(study: Study, where: str, arm: ArmConfig) -> Iterator[str]:
    if arm.pool is None:
        if arm.plausible is not None:
            yield f"{where}: has plausible, but no pool; give the number of cases to pick from"
        return
    if arm.knows is not None:
        yield f"{where}: has knows, but cases of a pool are known completely; leave it out"
    rule = PlausibleCases() if arm.plausible is None else arm.plausible
    # At most this share is excluded by distance, and as much by residual.
    allowed = max(2.0 * rule.central - 1.0, 0.0)
    if not rule.repeats and arm.pool * allowed < study.training_rounds:
        needed = f"at least {math.ceil(study.training_rounds / allowed)}" if allowed else "repeats"
        yield (
            f"{where}: pool is {arm.pool}, too few for {study.training_rounds} rounds of training "
            f"without a repeat if only the central {100.0 * rule.central:g}% may be picked; it "
            f"needs {needed}"
        )


def _advice_faults(study: Study) -> Iterator[str]:
    world = study.problem.world
    for arm in study.configuration.arm:
        where = f"arm {arm.name!r}: advice is {arm.advice!r}, but"
        if arm.advice == "weights" and study.problem.is_binary:
            yield f"{where} the outcome is yes or no, so that a weight has no unit; choose another"
        several = [name for name, own in zip(world.tests, world.blocks, strict=True) if own[1:]]
        if arm.advice in ("weights", "contrast") and several:
            yield f"{where} {listed(several)} is no number; choose another"


def _block_faults(study: Study) -> Iterator[str]:
    blocks = study.configuration.block
    if not any(isinstance(block, (Training, Testing)) for block in blocks):
        yield "block: none is of kind training or test, so there is nothing to answer"
    for number, block in enumerate(blocks, start=1):
        where = f"block {number} ({block.kind})"
        if block.kind == "consent" and number > 1:
            yield f"{where}: consent comes first, before anything else"
        if block.kind == "debrief" and number < len(blocks):
            yield f"{where}: comes last, after everything else"
        if block.kind == "instructions":
            for each in block.question:
                if each.right > len(each.choices):
                    yield (
                        f"{where}: {each.right} is right, but there are {len(each.choices)} choices"
                    )
        if isinstance(block, (Practice, Testing)):
            for shown in block.show:
                yield from _set_faults(study, f"{where}: show", shown)
        if isinstance(block, Testing):
            yield from _test_faults(study, where, number - 1, block)
        if isinstance(block, (Training, Testing)):
            length = study.protocol.length_of(number - 1)
            for check in block.check:
                if check.after >= length:
                    yield (
                        f"{where}: a check after {check.after} rounds, but there are {length}; it "
                        "must come between two rounds"
                    )


def _survey_faults(study: Study) -> Iterator[str]:
    names: list[str] = []
    for number, block in enumerate(study.configuration.block, start=1):
        for each in block.question if isinstance(block, Survey) else ():
            where = f"block {number} (survey): question {each.name!r}"
            names.append(each.name)
            if isinstance(each, ChoiceQuestion) and repeated(each.choices):
                yield f"{where}: the choice {repeated(each.choices)[0]!r} occurs twice"
            if isinstance(each, NumberQuestion):
                yield from _limit_faults(where, each)
        long = sum(getattr(each, "longest", 0) for each in getattr(block, "question", ()))
        if long > LONGEST_TEXTS:
            yield (
                f"block {number} (survey): its texts may have {long:,} characters, and a form at "
                f"most {LONGEST_TEXTS:,}; lower `longest`, or make two blocks"
            )
    yield from (f"survey: the name {name!r} occurs twice" for name in repeated(names))


def _test_faults(study: Study, where: str, number: int, block: Testing) -> Iterator[str]:
    if block.after_days is None and "within_days" in block.model_fields_set:
        yield f"{where}: has within_days, but not after_days; give both or neither"
    is_first = not any(trial.block < number for trial in study.protocol.trials)
    if block.after_days is not None and is_first:
        yield f"{where}: has after_days, but no case comes before it; leave it out"
    if bool(block.show) == bool(block.probe):
        yield f"{where}: needs either `show` (sets, in turn) or [[block.probe]]"
    for probe in block.probe:
        yield from _set_faults(study, f"{where}: probe", probe.show)
        if probe.values is not None and len(probe.values) != len(probe.show):
            yield f"{where}: {len(probe.values)} values for {len(probe.show)} tests of a probe"


def _set_faults(
    study: Study, where: str, shown: Sequence[str], *, within_budget: bool = False
) -> Iterator[str]:
    world = study.problem.world
    unknown = unknown_name_faults(where, shown, world.tests)
    yield from unknown
    if len(set(shown)) < len(shown):
        yield f"{where}: {listed(list(shown))} names a test twice"
    elif not unknown and within_budget:
        columns = tuple(sorted(world.columns_of(shown)))
        if not study.problem.budget.allows(columns):
            yield f"{where}: {listed(list(shown))} is more than the budget allows"


def _answer_faults(study: Study) -> Iterator[str]:
    look, wanted = study.configuration.outcome, study.answer
    if study.problem.is_binary != (wanted in _YES_NO):
        fits = _YES_NO if study.problem.is_binary else _NUMERIC
        yield f"outcome.answer: {wanted!r}, but the problem's outcome needs {' or '.join(fits)}"
    if wanted == "slider" and (look.low is None or look.high is None):
        yield "outcome: a slider needs low and high"
    yield from _limit_faults("outcome", look)


def _limit_faults(where: str, given: LookOfOutcome | NumberQuestion) -> Iterator[str]:
    if given.low is not None and given.high is not None and given.low >= given.high:
        yield f"{where}: low is {given.low:g} and high {given.high:g}; low must be less"
