"""The beam against its slow twin, its merging against a dictionary, and early stops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import preceptor as pr
from preceptor.planning.count_dual import CountDual
from preceptor.planning.dual import conduct
from preceptor.planning.dual_instances import to_counts
from preceptor.planning.finite import as_policy
from preceptor.planning.guided_beam import (
    BeamGuide,
    guided_beam,
    memory_width,
    merge,
)
from preceptor.proofs.dual import DualProof, Potentials, beam_again
from preceptor.proofs.losses import ReferenceLosses
from tests.planning.exact import (
    beam_against,
    certificate_of,
    enclosure,
    guide_of,
    own_losses,
    random_instance,
    solve_all,
    solved,
)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("seed", "n", "sizes", "horizon"),
    [(0, 3, (0, 1, 2), None), (1, 4, (2,), None), (2, 3, (1,), 9)],
)
@pytest.mark.parametrize("width", [8, 40])
def test_the_slow_beam_proves_the_same(seed, n, sizes, horizon, width):
    instance, _, bound, best = solved(seed, n, sizes, horizon=horizon)
    beam = beam_against(bound, best.schedule, best.commit, width)
    assert beam.value == best.value  # a plan found on the way would prune more from then on
    losses = own_losses(instance)
    claimed = DualProof(bound.minima, bound.constants, bound.value, 0, 0, 0)
    potentials = Potentials(losses, certificate_of(bound))
    walked = beam_again(claimed, potentials, losses, beam.value, width, beam.layers)
    again = max(walked, bound.value)
    assert_allclose(again, beam.lower_bound, rtol=1e-9)


def by_potentials(problem):
    """A guide, the best fixed set as a plan, and what it costs."""
    each = [pr.evaluate(problem, pr.Stationary(shown)) for shown in problem.sets]
    first = int(np.argmin(each))
    rounds = problem.horizon or 1

    def price(path, commit):
        return pr.evaluate(problem, as_policy(problem, path, path[-1] if commit < 0 else commit))

    dual = CountDual(to_counts(problem), each[first])
    bound = conduct(dual, time_limit=60, max_iterations=4)
    path, commit = np.full(rounds, first), first if problem.horizon is None else -1
    return BeamGuide(bound, price), path, commit, each[first]


@pytest.fixture(scope="module", params=[pytest.param(None, marks=pytest.mark.full), 8])
def floored(request):
    """Somebody who never gets below a floor, and what potentials of their counts say."""
    problem = pr.Problem(
        pr.World([0.9, -0.5, 0.7], [[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]]),
        pr.Learner([0.1, 0.6, -0.4], pr.Geometric(1.4, floor=0.2), 0.4),
        pr.AtMost(2, price=0.05),
        discount=0.8,
        horizon=request.param,
    )
    return problem, *by_potentials(problem)


@pytest.mark.parametrize("width", [8, 40])
def test_the_slow_beam_proves_the_same_by_potentials(floored, width):
    problem, guide, path, commit, value = floored
    best = guided_beam(guide, path, commit, value, 200)
    beam = guided_beam(guide, best.schedule, best.commit, best.value, width)
    assert beam.value == best.value == guide.price(beam.schedule, beam.commit) <= value
    losses, bound = ReferenceLosses.of(problem), guide.bound
    claimed = DualProof(bound.minima, bound.constants, bound.value, 0, 0, 0)
    potentials = Potentials(losses, certificate_of(bound))
    walked = beam_again(claimed, potentials, losses, beam.value, width, beam.layers)
    assert_allclose(max(walked, bound.value), beam.lower_bound, rtol=1e-9)


def test_the_optimum_is_between_bound_and_value_by_potentials(floored):
    problem, *start = floored
    beam = guided_beam(*start, 200)
    exact = pr.solve(problem, "lattice" if problem.horizon is None else "finite")
    assert beam.lower_bound <= exact.value * (1 + 1e-9)
    assert exact.lower_bound <= beam.value * (1 + 1e-9)


def test_members_of_sets_are_listed_and_padded():
    instance = random_instance(0, 4, (0, 1, 3))
    assert_array_equal(instance.counted(1).members, instance.members)


@pytest.mark.parametrize("n", [3, 20])
def test_equal_counts_are_merged_exactly(n):
    rng = np.random.default_rng(n)
    instance = random_instance(0, n, (0, 1, 2)).counted(1)
    actions = instance.actions
    counts = (
        rng.integers(0, 3, (40, n)) if n == 3 else np.repeat(rng.integers(0, 100, (8, n)), 5, 0)
    )
    f = rng.uniform(1.0, 2.0, (len(counts), len(actions)))
    f[rng.random(f.shape) < 0.3] = np.inf
    best: dict[tuple[int, ...], float] = {}
    for p, c in zip(*np.nonzero(f < 1.9), strict=True):
        child = tuple(counts[p] + instance.shown[actions[c]])
        best[child] = min(best.get(child, np.inf), f[p, c])
    merged = merge(counts, f, instance.members, actions, np.full(n, 1000), 1.9)
    children = counts[merged.parents] + instance.shown[actions[merged.actions]]
    found = {tuple(row): value for row, value in zip(children, merged.best, strict=True)}
    assert len(children) == len(found)
    assert found == best
    assert merged.dropped == f[(f > 1.9) & (f < np.inf)].min()


@pytest.mark.parametrize("layers", [0, 5])
def test_it_is_valid_when_stopped_early(layers):
    instance, found, bound, _ = solved(2, 3, (0, 1, 2))
    calls = iter(range(1000))
    stopped = beam_against(
        bound, found.schedule, found.commit, width=50, should_stop=lambda: next(calls) >= layers
    )
    low, high = enclosure(instance, 20)
    assert (stopped.status, stopped.layers) == ("stopped", layers)
    assert stopped.lower_bound <= high * (1 + 1e-9)
    assert low <= stopped.value * (1 + 1e-9)


@pytest.mark.parametrize("horizon", [None, 6])
def test_showing_nothing_at_all_is_covered_whatever_the_incumbent(horizon):
    """Once the bound exceeded the optimum when the plan at hand was worse than stopping at once."""
    price = (2.0, 2.0, 2.0)
    instance, _, bound, _ = solved(0, 3, (0, 3), price=price, horizon=horizon)
    everything = np.full(horizon or 10, instance.n_sets - 1)
    commit = instance.n_sets - 1 if horizon is None else -1
    beam = beam_against(bound, everything, commit, width=50)
    nothing = bound.instance.stop_cost(0)
    assert_allclose(beam.value, nothing, rtol=1e-12)
    assert beam.lower_bound <= nothing * (1 + 1e-12)


def test_what_fits_into_memory_proves_no_less():
    instance = random_instance(3, 4, (0, 1, 2))
    found, bound, narrow = solve_all(instance, width=10, iterations=10)
    most = memory_width(guide_of(bound), 3.0)
    wide = beam_against(bound, found.schedule, found.commit, most)
    assert wide.lower_bound >= narrow.lower_bound - 1e-12
    assert narrow.widest < wide.widest <= most
