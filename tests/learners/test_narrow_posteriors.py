"""Evidence where answers scatter little is that of much finer grids, and favours no kind."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import preceptor as pr
from preceptor.learners.populations import group_people
from preceptor.learners.records import Record
from preceptor.learners.weighing import cells_of, weigh
from tests.learners import test_yes_no as yes_no
from tests.learners.playing import WORLD, played, someone

SCATTERS = [0.03, 0.1, 0.3, 0.6]


def middles(axis, times):
    """Middles of equal parts of an axis, `times` as many as it has points."""
    low, high = axis.ends
    parts = axis.points * times
    return low + (high - low) / parts * (np.arange(parts) + 0.5)


def crossed(sides):
    return np.stack([side.ravel() for side in np.meshgrid(*sides, indexing="ij")], axis=-1)


def log_densities(axes, points):
    return sum(axis.log_density(points[:, i]) for i, axis in enumerate(axes))


def by_a_finer_grid(weighed, name, times=16, again=8):
    """Log evidence of all and of early rounds, summed over a grid sixteen times finer.

    At a scatter of 0.03 even that is too coarse, so those of its boxes that matter, and the boxes
    beside them, are divided by eight along each axis if they are few.
    """
    family, setting = weighed.cells_of(name).family, weighed.setting
    sides = [middles(axis, times) for axis in family.axes]
    points, shape = crossed(sides), [side.size for side in sides]

    def joint(at):
        steps = [axis.step for axis in family.axes]
        parts = [
            cells_of(setting, family, some, np.tile(steps, (len(some), 1)))
            for some in np.array_split(at, len(at) // 4000 + 1)
        ]
        both = [np.concatenate([getattr(part, what) for part in parts], axis=1)
                for what in ("log_evidence", "early")]  # fmt: skip
        return np.stack(both) + log_densities(family.axes, at) - np.log(weighed.joint.shape[1])

    coarse = joint(points)
    matters = (coarse > coarse.max(axis=(1, 2), keepdims=True) - 20.0).any(axis=(0, 1))
    for axis in range(len(shape)):
        near = np.moveaxis(matters.reshape(shape), axis, 0).copy()
        beside = near.copy()
        beside[1:] |= near[:-1]
        beside[:-1] |= near[1:]
        matters = np.moveaxis(beside, 0, axis).ravel()
    again = again if matters.sum() < 600 else 1
    steps = [(side[1] - side[0]) / again for side in sides]
    shifts = crossed([step * (np.arange(again) - 0.5 * (again - 1)) for step in steps])
    fine = joint((points[matters][:, None] + shifts).reshape(-1, len(sides)))
    terms = [coarse[..., ~matters], fine - np.log(len(shifts))]
    prior = logsumexp(log_densities(family.axes, points))
    return logsumexp(np.concatenate(terms, axis=2), axis=(1, 2)) - prior


def compare(weighed, name, within=0.1):
    cells = weighed.cells_of(name)
    assert_allclose([cells.total, cells.early_total], by_a_finer_grid(weighed, name), atol=within)


@pytest.mark.few(3)
@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize("group", ["by showings", "by outcomes"])
def test_one_parameter_is_summed_as_by_a_finer_grid(group, scatter):
    record = played(WORLD, someone(WORLD, group, 3, rate=0.08), 80, 4, scatter=scatter)
    names = ["geometric", "power law", "delta rule", "bayesian"]
    weighed = weigh(WORLD, record, families=names)
    for name in names:
        compare(weighed, name)


@pytest.mark.few(4)
@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("by showings", "floor"),
        ("by showings", "forgetful"),
        ("by outcomes", "decaying delta rule"),
        ("by outcomes", "leaking delta rule"),
        ("none", "drifting bayesian"),
    ],
)
def test_two_parameters_are_summed_as_by_a_finer_grid(group, name, scatter):
    record = played(WORLD, someone(WORLD, group, 3, rate=0.08), 60, 4, scatter=scatter)
    compare(weigh(WORLD, record, families=[name], dials=(0.0,)), name)


@pytest.mark.few(1)
@pytest.mark.parametrize("scatter", [0.03, 0.1, 0.6])
def test_so_are_answers_with_slips(scatter):
    record = played(WORLD, someone(WORLD, "by showings", 3, rate=0.08), 60, 4, scatter=scatter)
    compare(weigh(WORLD, record, families=["geometric"], answers="t", dials=(0.0,)), "geometric")


@pytest.mark.full
@pytest.mark.parametrize("scatter", [0.03, 0.6])
def test_so_are_choices(scatter):
    person = someone(WORLD, "by outcomes", 3, rate=0.08)
    record = played(WORLD, person, 150, 4, scatter=scatter)
    chosen = Record(WORLD, record.shown, record.values, (record.answers > 0).astype(float),
                    record.outcomes, record.told)  # fmt: skip
    names = ["geometric", "delta rule"]
    weighed = weigh(WORLD, chosen, families=names, answers="choices", dials=(0.0,))
    for name in names:
        compare(weighed, name)


@pytest.mark.full
@pytest.mark.parametrize("decided", [False, True])
@pytest.mark.parametrize("scatter", [0.03, 0.6])
def test_so_are_answers_to_yes_or_no(scatter, decided):
    world, rng = yes_no.world_of(), np.random.default_rng(4)
    log = yes_no.played(world, rng, rounds=80, kind="showings", initial=[0.2, -0.3, 0.5], rate=0.08,
                        scatter=scatter, decided=decided)  # fmt: skip
    names = ["geometric", "delta rule"]
    weighed = weigh(world, log, families=names, dials=(0.0,))
    for name in names:
        compare(weighed, name)


@pytest.mark.full
@pytest.mark.parametrize("scatter", [0.03, 0.1])
def test_a_person_who_forgets_nothing_is_not_called_forgetful(scatter):
    """By chance their answers may favour it a little: odds of 4 to 1 in one of four at most."""
    found = []
    for seed in range(8):
        person = someone(WORLD, "by showings", seed, rate=0.05 + 0.02 * seed)
        found.append(weigh(WORLD, played(WORLD, person, 80, seed, scatter=scatter)).families)
    assert max(shares["forgetful"] for shares in found) < 0.8
    assert np.mean([shares["forgetful"] for shares in found]) < 0.5
    assert sum(max(shares, key=shares.get) == "geometric" for shares in found) >= 6


@pytest.mark.full
@pytest.mark.parametrize("scatter", [0.03, 0.1])
def test_a_forgetful_person_is_still_called_so(scatter):
    found = []
    for seed in range(6):
        first = someone(WORLD, "none", seed).initial
        record = played(
            WORLD, pr.Forgetful(first, pr.Geometric(1.1), 0.03), 80, seed, scatter=scatter
        )
        found.append(weigh(WORLD, record).families["forgetful"])
    assert np.mean(found) > 0.5


def test_rates_of_a_population_are_found_where_each_is_known_well():
    """With rates that are almost known, mean and spread are those of the rates themselves."""
    rates = np.exp(np.log(0.08) + 0.4 * np.array([-1.2, -0.7, -0.2, 0.1, 0.5, 1.5]))
    people = {}
    for i, rate in enumerate(rates):
        record = played(WORLD, someone(WORLD, "by showings", i, rate=rate), 80, i, scatter=0.03)
        people[str(i)] = weigh(WORLD, record, families=["none", "geometric"], dials=(0.0,))
    found = group_people(people)
    # Each rate is known to about .01; the prior of the mean is a hundred times wider than that.
    error = np.std(np.log(rates), ddof=1) / np.sqrt(len(rates))
    assert_allclose(found.rate.mean.mean, np.mean(np.log(rates)), atol=0.3 * error)
    for weighed, rate in zip(found.people.values(), rates, strict=True):
        _, at = weighed.numbers("geometric", 0.0)
        assert_allclose(at[0], np.log(rate), atol=0.06)
