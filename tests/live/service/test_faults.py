"""What does not fit its description is said in one form: the field, its value, what is allowed."""

from __future__ import annotations

import pytest

import preceptor as pr
from preceptor.live.service.guides import Wording

NAME = "must be a name of 1 to 128 letters, digits and . _ : @ -, the first a letter or a digit"
HASH = "must be the SHA-256 of a plan file: 64 hexadecimal digits"


@pytest.mark.parametrize(
    ("call", "body", "sentence"),
    [
        ("PUT /v1/people/ann", {"polcy": "plan"},
         "polcy: is not known; did you mean 'policy'? there are plan, policy, start, cases, "
         "is_bot"),
        ("PUT /v1/people/ann", {"policy": "luck"}, "policy: 'luck', must be 'plan' or 'tutor'"),
        ("PUT /v1/people/ann", {"plan": "abc"}, f"plan: 'abc', {HASH}"),
        ("PUT /v1/people/ann", {"start": {"bmi": -1}},
         "start.bmi: -1, must be greater than or equal to 0"),
        ("PUT /v1/people/ann", {"start": {"bmi": 1.5}}, "start.bmi: 1.5, must be a valid integer"),
        ("PUT /v1/people/ann", {"start": []}, "start: [], must be a valid dictionary"),
        ("PUT /v1/people/ann", {"is_bot": "yes"}, "is_bot: 'yes', must be a valid boolean"),
        ("PUT /v1/people/ann", [],
         "body: [], must be a valid dictionary or object to extract fields from"),
        ("PUT /v1/people/ann", None, "body: missing"),
        ("PUT /v1/people/%20ann", {}, f"person: ' ann', {NAME}"),
        ("PUT /v1/people/ann/rounds/first/prediction", {"prediction": 1},
         "round: 'first', must be a valid integer, unable to parse string as an integer"),
        ("PUT /v1/people/ann/rounds/0/shown", {"values": {"bmi": True}},
         "values.bmi: true, must be a valid number or a valid string"),
        ("PUT /v1/people/ann/rounds/0/shown", {"values": {"bmi": None}},
         "values.bmi: null, must be a valid number or a valid string"),
        ("PUT /v1/people/ann/rounds/0/shown", {"reason": ""},
         "reason: '', must have at least 1 character"),
        ("PUT /v1/people/ann/rounds/0/shown", {"reason": "a\x00b"},
         "reason: 'a\\x00b', must be text without control characters"),
        ("PUT /v1/people/ann/rounds/0/shown", {"tests": "bmi"},
         "tests: 'bmi', must be a valid list"),
        ("PUT /v1/people/ann/rounds/0/prediction", '{"prediction": NaN}',
         "prediction: NaN, must be a finite number"),
        ("PUT /v1/people/ann/rounds/0/prediction", '{"prediction": ',
         "body: is not JSON (Expecting value)"),
        ("PUT /v1/cases/x", {"cases": []},
         "cases: [], must have at least 1 item after validation, not 0"),
        ("GET /v1/log?limit=0", None, "limit: '0', must be greater than or equal to 1"),
    ],
)  # fmt: skip
def test_a_fault_names_the_field_its_value_and_what_is_allowed(http, call, body, sentence):
    method, path = call.split()
    given = {"content": body} if isinstance(body, str) else {} if body is None else {"json": body}
    refused = http.request(method, path, headers={"Content-Type": "application/json"}, **given)
    assert refused.status_code == 422
    assert sentence in refused.json()["errors"], refused.json()["errors"]


def test_a_body_that_does_not_say_what_it_is(http):
    refused = http.put("/v1/people/ann", content="{}")
    assert refused.json()["errors"] == [
        "body: '{}', must be sent with Content-Type: application/json"
    ]


def test_all_faults_come_at_once_but_not_thousands(http):
    faults = http.put("/v1/people/ann", json={"policy": 1, "start": 2, "plan": 3}).json()["errors"]
    assert [fault.split(":")[0] for fault in faults] == ["plan", "policy", "start"]
    many = {"cases": [{"values": 1}] * 500}
    faults = http.put("/v1/cases/x", json=many).json()["errors"]
    assert len(faults) == 21
    assert faults[-1] == "body: 980 more faults"
    assert all("should" not in fault for fault in faults)


def test_decisions_are_yes_or_no_and_so_is_the_truth():
    """Nothing else is taken, because an answer cannot be taken back."""
    world = pr.World.equicorrelated([1.0, 0.8], 0.5, outcome=pr.Binary(0.3))
    problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), 1)
    words = Wording(problem)
    assert (words.answer(1), words.outcome(0)) == (1.0, 0.0)
    for wrong in (0.7, 2, -1):
        with pytest.raises(pr.InvalidInput, match="must be 1 for yes or 0 for no"):
            words.answer(wrong)
        with pytest.raises(pr.InvalidInput, match="must be 1 for yes or 0 for no"):
            words.outcome(wrong)
    stated = Wording(problem.replace(risk=pr.Brier()))
    assert stated.answer(0.7) == 0.7
