"""What callers send, as the OpenAPI document describes it; whatever else they send is refused."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
)

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"
SHA256 = r"^[0-9a-f]{64}$"
# What the patterns allow, for whoever does not read them.
ALLOWED_NAMES = {
    NAME: "a name of 1 to 128 letters, digits and . _ : @ -, the first a letter or a digit",
    SHA256: "the SHA-256 of a plan file: 64 hexadecimal digits",
}


def _readable(text: str) -> str:
    if not all(each.isprintable() or each in "\n\t" for each in text):
        raise ValueError("must be text without control characters")
    return text


Text = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_readable)]
Name = Annotated[str, Field(pattern=NAME)]
Sha256 = Annotated[str, Field(pattern=SHA256)]
Count = Annotated[StrictInt, Field(ge=0, le=1_000_000_000)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Result = Annotated[Number | Text, Field(description="A number, or the level of a category.")]
Tests = Annotated[list[Text], Field(max_length=1000)]

Who = Annotated[str, Path(pattern=NAME, description="The caller's own pseudonym of a person.")]
Which = Annotated[int, Path(ge=0, le=2_000_000_000, description="Number of the round, from 0.")]
Hash = Annotated[str, Path(pattern=SHA256, description="SHA-256 of the plan file.")]


class Body(BaseModel):
    """Whatever is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class Enrolment(Body):
    """Somebody who is going to be advised."""

    plan: Sha256 | None = Field(
        default=None, description="The plan; the service's own if left out."
    )
    policy: Literal["plan", "tutor"] = Field(
        default="plan", description="Follow the plan, or find out from answers who it is and adapt."
    )
    start: dict[Text, Count] | None = Field(
        default=None, description="How often they had seen each test before; none if left out."
    )
    cases: Name | None = Field(
        default=None,
        description="A list of cases that the service holds; else the caller has them.",
    )
    is_bot: StrictBool = Field(default=False, description="Simulated people never count as people.")


class Opening(Body):
    """A round to be opened."""

    available: Tests | None = Field(
        default=None, description="Tests that the caller has; all if left out."
    )
    case: Text | None = Field(default=None, description="The caller's own name of the case.")
    feedback: StrictBool = Field(
        default=True, description="Whether the person is going to hear the truth."
    )


class Shown(Body):
    """What the person really saw."""

    tests: Tests | None = Field(default=None, description="As recommended if left out.")
    values: dict[Text, Result] | None = Field(
        default=None,
        description="Their results by test; left out where the service holds the case.",
    )
    reason: Text | None = Field(
        default=None, description="Why something else was shown than recommended."
    )


class Answered(Body):
    """What the person said."""

    prediction: Number


class Truth(Body):
    """What was true."""

    outcome: Number | None = Field(description="Null if it is never going to be known.")
    told: StrictBool = Field(default=True, description="Whether the person has heard it.")


class Question(Body):
    """What to show somebody about whom nothing is kept."""

    plan: Sha256 | None = Field(
        default=None, description="The plan; the service's own if left out."
    )
    counts: dict[Text, Count] = Field(
        default_factory=dict, description="How often they have seen each test."
    )
    round: Count | None = Field(
        default=None, description="How many rounds they have had, where known."
    )
    available: Tests | None = Field(
        default=None, description="Tests that the caller has; all if left out."
    )


class Case(Body):
    """One case that the service holds."""

    values: dict[Text, Result | None] = Field(description="Results by test; null where missing.")
    outcome: Number


class Cases(Body):
    """Cases that people go through one after the other."""

    plan: Sha256 | None = Field(default=None, description="Whose tests they have.")
    cases: Annotated[list[Case], Field(min_length=1, max_length=100_000)]
