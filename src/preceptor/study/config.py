"""What a study file may say: one class for each of its tables.

These classes know shapes and limits of single fields; what must fit together, and what must fit the
problem, is looked at by `Study` (`study.py`).
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from preceptor.service.schemas import Number

FORMAT = "preceptor-study/1"
# In addresses and file names; nothing that either would have to escape.
ID = r"^[a-z0-9][a-z0-9-]{0,63}$"

Line = Annotated[str, Field(min_length=1, max_length=500)]
Prose = Annotated[str, Field(min_length=1, max_length=20_000)]
Shown = Annotated[list[Line], Field(min_length=1, max_length=100)]
Rounds = Annotated[StrictInt, Field(ge=1, le=5_000)]
Natural = Annotated[StrictInt, Field(ge=1, le=1_000_000)]


class Part(BaseModel):
    """Whatever is not known is refused, and nothing changes once it is read."""

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


class Policy(Part):
    """An arm: who decides what is shown in training."""

    name: Annotated[str, Field(pattern=ID)]
    policy: Literal["plan", "best fixed", "most predictive", "random order", "adaptive", "sets"]
    cap: Natural | None = None  # people who may be in it; any number if missing
    method: Line = "auto"  # how a plan is solved; see `preceptor methods`
    time_limit: Annotated[Number, Field(gt=0, le=3600)] = 10.0
    sets: list[SetFor] = Field(default=[], max_length=500)  # for `sets`: what, and how long


class SetFor(Part):
    """A set of tests and for how many rounds it is shown."""

    show: Shown
    rounds: Rounds = 1


class Question(Part):
    """One question of a quiz, of which one choice is right."""

    text: Prose
    choices: Annotated[list[Line], Field(min_length=2, max_length=10)]
    right: Annotated[StrictInt, Field(ge=1)]  # which choice, counted from 1


class Check(Part):
    """A question that shows whether somebody reads; it comes after so many rounds of the block."""

    after: Natural
    text: Prose
    answer: Number


class Probe(Part):
    """A round with given results."""

    show: Shown
    values: Annotated[list[Number], Field(min_length=1)] | None = None


class Consent(Part):
    """What participants agree to."""

    kind: Literal["consent"]
    title: Line = "Consent"
    text: Prose
    agree: Line = "I have read this and want to take part."


class Instructions(Part):
    """Pages to read, then perhaps a quiz."""

    kind: Literal["instructions"]
    title: Line = "Instructions"
    pages: Annotated[list[Prose], Field(min_length=1, max_length=50)]
    question: list[Question] = Field(default=[], max_length=50)
    # How often the quiz may be taken before somebody is screened out.
    attempts: Annotated[StrictInt, Field(ge=1, le=100)] = 3


class Practice(Part):
    """Rounds to get used to the page; by default nobody is told the outcome of them."""

    kind: Literal["practice"]
    title: Line = "Practice"
    text: Prose | None = None
    rounds: Rounds = 2
    show: Annotated[list[Shown], Field(min_length=1)]
    feedback: StrictBool = False
    cases: Literal["common", "own"] = "common"


class Training(Part):
    """Rounds in which the arm decides what is shown, and the outcome is told."""

    kind: Literal["training"]
    title: Line = "Cases"
    text: Prose | None = None
    rounds: Rounds
    feedback: StrictBool = True
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
    check: list[Check] = Field(default=[], max_length=50)


class Pause(Part):
    """A break, as long as people like."""

    kind: Literal["break"]
    title: Line = "A break"
    text: Prose = "Take a break if you like. Go on when you are ready."


class Debrief(Part):
    """What it was about, and room for a comment."""

    kind: Literal["debrief"]
    title: Line = "What this study was about"
    text: Prose
    comment: StrictBool = True


BlockPart = Annotated[
    Consent | Instructions | Practice | Training | Testing | Pause | Debrief,
    Field(discriminator="kind"),
]


class Completion(Part):
    """How recruiters hear of the end: a code, and where to go; one each for each way to end."""

    code: Line | None = None  # if missing, everybody gets a code of their own
    # Where the last page leads; {code} in it stands for the code.
    redirect: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    screened_out: Line | None = None
    no_consent: Line | None = None


class Recruiting(Part):
    """Who may take part: whoever has the address, or whoever was sent a link."""

    entry: Literal["open", "links"] = "open"
    # Of the address: the recruiter's name of a person (PROLIFIC_PID).
    parameter: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    # Minutes of silence after which somebody no longer counts as active.
    drop_after: Annotated[Number, Field(gt=0, le=525_600)] = 60.0
    # Whether somebody who comes back after that may go on.
    resume: Literal["resume", "block"] = "resume"


class Exclusions(Part):
    """Rules, written down before, that decide whose data the analysis leaves out."""

    failed_checks: Natural | None = None  # that many or more
    fastest_seconds: Annotated[Number, Field(gt=0)] | None = None  # median time of an answer below
    # Share of rounds with one and the same answer above this.
    same_answer: Annotated[Number, Field(gt=0, le=1)] | None = None
    unfinished: StrictBool = True


class Analysis(Part):
    """What is going to be computed, written down before anybody takes part."""

    measure: Literal["training error", "test error", "slope change", "kind"] = "test error"
    # The arms: first the one that is expected to do better.
    compare: Annotated[list[Line], Field(min_length=1, max_length=2)]
    test: Literal["permutation", "welch", "mixed"] = "permutation"
    alternative: Literal["two-sided", "less"] = "two-sided"
    level: Annotated[Number, Field(gt=0, lt=0.5)] = 0.05
    probe: Line | None = None  # for `slope change`: the test whose slope it is
    # The smallest effect that would matter, in the measure's units.
    smallest: Annotated[Number, Field(gt=0)] | None = None


class Kind(Part):
    """A kind of person for bots and power: how they learn, and how many of them there are."""

    human: Line  # a name that `preceptor simulate --human` takes
    weight: Annotated[Number, Field(gt=0)] = 1.0
    # Share of a weight's error that one showing removes; if missing, people differ as in published
    # experiments, around 0.05.
    rate: Annotated[Number, Field(gt=0, lt=1)] | None = None
    # 0 fills hidden tests in from those shown, 1 takes them to be average; as the problem's person
    # does if missing.
    imputation: Annotated[Number, Field(ge=0, le=1)] | None = None


class Assumed(Part):
    """Whom `power` and `bots` take people for."""

    kind: list[Kind] = Field(default=[], max_length=50)
    scatter: Annotated[Number, Field(ge=0)] = 0.6  # of answers, in sd of the outcome
    drop_out: Annotated[Number, Field(ge=0, lt=1)] = 0.1  # share who leave before the end
    # Share of people who do not read: they answer at random and fast, and fail checks.
    careless: Annotated[Number, Field(ge=0, lt=1)] = 0.05


class Privacy(Part):
    """What becomes of the data of somebody who withdraws, and for how long data is kept."""

    withdrawal: Literal["erase", "keep anonymous"] = "erase"
    keep_until: date | None = None


class Configuration(Part):
    """A whole study file, but for the problem."""

    format: Literal["preceptor-study/1"]
    id: Annotated[str, Field(pattern=ID)]
    title: Line
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    description: str = Field(default="", max_length=20_000)
    contact: str = Field(default="", max_length=500)
    seed: Annotated[StrictInt, Field(ge=0, lt=2**53)]
    people: Natural  # who shall finish, over all arms
    tests: dict[str, LookOfTest] = {}
    outcome: LookOfOutcome = LookOfOutcome()
    arm: Annotated[list[Policy], Field(min_length=1, max_length=20)]
    block: Annotated[list[BlockPart], Field(min_length=1, max_length=100)]
    completion: Completion = Completion()
    recruiting: Recruiting = Recruiting()
    exclusions: Exclusions = Exclusions()
    analysis: Analysis
    assumed: Assumed = Assumed()
    privacy: Privacy = Privacy()


Policy.model_rebuild()
