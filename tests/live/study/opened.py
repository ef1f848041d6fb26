"""Small studies that are open: two arms, a quiz, practice, training with a check, a test."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from preceptor.live.store import plans, studies
from preceptor.live.store.database import Store
from preceptor.live.store.studies import KeptArm
from preceptor.live.study.arms import make_arms
from preceptor.live.study.study import Study
from tests.live.service.servers import small_problem

SMALL: dict[str, Any] = {
    "format": "preceptor-study/1",
    "id": "small",
    "title": "Guess the score",
    "description": "You guess scores from test results. It takes two minutes.",
    "contact": "research@example.org",
    "seed": 7,
    "people": 400,
    "tests": {
        "bmi": {"label": "Body mass index", "unit": "kg/m²"},
        "bp": {"label": "Blood pressure", "unit": "mmHg", "decimals": 2},
    },
    "outcome": {"name": "score", "unit": "points", "decimals": 1},
    "arm": [
        {"name": "plan", "policy": "plan", "time_limit": 0.2},
        {"name": "fixed", "policy": "best fixed", "time_limit": 0.2},
    ],
    "block": [
        {"kind": "consent", "text": "We keep what you answer.\n\n- no name\n- no address"},
        {
            "kind": "instructions",
            "pages": ["You see results of tests.", "You say which score you expect."],
            "question": [
                {"text": "What do you say?", "choices": ["A score", "A name"], "right": 1},
                {"text": "What do you see?", "choices": ["Nothing", "Results"], "right": 2},
            ],
            "attempts": 2,
        },
        {"kind": "practice", "rounds": 1, "show": [["bmi", "age"]]},
        {
            "kind": "training",
            "text": "Now it counts.",
            "rounds": 3,
            "break_every": 2,
            "check": [{"after": 1, "text": "Please answer 7 here.", "answer": 7}],
        },
        {"kind": "test", "rounds": 1, "show": [["age"]]},
        {"kind": "debrief", "text": "This was about which results teach best."},
    ],
    "completion": {
        "code": "DONE-1",
        "redirect": "https://recruiter.example/back?cc={code}",
        "screened_out": "OUT-2",
        "no_consent": "NO-3",
    },
    "recruiting": {"parameter": "PROLIFIC_PID"},
    "analysis": {"compare": ["plan", "fixed"]},
}


def small_study(**changes: Any) -> Study:
    """A study of the small problem; tables are changed key by key, lists are replaced."""
    said = copy.deepcopy(SMALL)
    for name, value in changes.items():
        if isinstance(value, Mapping) and name != "problem":
            value = {**said.get(name, {}), **value}
        said[name] = value
    said.setdefault("problem", small_problem().to_dict())
    return Study.from_dict(said)


def open_study(store: Store, study: Study) -> Study:
    """Keep a study as `preceptor study open` does, without a registration."""
    arms = make_arms(study)

    def work(connection: Connection) -> None:
        names = {arm.name: plans.keep(connection, arm.plan)[0] for arm in arms}
        rows = [
            KeptArm(study.id, arm.name, position, arm.policy, names[arm.name], said.cap, True)
            for position, (arm, said) in enumerate(zip(arms, study.configuration.arm, strict=True))
        ]
        studies.open_study(
            connection,
            study.id,
            config=study.to_json(),
            sha256=study.sha256,
            people=study.configuration.people,
            registration="{}",
            registration_sha256="0" * 64,
            arms=rows,
        )

    store.write(work)
    return study
