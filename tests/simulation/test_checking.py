"""The checker finds every way to break the protocol, and lets sound people pass."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.people.acting import Acting
from preceptor.simulation.checking import check_human

WORLD = pr.World.equicorrelated([1.0, 0.8, 0.3], 0.6)


class Average:
    """Predicts the mean of the outcomes so far: a person from scratch, in a few lines."""

    def reset(self, rng=None):
        self.total, self.count = 0.0, 0

    def predict(self, shown, values):
        return self.total / max(self.count, 1)

    def feedback(self, shown, values, outcome):
        self.total, self.count = self.total + outcome, self.count + 1


class Chatty(Average):
    def predict(self, shown, values):
        self.count += 1
        return super().predict(shown, values)


class Unforgettable(Average):
    total, count = 0.0, 0

    def reset(self, rng=None):
        pass


class Gambler(Average):
    def predict(self, shown, values):
        return np.random.default_rng().standard_normal()


class Silent(Average):
    def predict(self, shown, values):
        return None


class Lost(Average):
    def predict(self, shown, values):
        return float("nan") if len(shown) == 2 else 0.0


class Scribbler(Average):
    def feedback(self, shown, values, outcome):
        values *= 2
        super().feedback(shown, values, outcome)


class Hoarder(Average):
    def reset(self, rng=None):
        super().reset(rng)
        self.kept = np.zeros(1)

    def predict(self, shown, values):
        return float(self.kept.sum())

    def feedback(self, shown, values, outcome):
        self.kept = values


class Hasty(Acting):
    def __init__(self):
        super().__init__(pr.DeltaRule(np.zeros(3), 0.1), WORLD)

    def predict_many(self, sessions, rngs):
        return super().predict_many(sessions, rngs) * 1.001


class Short(Hasty):
    def predict_many(self, sessions, rngs):
        return super().predict_many(sessions, rngs)[:, 1:]


def test_a_sound_person_passes():
    check_human(Average, WORLD)
    check_human(Average, pr.World([1.0], [[1.0]]), rounds=1)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Chatty, "predict: answers depend on"),
        (Unforgettable, "reset: answers differ when a session is played again"),
        (Gambler, "all chance from rng"),
        (Silent, "predict: answered None when"),
        (Lost, r"answered nan when \(0, 1\) was shown"),
        (Scribbler, "modifies values"),
        (Hoarder, "keeps the array of values"),
        (Hasty, "predict_many: differs from one person after the other"),
        (Short, r"predict_many: answers of shape \(3, 11\), must be \(3, 12\)"),
        (object, "predict: missing"),
    ],
)
def test_broken_promises_are_named(broken, words):
    with pytest.raises(pr.InvalidInput, match=words):
        check_human(broken, WORLD)


def test_all_missing_methods_are_listed():
    with pytest.raises(pr.InvalidInput) as caught:
        check_human(object, WORLD)
    assert [fault.split(":")[0] for fault in caught.value.faults] == [
        "reset",
        "predict",
        "feedback",
    ]
