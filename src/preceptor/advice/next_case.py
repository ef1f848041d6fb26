"""What to show one person next by a plan: on it, off it, or with only some tests at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor._base.words import TOGETHER, counted, listed, times
from preceptor.advice.alternatives import followed_rounds
from preceptor.advice.from_here import SoFar, from_here
from preceptor.errors import NotApplicable
from preceptor.evaluation.value import evaluate, losses_along
from preceptor.model.sets import TestSet
from preceptor.people.crowd import Crowd
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.policies import Alternating, CountPolicy, ExploreThenRepeat, Policy
from preceptor.policies.planned_counts import PlannedCounts
from preceptor.problem import Problem

# Seconds to plan anew for somebody who is off the plan; other people take longer.
_SECONDS, _PEOPLE_SECONDS = 0.5, 2.0
# Going on with the plan is as good as planning anew up to this share of the loss.
_AS_GOOD = 0.002
# Sets of what is at hand that are weighed over all cases to come.
_MOST_LISTED = 100


@dataclass(frozen=True)
class NextCase:
    """What to show next, and why.

    Attributes
    ----------
    shown
        The set to show.
    names
        Its tests by name.
    case
        Which case of this person's it is, from 1; None where only counts are known.
    of
        How many cases the plan has; None if it has no end.
    settles
        The case from which on the plan repeats itself; None if that is not known.
    on_plan
        Whether they have seen what the plan shows up to some case, no more and no less.
    reasons
        What else to say, a sentence each: off the plan, not available, over.
    loss
        Expected loss of this case; None where counts do not say what the person knows by now.
    """

    shown: TestSet
    names: tuple[str, ...]
    case: int | None
    of: int | None
    settles: int | None
    on_plan: bool
    reasons: tuple[str, ...]
    loss: float | None

    def in_words(self) -> str:
        """One sentence: which case it is, and what to show.

        >>> NextCase((0,), ("bmi",), 17, 118, None, True, (), None).in_words()
        'Case 17 of 118: show bmi.'
        """
        show = f"show {listed(self.names) if self.names else 'nothing'}."
        if self.case is None:
            return f"S{show[1:]}"
        if self.of is not None and self.case <= self.of:
            return f"Case {self.case:,} of {self.of:,}: {show}"
        if self.of is not None or self.settles is None or self.settles == 1:
            return f"Case {self.case:,}: {show}"
        if self.case < self.settles:
            return f"Case {self.case:,}, before the plan settles at case {self.settles:,}: {show}"
        return f"Case {self.case:,}, the plan has settled: {show}"


def next_case(plan: Plan, so_far: SoFar, available: Sequence[int] | None = None) -> NextCase:
    """What to show one person next.

    Parameters
    ----------
    plan
        The plan to follow.
    so_far
        What they have been through since the plan began.
    available
        Columns that can be shown now; all if left out.

    Returns
    -------
    NextCase
        The plan's set for somebody on it. For somebody off it, the plan's next set if going on is
        as good as planning anew from where they are, else what a new plan begins with. Where that
        is not available, the set at hand that costs least over all cases to come.

    Raises
    ------
    NotApplicable
        The budget allows no set of what is available.
    """
    with one_blas_thread():
        return _Choice(plan, so_far).next_case(available)


class _Choice:
    """One decision; what takes time is worked out when it is needed."""

    def __init__(self, plan: Plan, so_far: SoFar) -> None:
        self.plan, self.so_far = plan, so_far
        self.problem, self.policy = plan.problem, plan.policy
        self.rounds = so_far.rounds
        found = self.policy.settles()
        size = self.problem.size
        self.planned = None if found is None else PlannedCounts(found[0], found[1], size)
        self.reasons: list[str] = []
        self.done = 0
        self._now: Problem | None = None

    @property
    def now(self) -> Problem:
        """The problem from where this person is."""
        if self._now is None:
            self._now = from_here(self.problem, self.so_far)
            if self.problem.horizon is not None:
                gone = self.done if self.rounds is None else self.rounds
                left = max(self.problem.horizon - gone, 1)
                self._now = self._now.replace(horizon=left)
        return self._now

    def next_case(self, available: Sequence[int] | None) -> NextCase:
        self.done, on_plan = self._position()
        done = self.done
        rest = self._rest(done)
        horizon = self.problem.horizon
        over = horizon is not None and self.rounds is not None and self.rounds >= horizon
        if over:
            self.reasons.append(is_over(horizon or 0))
        elif not on_plan:
            rest = self._off_plan(done, rest)
        shown = self._recommended() if rest is None else rest.schedule(1)[0]
        if available is not None and not set(shown) <= set(available):
            wanted = shown
            shown = best_at_hand(self.now, available, wanted, rest)
            self.reasons.append(not_available(self.problem, wanted, available))
        names = tuple(self.problem.world.name_of(shown))
        case = None if self.rounds is None else self.rounds + 1
        settles = self._settles(done) if on_plan else None
        return NextCase(
            shown, names, case, horizon, settles, on_plan, tuple(self.reasons), self._loss(shown)
        )

    def _position(self) -> tuple[int, bool]:
        """How many rounds of the plan are behind this person, and whether nothing else is."""
        if self.planned is None:
            return 0, True  # somebody's own policy, which has an answer for every state
        return self.planned.place(self.so_far.counts, self.rounds)

    def _rest(self, done: int) -> Policy | None:
        """The plan from some round on; None where nobody can tell how it goes on."""
        if self.planned is None:
            return None
        if isinstance(self.policy, CountPolicy):
            return self._by_table(self.policy)
        prefix, word = self.planned.prefix, self.planned.word
        if done <= len(prefix):
            return ExploreThenRepeat(prefix[done:], word)
        turned = (done - len(prefix)) % len(word)
        return Alternating((*word[turned:], *word[:turned]))

    def _by_table(self, policy: CountPolicy) -> Policy:
        """A table over counts has an answer for every state: follow it from here."""
        totals = np.add(self.problem.start_counts, self.so_far.counts).tolist()
        path = []
        for _ in range(followed_rounds(self.problem)):
            path.append(policy.recommend(totals))
            for i in path[-1]:
                totals[i] += 1
        return ExploreThenRepeat(tuple(path[:-1]), (path[-1],))

    def _recommended(self) -> TestSet:
        totals = np.add(self.problem.start_counts, self.so_far.counts)
        return self.policy.recommend(totals.tolist())

    def _off_plan(self, done: int, rest: Policy | None) -> Policy | None:
        """The rest of the plan, or a better one from here, and what to say about it."""
        assert self.planned is not None
        self.reasons.append(how_far_off(self.problem, self.planned, self.so_far.counts, done))
        if rest is None or isinstance(self.policy, CountPolicy):
            self.reasons.append("The plan says what to show from where they are, too.")
            return rest
        going_on = evaluate(self.now, rest)
        crowd = isinstance(self.problem.learner, Crowd)
        seconds = _SECONDS if self.now.learns_by_showings else _PEOPLE_SECONDS
        options = {"objective": "mean"} if crowd else {}
        anew = solve(self.now, "auto", time_limit=seconds, seed=0, **options)
        if anew.value >= going_on * (1.0 - _AS_GOOD):
            self.reasons.append("Going on with the plan from there is as good as planning anew.")
            return rest
        self.reasons.append("This is how a plan made anew from where they are begins.")
        return anew.policy

    def _settles(self, done: int) -> int | None:
        """The case, counted as this person's are, from which on the plan repeats itself."""
        if self.rounds is None or self.planned is None:
            return None
        first = self.policy.exploration_length
        return (len(self.planned.prefix) if first is None else first) + 1 + self.rounds - done

    def _loss(self, shown: TestSet) -> float | None:
        if self.rounds is None and any(self.so_far.counts) and not self.problem.learns_by_showings:
            return None
        return float(losses_along(self.now, [shown])[0])


def is_over(horizon: int) -> str:
    """That all cases of the plan have been."""
    return (
        f"The plan was for {counted(horizon, 'case')}, which are over; plan again from here for "
        "more."
    )


def how_far_off(problem: Problem, planned: PlannedCounts, counts: Sequence[int], done: int) -> str:
    """What somebody has seen beyond the first `done` cases of the plan."""
    beyond = np.asarray(counts) - planned.after(done)
    world = problem.world
    more = [
        f"{name} {times(int(beyond[block[0]]))}"
        for name, block in zip(world.tests, world.blocks, strict=True)
        if beyond[block[0]] > 0
    ]
    what = listed(more).replace(TOGETHER, " ") if more else "single columns of a test"
    if done == 0:
        first = world.name_of(planned.shown(0))
        begins = listed(first) if first else "nothing shown"
        return f"They are off the plan: it begins with {begins}, but they have seen {what}."
    cases = "its first case" if done == 1 else f"its first {done:,} cases"
    return f"They are off the plan: beyond what {cases} show, they have seen {what}."


def not_available(problem: Problem, wanted: TestSet, available: Sequence[int]) -> str:
    """What would be shown if it could be, and that this is the best of the rest."""
    names = problem.world.name_of
    missing = names(sorted(set(wanted) - set(available)))
    which = "which is" if len(missing) == 1 else "which are"
    if len(missing) < len(names(wanted)):
        which = f"but {listed(missing)} {'is' if len(missing) == 1 else 'are'}"
    return (
        f"Next would be {listed(names(wanted))}, {which} not available; of what is, this costs "
        "least over the cases to come."
    )


def best_at_hand(
    now: Problem, available: Sequence[int], wanted: TestSet, rest: Policy | None
) -> TestSet:
    """The set within what is available that costs least, this case and all after it.

    Parameters
    ----------
    now
        The problem from where the person is.
    available
        Columns that can be shown.
    wanted
        What would be shown if it could be.
    rest
        What comes after this case: the plan as it was, beginning with `wanted`. None compares
        this case alone.

    Returns
    -------
    tuple of int
        Never empty where something else is allowed.

    Raises
    ------
    NotApplicable
        The budget allows no set of these tests.
    """
    sets = [shown for shown in _within(now, available, wanted) if now.budget.allows(shown)]
    sets = [shown for shown in sets if shown] or sets  # nothing only where nothing else is allowed
    if not sets:
        names = now.world.name_of(sorted(available))
        raise NotApplicable(
            f"available: {listed(names) if names else 'nothing'}; {now.budget_in_words()} may be "
            "shown, and no set of these fits; make more of them available"
        )
    if rest is None:
        return min(sets, key=lambda shown: float(losses_along(now, [shown])[0]))
    found = rest.settles()
    assert found is not None, "a schedule repeats something in the end"
    prefix, word = found
    return min(sets, key=lambda s: evaluate(now, ExploreThenRepeat((s, *prefix), tuple(word))))


def _within(now: Problem, available: Sequence[int], wanted: TestSet) -> Iterator[TestSet]:
    """Unions of whole tests that are available, tests that matter most first if there are many."""
    at_hand = set(available)
    blocks = [block for block in now.world.blocks if at_hand.issuperset(block)]
    weight = np.abs(now.world.coefficients) * np.sqrt(np.diag(now.world.covariance))
    blocks.sort(key=lambda block: (not set(block) & set(wanted), -float(weight[list(block)].sum())))
    most = len(now.budget.maximise(np.ones(now.size)))
    few = list(blocks)
    while sum(comb(len(few), k) for k in range(most + 1)) > _MOST_LISTED:
        few.pop()
    for size in range(min(most, len(few)) + 1):
        for chosen in combinations(few, size):
            yield _joined(chosen)
    if len(few) < len(blocks):
        yield _joined(blocks)


def _joined(blocks: Sequence[TestSet]) -> TestSet:
    return tuple(sorted(i for block in blocks for i in block))
