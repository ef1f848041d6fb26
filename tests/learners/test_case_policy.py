"""`CaseAware`: a policy like the others, that looks at the case and considers several kinds."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import preceptor as pr
from preceptor.simulation import compare, rollout

WORLD = pr.World.equicorrelated([1.0, 0.8, -0.4], 0.6, 0.3, names=["a", "b", "c"])
FIRST = [0.2, 1.3, 0.0]
CROWD = pr.Crowd({"slow": pr.DeltaRule(FIRST, 0.03), "fast": pr.Learner(FIRST, pr.Geometric(1.2))})
PROBLEM = pr.Problem(WORLD, CROWD, pr.Exactly(1), 0.95)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (pr.CaseAware(), "having seen the case, with one aided case worth 30 cases decided alone"),
        (pr.CaseAware(knows=["b"]), "having seen b, with one aided case worth 30 cases decided"),
        (pr.CaseAware(0.0), "for this decision only"),
        (pr.CaseAware(math.inf, alone="best"), "for what the person learns only"),
        (pr.CaseAware(knows="nothing"), "before seeing the case, for as long as what is learned"),
    ],
)
def test_it_survives_a_file_and_says_what_it_does(policy, said):
    assert pr.CaseAware.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert pr.CaseAware.from_json(policy.to_json()) == policy
    assert said in policy.in_words()


def test_faults_are_all_named():
    with pytest.raises(pr.InvalidInput) as found:
        pr.CaseAware(-1.0, knows="all", alone="none")
    assert [word in str(found.value) for word in ("tau: -1.0", "knows: 'all'", "alone: 'none'")]
    with pytest.raises(pr.InvalidInput, match="tau: True"):
        pr.CaseAware(True)


@pytest.mark.parametrize(
    "policy", [pr.CaseAware(5.0), pr.CaseAware(knows=("a", "c")), pr.CaseAware(knows="nothing")]
)
def test_a_rollout_shows_what_a_tutor_advises_who_hears_the_same(policy):
    person = pr.DeltaRule(FIRST, 0.05)
    human = person.acting(WORLD, response_noise=0.2)
    run = rollout(PROBLEM, policy, 12, 2, rng=4, human=human)
    # Results that were not shown come from another policy that meets the same cases.
    every = PROBLEM.replace(budget=pr.Exactly(3))
    cases = rollout(every, pr.Stationary((0, 1, 2)), 12, 2, rng=4, human=person).sessions
    knows = {"case": (0, 1, 2), "nothing": ()}.get(str(policy.knows), (0, 2))
    for who in range(2):
        tutor = pr.Tutor(PROBLEM, tau=policy.tau)
        for t in range(12):
            known = np.full(3, np.nan)
            known[list(knows)] = cases.values[who, t, list(knows)]
            shown = tutor.next(case=known) if knows else tutor.next()
            assert run.sessions.sets[run.sessions.which[who, t]] == shown
            values = cases.values[who, t, list(shown)]
            answer, truth = run.predictions[who, t], cases.outcomes[who, t]
            tutor = tutor.after(shown, values, answer, truth)


def test_cases_are_those_of_every_other_policy():
    """Common random numbers: the same person meets the same outcomes, however many others play."""
    person = pr.DeltaRule(FIRST, 0.05)
    aware = rollout(PROBLEM, pr.CaseAware(), 6, 2, rng=1, human=person, alone=4)
    more = rollout(PROBLEM, pr.CaseAware(), 6, 3, rng=1, human=person, alone=4)
    fixed = rollout(PROBLEM, pr.Stationary((0,)), 6, 2, rng=1, human=person, alone=4)
    assert_array_equal(aware.sessions.outcomes, fixed.sessions.outcomes)
    assert_array_equal(aware.losses, more.losses[:2])
    assert_array_equal(aware.alone, more.alone[:2])
    policies = {"aware": pr.CaseAware(), "fixed": pr.Stationary((0,))}
    table = compare(PROBLEM, policies, {"one": person}, 6, 2, rng=1, alone=4, against="fixed")
    assert table.mean[0, 0] == pytest.approx(aware.total)
    assert table.alone[0, 0] == pytest.approx(aware.alone.mean(axis=1))


@pytest.mark.parametrize("start", [None, [3, 0, 1]])
def test_one_person_is_never_the_only_kind_considered(start):
    person = pr.Learner(FIRST, pr.Geometric(1.2))
    problem = pr.Problem(WORLD, person, 1, 0.95, start=start)
    kinds = pr.CaseAware().start(problem).tutor.kinds
    assert len(kinds) == 1 + 7 + 1
    assert kinds["as planned for"] == pytest.approx(0.5 * 0.95)
    now = person.beliefs(WORLD, problem.start_counts)
    tutor = pr.CaseAware().start(problem).tutor
    for kind in range(8):
        assert tutor.bank.posterior_weights(kind)[0] == pytest.approx(now)
    assert set(pr.CaseAware().start(PROBLEM).tutor.kinds) == {"slow", "fast", "none of these"}
