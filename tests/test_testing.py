"""The contracts let sound things pass and name what is wrong with others."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given

import preceptor as pr
from preceptor.planning.solver import Solver
from preceptor.planning.solvers import SOLVERS
from preceptor.testing.budgets_and_risks import check_budget, check_risk
from preceptor.testing.people import check_person
from preceptor.testing.problems import brute_force, known_instances, small_problems
from preceptor.testing.solvers import check_plan, check_solver
from tests import oracles
from tests.strategies import examples, problems

PLAIN = {"plain": small_problems()["plain, 4 rounds"]}
STATIONARY = SOLVERS["stationary"].solve


def kinds_of(family) -> set[type]:
    """Those of the package; other tests enter some of their own."""
    return {kind for kind in family.registry.values() if kind.__module__.startswith("preceptor.")}


def test_small_problems_hold_every_kind_there_is():
    bank = small_problems().values()
    assert {type(c) for p in bank for c in p.learner.curve_of} >= kinds_of(pr.Curve)
    assert {type(p.budget) for p in bank} >= kinds_of(pr.Budget)
    assert {type(p.risk) for p in bank} >= kinds_of(pr.Risk)
    assert {p.horizon for p in bank} == {4, None}


@examples(20)
@given(problems(sizes=(1, 2, 3), horizons=(1, 2, 3)))
def test_brute_force_is_the_best_of_all_sequences(problem):
    assert brute_force(problem) == pytest.approx(oracles.brute_force(problem)[0], rel=1e-9)


def test_brute_force_without_end_agrees_with_a_closed_form():
    pair = next(k for k in known_instances() if "alternating" in k.name)
    near = pair.problem.replace(discount=0.3)
    exact = pr.solve(near, "lattice", tolerance=1e-9)
    assert brute_force(near) == pytest.approx(exact.value, rel=1e-8)


def too_low(problem, *, seed: int = 0):
    """Says less than it costs."""
    return replace(STATIONARY(problem), value=0.9 * STATIONARY(problem).value)


def too_sure(problem):
    """Calls the best fixed set optimal."""
    plan = STATIONARY(problem)
    return replace(plan, status=pr.Status.OPTIMAL, lower_bound=plan.value)


def undecided(problem):
    """Another bound each time."""
    plan = STATIONARY(problem)
    return replace(plan, lower_bound=plan.lower_bound * (1 - 1e-9 * (plan.seconds % 1.0)))


def shy(problem):
    """Refuses without having said so."""
    raise pr.NotApplicable("shy: not today")


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (Solver("low", too_low, "a bound"), "but the policy costs"),
        (Solver("low", too_low, "a bound"), "seed=-1 is accepted"),
        (Solver("sure", too_sure, "the optimum"), "status is optimal, but"),
        (Solver("sure", too_sure, "the optimum"), "is above the optimum"),
        (Solver("undecided", undecided, "a bound"), "gives a different plan"),
        (Solver("shy", shy, "nothing"), "why_not is empty, but it refuses: shy: not today"),
        (Solver("shy", shy, "nothing", lambda _: "too shy"), "not 'too shy'"),
        (Solver("shy", shy, "nothing", lambda _: "not today"), "refuses every problem"),
        (Solver("bold", STATIONARY, "a bound", lambda _: "no"), "'no', but it solves"),
        (Solver("mute", lambda problem: STATIONARY(problem), ""), "needs a docstring"),
        (Solver("mute", lambda problem: STATIONARY(problem), ""), "proves is empty"),
    ],
)
def test_broken_promises_of_a_solver_are_named(solver, words):
    with pytest.raises(pr.InvalidInput) as caught:
        check_solver(solver, PLAIN)
    assert words in str(caught.value)


def test_a_plan_that_lies_is_found_out():
    plan = STATIONARY(PLAIN["plain"])
    check_plan(plan)
    with pytest.raises(pr.InvalidInput, match=r"lower_bound .* is above the optimum"):
        check_plan(replace(plan, lower_bound=plan.value))
    with pytest.raises(pr.InvalidInput, match="below the optimum"):
        check_plan(replace(plan, value=0.5 * plan.value, lower_bound=0.0))


@dataclass(frozen=True, eq=False)
class Odd(pr.AtMost):
    kind = "odd-in-tests"
    how: str = ""

    def subsets(self, tests):
        listed = list(super().subsets(tests))
        if self.how == "backward":
            listed = listed[::-1]
        return iter(listed[1:] if self.how == "forgets" else listed)

    def allows(self, shown):
        return self.how != "refuses" and super().allows(shown)

    def count(self, tests):
        return 0 if self.how == "miscounts" else super().count(tests)

    def maximise(self, scores):
        return {"worst": (), "too much": tuple(range(scores.size))}.get(
            self.how, super().maximise(scores)
        )


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("backward", "smaller ones first"),
        ("forgets", r"\(\) is allowed, but subsets omits it"),
        ("refuses", "but allows refuses it"),
        ("miscounts", "count: 0, but 4 sets are listed"),
        ("worst", "another set"),
        ("too much", "which is not allowed"),
    ],
)
def test_broken_rules_of_a_budget_are_named(how, words):
    check_budget(Odd(1), tests=3)
    with pytest.raises(pr.InvalidInput, match=words):
        check_budget(Odd(1, how=how), tests=3)


@dataclass(frozen=True, eq=False)
class Skewed(pr.SquaredError):
    kind = "skewed-in-tests"
    code = -1
    how: str = ""

    def charge(self, residual):
        return super().charge(residual) - (1.0 if self.how == "pays" else 0.0)

    def expected(self, variance):
        sign = -1.0 if self.how == "falls" else 1.0
        return sign * super().expected(variance) * (1.01 if self.how == "high" else 1.0)

    def charge_slope(self, largest):
        return 1.0 if self.how == "steep" else super().charge_slope(largest)

    def deviation_slope(self, largest):
        return 1.0 if self.how == "uneven" else super().deviation_slope(largest)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("pays", "charge: must be finite and at least 0"),
        ("high", "integration gives"),
        ("falls", "falls as the variance grows"),
        ("steep", r"charge_slope\(6\) is 1, but slopes reach 11.99"),
        ("uneven", r"deviation_slope\(6\) is 1"),
    ],
)
def test_broken_rules_of_a_risk_are_named(how, words):
    check_risk(Skewed())
    with pytest.raises(pr.InvalidInput, match=words):
        check_risk(Skewed(how=how))


def test_a_compiled_form_of_another_risk_is_noticed():
    class Mistaken(pr.Huber):
        kind = "mistaken-in-tests"
        code = 2

    with pytest.raises(pr.InvalidInput, match="compiled form 2 disagrees"):
        check_risk(Mistaken(1.0))
    assert np.isfinite(Mistaken(1.0).expected(1.0))


def test_people_of_the_package_keep_their_promises():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    check_person(pr.DeltaRule([0.2, 1.3], 0.1, 0.5), world)
    check_person(pr.Forgetful([0.2, 1.3], pr.Geometric(1.2)), world)


def test_a_person_whose_faces_differ_is_found_out():
    class Hasty(pr.DeltaRule):
        """Expected to learn at the rate given, but acts twice as fast."""

        def learn(self, world, state, filled, shown, outcome):
            twice = pr.DeltaRule(self.initial, 2.0 * self.rate)
            return twice.learn(world, state, filled, shown, outcome)

    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    with pytest.raises(pr.InvalidInput, match="moves: disagrees") as found:
        check_person(Hasty([0.2, 1.3], 0.2), world)
    assert "simulated people have" in str(found.value)
