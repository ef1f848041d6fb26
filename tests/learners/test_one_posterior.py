"""One log, one answer from `fit`, `diagnose --read` and the tutor; and it is calibrated."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.data.log import Log
from preceptor.learners.families import FAMILIES, GROUPS
from preceptor.learners.kind_posterior import read_log
from preceptor.learners.posterior import NONE_OF_THESE
from preceptor.learners.weighing import weigh
from tests.data.yes_no_answers import answered, yes_no_world

from .drawn_people import DIALS, WORLD, draw, played_by, strangers

NAMES = tuple(name for name, family in FAMILIES.items() if not (family.dated or family.named))
FEW = ("none", "geometric", "delta rule", "bayesian")


def log_of(record, name="ann"):
    return Log(
        record.world.labels, [name] * record.rounds, range(record.rounds), record.shown,
        np.where(record.shown, record.values, np.nan), record.answers,
        np.where(record.told, record.outcomes, np.nan),
    )  # fmt: skip


def by_family(kinds):
    """Probabilities of the members of `Weighed.crowd`, added up by family."""
    found: dict[str, float] = {}
    for name, share in kinds.items():
        family = name.split(", ")[0]
        found[family] = found.get(family, 0.0) + share
    return found


@pytest.fixture(scope="module")
def record():
    """Random pairs with some probes among them."""
    person = pr.DeltaRule([0.4, -0.3, 0.2, 0.5], 0.08, 1.0)
    found = played_by(person.acting(WORLD), 60, np.random.default_rng(4), scatter=0.4, follow=0.2)
    told = np.arange(60) % 7 != 0
    return dataclasses.replace(found, told=told)


def test_one_log_through_three_doors_gives_the_same_probabilities(record):
    """All of them with default settings."""
    log = log_of(record)
    fitted = pr.fit_learner(WORLD, log).people_kinds_["ann"]
    [read] = read_log(WORLD, log).people
    tutor = pr.Tutor(pr.Problem(WORLD, pr.Crowd.default(WORLD), budget=2)).through(log)
    assert read.groups == fitted.groups
    assert read.members == fitted.families
    assert_allclose(list(tutor.groups.values()), list(fitted.groups.values()), rtol=1e-8)
    assert list(tutor.groups) == list(fitted.groups)
    assert set(read.groups) == {*GROUPS, NONE_OF_THESE}
    assert_allclose(sum(read.groups.values()), 1.0)


def test_a_tutor_with_the_hypotheses_of_fit_gives_its_probabilities(record):
    log = log_of(record)
    weighed = weigh(WORLD, log, families=FEW, dials=(0.0, 1.0))
    problem = pr.Problem(WORLD, weighed.crowd(), budget=2)
    tutor = pr.Tutor(problem, process_noise=0.0).through(log)
    found = by_family(tutor.kinds)
    for name, share in weighed.families.items():
        assert_allclose(found[name], share, rtol=1e-8)
    assert 1e-6 < found[NONE_OF_THESE] < 0.5


def test_a_tutor_and_a_log_read_with_its_crowd_agree(record):
    log, crowd = log_of(record), pr.Crowd.default(WORLD)
    [read] = read_log(WORLD, log, crowd).people
    tutor = pr.Tutor(pr.Problem(WORLD, crowd, budget=2)).through(log)
    for name, share in tutor.kinds.items():
        assert_allclose(read.members[name], share, rtol=1e-8)


@pytest.mark.full
def test_a_slip_does_not_decide_and_they_still_agree(record):
    """One answer a thousand standard deviations off counts as twenty."""
    answers = record.answers.copy()
    answers[20] = 1e3 * record.outcome_sd
    log, crowd = log_of(dataclasses.replace(record, answers=answers)), pr.Crowd.default(WORLD)
    [read] = read_log(WORLD, log, crowd).people
    tutor = pr.Tutor(pr.Problem(WORLD, crowd, budget=2)).through(log)
    for name, share in tutor.kinds.items():
        assert_allclose(read.members[name], share, rtol=1e-8)
    answers[20] = 20.0 * record.outcome_sd
    [bounded] = read_log(WORLD, log_of(dataclasses.replace(record, answers=answers)), crowd).people
    assert_allclose(list(read.members.values()), list(bounded.members.values()), rtol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize(("decided", "most"), [(False, 0.05), (True, 0.08)])
def test_where_the_outcome_is_yes_or_no_they_agree_closely(decided, most):
    """Online, outcome learners are linearised elsewhere, and decisions replaced by moments."""
    world, off = yes_no_world(), []
    for seed in range(4):
        log = answered(
            world, decided=decided, retention=lambda m: 1.06**-m, rng=np.random.default_rng(seed),
            rounds=80, people=1, initial=[-0.4, 1.0, 0.0], dial=1.0, bias=0.1, noise=0.5,
        )  # fmt: skip
        weighed = weigh(world, log, families=FEW[:3], dials=(0.0, 1.0))
        risk = pr.Decision(1, 1) if decided else pr.Brier()
        problem = pr.Problem(world, weighed.crowd(), budget=2, risk=risk)
        found = by_family(pr.Tutor(problem, process_noise=0.0).through(log).kinds)
        off.append(max(abs(found[name] - share) for name, share in weighed.families.items()))
    assert max(off) < most


@pytest.mark.few(1)
@pytest.mark.parametrize("decided", [False, True])
def test_three_doors_of_a_log_of_yes_and_no(decided):
    world = yes_no_world()
    log = answered(
        world, decided=decided, retention=lambda m: 1.06**-m, rng=np.random.default_rng(1),
        rounds=40, people=1, initial=[-0.4, 1.0, 0.0], dial=1.0, bias=0.1, noise=0.5,
    )  # fmt: skip
    [fitted] = pr.fit_learner(world, log).people_kinds_.values()
    [read] = read_log(world, log).people
    risk = pr.Decision(1, 1) if decided else pr.Brier()
    tutor = pr.Tutor(pr.Problem(world, pr.Crowd.default(world), budget=2, risk=risk)).through(log)
    assert read.groups == fitted.groups
    assert_allclose(list(tutor.groups.values()), list(fitted.groups.values()), rtol=1e-8)


def test_groups_before_the_first_answer_are_the_prior_and_late_outcomes_are_not_told(record):
    tutor = pr.Tutor(pr.Problem(WORLD, pr.Crowd.default(WORLD), budget=2))
    assert_allclose(list(tutor.groups.values()), [0.95 / 3] * 3 + [0.05])
    log = log_of(record)
    late, untold = tutor, tutor
    for i in range(12):
        shown = np.flatnonzero(log.shown[i]).tolist()
        asked = (shown, log.values[i, shown], float(log.prediction[i]))
        late, untold = late.answered(*asked), untold.after(*asked)
    assert_allclose(
        list(late.told(float(log.outcome[1]), 1).groups.values()), list(untold.groups.values())
    )


# --- calibration: people drawn from the prior ---


def reliability(drawn, families):
    """Stated probabilities of groups (people, 4) with what is true, and intervals that hold."""
    said, true, held = [], [], []
    for each in drawn:
        weighed = weigh(WORLD, each.record, families=families, dials=DIALS)
        groups = weighed.groups
        name = each.family
        group = name if name == NONE_OF_THESE else FAMILIES[name].group
        said.append(list(groups.values()))
        true.append([group == other for other in groups])
        if name != NONE_OF_THESE:
            estimates = [*weighed.initial, weighed.bias, weighed.scatter]
            truths = [*each.first, each.bias, each.scatter]
            held.append(
                [low <= x <= high for (_, low, high), x in zip(estimates, truths, strict=True)]
            )
    return np.array(said), np.array(true), np.array(held)


def check(said, true, held, least):
    """Frequencies are the stated probabilities, and intervals hold, within sampling error."""
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 1.0001)):
        within = (said >= low) & (said < high)
        error = np.sqrt(np.sum(said[within] * (1.0 - said[within])))
        assert abs(np.sum(true[within] - said[within])) < 3.5 * error + 0.5, (low, high)
    assert np.abs(true.mean(axis=0) - said.mean(axis=0)).max() < 4 * np.sqrt(0.25 / len(said))
    assert held.mean() > least


@pytest.mark.full
def test_a_few_people_from_the_prior_are_what_they_are_said_to_be():
    rng = np.random.default_rng(5)
    drawn = [draw(40, rng, FEW) for _ in range(60)]
    check(*reliability(drawn, FEW), least=0.9)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [40, 80, 160])
def test_stated_probabilities_are_frequencies(rounds):
    rng = np.random.default_rng(rounds)
    drawn = [draw(rounds, rng, NAMES) for _ in range(300)]
    check(*reliability(drawn, NAMES), least=0.93)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "scatter", "rounds", "least"),
    [("exemplar", 0.1, 80, 0.9), ("exemplar", 0.3, 80, 0.5), ("capped", 0.1, 160, 0.3)],
)
def test_none_of_these_rises_for_strangers(name, scatter, rounds, least):
    rng = np.random.default_rng(1)
    found = []
    for _ in range(8):
        record = played_by(strangers(name, rng), rounds, rng, scatter=scatter)
        found.append(weigh(WORLD, record, families=FEW, dials=(0.0, 1.0)).none_of_these)
    assert np.mean(found) > least


def test_none_of_these_stays_low_for_people_of_the_list():
    rng, found = np.random.default_rng(2), []
    while len(found) < 16:
        each = draw(80, rng, FEW)
        if each.family != NONE_OF_THESE:
            found.append(weigh(WORLD, each.record, families=FEW, dials=DIALS).none_of_these)
    assert np.mean(found) < 0.05
