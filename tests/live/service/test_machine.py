"""Any calls in any order, against a model that is a dictionary of people and a few rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.live.service.load import VALUES

pytestmark = pytest.mark.full

NUMBERS = st.sampled_from([0.0, 1.5, -2.25])
# Which round is meant, from the last one: itself, the one before it, or one that is not there.
OFFSET = st.sampled_from([0, 0, -1, 1])


@dataclass
class Expected:
    """A round as it must stand."""

    status: str = "offered"
    feedback: bool = True
    shown: dict[str, float] | None = None
    prediction: float | None = None
    outcome: float | None = None

    @property
    def is_open(self) -> bool:
        return self.status in ("offered", "shown")

    @property
    def counts(self) -> bool:
        return self.status == "told" or (self.status == "predicted" and self.feedback)


@dataclass
class Model:
    """Everybody who is there, and what is known of them."""

    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    rounds: dict[str, list[Expected]] = field(default_factory=dict)


class Calls(RuleBasedStateMachine):
    """One step is one call; its status and its body must be those of the model."""

    http: httpx.Client
    games = 0

    def __init__(self) -> None:
        super().__init__()
        Calls.games += 1
        self.names = [f"g{Calls.games}-{name}" for name in ("ann", "bob")]
        self.model = Model()
        self.called = 0

    def number(self, who: int, offset: int) -> int:
        return max(len(self.model.rounds.get(self.names[who], [])) - 1 + offset, 0)

    def path(self, who: int, *parts: object) -> str:
        self.called = who
        return "/".join(["/v1/people", self.names[who], *map(str, parts)])

    @rule(who=st.integers(0, 1), start=st.sampled_from([{}, {"bmi": 3}]))
    def enrol(self, who, start):
        name, body = self.names[who], {"start": start}
        got = self.http.put(self.path(who), json=body)
        known = self.model.people.get(name)
        assert got.status_code == (201 if known is None else 200 if known == body else 409)
        if known is None:
            self.model.people[name], self.model.rounds[name] = body, []

    @rule(who=st.integers(0, 1), feedback=st.booleans())
    def open(self, who, feedback):
        got = self.http.post(self.path(who, "rounds"), json={"feedback": feedback})
        rounds = self.model.rounds.get(self.names[who])
        if rounds is None:
            assert got.status_code == 404
            return
        if rounds and rounds[-1].is_open:
            assert got.status_code == 200
        else:
            assert got.status_code == 201
            rounds.append(Expected(feedback=feedback))
        self.agree(got, who, len(rounds) - 1)

    @rule(who=st.integers(0, 1), offset=OFFSET, value=NUMBERS, tests=st.sampled_from(["bmi", ""]))
    def show(self, who, offset, value, tests):
        number = self.number(who, offset)
        seen = {tests: value} if tests else {}
        there = self.put(who, number, "shown", {"tests": list(seen), "values": seen})
        if there is None:
            return
        got, expected = there
        if expected.status == "offered":
            expected.status, expected.shown = "shown", seen
            assert got.status_code == 200
        else:
            assert got.status_code == (200 if expected.shown == seen else 409)
        self.agree(got, who, number)

    @rule(who=st.integers(0, 1), offset=OFFSET, prediction=NUMBERS)
    def answer(self, who, offset, prediction):
        number = self.number(who, offset)
        there = self.put(who, number, "prediction", {"prediction": prediction})
        if there is None:
            return
        got, expected = there
        if expected.status == "shown":
            expected.status = "predicted" if expected.feedback else "untold"
            expected.prediction = prediction
            assert got.status_code == 200
        else:
            assert got.status_code == (200 if expected.prediction == prediction else 409)
        self.agree(got, who, number)

    @rule(who=st.integers(0, 1), offset=OFFSET, outcome=NUMBERS, told=st.booleans())
    def tell(self, who, offset, outcome, told):
        number = self.number(who, offset)
        there = self.put(who, number, "outcome", {"outcome": outcome, "told": told})
        if there is None:
            return
        got, expected = there
        new = expected.status == "predicted"
        new |= expected.status == "untold" and expected.outcome is None and not told
        if new:
            expected.status, expected.outcome = "told" if told else "untold", outcome
            expected.feedback = told
            assert got.status_code == 200
        else:
            ended = ("told" if told else "untold", outcome)
            assert got.status_code == (200 if (expected.status, expected.outcome) == ended else 409)
        self.agree(got, who, number)

    @rule(who=st.integers(0, 1), offset=OFFSET)
    def leave(self, who, offset):
        number = self.number(who, offset)
        got = self.http.delete(self.path(who, "rounds", number))
        expected = self.expected(who, number)
        if expected is None:
            assert got.status_code == 404
            return
        if expected.is_open:
            expected.status = "abandoned"
        assert got.status_code == (200 if expected.status == "abandoned" else 409)
        self.agree(got, who, number)

    @rule(who=st.integers(0, 1), steps=st.integers(1, 5), value=NUMBERS, flag=st.booleans())
    def go_on(self, who, steps, value, flag):
        """Steps in their order: any calls at random hardly ever end a round."""
        for _ in range(steps):
            rounds = self.model.rounds.get(self.names[who])
            last = rounds[-1].status if rounds else None
            if rounds is None:
                self.enrol(who, {})
            elif last == "offered":
                self.show(who, 0, value, "bmi")
            elif last == "shown":
                self.answer(who, 0, value)
            elif last == "predicted":
                self.tell(who, 0, value, flag)
            else:
                self.open(who, True)
            self.whoever_was_called_is_as_the_model_says()

    @initialize(steps=st.integers(3, 9), flag=st.booleans())
    def begin(self, steps, flag):
        self.go_on(0, steps, 1.5, flag)
        self.go_on(1, steps // 2, 0.0, flag)

    @precondition(lambda self: sum(map(len, self.model.rounds.values())) > 3)
    @rule(who=st.integers(0, 1))
    def erase(self, who):
        got = self.http.delete(self.path(who))
        assert got.status_code == (204 if self.names[who] in self.model.people else 404)
        self.model.people.pop(self.names[who], None)
        self.model.rounds.pop(self.names[who], None)

    @invariant()
    def whoever_was_called_is_as_the_model_says(self):
        name = self.names[self.called]
        got = self.http.get(self.path(self.called))
        if name not in self.model.people:
            assert got.status_code == 404
            return
        said, rounds = got.json(), self.model.rounds[name]
        counts = dict.fromkeys(VALUES, 0) | self.model.people[name]["start"]
        for each in rounds:
            for test in each.shown or () if each.counts else ():
                counts[test] += 1
        assert said["counts"] == counts
        assert said["rounds"] == len(rounds)
        assert said["answers"] == sum(each.prediction is not None for each in rounds)
        number = next((i for i, each in enumerate(rounds) if each.is_open), None)
        there = said["open_round"]
        assert (None if there is None else there["round"]) == number

    def expected(self, who: int, number: int) -> Expected | None:
        rounds = self.model.rounds.get(self.names[who], [])
        return rounds[number] if number < len(rounds) else None

    def put(self, who: int, number: int, step: str, body: Any) -> tuple[Any, Expected] | None:
        got = self.http.put(self.path(who, "rounds", number, step), json=body)
        expected = self.expected(who, number)
        if expected is None:
            assert got.status_code == 404, got.text
            return None
        return got, expected

    def agree(self, got: Any, who: int, number: int) -> None:
        """The round that came back, also with a refusal, is the one of the model."""
        said, expected = got.json(), self.expected(who, number)
        said = said["round"] if got.status_code == 409 else said
        assert expected is not None
        assert (said["round"], said["status"]) == (number, expected.status)
        assert (said["values"], said["prediction"]) == (expected.shown, expected.prediction)
        assert said["outcome"] == (expected.outcome if expected.status == "told" else None)


def test_any_calls_in_any_order(serve):
    Calls.http = serve("--rate", 0).http
    run_state_machine_as_test(Calls, settings=settings(stateful_step_count=20))
