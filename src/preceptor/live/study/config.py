"""The study file: one class for each of its tables.

These classes check types and limits of single fields; `Study` checks that they fit together and fit
the problem.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from preceptor.live.service.schemas import Number

FORMAT = "preceptor-study/1"
# For URLs and file names; nothing that needs escaping.
ID = r"^[a-z0-9][a-z0-9-]{0,63}$"

Line = Annotated[str, Field(min_length=1, max_length=500)]
Prose = Annotated[str, Field(min_length=1, max_length=20_000)]
Shown = Annotated[list[Line], Field(min_length=1, max_length=100)]
Rounds = Annotated[StrictInt, Field(ge=1, le=5_000)]
Natural = Annotated[StrictInt, Field(ge=1, le=1_000_000)]


class Part(BaseModel):
    """A table of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class LookOfTest(Part):
    """How a test is shown to participants."""

    label: Line | None = None
    """Its name on pages; by default as in the problem."""
    unit: str = Field(default="", max_length=40)
    decimals: StrictInt = Field(default=1, ge=0, le=6)
    """Decimals of results on pages."""


class LookOfOutcome(Part):
    """What participants predict, and how they answer."""

    name: Line | None = None
    """What participants predict; by default as in the problem."""
    unit: str = Field(default="", max_length=40)
    decimals: StrictInt = Field(default=1, ge=0, le=6)
    answer: Literal["number", "slider", "yes or no", "percent"] | None = None
    """By default a number; for yes-or-no outcomes as the risk has it."""
    low: Number | None = None
    """Least answer that is accepted."""
    high: Number | None = None
    """Largest answer that is accepted."""


class ArmConfig(Part):
    """An arm: what decides what is shown in training."""

    name: Annotated[str, Field(pattern=ID)]
    policy: Literal[
        "plan", "best fixed", "most predictive", "random order", "adaptive", "case-aware", "sets"
    ]
    """What decides what is shown; see [Studies](studies.md)."""
    advice: Literal["none", "prediction", "weights", "contrast"] = "none"
    """What the assistant says on the page of a case in training: what it predicts from the results
    shown, the true weights of these tests, or which of them the participant weighs wrongly."""
    cap: Natural | None = None
    """Participants, at most; no limit if missing."""
    method: Line = "auto"
    """How a plan is solved; see `preceptor methods`."""
    time_limit: Annotated[Number, Field(gt=0, le=3600)] = 10.0
    """Seconds for solving a plan."""
    sets: list[SetFor] = Field(default=[], max_length=500)
    """For `sets`: what to show, how long."""
    tau: Annotated[Number, Field(ge=0)] | None = None
    """For `case-aware`: cases decided alone that one aided case is worth."""
    knows: list[Line] | None = Field(default=None, max_length=500)
    """For `case-aware`: the tests whose results are known before choosing; all if missing."""
    alone: Literal["any", "best"] = "any"
    """For `case-aware`: how people work alone, with any of the largest sets that the budget allows,
    or with the most predictive one."""
    pool: Annotated[StrictInt, Field(ge=1, le=5_000)] | None = None
    """The arm also picks the case, from this many; they are the same at the same place of every
    arm, and arms that pick none have the first of them in order."""
    plausible: PlausibleCases | None = None
    """Which cases of the pool may be picked."""


class PlausibleCases(Part):
    """Which cases of a pool may be picked; see `preceptor.learners.Plausibility`."""

    central: Annotated[Number, Field(gt=0, le=1)] = 0.9
    """Share of the pool that may be picked; cases far from the others are left out."""
    repeats: StrictBool = False
    """Whether a case may come twice."""
    balance: Annotated[Number, Field(ge=0)] = 0.1
    """How strongly outcomes of picked cases are balanced."""
    considered: Natural = 50
    """Cases drawn at random each round, from which one is picked."""


class SetFor(Part):
    """A set of tests, and the number of rounds it is shown."""

    show: Shown
    rounds: Rounds = 1


class QuizQuestion(Part):
    """One question of a quiz, with one right choice."""

    text: Prose
    choices: Annotated[list[Line], Field(min_length=2, max_length=10)]
    right: Annotated[StrictInt, Field(ge=1)]
    """Which choice, counted from 1."""


class Check(Part):
    """An attention check, after a number of rounds of the block."""

    after: Natural
    """Rounds of the block before it."""
    text: Prose
    answer: Number
    """The right answer."""


class Probe(Part):
    """A test round, perhaps with prescribed results."""

    show: Shown
    values: Annotated[list[Number], Field(min_length=1)] | None = None
    """Results of the tests, in their units; any case if missing."""


class Consent(Part):
    """What participants agree to."""

    kind: Literal["consent"]
    title: Line = "Consent"
    text: Prose
    agree: Line = "I have read this and want to take part."
    """Next to the box that participants tick."""


class Instructions(Part):
    """Pages to read, and perhaps a quiz."""

    kind: Literal["instructions"]
    title: Line = "Instructions"
    pages: Annotated[list[Prose], Field(min_length=1, max_length=50)]
    """Texts, a page each; `*words*` are emphasised, lines with `- ` are lists."""
    question: list[QuizQuestion] = Field(default=[], max_length=50)
    attempts: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    """Attempts at the quiz before a participant is screened out."""


class RatingScale(Part):
    """A scale from 1 to `points` with words for its two ends."""

    points: Annotated[StrictInt, Field(ge=2, le=11)] = 5
    ends: Annotated[list[Line], Field(min_length=2, max_length=2)]

    @property
    def size(self) -> int:
        """How many answers there are."""
        return self.points

    def in_words(self) -> str:
        """The scale with its ends."""
        return f"1 ({self.ends[0]}) to {self.points} ({self.ends[1]})"


class Confidence(RatingScale):
    """How sure participants are of an answer, asked with it."""

    text: Line = "How sure are you?"
    ends: Annotated[list[Line], Field(min_length=2, max_length=2)] = ["not at all", "completely"]


class Practice(Part):
    """Rounds to get used to the page; by default without feedback."""

    kind: Literal["practice"]
    title: Line = "Practice"
    text: Prose | None = None
    rounds: Rounds = 2
    show: Annotated[list[Shown], Field(min_length=1)]
    """Sets, in turn."""
    feedback: StrictBool = False
    cases: Literal["common", "own"] = "common"
    """The same cases for everybody, or different ones for each place."""
    confidence: Confidence | None = None
    """Ask with each answer how sure participants are."""


class Training(Part):
    """Rounds in which the arm decides what is shown, and the outcome is told."""

    kind: Literal["training"]
    title: Line = "Cases"
    text: Prose | None = None
    """A page before the first case."""
    rounds: Rounds
    feedback: StrictBool = True
    """Whether the outcome is told."""
    confidence: Confidence | None = None
    """Ask with each answer how sure participants are."""
    break_every: Natural | None = None
    """A break after this many rounds."""
    check: list[Check] = Field(default=[], max_length=50)
    """Attention checks."""


class Testing(Part):
    """Rounds that are the same in every arm, without feedback."""

    kind: Literal["test"]
    title: Line = "Test"
    text: Prose | None = None
    """A page before the first case."""
    rounds: Rounds | None = None
    """As many as `show` and `probe` have if missing."""
    show: list[Shown] = Field(default=[], max_length=500)
    """Sets, in turn."""
    probe: list[Probe] = Field(default=[], max_length=500)
    """Rounds one by one, instead of `show`."""
    cases: Literal["common", "own"] = "own"
    """The same cases for everybody, or different ones for each place."""
    confidence: Confidence | None = None
    """Ask with each answer how sure participants are."""
    check: list[Check] = Field(default=[], max_length=50)
    after_days: Annotated[Number, Field(gt=0, le=60)] | None = None
    """Participants come back for it this many days after the block before, and keep their place for
    `within_days` more."""
    within_days: Annotated[Number, Field(gt=0, le=60)] = 2.0
    """Days for which their place is kept."""


class Pause(Part):
    """A break of any length."""

    kind: Literal["break"]
    title: Line = "A break"
    text: Prose = "Take a break if you like. Continue when you are ready."


class SurveyQuestion(Part):
    """What all questions of a survey have."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    """Column of the answer in the export; lower-case, so that no other column has it."""
    text: Prose
    optional: StrictBool = False
    private: StrictBool = False
    """Left out of anonymous exports."""


class ChoiceQuestion(SurveyQuestion):
    """One of several choices."""

    kind: Literal["choice"]
    choices: Annotated[list[Line], Field(min_length=2, max_length=50)]

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(self.choices)


class LikertQuestion(SurveyQuestion, RatingScale):
    """A point on a scale."""

    kind: Literal["likert"]


class NumberQuestion(SurveyQuestion):
    """A number, perhaps with limits."""

    kind: Literal["number"]
    unit: str = Field(default="", max_length=40)
    low: Number | None = None
    high: Number | None = None


class TextQuestion(SurveyQuestion):
    """Free text; it may identify people, so anonymous exports leave it out."""

    kind: Literal["text"]
    private: Literal[True] = True
    longest: Annotated[StrictInt, Field(ge=1, le=5_000)] = 1_000
    """Characters."""


class Survey(Part):
    """Questions on one page, whose answers are neither right nor wrong."""

    kind: Literal["survey"]
    title: Line = "Some questions"
    text: Prose | None = None
    question: Annotated[
        list[
            Annotated[
                ChoiceQuestion | LikertQuestion | NumberQuestion | TextQuestion,
                Field(discriminator="kind"),
            ]
        ],
        Field(min_length=1, max_length=50),
    ]


class Debrief(Part):
    """What the study was about, with a field for comments."""

    kind: Literal["debrief"]
    title: Line = "What this study was about"
    text: Prose
    comment: StrictBool = True
    """Whether there is a field for a comment."""


BlockPart = Annotated[
    Consent | Instructions | Practice | Training | Testing | Pause | Survey | Debrief,
    Field(discriminator="kind"),
]


class Completion(Part):
    """Completion codes for each way to end, and where the last page leads."""

    code: Line | None = None
    """If missing, each participant gets a random code."""
    redirect: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    """{code} in it stands for the code."""
    screened_out: Line | None = None
    """Code of participants who fail the quiz, or find no place."""
    no_consent: Line | None = None
    """Code of participants who do not agree."""


class Recruiting(Part):
    """Who may take part: anyone with the address, or only those with a personal link."""

    entry: Literal["open", "links"] = "open"
    """Anyone with the address, or only those with a personal link."""
    parameter: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    """Query parameter with the recruiter's name for a participant (PROLIFIC_PID)."""
    payments: StrictBool = False
    """Whether `preceptor study payments` may match recruiters' names with codes and bonuses; the
    consent page then says so."""
    drop_after: Annotated[Number, Field(gt=0, le=525_600)] = 60.0
    """Minutes of inactivity after which a place is given to the next participant."""
    release_after: Annotated[Number, Field(gt=0, le=525_600)] = 10.0
    """The same before their first answer to a case: places are reserved at consent. A page of the
    templates is read in less than a minute (238 words a minute: Brysbaert 2019)."""
    resume: Literal["resume", "block"] = "resume"
    """Whether a participant who returns after `drop_after` may continue."""


class Payment(Part):
    """A bonus by performance: all of it without errors, less in proportion to the mean error.

    It is the mean absolute error of the answers in all test blocks, or in training if there are
    none: for decisions the share of wrong answers.
    """

    most: Annotated[Number, Field(gt=0)]
    """The bonus of a participant without errors."""
    none_at: Annotated[Number, Field(gt=0)]
    """Mean error from which on there is no bonus, in units of the answer."""
    currency: str = Field(default="", max_length=10)


class Exclusions(Part):
    """Registered rules for excluding participants from the analysis."""

    failed_checks: Natural | None = None
    """This many or more."""
    fastest_seconds: Annotated[Number, Field(gt=0)] | None = None
    """Median answer time below this."""
    same_answer: Annotated[Number, Field(gt=0, le=1)] | None = None
    """Share of rounds with the same answer above this."""
    unrelated_answers: Annotated[Number, Field(gt=0.5, lt=1)] | None = None
    """Probability that answers do not depend on the results shown, at least this."""
    unfinished: StrictBool = True
    """Whether participants who do not finish are excluded."""


class Analysis(Part):
    """The analysis, fixed before the study is opened."""

    measure: Literal["training error", "test error", "slope change", "kind"] = "test error"
    """What is measured of each participant."""
    block: Natural | None = None
    """For `test error`: the number of the block that counts, from 1; all test blocks if missing."""
    compare: Annotated[list[Line], Field(min_length=1, max_length=2)]
    """Arms; the one expected to do better comes first."""
    test: Literal["permutation", "welch"] = "permutation"
    alternative: Literal["two-sided", "less"] = "two-sided"
    """`less`: only that the first arm has less."""
    level: Annotated[Number, Field(gt=0, lt=0.5)] = 0.05
    """Level of significance."""
    probe: Line | None = None
    """For `slope change`: the test."""
    smallest: Annotated[Number, Field(gt=0)] | None = None
    """The smallest effect that would matter, in the measure's units."""


class AssumedKind(Part):
    """A kind of person for bots and power: how they learn, and their share."""

    human: Line
    """A name that `preceptor simulate --human` takes."""
    weight: Annotated[Number, Field(gt=0)] = 1.0
    """Share of this kind, relative to the others."""
    rate: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """Share of a weight's error that one showing removes; if missing, rates vary around 0.05, as in
    public experiments."""
    imputation: Annotated[Number, Field(ge=0, le=1)] | None = None
    """0: hidden tests are inferred from those shown, 1: they are taken to be average; by default as
    for the problem's person."""


class AssumedPeople(Part):
    """What `power` and `bots` assume about people."""

    kind: list[AssumedKind] = Field(default=[], max_length=50)
    """Kinds of people; a default mixture if missing."""
    scatter: Annotated[Number, Field(ge=0)] = 0.6
    """Of answers, in sd of the outcome."""
    drop_out: Annotated[Number, Field(ge=0, lt=1)] = 0.1
    """Share who drop out."""
    no_return: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    """Share who miss a delayed block."""
    careless: Annotated[Number, Field(ge=0, lt=1)] = 0.05
    """Share of careless people, who answer fast and at random, and fail checks."""


class Privacy(Part):
    """What happens to the data of participants who withdraw, and how long data is kept."""

    withdrawal: Literal["erase", "keep anonymous"] = "erase"
    """Of participants who withdraw: erase their data, or keep it anonymously."""
    keep_until: date | None = None
    """Date until which data is kept."""


class Configuration(Part):
    """A study file, without its problem."""

    format: Literal["preceptor-study/1"]
    id: Annotated[str, Field(pattern=ID)]
    """Its name in addresses: lower-case letters, digits, hyphens."""
    title: Line
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    """Of all texts; built-in words are in it, too, if there is a catalogue."""
    description: str = Field(default="", max_length=20_000)
    contact: str = Field(default="", max_length=500)
    """Whom participants can ask; at the bottom of each page."""
    words: dict[str, Line | Annotated[list[Line], Field(min_length=2, max_length=2)]] = {}
    """Messages of the pages to change, by their keys (`preceptor/live/messages`)."""
    seed: Annotated[StrictInt, Field(ge=0, lt=2**53)]
    """Cases, orders and assignments follow from it."""
    people: Natural
    """Planned number who complete the study, over all arms."""
    tests: dict[str, LookOfTest] = {}
    """How tests are shown, by name."""
    outcome: LookOfOutcome = LookOfOutcome()
    arm: Annotated[list[ArmConfig], Field(min_length=1, max_length=20)]
    block: Annotated[list[BlockPart], Field(min_length=1, max_length=100)]
    """What participants go through, in order."""
    completion: Completion = Completion()
    recruiting: Recruiting = Recruiting()
    payment: Payment | None = None
    exclusions: Exclusions = Exclusions()
    analysis: Analysis
    assumed: AssumedPeople = AssumedPeople()
    privacy: Privacy = Privacy()

    @property
    def confidence(self) -> dict[int, RatingScale]:
        """Scales of the blocks that ask for confidence, by number of the block."""
        found = {i: getattr(each, "confidence", None) for i, each in enumerate(self.block, start=1)}
        return {number: scale for number, scale in found.items() if scale is not None}


ArmConfig.model_rebuild()
