"""What holds for people of every kind: those found in the registry, with examples of each."""

import json
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.person import Parameter
from preceptor.people.human import Sessions, answer_one_by_one
from preceptor.simulation.checking import check_human
from tests.people.examples import EVERYBODY, EXAMPLES, INDIVIDUALS, INITIAL, NAMES, WORLD, moving

SETS = ((0, 1), (2,), (), (0, 1, 2), (1, 2), (0,))

everybody = pytest.mark.parametrize("person", EVERYBODY, ids=NAMES)
individuals = pytest.mark.parametrize("person", INDIVIDUALS.values(), ids=INDIVIDUALS)


def record(rng, crowd=()):
    """All tests as somebody may have them in mind, what was shown, and what was true."""
    return (
        rng.standard_normal((*crowd, 3)),
        rng.random((*crowd, 3)) < 0.5,
        2.0 * rng.standard_normal(crowd),
    )


def test_every_kind_of_the_package_has_examples():
    ours = {
        name: kind
        for name, kind in pr.Person.registry.items()
        if kind.__module__.startswith("preceptor.")
    }
    assert set(ours) == set(EXAMPLES)
    for name, people in EXAMPLES.items():
        assert all(type(person) is ours[name] for person in people)


@individuals
@pytest.mark.parametrize("crowd", [(), (4,), (2, 3)])
def test_moves_say_where_learning_leads(person, crowd):
    rng = np.random.default_rng(1)
    state = person.fresh(WORLD, crowd, None)
    for _ in range(12):
        seen = record(rng, crowd)
        before = moving(person, WORLD, state)
        turn, push = person.moves(WORLD, state, *seen)
        size = 3 + person.has_level
        assert turn.shape == (*crowd, size, size)
        assert push.shape == (*crowd, size)
        state = person.learn(WORLD, state, *seen)
        after = moving(person, WORLD, state)
        assert after.shape == (*crowd, size)
        assert_allclose(np.einsum("...ij,...j->...i", turn, before) + push, after, atol=1e-12)


@individuals
def test_learning_leaves_the_state_before_alone(person):
    rng = np.random.default_rng(2)
    state = person.fresh(WORLD, (4,), None)
    before = pickle.dumps(state)
    person.learn(WORLD, state, *record(rng, (4,)))
    person.moves(WORLD, state, *record(rng, (4,)))
    assert pickle.dumps(state) == before


@everybody
def test_one_by_one_and_many_at_once_agree(person):
    rng = np.random.default_rng(3)
    people, rounds = 5, 20
    which = rng.integers(len(SETS), size=(people, rounds))
    cases = WORLD.sample(people * rounds, rng)
    features = cases.features.reshape(people, rounds, 3)
    outcomes = cases.outcomes.reshape(people, rounds)
    sessions = Sessions.hiding(SETS, which, type(cases)(features, outcomes))
    for noise in (0.0, 0.3):
        acting = person.acting(WORLD, response_noise=noise)
        rngs = [[np.random.default_rng(i) for i in range(people)] for _ in range(2)]
        together = acting.predict_many(sessions, rngs[0])
        assert_allclose(together, answer_one_by_one(acting, sessions, rngs[1]), atol=1e-11)


@everybody
def test_everybody_keeps_to_the_protocol_of_those_who_act(person):
    check_human(lambda: person.acting(WORLD, response_noise=0.1), WORLD)


@individuals
def test_everybody_starts_with_their_first_weights(person):
    assert_allclose(person.acting(WORLD).weights, INITIAL, atol=1e-15)


@everybody
def test_people_go_to_files_and_back(person):
    for family in (pr.Person, type(person)):
        assert family.from_dict(person.to_dict()) == person
        back = family.from_json(json.dumps(person.to_dict()))
        assert back == person
        assert hash(back) == hash(person)
        assert type(back) is type(person)
    assert pickle.loads(pickle.dumps(person)) == person
    # files of people who learn by showings are older than other kinds, and name none
    assert person.to_dict().get("kind", "by-showings") == person.kind


@individuals
def test_people_say_who_they_are(person):
    text = repr(person)
    assert text.startswith(f"{type(person).__name__} with beliefs about 3 tests")
    begins = person.learning_in_words()[:100]  # long sentences are cut
    assert begins in " ".join(text.split())
    assert person.learning_in_words()[0].islower()
    assert all(isinstance(parameter, Parameter) for parameter in person.parameters)
    for parameter in person.parameters:
        assert parameter.lowest < parameter.highest
        usual = parameter.usual or ()
        assert all(parameter.lowest <= point <= parameter.highest for point in usual)
        assert list(usual) == sorted(usual)


@individuals
def test_showings_before_count_or_are_refused(person):
    start = [2, 0, 1]
    if person.start_faults(start):
        assert person.start_faults([0, 0, 0]) == person.start_faults(None) == []
        with pytest.raises(pr.InvalidProblem, match="does not count showings; give the weights"):
            person.acting(WORLD, start)
        return
    started, shown = person.acting(WORLD, start), person.acting(WORLD)
    within = getattr(person, "person", person)
    if within.kind in ("by-showings", "no-learning"):  # nothing happens between showings
        for i, times in enumerate(start):
            for _ in range(times):
                shown.feedback((i,), np.ones(1), 0.0)
        assert_allclose(started.weights, shown.weights)
    else:
        plain = pr.Learner(person.initial, within.curves).beliefs(WORLD, start)
        assert_allclose(started.weights, plain)


def test_equal_people_have_equal_settings():
    assert len({*EVERYBODY, *EVERYBODY}) == len(EVERYBODY)
    assert pr.Bayesian(INITIAL, 0.7, 0.5) == pr.Bayesian(INITIAL, [0.7] * 3, 0.5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"kind": "clever", "initial": INITIAL}, "learner: kind 'clever' is not known; known are"),
        ({"kind": "no-learning", "initial": INITIAL, "rate": 1.0}, "unknown key 'rate'"),
        ({"kind": "folding", "initial": INITIAL}, "missing"),
        ({"kind": "drifting", "initial": INITIAL, "curves": 3}, "curve: got 3"),
    ],
)
def test_files_that_make_no_sense(data, words):
    with pytest.raises(pr.InvalidFile, match=words):
        pr.Person.from_dict(data)


G = pr.Geometric(1.1)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: pr.DeltaRule(INITIAL, -0.1, 2.0), ["imputation", "rate"]),
        (lambda: pr.DeltaRule("abc", 0.1), ["initial"]),
        (lambda: pr.DeltaRule([1.0], 0.1).acting(WORLD), ["learner"]),
        (lambda: pr.Bayesian(INITIAL, [1, 2], 0), ["noise_variance", "prior_variance"]),
        (lambda: pr.Bayesian(INITIAL, -1.0, 1.0), ["prior_variance"]),
        (lambda: pr.Bayesian(INITIAL, "wide", None), ["noise_variance", "prior_variance"]),
        (lambda: pr.Forgetful(INITIAL, G, 1.5), ["forgetting"]),
        (lambda: pr.Forgetful(INITIAL, [G], -1.0, 2.0), ["imputation", "forgetting", "curves"]),
        (lambda: pr.NoLearning([np.nan], -1.0), ["initial", "imputation"]),
        (lambda: pr.Drifting(INITIAL, pr.PowerLaw(1.0), "fast"), ["drift", "curves"]),
        (lambda: pr.Drifting(INITIAL, pr.Geometric(1.1, floor=0.1)), ["curves"]),
        (lambda: pr.Indirect(INITIAL, [G, G, pr.PowerLaw(1.0)], 2.0), ["indirect", "curves"]),
        (
            lambda: pr.Indirect(INITIAL, "slow", 0.5),
            ["curves"] + [f"curves[{i}]" for i in range(4)],
        ),
        (lambda: pr.Folding(INITIAL, pr.PowerLaw(1.0), -0.5), ["folding", "curves"]),
    ],
)
def test_every_bad_setting_is_named(make, names):
    with pytest.raises(pr.InvalidProblem) as caught:
        make()
    assert [fault.split(":")[0] for fault in caught.value.faults] == names


def test_a_curve_without_a_constant_ratio_comes_with_the_remedy():
    with pytest.raises(pr.InvalidProblem, match="use Geometric without a floor"):
        pr.Folding(INITIAL, pr.PowerLaw(1.0), 0.5)
