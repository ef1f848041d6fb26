"""`verify` accepts every valid plan, refuses every tampered one, and says what it did."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preceptor as pr
from preceptor.errors import NotApplicable, TooLarge
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.outcome_learners import DeltaRule
from preceptor.planning.bounds import floor_bound, instant_bound, remaining_floor
from preceptor.proofs import bounds as proofs
from tests.strategies import examples, problems

QUICK = {"time_limit": None, "max_iterations": 2, "width": 8, "target_gap": 1e-3}
OPTIONS = {
    "certified": QUICK,
    "search": {"time_limit": None, "max_kicks": 1},
    "truncated": {"length": 4},
    "lattice": {"memory_limit": 2**21},
    "beam": {"width": 3, "layers": 4},
}
METHODS = (
    "auto", "stationary", "independent", "finite", "truncated", "lattice", "beam", "search",
    "certified",
)  # fmt: skip


@pytest.mark.few(6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("horizon", [None, 4])
@examples(20)
@given(data=st.data())
def test_valid_plans_of_every_kind_are_accepted(method, horizon, data):
    problem = data.draw(problems(sizes=(1, 2, 3), horizons=(horizon,)))
    try:
        plan = pr.solve(problem, method, **OPTIONS.get(method, {}))
    except (NotApplicable, TooLarge):
        return
    found = pr.verify(plan)
    assert found.ok, found.in_words()
    assert found.independent


@pytest.mark.slow
@examples(40)
@given(problems(sizes=(2, 3), horizons=(None, 9)))
def test_longer_proofs_are_accepted_too(problem):
    plan = pr.solve(problem, "certified", time_limit=2.0)
    found = pr.verify(pr.Plan.from_json(plan.to_json()))
    assert found.ok, found.in_words()


def problem_of(**changes):
    world = pr.World.equicorrelated([1.0, 0.8, -0.5], 0.4, noise_variance=0.05)
    person = changes.pop("learner", pr.Learner([0.2, 1.3, 0.1], pr.PowerLaw(0.75), 0.3))
    return pr.Problem(world, person, **{"budget": 2, "discount": 0.85} | changes)


def test_tests_of_several_columns_and_start_counts_are_accepted():
    world = pr.World(
        [1.0, 0.8, -0.5], [[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]],
        names=["age", "sex: f", "sex: m"], groups={"sex": [1, 2]},
    )  # fmt: skip
    learner = pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.3, floor=0.1))
    for horizon, method in ((6, "finite"), (None, "lattice"), (None, "certified")):
        problem = pr.Problem(world, learner, 1, 0.9, horizon, start=[1, 3, 3])
        found = pr.verify(pr.solve(problem, method))
        assert found.ok, found.in_words()


@pytest.fixture(scope="module")
def plans():
    """One plan for each way to prove a bound."""
    geometric = pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.2))
    return {
        "finite": pr.solve(problem_of(horizon=6), "finite"),
        "truncated": pr.solve(problem_of(discount=0.6), "truncated", length=8),
        "lattice": pr.solve(problem_of(discount=0.6), "lattice"),
        "instant": pr.solve(problem_of(learner=geometric), "stationary"),
        "errors": pr.solve(
            problem_of(learner=geometric, discount=0.7), "certified", **QUICK | {"target_gap": 0.0}
        ),
        "counts": counts_plan(),
    }


def counts_plan():
    """A certificate of the dual over counts, made where no box is swept instead."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("preceptor.planning.certified.sweep_if_small", lambda work: None)
        problem = problem_of(risk=pr.AbsoluteError(), discount=0.8)
        return pr.solve(problem, "certified", **QUICK | {"target_gap": 0.0})


@pytest.fixture
def hurry(monkeypatch):
    """A certificate that fails is given up sooner: what is refused is refused all the same."""
    monkeypatch.setattr("preceptor.proofs.dual._PATIENCE", 1)


KINDS = ("finite", "truncated", "lattice", "instant", "errors", "counts")


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_each_is_accepted_as_it_is_and_from_a_file(plans, kind):
    for plan in (plans[kind], pr.Plan.from_json(plans[kind].to_json())):
        found = pr.verify(plan)
        assert found.ok, found.in_words()


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_value_bound_policy_or_problem_is_refused(plans, kind, hurry):
    plan = plans[kind]
    problem = plan.problem
    for share in (0.999, 1.0 + 1e-7):
        assert not pr.verify(replace(plan, value=share * plan.value)).value_ok
    above = plan.value * (1 + 1e-4)
    for claim in (above, np.inf, np.nan):
        assert not pr.verify(replace(plan, lower_bound=claim)).bound_ok
    other = pr.Stationary((2,)) if plan.policy.schedule(1) != [(2,)] else pr.Stationary((0,))
    assert not pr.verify(replace(plan, policy=other)).value_ok
    forbidden = pr.verify(replace(plan, policy=pr.Stationary((0, 1, 2))))
    assert not forbidden.policy_ok
    assert "not allowed" in forbidden.in_words().lower()
    for change in (
        {"discount": problem.discount - 0.05},
        {"learner": pr.Learner([0.2, 1.3, 0.2], problem.by_showings.curve_of[0], 0.3)},
        {"risk": pr.Huber(0.7)},
        {"start": [1, 0, 0]},
    ):
        assert not pr.verify(plan, problem.replace(**change)).ok, change


@pytest.mark.parametrize("kind", ["finite", "lattice", "truncated"])
def test_a_set_that_may_be_shown_after_all_undoes_a_bound(plans, kind):
    """The policy and its value stay as they are; only what is proven of all others changes."""
    plan = plans[kind]
    wider = pr.verify(plan, plan.problem.replace(budget=3))
    assert wider.value_ok
    assert not wider.bound_ok


@pytest.mark.parametrize("status", [pr.Status.OPTIMAL, pr.Status.WITHIN_TARGET])
def test_a_plan_that_only_calls_itself_optimal_is_refused(plans, status):
    called = replace(plans["truncated"], status=status)
    found = pr.verify(called)
    assert found.value_ok
    assert found.bound_ok
    assert not found.status_ok
    assert "STATUS claims more" in found.in_words()


def nudged(array, *place, by):
    changed = np.array(array)
    changed[place] += by
    return changed


TAMPERED = {
    "potentials": lambda c: nudged(c.potentials, 1, 0, 1, by=0.5),
    "potentials of counts": lambda c: nudged(c.potentials, 3, 1, 0, by=50.0),
    "negative potentials": lambda c: -c.potentials,
    "other potentials": lambda c: nudged(c.potentials, 2, by=-0.3),
    "last potentials": lambda c: nudged(c.potentials, -1, by=0.3),
    "shape of potentials": lambda c: c.potentials[:, :2],
    "nan potentials": lambda c: nudged(c.potentials, 2, by=np.nan),
    "caps": lambda c: np.zeros_like(c.caps),
    "few caps": lambda c: c.caps[:2],
    "round_minima": lambda c: nudged(c.round_minima, 4, by=0.2),
    "nan round_minima": lambda c: nudged(c.round_minima, 2, by=np.nan),
    "fewer round_minima": lambda c: c.round_minima[:-1],
    "dual_bound": lambda c: c.dual_bound + 0.2,
    "beam_bound": lambda c: c.beam_bound + 0.2,
    "beam_width": lambda c: -1,
}


@pytest.mark.few(10)
@pytest.mark.parametrize("kind", ["errors", "counts"])
@pytest.mark.parametrize("what", TAMPERED)
def test_every_number_of_a_certificate_matters(plans, kind, what, hurry):
    plan = plans[kind]
    certificate = plan.certificate.with_beam(8, 20, plan.value * 0.999)
    if what.startswith("beam"):
        certificate = certificate.with_beam(8, 20, plan.value)
    field = "potentials" if "potentials" in what else what.split()[-1]
    changed = replace(certificate, **{field: TAMPERED[what](certificate)})
    found = pr.verify(replace(plan, certificate=changed))
    assert not found.bound_ok
    assert "FAILS" in found.how


def test_a_certificate_that_proves_nothing_is_refused_even_if_another_bound_would_do(plans, hurry):
    plan = plans["errors"]
    claimed = replace(plan.certificate, dual_bound=2.0 * plan.certificate.dual_bound)
    assert not pr.verify(replace(plan, certificate=claimed, lower_bound=0.0)).bound_ok


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("finite", "6 rounds: inequality of every set in every state checked"),
        ("truncated", "first 8 rounds, then the floor: inequality of every set in every state"),
        ("lattice", "counts up to"),
        ("instant", "computed again"),
        ("errors", "dual certificate: inequality of every round, set and count"),
        ("counts", "dual certificate: inequality of every round, set and count"),
    ],
)
def test_words_say_what_was_checked(plans, kind, said):
    found = pr.verify(plans[kind])
    assert said in found.how
    assert "added up again round by round" in found.in_words()
    assert "by independent code" in found.in_words()


def test_a_lattice_with_one_slow_test_is_checked_in_its_own_box():
    """The largest cap once was taken for every test, which made a small box too large."""
    curves = [pr.Geometric(1.02), *[pr.Geometric(4.0)] * 4]
    world = pr.World.equicorrelated([1.0, 0.8, 0.5, 0.3, 0.6], 0.5)
    problem = pr.Problem(world, pr.Learner([0.2, 1.3, 0.9, 0.1, 0.2], curves), 1, 0.97)
    plan = pr.solve(problem, "lattice", tolerance=1e-3)
    assert max(plan.options["caps"]) > 10 * min(plan.options["caps"])
    found = pr.verify(plan)
    assert found.ok, found.in_words()
    assert f"{plan.states:,} states" in found.how


def test_losses_of_a_sample_and_yes_or_no_say_what_is_shared():
    sampled = problem_of(
        learner=pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.4)), horizon=4, loss=pr.Empirical(50)
    )
    found = pr.verify(pr.solve(sampled, "finite"))
    assert found.ok, found.in_words()
    assert not found.independent
    assert "the sample that defines them" in found.how


def test_people_of_other_kinds_are_checked_one_by_one():
    still, rule = NoLearning([0.2, 1.3, 0.1]), DeltaRule([0.2, 1.3, 0.1], 0.1)
    for person in (still, rule, pr.Crowd({"still": (still, 1.0), "rule": (rule, 2.0)})):
        problem = problem_of(learner=person, horizon=5)
        plan = pr.solve(problem, "stationary")
        found = pr.verify(plan)
        assert found.ok, found.in_words()
        assert "added up again round by round" in found.in_words()
        assert not pr.verify(replace(plan, lower_bound=1.3 * plan.value)).bound_ok


def many_sets(tests):
    rng = np.random.default_rng(0)
    world = pr.World.equicorrelated(rng.uniform(0, 1, tests), 0.5)
    learner = pr.Learner(rng.uniform(0, 1, tests), pr.Geometric(1.1))
    return pr.Problem(world, learner, 4, 0.9)


def test_many_sets_are_bounded_without_a_list(monkeypatch):
    monkeypatch.setattr(proofs, "MOST_NUMBERS", 1_000)
    problem, policy = many_sets(20), pr.Stationary((0, 1, 2, 3))
    value, floor = pr.evaluate(problem, policy), remaining_floor(problem, after=0)
    plan = pr.Plan(problem, policy, value, floor, pr.Status.BOUNDED, "by hand", 0.0)
    found = pr.verify(plan)
    assert found.ok, found.in_words()
    assert "floors of all 6,196 sets computed again" in found.how
    for best in (floor_bound(problem), instant_bound(problem)):  # the first round is known exactly
        found = pr.verify(replace(plan, lower_bound=best))
        assert found.ok, found.in_words()
        assert "over all 6,196 sets" in found.how
    assert not pr.verify(replace(plan, lower_bound=1.001 * best)).bound_ok


@pytest.mark.slow
def test_a_million_sets_are_bounded_without_a_list():
    plan = pr.solve(many_sets(70), "search", time_limit=None, max_kicks=0)
    found = pr.verify(plan)
    assert found.ok, found.in_words()
    assert "floors of all 974,121 sets computed again" in found.how
    assert not pr.verify(replace(plan, lower_bound=plan.value)).bound_ok


@pytest.mark.parametrize("method", ["auto", "stationary", "finite", "lattice"])
def test_costs_that_cancel_to_nothing_are_rounding_not_a_fault(method):
    known = pr.Learner([1.0, 0.5, 0.3], pr.OneShot(), imputation=1.0)
    world = pr.World.equicorrelated([1.0, 0.5, 0.3], 0.2, noise_variance=0.0)
    horizon = 4 if method == "finite" else None
    plan = pr.solve(pr.Problem(world, known, 3, discount=0.5, horizon=horizon), method)
    assert plan.value < 1e-12
    found = pr.verify(plan)
    assert found.ok, found.in_words()


def test_rounding_of_sets_that_are_never_shown_is_no_fault():
    """They cost a thousand times as much, and so does what is taken off for rounding."""
    coefficients = np.array([-0.011, -0.032, -0.008, -0.12])
    world = pr.World.equicorrelated(coefficients, -0.3, noise_variance=0.0)
    learner = pr.Learner([-3.7, 5.4, -0.7, -6.3], pr.Tabulated([1.0]), imputation=1.0)
    plan = pr.solve(pr.Problem(world, learner, 2, discount=0.9), "lattice")
    found = pr.verify(plan)
    assert found.ok, found.in_words()


@pytest.mark.parametrize("caps", [1, 10])
def test_a_small_box_is_checked_in_a_larger_one(caps):
    """Beyond the edge the lattice and its checker argue differently."""
    learner = pr.Learner([5.0], pr.Geometric(1.1, floor=0.1))
    problem = pr.Problem(pr.World([1.0], [[1.0]]), learner, 1, risk=pr.AbsoluteError())
    plan = pr.solve(problem, "lattice", caps=caps)
    found = pr.verify(plan)
    assert found.ok, found.in_words()


@pytest.mark.parametrize("kind", ["errors", "counts"])
@pytest.mark.parametrize("claim", ["beam_width", "beam_layers", "beam_bound"])
@pytest.mark.parametrize("value", [None, "x", [1]])
def test_claims_that_are_no_numbers_are_refused_when_a_plan_is_read(plans, kind, claim, value):
    data = plans[kind].to_dict()
    data["certificate"][claim] = value
    with pytest.raises(pr.InvalidInput, match=f"certificate {claim}: .*must be a"):
        pr.Plan.from_dict(data)


@pytest.mark.parametrize("stated", [None, "x", [1]])
def test_a_target_that_is_no_number_was_not_met(plans, stated):
    plan = plans["truncated"]
    options = {**plan.options, "target_gap": stated}
    assert not pr.verify(replace(plan, options=options, status=pr.Status.WITHIN_TARGET)).status_ok


def test_words_tell_of_rounds_that_were_walked_not_of_those_that_are_claimed(plans):
    plan = plans["errors"]
    certificate = replace(plan.certificate, beam_layers=10**12)
    assert "000,000,000" not in pr.verify(replace(plan, certificate=certificate)).in_words()


@pytest.mark.parametrize("slack", [-1.0, np.nan, np.inf, "x", None])
def test_a_slack_that_makes_no_sense_is_refused(plans, slack):
    with pytest.raises(pr.InvalidInput, match=r"slack: .*at least 0 and below 1"):
        pr.verify(plans["lattice"], slack=slack)


def test_what_is_no_plan_is_refused():
    with pytest.raises(TypeError, match="got str, expected a Plan"):
        pr.verify("plan.json")
