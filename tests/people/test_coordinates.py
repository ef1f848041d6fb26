"""Errors that each move by a map of their own: losses, prices and tails against plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.sets import SetFamily
from preceptor.people.second_moments import Coordinates
from tests.people.plain_rounds import discounted, loss
from tests.strategies import covariance

SIZE, ROUNDS, DISCOUNT = 4, 12, 0.9
KINDS = ["shown only", "drifting", "indirect", "anything"]


def maps(kind, sets, rng, first):
    """keep and shift (sets, n) of somebody of that kind."""
    ratio = rng.uniform(0.5, 0.95, SIZE)
    shown = sets.membership
    shift = np.zeros(shown.shape)
    if kind == "shown only":
        keep = np.where(shown, ratio, 1.0)
    elif kind == "drifting":
        keep = np.where(shown, ratio, 0.9)
        shift = np.where(shown, 0.0, 0.1 * first)
    elif kind == "indirect":
        keep = np.where(shown, ratio, ratio ** rng.random(shown.shape))
    else:
        keep = rng.uniform(-1.0, 1.0, shown.shape)
        shift = rng.normal(size=shown.shape)
    return keep, shift


def person(kind, seed=0, kappa=0.4):
    rng = np.random.default_rng(seed)
    world = pr.World(rng.normal(size=SIZE), covariance(rng, SIZE), 0.3)
    sets = pr.AtMost(2, price=[0.0, 0.1, 0.2, 0.3]).sets(SIZE)
    first = rng.normal(size=SIZE)
    keep, shift = maps(kind, sets, rng, first)
    sigma = world.covariance
    omega = (1 - kappa) * sigma + kappa * np.diag(np.diag(sigma))
    return world, sets, first, keep, shift, omega


def plain_losses(made, schedule):
    world, sets, errors, keep, shift, omega = made
    costs = []
    for s in schedule:
        costs.append(loss(world, omega, errors, sets[s], sets.prices[s]))
        errors = keep[s] * errors + shift[s]
    return costs


@pytest.mark.parametrize("kappa", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_totals_and_floors_are_those_of_a_plain_loop(kind, kappa):
    made = person(kind, 1, kappa)
    expected = Coordinates(*made)
    schedule = np.random.default_rng(2).integers(len(made[1]), size=ROUNDS)
    losses = plain_losses(made, schedule)
    assert_allclose(expected.losses(schedule), losses, rtol=1e-11)
    assert_allclose(expected.total(schedule, 0.9, ()), discounted(losses, 0.9), rtol=1e-11)
    assert np.all(expected.floors()[schedule] <= losses + np.full(ROUNDS, 1e-12))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tail", [(), (3,), (1, 5, 2, 5)])
def test_prices_are_those_of_playing_again(kind, tail):
    made = person(kind)
    expected = Coordinates(*made)
    rng = np.random.default_rng(5)
    schedule = rng.integers(len(made[1]), size=ROUNDS)
    walk = expected.walk(ROUNDS, DISCOUNT)
    laid = walk.forward(schedule, tail)
    assert_allclose(laid, expected.total(schedule, DISCOUNT, tail), rtol=1e-11)
    everything = np.arange(len(made[1]))
    for t in reversed(range(ROUNDS)):
        prices = walk.prices(t, everything)
        for s in everything:
            changed = schedule.copy()
            changed[t] = s
            assert_allclose(prices[s], expected.total(changed, DISCOUNT, tail), rtol=1e-10)
        schedule[t] = rng.integers(len(made[1]))  # another one is taken in
        walk.step_back(t, int(schedule[t]))
        if t >= 3:
            changed = schedule.copy()
            changed[t - 3 : t] = rng.integers(len(made[1]), size=3)
            priced = walk.replace_block(t - 3, changed[t - 3 : t])
            # rounds before the block are those that were laid, which nothing has replaced yet
            assert_allclose(priced, expected.total(changed, DISCOUNT, tail), rtol=1e-10)
    again = walk.forward(schedule, tail)
    assert_allclose(again, expected.total(schedule, DISCOUNT, tail), rtol=1e-11)
    schedule[7] = 0
    assert_allclose(
        walk.forward(schedule, tail, since=7), expected.total(schedule, DISCOUNT, tail), rtol=1e-11
    )


@pytest.mark.parametrize("kind", KINDS)
def test_tails_are_long_sums(kind):
    made = person(kind)
    expected = Coordinates(*made)
    schedule = np.random.default_rng(5).integers(len(made[1]), size=ROUNDS)
    walk = expected.walk(ROUNDS, DISCOUNT)
    walk.forward(schedule, (0,))
    words = [(), (0,), (4,), (4, 7), (4, 7, 7, 1, 0)]
    found = walk.tails(words)
    for value, word in zip(found, words, strict=True):
        long = [*schedule, *(word * 400)[:400]]
        assert_allclose(value, discounted(plain_losses(made, long), DISCOUNT), rtol=1e-11)
        assert_allclose(value, expected.total(schedule, DISCOUNT, word), rtol=1e-12)


def test_only_what_a_set_moves_is_priced_for_it():
    shown_only = Coordinates(*person("drifting"))
    assert shown_only._usual[2].shape[1] == 2
    assert Coordinates(*person("indirect"))._usual[2].shape[1] == SIZE


def test_a_family_with_nothing_to_show():
    world = pr.World([1.0, 2.0], np.eye(2), 0.5)
    sets = SetFamily(np.empty((1, 0), dtype=np.int64), np.zeros(1, np.int64), np.zeros(1), 2)
    expected = Coordinates(world, sets, [1.0, 1.0], np.ones((1, 2)), np.zeros((1, 2)), np.eye(2))
    assert_allclose(expected.total([0, 0], 0.5, (0,)), 2 * 5.5)
    assert_allclose(expected.walk(0, 0.5).forward(np.array([], dtype=int), (0,)), 2 * 5.5)


def test_what_makes_no_sense_is_named():
    world, sets, first, keep, shift, omega = person("shown only")
    with pytest.raises(pr.InvalidProblem, match=r"keep: 1\.5, must be between"):
        Coordinates(world, sets, first, keep + 1.5 - keep[0, 0], shift, omega)
    with pytest.raises(pr.InvalidProblem, match=r"start_errors.*\n.*shift") as caught:
        Coordinates(world, sets, first[:2], keep, shift[:2], omega)
    assert len(caught.value.faults) == 2
    expected = Coordinates(world, sets, first, keep, shift, omega)
    with pytest.raises(pr.InvalidProblem, match="discount: 1"):
        expected.total([0], 1.0, (0,))
    assert expected.total([0, 0], 1.0, ()) > 0
