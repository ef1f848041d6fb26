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

    model_config = ConfigDict(extra="forbid", frozen=True)


class LookOfTest(Part):
    """How a test is shown to participants."""

    label: Line | None = None
    unit: str = Field(default="", max_length=40)
    decimals: StrictInt = Field(default=1, ge=0, le=6)


class LookOfOutcome(Part):
    """What participants predict, and how they answer."""

    name: Line | None = None
    unit: str = Field(default="", max_length=40)
    decimals: StrictInt = Field(default=1, ge=0, le=6)
    answer: Literal["number", "slider", "yes or no", "percent"] | None = None
    low: Number | None = None
    high: Number | None = None


class ArmConfig(Part):
    """An arm: what decides what is shown in training."""

    name: Annotated[str, Field(pattern=ID)]
    policy: Literal[
        "plan", "best fixed", "most predictive", "random order", "adaptive", "case-aware", "sets"
    ]
    # What the assistant says on the page of a case in training: what it predicts from the results
    # shown, the true weights of these tests, or which of them the participant weighs wrongly.
    advice: Literal["none", "prediction", "weights", "contrast"] = "none"
    cap: Natural | None = None  # participants, at most; no limit if missing
    method: Line = "auto"  # how a plan is solved; see `preceptor methods`
    time_limit: Annotated[Number, Field(gt=0, le=3600)] = 10.0
    sets: list[SetFor] = Field(default=[], max_length=500)  # for `sets`: what to show, how long
    # For `case-aware`: cases decided alone that one aided case is worth, the tests whose results
    # are known before choosing (default: all), and how people work alone: with any of the largest
    # sets that the budget allows, or with the most predictive one.
    tau: Annotated[Number, Field(ge=0)] | None = None
    knows: list[Line] | None = Field(default=None, max_length=500)
    alone: Literal["any", "best"] = "any"
    # The arm also picks the case, from this many; they are the same at the same place of every arm,
    # and arms that pick none have the first of them in order.
    pool: Annotated[StrictInt, Field(ge=1, le=5_000)] | None = None
    plausible: PlausibleCases | None = None


class PlausibleCases(Part):
    """Which cases of a pool may be picked; see `preceptor.learners.Plausibility`."""

    central: Annotated[Number, Field(gt=0, le=1)] = 0.9
    repeats: StrictBool = False
    balance: Annotated[Number, Field(ge=0)] = 0.1
    considered: Natural = 50


class SetFor(Part):
    """A set of tests, and the number of rounds it is shown."""

    show: Shown
    rounds: Rounds = 1


class QuizQuestion(Part):
    """One question of a quiz, with one right choice."""

    text: Prose
    choices: Annotated[list[Line], Field(min_length=2, max_length=10)]
    right: Annotated[StrictInt, Field(ge=1)]  # which choice, counted from 1


class Check(Part):
    """An attention check, after a number of rounds of the block."""

    after: Natural
    text: Prose
    answer: Number


class Probe(Part):
    """A test round, perhaps with prescribed results."""

    show: Shown
    values: Annotated[list[Number], Field(min_length=1)] | None = None


class Consent(Part):
    """What participants agree to."""

    kind: Literal["consent"]
    title: Line = "Consent"
    text: Prose
    agree: Line = "I have read this and want to take part."


class Instructions(Part):
    """Pages to read, and perhaps a quiz."""

    kind: Literal["instructions"]
    title: Line = "Instructions"
    pages: Annotated[list[Prose], Field(min_length=1, max_length=50)]
    question: list[QuizQuestion] = Field(default=[], max_length=50)
    # Attempts at the quiz before a participant is screened out.
    attempts: Annotated[StrictInt, Field(ge=1, le=100)] = 3


class Scale(Part):
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


class Confidence(Scale):
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
    feedback: StrictBool = False
    cases: Literal["common", "own"] = "common"
    confidence: Confidence | None = None


class Training(Part):
    """Rounds in which the arm decides what is shown, and the outcome is told."""

    kind: Literal["training"]
    title: Line = "Cases"
    text: Prose | None = None
    rounds: Rounds
    feedback: StrictBool = True
    confidence: Confidence | None = None
    break_every: Natural | None = None
    check: list[Check] = Field(default=[], max_length=50)


class Testing(Part):
    """Rounds that are the same in every arm, without feedback."""

    kind: Literal["test"]
    title: Line = "Test"
    text: Prose | None = None
    rounds: Rounds | None = None  # as many as `show` and `probe` have if missing
    show: list[Shown] = Field(default=[], max_length=500)  # sets, in turn
    probe: list[Probe] = Field(default=[], max_length=500)
    cases: Literal["common", "own"] = "own"
    confidence: Confidence | None = None
    check: list[Check] = Field(default=[], max_length=50)
    # Participants come back for it this many days after the block before, and keep their place for
    # `within_days` more.
    after_days: Annotated[Number, Field(gt=0, le=60)] | None = None
    within_days: Annotated[Number, Field(gt=0, le=60)] = 2.0


class Pause(Part):
    """A break of any length."""

    kind: Literal["break"]
    title: Line = "A break"
    text: Prose = "Take a break if you like. Continue when you are ready."


class SurveyQuestion(Part):
    """What all questions of a survey have."""

    # Column of the answer in the export; lower-case, so that no other column has it.
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    text: Prose
    optional: StrictBool = False
    private: StrictBool = False  # left out of anonymous exports


class ChoiceQuestion(SurveyQuestion):
    """One of several choices."""

    kind: Literal["choice"]
    choices: Annotated[list[Line], Field(min_length=2, max_length=50)]

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(self.choices)


class LikertQuestion(SurveyQuestion, Scale):
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
    longest: Annotated[StrictInt, Field(ge=1, le=5_000)] = 1_000  # characters


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


BlockPart = Annotated[
    Consent | Instructions | Practice | Training | Testing | Pause | Survey | Debrief,
    Field(discriminator="kind"),
]


class Completion(Part):
    """Completion codes for each way to end, and where the last page leads."""

    code: Line | None = None  # if missing, each participant gets a random code
    # {code} in it stands for the code.
    redirect: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    screened_out: Line | None = None
    no_consent: Line | None = None


class Recruiting(Part):
    """Who may take part: anyone with the address, or only those with a personal link."""

    entry: Literal["open", "links"] = "open"
    # Query parameter with the recruiter's name for a participant (PROLIFIC_PID).
    parameter: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    # Minutes of inactivity after which a place is given to the next participant.
    drop_after: Annotated[Number, Field(gt=0, le=525_600)] = 60.0
    # The same before their first answer to a case: places are reserved at consent. A page of the
    # templates is read in less than a minute (238 words a minute: Brysbaert 2019).
    release_after: Annotated[Number, Field(gt=0, le=525_600)] = 10.0
    # Whether a participant who returns after `drop_after` may continue.
    resume: Literal["resume", "block"] = "resume"


class Exclusions(Part):
    """Registered rules for excluding participants from the analysis."""

    failed_checks: Natural | None = None  # this many or more
    fastest_seconds: Annotated[Number, Field(gt=0)] | None = None  # median answer time below this
    # Share of rounds with the same answer above this.
    same_answer: Annotated[Number, Field(gt=0, le=1)] | None = None
    # Probability that answers do not depend on the results shown, at least this.
    unrelated_answers: Annotated[Number, Field(gt=0.5, lt=1)] | None = None
    unfinished: StrictBool = True


class Analysis(Part):
    """The analysis, fixed before the study is opened."""

    measure: Literal["training error", "test error", "slope change", "kind"] = "test error"
    # For `test error`: the number of the block that counts, from 1; all test blocks if missing.
    block: Natural | None = None
    # Arms; the one expected to do better comes first.
    compare: Annotated[list[Line], Field(min_length=1, max_length=2)]
    test: Literal["permutation", "welch"] = "permutation"
    alternative: Literal["two-sided", "less"] = "two-sided"
    level: Annotated[Number, Field(gt=0, lt=0.5)] = 0.05
    probe: Line | None = None  # for `slope change`: the test
    # The smallest effect that would matter, in the measure's units.
    smallest: Annotated[Number, Field(gt=0)] | None = None


class AssumedKind(Part):
    """A kind of person for bots and power: how they learn, and their share."""

    human: Line  # a name that `preceptor simulate --human` takes
    weight: Annotated[Number, Field(gt=0)] = 1.0
    # Share of a weight's error that one showing removes; if missing, rates vary around 0.05, as in
    # published experiments.
    rate: Annotated[Number, Field(gt=0, lt=1)] | None = None
    # 0: hidden tests are inferred from those shown, 1: they are taken to be average; by default as
    # for the problem's person.
    imputation: Annotated[Number, Field(ge=0, le=1)] | None = None


class AssumedPeople(Part):
    """What `power` and `bots` assume about people."""

    kind: list[AssumedKind] = Field(default=[], max_length=50)
    scatter: Annotated[Number, Field(ge=0)] = 0.6  # of answers, in sd of the outcome
    drop_out: Annotated[Number, Field(ge=0, lt=1)] = 0.1  # share who drop out
    no_return: Annotated[Number, Field(ge=0, lt=1)] = 0.0  # share who miss a delayed block
    # Share of careless people, who answer fast and at random, and fail checks.
    careless: Annotated[Number, Field(ge=0, lt=1)] = 0.05


class Privacy(Part):
    """What happens to the data of participants who withdraw, and how long data is kept."""

    withdrawal: Literal["erase", "keep anonymous"] = "erase"
    keep_until: date | None = None


class Configuration(Part):
    """A study file, without its problem."""

    format: Literal["preceptor-study/1"]
    id: Annotated[str, Field(pattern=ID)]
    title: Line
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    description: str = Field(default="", max_length=20_000)
    contact: str = Field(default="", max_length=500)
    # Messages of the pages to change, by their keys (`preceptor/live/messages`).
    words: dict[str, Line | Annotated[list[Line], Field(min_length=2, max_length=2)]] = {}
    seed: Annotated[StrictInt, Field(ge=0, lt=2**53)]
    people: Natural  # planned number who complete the study, over all arms
    tests: dict[str, LookOfTest] = {}
    outcome: LookOfOutcome = LookOfOutcome()
    arm: Annotated[list[ArmConfig], Field(min_length=1, max_length=20)]
    block: Annotated[list[BlockPart], Field(min_length=1, max_length=100)]
    completion: Completion = Completion()
    recruiting: Recruiting = Recruiting()
    exclusions: Exclusions = Exclusions()
    analysis: Analysis
    assumed: AssumedPeople = AssumedPeople()
    privacy: Privacy = Privacy()

    @property
    def confidence(self) -> dict[int, Scale]:
        """Scales of the blocks that ask for confidence, by number of the block."""
        found = {i: getattr(each, "confidence", None) for i, each in enumerate(self.block, start=1)}
        return {number: scale for number, scale in found.items() if scale is not None}


ArmConfig.model_rebuild()
