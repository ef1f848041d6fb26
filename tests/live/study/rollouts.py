"""What bots answered in training, compared with a rollout from the study's seed."""

from __future__ import annotations

import copy
from decimal import Decimal

import numpy as np

from preceptor.live.bots import Attended, StudyBots, as_typed
from preceptor.live.client import Client
from preceptor.live.study.study import Study
from preceptor.simulation.rollouts import rollout


def differences(crowd: StudyBots, attended: Attended) -> list[str]:
    """Rounds of training in which the service's log differs from the rollout, in any bit.

    A rollout learns in all rounds of training and only there.
    """
    study, wrong = crowd.study, []
    order = {t.number: t.training for t in study.protocol.trials if t.training is not None}
    for name, arm in crowd.arms.items():
        places = [each for each in attended.places if each and each.arm == name]
        if arm.chooser is None or not places:
            continue
        played = rollout(
            study.problem,
            arm.chooser,
            study.training_rounds,
            1 + max(place.number for place in places),
            rng=study.configuration.seed,
            human=copy.deepcopy(crowd.human),
        )
        answers = [as_stored(study, each) for each in played.predictions.ravel().tolist()]
        log, labels = played.log, np.array(study.problem.world.labels)
        for place in places:
            with Client(crowd.site, crowd.token) as client:
                last = {row["round"]: row for row in client.log(person=place.who)}
            for number in last.keys() & order.keys():
                i = place.number * study.training_rounds + order[number]
                shown = log.shown[i]
                expected = {
                    "shown": labels[shown].tolist(),
                    "values": log.values[i, shown].tolist(),
                    "prediction": answers[i],
                    "outcome": float(log.outcome[i]),
                    "feedback": bool(log.feedback[i]),
                }
                wrong += [
                    f"arm {name}, place {place.number}, round {number}: {field}"
                    for field, value in expected.items()
                    if last[number][field] != value
                ]
    return wrong


def as_stored(study: Study, given: float) -> float:
    """An answer of a simulated person as the service stores it."""
    typed = Decimal(as_typed(study, given))
    return float(typed.scaleb(-2)) if study.answer == "percent" else float(typed)
