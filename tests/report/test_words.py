"""The words must state facts of the plan: counts, cases, losses, gap."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preceptor as pr
from preceptor._base.words import WIDTH
from preceptor.model.evaluation import losses_along
from preceptor.model.policies import runs
from preceptor.report.schedule_view import phases
from preceptor.report.words import explain

WORLD = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.6, names=["bmi", "bp", "s5"])
LEARNER = pr.Learner([0.2, 1.3, -0.4], pr.Geometric(1.1))
PROBLEM = pr.Problem(WORLD, LEARNER, budget=2)


def plan_of(policy, problem=PROBLEM, **changes):
    value = pr.evaluate(problem, policy)
    facts = {"value": value, "lower_bound": value, "status": pr.Status.OPTIMAL}
    facts |= {"method": "by hand", "seconds": 0.0} | changes
    return pr.Plan(problem=problem, policy=policy, **facts)


def said(plan, title):
    """The body of one section, on one line."""
    sections = {part.split("\n")[0]: part for part in explain(plan).split("\n\n")}
    return " ".join(sections[title].split("\n", 1)[1].split())


def test_short_plan_is_one_sentence():
    policy = pr.ExploreThenCommit([(0, 1)] * 12 + [(2,)] * 3, commit=(0, 2))
    assert (
        said(plan_of(policy), "What to show")
        == "Show bmi and bp for 12 cases, then s5 for 3, then always show bmi and s5."
    )


def test_finite_horizon_says_what_remains():
    policy = pr.ExploreThenCommit([(1,)], commit=(0,))
    text = said(plan_of(policy, PROBLEM.replace(horizon=10)), "What to show")
    assert text == "Show bp for 1 case, then show bmi for the remaining 9 cases."


def test_prefix_that_fills_the_horizon_has_no_commitment():
    policy = pr.ExploreThenCommit([(1,), (1,), (0,), (2,)], commit=(0,))
    text = said(plan_of(policy, PROBLEM.replace(horizon=3)), "What to show")
    assert text == "Show bp for 2 cases, then bmi for 1."


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (pr.Stationary((0, 1, 2)), "Always show bmi, bp and s5."),
        (pr.Stationary((1,)), "Always show bp."),
        (pr.Stationary(()), "Show nothing, ever."),
        (pr.ExploreThenCommit([(0,)], ()), "Show bmi for 1 case, then show nothing from then on."),
        (pr.ExploreThenCommit([()], (0,)), "Show nothing for 1 case, then always show bmi."),
        (
            pr.Alternating([(0,), (1,), (1,)]),
            "Repeat forever: bmi, then bp for 2 cases.",
        ),
    ],
)
def test_simple_policies(policy, words):
    problem = PROBLEM.replace(budget=3)
    assert said(plan_of(policy, problem), "What to show") == words


def test_long_cycle_is_summarised():
    cycle = [(0,), (1,)] * 30 + [(2,)]
    text = said(plan_of(pr.Alternating(cycle)), "What to show")
    assert text.startswith("Repeat a cycle of 61 cases forever.")
    assert "bmi (30 cases), bp (30) and s5 (1)" in text


def test_count_table_that_commits_and_one_that_does_not():
    table = np.zeros((3, 2, 1), dtype=int)
    table[2, :, :] = 1
    commits = pr.CountPolicy(table, [(0,), (1,)])
    text = said(plan_of(commits), "What to show")
    assert text.startswith("Show bmi for 2 cases, then always show bp.")

    class Restless(pr.Alternating):
        """A policy of the user's own that never commits."""

    restless = Restless([(0,), (1,)])
    assert "forever" in said(plan_of(restless), "What to show")


def test_a_policy_of_unknown_kind_that_never_commits():
    class Drifting(pr.Policy):
        commit = None
        exploration_length = None

        def schedule(self, rounds):
            return [(t // 7 % 3,) for t in range(rounds)]

        def recommend(self, counts, round=None):
            return (0,)

        def used_sets(self):
            return [(0,), (1,), (2,)]

    text = said(plan_of(Drifting()), "What to show")
    assert text.startswith("The plan never commits to one set. Its first 60 cases:")


def test_start_counts_are_said():
    problem = PROBLEM.replace(start=(3, 0, 1))
    text = explain(plan_of(pr.Stationary((0,)), problem))
    assert "already seen bmi 3 times and s5 once." in " ".join(text.split())


@given(st.lists(st.sampled_from([(0,), (1,), (2,), (0, 1), ()]), min_size=1, max_size=300))
def test_phases_cover_the_schedule(schedule):
    found = phases(schedule)
    assert 1 <= len(found) <= 8
    assert [p.begin for p in found] == np.cumsum([0, *[p.length for p in found[:-1]]]).tolist()
    assert sum(p.length for p in found) == len(schedule)
    for phase in found:
        part = schedule[phase.begin : phase.begin + phase.length]
        assert phase.counts == {shown: part.count(shown) for shown in dict.fromkeys(part)}
        assert phase.longest_run <= max(length for _, length in runs(part))


def test_phases_find_where_a_schedule_changes():
    schedule = [(0,)] * 30 + [(1,), (2,)] * 20 + [(0, 1)] * 10
    assert [p.begin for p in phases(schedule)] == [0, 30, 70]
    assert phases([]) == []


def test_long_schedules_stay_short():
    rng = np.random.default_rng(0)
    schedule = [(int(i),) for i in rng.integers(0, 3, 3000)]
    text = explain(plan_of(pr.ExploreThenCommit(schedule, (0, 1))))
    assert len(text.split("\n")) < 40


@given(
    st.lists(st.sampled_from([(0,), (1,), (2,), (0, 1)]), min_size=8, max_size=120),
    st.sampled_from([(0, 2), (1,)]),
)
def test_counts_in_the_summary_are_those_of_the_schedule(prefix, commit):
    policy = pr.ExploreThenCommit(prefix, commit)
    explored = policy.schedule(policy.exploration_length)
    text = said(plan_of(policy), "What to show")
    if len(runs(explored)) <= 5:
        return
    summary = text.split("; then")[0]
    names = {"bmi": (0,), "bp": (1,), "s5": (2,), "bmi + bp": (0, 1)}
    stated = re.findall(r"(bmi \+ bp|bmi|bp|s5) \(([\d,]+)", summary)
    counts = {names[name]: int(n) for name, n in stated}
    assert counts == {shown: explored.count(shown) for shown in set(explored)}
    assert f"first {len(explored)} cases" in summary
    if len(phases(explored)) > 1:
        assert f"from case {len(explored) + 1}" in text


def test_costs_are_those_of_the_plan():
    plan = pr.solve(PROBLEM.replace(horizon=40))
    text = said(plan, "What it costs")
    losses = losses_along(plan.problem, plan.policy.schedule(40))
    assert f"{plan.value:.6g} in total" in text
    assert f"{losses[0]:.4g} for case 1" in text
    assert f"{losses[-1]:.4g} for case 40" in text
    assert f"{plan.problem.oracle.floors().min():.4g} per case" in text
    if plan.exploration_length:
        fixed = pr.evaluate(plan.problem, pr.Stationary(plan.policy.commit))
        assert f"would cost {fixed:.6g}" in text


def test_how_sure():
    plan = plan_of(pr.Stationary((0,)))
    assert said(plan, "How sure this is") == "No plan can do better."
    close = replace(plan, lower_bound=plan.value / 1.00009)  # optimal to a tolerance: say which
    assert said(close, "How sure this is").startswith("At most 0.009% above the best possible")
    bounded = replace(plan, status=pr.Status.BOUNDED, lower_bound=plan.value / 1.02901)
    text = said(bounded, "How sure this is")
    assert text.startswith("At most 3.0% above the best possible")  # rounded up, so still true
    assert f"{bounded.lower_bound:.6g}" in text
    unknown = replace(plan, status=pr.Status.BOUNDED, lower_bound=0.0)
    assert "not known" in said(unknown, "How sure this is")
    wide = replace(plan, status=pr.Status.BOUNDED, lower_bound=plan.value / 3.5)
    assert "250%" in said(wide, "How sure this is")


def test_method_reason_and_notes_are_passed_on():
    plan = plan_of(pr.Stationary((0,)), reason="it was small", notes=("Mind the tie.",), states=7)
    text = said(plan, "How it was found")
    assert text.startswith("Method: by hand (it was small); 7 states")
    assert said(plan, "Notes") == "Mind the tie."


@pytest.mark.parametrize("size", [1, 2, 25])
def test_lines_fit_whatever_the_number_of_tests(size):
    world = pr.World.equicorrelated(np.ones(size), 0.3, names=[f"test {i}" for i in range(size)])
    problem = pr.Problem(world, pr.Learner(np.zeros(size), pr.OneShot()), budget=size)
    prefix = [(i,) for i in range(size)] * 4 + [tuple(range(size)), (0,)]
    text = explain(plan_of(pr.ExploreThenCommit(prefix, ()), problem))
    assert max(map(len, text.split("\n"))) <= WIDTH
    assert f"test {size - 1}" in text


def test_no_floor_is_claimed_when_there_are_too_many_sets():
    size = 60
    world = pr.World(np.ones(size), np.eye(size))
    problem = pr.Problem(world, pr.Learner(np.zeros(size), pr.OneShot()), budget=20)
    text = explain(plan_of(pr.Stationary((0, 1)), problem))
    assert "Best achievable" not in text


def test_other_risks_undiscounted_horizons_and_large_factors():
    problem = PROBLEM.replace(risk=pr.Huber(0.5), discount=1.0, horizon=30)
    text = said(plan_of(pr.Stationary((0,)), problem), "What it costs")
    assert text.startswith("Expected loss:")
    policy = pr.ExploreThenCommit([(0,)], ())
    shy = pr.Problem(
        pr.World([5.0], [[1.0]]), pr.Learner([5.0], pr.OneShot()), 1, discount=0.0, horizon=None
    )
    assert "times as much" in said(plan_of(policy, shy), "What it costs")


def test_many_changes_are_merged_into_few_phases():
    schedule = [(t // 40 % 3,) for t in range(40 * 30)]
    assert len(phases(schedule)) <= 8


def test_rare_sets_are_called_rare():
    prefix = ([(0,)] * 9 + [(1,)]) * 6
    text = said(plan_of(pr.ExploreThenCommit([(2,)] * 60 + prefix, (0, 2))), "What to show")
    assert "cases 1 to 60 s5" in text
    assert "cases 61 to 120 mainly bmi (54 of 60 cases), otherwise bp" in text
    assert "from case 121 always show bmi and s5" in text


def test_how_it_ended_is_said():
    plan = plan_of(pr.Stationary((0,)))
    for status, words in [
        (pr.Status.TIME_LIMIT, "the time limit"),
        (pr.Status.INTERRUPTED, "was interrupted"),
    ]:
        assert words in said(replace(plan, status=status), "How it was found")


@given(
    st.lists(st.sampled_from([(0,), (1,), (2,), (0, 1)]), min_size=0, max_size=40),
    st.integers(1, 50),
)
def test_no_phase_begins_after_the_last_case(prefix, horizon):
    problem = PROBLEM.replace(discount=1.0, horizon=horizon)
    text = explain(plan_of(pr.ExploreThenCommit(prefix, (2,)), problem))
    numbers = [int(n) for n in re.findall(r"(?:from case|cases?) (\d+)", text)]
    numbers += [int(n) for n in re.findall(r"cases \d+ to (\d+)", text)]
    assert max(numbers, default=0) <= horizon
