"""Learners who pass the truth: signs, files, exact plans and the checks that every curve gets."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.people.curves import check_curve
from preceptor.testing.people import check_person
from tests import oracles
from tests.people.examples import WORLD
from tests.strategies import covariance, seeds

SIZES = [pr.Geometric(1.3), pr.PowerLaw(1.5), pr.OneShot(), pr.PowerLaw(0.8).after(2)]

branches = st.builds(
    lambda curve, signs, repeats: pr.Branch(curve, [1, *signs], repeats),
    st.sampled_from(SIZES),
    st.lists(st.sampled_from([1, -1]), max_size=4),
    st.booleans(),
)


def drawn(seed: int, size: int = 2, **options) -> pr.Problem:
    rng = np.random.default_rng(seed)
    world = pr.World(rng.standard_normal(size), covariance(rng, size), 0.1)
    patterns = [[1, -1], [1, -1, -1], [1, 1, -1], [1]]
    curves = [
        pr.Branch(SIZES[rng.integers(3)], patterns[rng.integers(4)], bool(rng.integers(2)))
        for _ in range(size)
    ]
    learner = pr.Learner(2.0 * rng.standard_normal(size), curves)
    start = tuple(rng.integers(0, 3, size).tolist())
    return pr.Problem(world, learner, **{"budget": 1, "start": start} | options)


@given(branches)
def test_a_branch_is_a_curve(branch):
    check_curve(branch)
    assert pr.Curve.from_dict(branch.to_dict()) == branch


@given(branches, st.integers(0, 30))
def test_sizes_are_those_of_the_curve_and_signs_those_of_the_list(branch, count):
    listed = branch.signs.tolist()
    longer = listed * 40 if branch.repeats else listed + listed[-1:] * 40
    assert branch.retention(count) == longer[count] * branch.curve.retention(count)
    # The learning rule itself: squares are φ times the first square, whatever the sign.
    assert_allclose(branch.retention(count) ** 2, branch.phi(count), atol=1e-300)


@given(branches, st.integers(0, 12), st.integers(0, 12))
def test_the_rest_of_a_branch_goes_on_where_it_was(branch, before, more):
    rest, now = branch.after(before), branch.retention(before)
    check_curve(rest)
    assert_allclose(rest.retention(more) * now, branch.retention(before + more), atol=1e-12)


@given(branches, st.integers(0, 40))
def test_what_is_left_to_move_is_never_less_than_what_is_moved(branch, count):
    path = branch.retention(np.arange(count, count + 300))
    assert np.all(np.abs(path - path[0]) <= branch.to_move(count) + 1e-15)
    assert np.all(np.diff(branch.to_move(np.arange(60))) <= 0.0)


def test_only_signs_that_stay_keep_a_constant_ratio():
    assert pr.Branch(pr.Geometric(2.0), [1, 1]).ratio == 0.5
    assert pr.Branch(pr.Geometric(2.0), [1, -1]).ratio is None
    assert pr.Branch(pr.Geometric(2.0), [1]).in_words() == pr.Geometric(2.0).in_words()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"signs": []}, ["signs"]),
        ({"signs": [-1, 1]}, ["signs"]),
        ({"signs": [1, 0.5]}, ["signs"]),
        ({"signs": "up"}, ["signs"]),
        ({"curve": 3}, ["curve"]),
        ({"curve": pr.Branch(pr.OneShot(), [1, -1])}, ["curve", "signs already"]),
        ({"curve": pr.Geometric(1.2, floor=0.1)}, ["curve", "0.1", "never settle"]),
        ({"curve": pr.Tabulated([1.0, 0.3])}, ["0.3"]),
        ({"floor": 0.2}, ["0.2"]),
        ({"repeats": 1, "signs": [2]}, ["repeats", "signs"]),
    ],
)
def test_what_is_no_branch_is_refused(fields, words):
    with pytest.raises(pr.InvalidProblem) as error:
        pr.Branch(**{"curve": pr.Geometric(1.1), "signs": [1, -1]} | fields)
    assert all(word in str(error.value) for word in words)


def test_who_keeps_fractions_of_showings_has_no_sign():
    with pytest.raises(pr.InvalidProblem, match="fractional"):
        pr.Forgetful([0.0, 0.0], pr.Branch(pr.Geometric(1.2), [1, -1]))


def test_a_curve_must_say_when_its_sign_changes():
    class Turning(pr.Geometric):
        kind = ""

        def sign(self, counts):
            return np.where(np.asarray(counts) > 2, -1.0, 1.0)

    with pytest.raises(pr.InvalidProblem, match="keeps_sign"):
        check_curve(Turning(1.2))


@given(seeds, st.sampled_from([1, 2]))
def test_finite_plans_are_the_best_of_all_sequences(seed, size):
    problem = drawn(seed, size + 1, budget=size, horizon=3, discount=0.9)
    best, _ = oracles.brute_force(problem)
    assert_allclose(pr.solve(problem, "finite").value, best, rtol=1e-9)


@given(seeds)
def test_endless_plans_are_as_good_as_long_finite_ones(seed):
    problem = drawn(seed, discount=0.6)
    lattice = pr.solve(problem, "lattice")
    floor = problem.oracle.floors().min()
    horizon = 40  # later rounds weigh 0.6^40 = 1e-9
    finite = pr.solve(problem.replace(horizon=horizon), "finite")
    far = 0.6**horizon / 0.4
    worst = max(problem.oracle.ceiling_of(np.abs(problem.initial_errors), s) for s in problem.sets)
    assert lattice.lower_bound <= finite.value + far * worst + 1e-9
    assert finite.value + far * floor - 1e-9 <= lattice.value
    assert lattice.value - lattice.lower_bound <= 1e-5 * lattice.value


@given(seeds)
def test_values_do_not_depend_on_who_computes_them(seed):
    problem = drawn(seed, discount=0.8)
    policy = pr.ExploreThenCommit([(0,), (1,), (1,)], commit=(0,), start=problem.start)
    by_hand = oracles.schedule_value(problem, policy.schedule(160))
    assert_allclose(pr.evaluate(problem, policy), by_hand, rtol=1e-9)
    expected = problem.learner.expected(problem.world, problem.sets, problem.start_counts)
    rounds = [problem.sets.index(shown) for shown in policy.schedule(12)]
    along = [oracles.schedule_value(problem, policy.schedule(t)) for t in range(13)]
    weighed = expected.losses(rounds) * 0.8 ** np.arange(12)
    assert_allclose(np.cumsum(weighed), along[1:], rtol=1e-9)


def test_on_uncorrelated_tests_signs_do_not_matter():
    world = pr.World([1.0, -0.7], np.diag([1.0, 2.0]), 0.1)
    learners = [pr.Learner([0.3, 0.9], c) for c in (SIZES[0], pr.Branch(SIZES[0], [1, -1]))]
    plans = [pr.solve(pr.Problem(world, each, 1, horizon=12)) for each in learners]
    assert_allclose(plans[0].value, plans[1].value)


def test_on_correlated_tests_they_do():
    world = pr.World.equicorrelated([1.0, 0.9], 0.9)
    values = {}
    for signs in itertools.product([1, -1], repeat=2):
        learner = pr.Learner([0.0, 0.0], pr.Branch(pr.Geometric(1.3), [1, *signs]))
        values[signs] = pr.solve(pr.Problem(world, learner, 1, horizon=8), "finite").value
    assert len({round(value, 6) for value in values.values()}) == 4


@given(seeds)
def test_turning_at_every_showing_costs_a_pair_the_same_whatever_is_shown(seed):
    """One of two tests of equal variance a round: e_1 e_2 = e_1(0) e_2(0) (-1/α)^t in round t."""
    rng = np.random.default_rng(seed)
    world = pr.World.equicorrelated(rng.standard_normal(2), rng.uniform(0.1, 0.9))
    initial, size = rng.standard_normal(2), pr.Geometric(1.2)
    steady, turning = (
        pr.Problem(world, pr.Learner(initial, curve), pr.Exactly(1), 0.9, 10)
        for curve in (size, pr.Branch(size, [1, -1]))
    )
    product = float(np.prod(world.coefficients - initial)) * 2 * world.covariance[0, 1]
    rounds = np.arange(10)
    differs = product * float(np.sum(0.9**rounds * ((-1.0) ** rounds - 1.0) * 1.2**-rounds))
    plans = [pr.solve(each, "finite") for each in (steady, turning)]
    assert plans[0].policy.schedule(10) == plans[1].policy.schedule(10)
    assert_allclose(plans[1].value - plans[0].value, differs, rtol=1e-9, atol=1e-12)


def test_a_person_on_a_branch_keeps_every_promise():
    check_person(pr.Learner([0.2, 1.3, 0.4], pr.Branch(pr.Geometric(1.2), [1, -1])), WORLD)


def test_somebody_met_in_the_middle_of_a_branch_is_the_same_person():
    problem = drawn(3, discount=0.9)
    person, world = problem.learner, problem.world
    state = np.array([1.0, 2.0])
    rest = person.from_here(world, state, person.weights_of(world, state))
    for more in itertools.product(range(4), repeat=2):
        assert_allclose(rest.beliefs(world, more), person.beliefs(world, state + more), atol=1e-12)
