"""Tables with very many sets: planned with promising ones, bounded over all, in little memory."""

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.progress import Deadline
from preceptor.advice.planning import Effort, plan_for
from preceptor.advice.sensitivity import sensitivity_until
from preceptor.planning import candidate_sets
from preceptor.planning.anytime import Watch
from preceptor.planning.bounds import instant_bound
from preceptor.planning.candidate_sets import SET_LIMITS
from preceptor.planning.lattice import lattice_work
from preceptor.planning.search import plan_among_candidates, solve_search

RNG = np.random.default_rng(8)
ROOT = RNG.normal(size=(40, 90))
WIDE = pr.World(0.3 * RNG.normal(size=40), ROOT @ ROOT.T / 90 + 0.2 * np.eye(40), 1.0)
NOVICE = pr.Learner(np.zeros(40), pr.Geometric(1.1))
PROBLEM = pr.Problem(WIDE, NOVICE, 2, 0.9)
WHOLE = Deadline(10.0, clock=lambda: 0.0)


@pytest.mark.full
def test_the_bound_covers_every_set(monkeypatch):
    monkeypatch.setattr(candidate_sets, "SET_LIMITS", SET_LIMITS._replace(searched=100))
    plan = plan_for(PROBLEM, None, Effort(WHOLE))
    assert "promising sets out of 821" in plan.notes[-1]
    assert plan.lower_bound == pytest.approx(min(instant_bound(PROBLEM), plan.value))
    monkeypatch.undo()
    full = pr.solve(PROBLEM, "search", time_limit=2.0)
    assert plan.value <= full.value * 1.01
    assert pr.verify(plan).ok


def test_a_plan_is_made_even_if_finding_candidates_took_all_the_time():
    late = Watch(1e-9)

    def solver(small, seconds, _known, *_kicks):
        return solve_search(small, time_limit=seconds)

    plan = plan_among_candidates(PROBLEM, solver, late, None)
    assert plan.value == pytest.approx(pr.evaluate(PROBLEM, plan.policy))


def test_time_that_widening_leaves_goes_into_a_longer_search():
    """A status of "time limit" with most of the time left would be a lie."""
    given, watch = [], Watch(1000.0)

    def solver(small, seconds, _known, *_kicks):
        given.append(seconds)
        return solve_search(small, time_limit=None, max_kicks=0)

    plan_among_candidates(PROBLEM, solver, watch, None)
    assert given[-1] > 0.85 * (1000.0 - watch.seconds)
    assert all(seconds < 200.0 for seconds in given[:-2])


@pytest.mark.full
def test_changed_assumptions_look_at_promising_sets_and_bound_over_all(monkeypatch):
    plan = pr.solve(PROBLEM, "stationary")
    whole, none_missed = sensitivity_until(plan, deadline=Deadline(None))
    monkeypatch.setattr(candidate_sets, "SET_LIMITS", SET_LIMITS._replace(searched=100))
    some, missed = sensitivity_until(plan, deadline=Deadline(None))
    assert none_missed == missed == 0
    by_change = {change.direction: change for change in whole}
    assert len(some) == len(whole)
    for change in some:
        full = by_change[change.direction]
        assert change.kept == pytest.approx(full.kept)
        assert change.bound <= full.bound * (1 + 1e-9)
        assert change.bound <= change.again <= change.kept * (1 + 1e-9)


def test_without_time_no_assumption_is_changed():
    now = iter(range(0, 10**6, 100))
    over = Deadline(1.0, clock=lambda: float(next(now)))
    changes, missed = sensitivity_until(pr.solve(PROBLEM, "stationary"), deadline=over)
    assert changes == ()
    assert missed == 6


def test_hopeless_lattices_are_not_worked_out(monkeypatch):
    def never(*_args):
        raise AssertionError("looked through all sets")

    monkeypatch.setattr("preceptor.planning.lattice.states_needed", never)
    work = lattice_work(PROBLEM)
    assert work.states == 2.0**40
    few = PROBLEM.replace(budget=pr.Listed(((0, 1), (2,))))
    with pytest.raises(AssertionError, match="looked through"):
        lattice_work(few)
