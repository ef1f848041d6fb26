"""People who go through a study by calls of the store: quicker than through pages."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from preceptor.live.store import participants, people, plans, rounds, studies
from preceptor.live.store.database import Store
from preceptor.live.store.participants import Participant
from preceptor.live.store.plans import HeldCase
from preceptor.live.store.rounds import Offer
from preceptor.live.study.arms import Arm, kept_arms
from preceptor.live.study.cases import Filled, case_list, draw
from preceptor.live.study.opening import open_study
from preceptor.live.study.study import Study
from tests.live.study.files import SMALL, small_file


def opened(folder: Path, text: str = SMALL) -> tuple[Store, Study]:
    """A small study, open in a store of its own; the caller closes it."""
    study = Study.load(small_file(folder, text))
    store = Store(str(folder / "live.db"))
    open_study(store, study)
    return store, study


def arms_of(store: Store, study: Study) -> dict[str, Arm]:
    """The arms as they were kept."""
    kept = store.read(lambda c: studies.arms_of(c, study.id))
    bodies = {arm.name: store.read(lambda c, p=arm.plan: plans.body_of(c, p)) for arm in kept}
    return {arm.name: arm for arm in kept_arms(study, bodies)}


def play(
    store: Store,
    study: Study,
    number: int = 1,
    *,
    kind: str = "real",
    until: int | None = None,
    seed: int = 0,
    fails: bool = False,
    arms: dict[str, Arm] | None = None,
) -> list[str]:
    """So many people, one after the other, up to that step (the end if left out)."""
    arms = arms or arms_of(store, study)
    rng = np.random.default_rng(seed)
    end = study.protocol.end if until is None else until
    return [
        store.write(lambda c: _one(c, study, arms, kind, end, rng, fails=fails)).id
        for _ in range(number)
    ]


def _one(
    connection: Connection,
    study: Study,
    arms: dict[str, Arm],
    kind: str,
    end: int,
    rng: np.random.Generator,
    *,
    fails: bool,
) -> Participant:
    who = participants.join(connection, study.id, kind=kind)
    weight = rng.normal(0.8, 0.3)
    for stage in range(end):
        if stage == study.protocol.assigned_at:
            who = _assign(connection, study, arms, who)
        step = study.protocol.steps[stage]
        if step.kind == "ask":
            _answer(connection, study, arms, who, step.index, weight, rng)
        elif step.kind == "check":
            participants.say(connection, who, "check", 4.0 if fails else 5.0, is_right=not fails)
        elif step.kind == "quiz":
            participants.say(connection, who, "quiz", [2], is_right=True)
        elif step.kind == "consent":
            participants.say(connection, who, "consent", True)
        elif step.kind == "debrief":
            participants.say(connection, who, "debrief", "It was fun.")
        who = participants.change(connection, who, stage=stage + 1)
    if end == study.protocol.end:
        who = participants.end(connection, who, "completed", "CODE")
    return who


def _assign(
    connection: Connection, study: Study, arms: dict[str, Arm], who: Participant
) -> Participant:
    kept = studies.arms_of(connection, study.id)
    taken = participants.filled(connection, study.id, who.kind)
    filled = [Filled(a.name, taken.get(a.name, frozenset()), a.cap, a.is_open) for a in kept]
    before = participants.assigned_before(connection, study.id, who.kind)
    found = draw(filled, before, study.configuration.seed)
    assert found is not None
    drawn = case_list(study, found.place)
    cases = [
        HeldCase(values, outcome)
        for values, outcome in zip(drawn.values.tolist(), drawn.truths.tolist(), strict=True)
    ]
    text = json.dumps([[list(row.values), row.outcome] for row in cases])
    name = f"{study.id}.{found.place}"
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    plans.keep_cases(connection, name, kept[0].plan, sha256, cases)
    return participants.assign(
        connection,
        who,
        arm=found.arm,
        place=found.place,
        number=found.number,
        drawn_from={
            "seed": study.configuration.seed,
            "order": list(found.order),
            "filled": {arm.name: sorted(arm.places) for arm in filled},
            "caps": {arm.name: arm.cap for arm in filled},
            "open": [arm.name for arm in filled if arm.is_open],
        },
        plan=next(arm.plan for arm in kept if arm.name == found.arm),
        policy=arms[found.arm].policy,
        columns=study.problem.world.size,
        cases=name,
    )


def _answer(
    connection: Connection,
    study: Study,
    arms: dict[str, Arm],
    who: Participant,
    number: int,
    weight: float,
    rng: np.random.Generator,
) -> None:
    trial = study.protocol.trials[number]
    assert who.arm is not None
    assert who.place is not None
    if trial.show is not None:
        columns = tuple(sorted(study.columns(trial.show)))
    else:
        schedule = arms[who.arm].schedule(
            study.training_rounds, study.configuration.seed, who.place
        )
        assert schedule is not None
        assert trial.training is not None
        columns = tuple(schedule[trial.training])
    case = plans.case_of(connection, f"{study.id}.{who.place}", number)
    labels = [study.problem.world.labels[i] for i in columns]
    person = people.find(connection, who.id, to_change=True)
    offer = Offer(labels, "", {"feedback": trial.feedback}, trial.feedback, number)
    there = rounds.offer(connection, person, offer)
    person = people.find(connection, who.id, to_change=True)
    values = [float(case.values[i] or 0.0) for i in columns]
    there = rounds.show(connection, person, there, labels, values, None)
    person = people.find(connection, who.id, to_change=True)
    taught = [int(label in labels) for label in study.problem.world.labels]
    answer = float(np.round(sum(values) * weight + rng.normal(0.0, 0.3), 2))
    rounds.predict(connection, person, there, answer, taught, case.outcome)
