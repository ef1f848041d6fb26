"""What a plan shows a person next: on the plan, off it, or with only some tests available.

Off the plan, planning starts from where the person is: after a number of showings, or after the
rounds of a log. For people who learn by showings, counts are enough. People who learn from outcomes
are followed through the log round by round; with counts alone, through cases drawn from the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.parallel import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor._base.words import NO_BREAK_SPACE, counted, first_few, listed, match_names, times
from preceptor.advice.alternatives import followed_rounds
from preceptor.advice.options import PersonOptions
from preceptor.advice.planning import PEOPLE_SECONDS, QUICK_SECONDS
from preceptor.data.log import Log, in_world_units, require_tests
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.model.count_policy import CountPolicy
from preceptor.model.evaluation import evaluate, losses_along, people_of
from preceptor.model.person import Person
from preceptor.model.plan import Plan
from preceptor.model.policies import ExploreThenRepeat, PlannedCounts, Policy
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.crowd import Crowd
from preceptor.people.filtering import WeightFilter
from preceptor.planning.solvers import solve

# Counts alone do not say which cases a person saw, so this many typical histories are averaged.
_HISTORIES = 128
# Histories are cut here: later rounds change next to nothing.
_MOST_ROUNDS = 400


@dataclass(frozen=True, eq=False)
class SeenSoFar:
    """What one person has seen so far.

    Attributes
    ----------
    counts
        How often each of the n columns was shown with the outcome told.
    log
        The person's rounds; None if only counts are known, or there were none.
    rounds
        How many cases the person has had; None if only counts are known.
    """

    counts: tuple[int, ...]
    log: Log | None = None
    rounds: int | None = None

    @classmethod
    def nothing(cls, world: World) -> SeenSoFar:
        """The state of a new person."""
        return cls((0,) * world.size, None, 0)


def so_far_from(
    world: World, options: PersonOptions, reading: Reading | None = None
) -> SeenSoFar | None:
    """Return what a person has seen, from counts by name or a log; None if neither is given.

    Parameters
    ----------
    world
        The world of the tests.
    options
        Its `shown` or `log`, and the `participant` of the log.
    reading
        How the table is read; log files use the same format.

    Returns
    -------
    SeenSoFar or None
        The showings, and the rounds if there is a log.

    Raises
    ------
    InvalidInput
        Both are given, a test or a participant is not known, or a count makes no sense.
    """
    shown, log, participant = options.shown, options.log, options.participant
    if shown is not None and log is not None:
        raise InvalidInput("shown: `log` says already what was shown; leave one of them out")
    if shown is not None:
        return SeenSoFar(_counts_by_name(world, shown))
    if log is None:
        return None
    found = log
    if not isinstance(found, Log):
        how = None if reading is None else reading.for_log(found)
        found = Log.read(found, world, reading=how)
    require_tests(world, found)
    if participant is None and len(found.participants) > 1:
        people = first_few(found.participants)
        raise InvalidInput(f"participant: the log has several, {people}; name one")
    return after_log(found if participant is None else found.for_participant(participant))


def after_log(log: Log) -> SeenSoFar:
    """What one person has seen by the end of the log."""
    taught = log.shown & log.told[:, None]
    return SeenSoFar(tuple(taught.sum(axis=0).tolist()), log, len(log))


def from_here(problem: Problem, so_far: SeenSoFar) -> Problem:
    """Return the same problem for a person with this history; its cases count from now.

    Parameters
    ----------
    problem
        The problem for a new person.
    so_far
        What the person has seen.

    Returns
    -------
    Problem
        With earlier showings as `start` for people who learn by showings; for others with a person
        in the state that the history leads to.

    Raises
    ------
    NotApplicable
        A kind of person that cannot be resumed from a state.
    """
    if problem.learns_by_showings:
        before = np.add(problem.start_counts, so_far.counts)
        return problem.replace(start=before.tolist())
    now = {
        name: _person_now(problem, person, so_far) for name, person in people_of(problem).items()
    }
    if not isinstance(problem.learner, Crowd):
        return problem.replace(learner=next(iter(now.values())), start=None)
    shares = problem.learner.weights.tolist()
    crowd = Crowd({name: (now[name], share) for name, share in zip(now, shares, strict=True)})
    return problem.replace(learner=crowd, start=None)


def remembering(plan: Plan, so_far: SeenSoFar) -> Plan:
    """Return the plan with what its person had seen before the first case."""
    return replace(plan, seen_before=so_far.counts, rounds_before=so_far.rounds or 0)


def seen_since_plan(plan: Plan, so_far: SeenSoFar) -> SeenSoFar:
    """Return what a person has seen since a plan was made for them.

    Raises
    ------
    InvalidInput
        The rounds after which the plan was made are not in the log.
    """
    log, before = so_far.log, plan.rounds_before
    if not before:
        return so_far
    if log is None or len(log) < before or after_log(log.head(before)).counts != plan.seen_before:
        raise InvalidInput(
            f"log: the plan was made after {before} rounds of this person, but this log starts "
            "differently; give the log that it was planned with, or plan again"
        )
    if len(log) == before:
        return SeenSoFar.nothing(plan.problem.world)
    return after_log(log.tail(len(log) - before))


def _counts_by_name(world: World, shown: Mapping[str, int]) -> tuple[int, ...]:
    known = list(dict.fromkeys((*world.tests, *world.labels)))
    called, faults = match_names("shown", shown, known)
    faults += [
        f"shown: {name!r} {count!r} times, must be a whole number of at least 0"
        for name, count in shown.items()
        if not is_count(count, least=0)
    ]
    InvalidInput.raise_if(faults)
    counts = [0] * world.size
    for name, count in shown.items():
        for column in world.columns_of([called[name]]):
            counts[column] = int(count)
    return tuple(counts)


def _person_now(problem: Problem, person: Person, so_far: SeenSoFar) -> Person:
    """The person in the state that this history leads to."""
    world = problem.world
    start = None if person.start_faults(problem.start) else problem.start
    if so_far.log is not None:
        return _through(WeightFilter.begin(world, person, start=start), so_far.log).now()
    counts = np.add(start or (0,) * world.size, so_far.counts)
    if not person.start_faults(counts.tolist()):
        state = person.fresh(world, (), counts.tolist())
        return person.from_here(world, state, person.weights_of(world, state))
    return _after_a_typical_history(world, person, counts)


def _through(followed: WeightFilter, log: Log) -> WeightFilter:
    """Follow a person through all rounds of a log whose outcome was told."""
    values, _, outcomes = in_world_units(followed.world, log)
    for row in np.flatnonzero(log.told).tolist():
        seen = tuple(np.flatnonzero(log.shown[row]).tolist())
        filled = followed.filled(seen, values[row, list(seen)])
        followed = followed.told(filled, log.shown[row], float(outcomes[row]))
    return followed


def _after_a_typical_history(world: World, person: Person, counts: FloatArray) -> Person:
    """A person with the mean weights after random cases of this world, with these counts."""
    most = int(counts.max())
    rounds = min(most, _MOST_ROUNDS)
    turns = np.arange(rounds + 1)[:, None] * (counts / max(most, 1))
    shown = np.diff(np.floor(turns + 1e-9), axis=0) > 0
    imputer = Imputer(person.imputing_covariance(world))
    drawn = world.sample(_HISTORIES * rounds, rng=0)
    features = drawn.features.reshape(rounds, _HISTORIES, world.size)
    outcomes = drawn.outcomes.reshape(rounds, _HISTORIES)
    many, one = person.fresh(world, (_HISTORIES,), None), person.fresh(world, (), None)
    for t in range(rounds):
        seen = tuple(np.flatnonzero(shown[t]).tolist())
        filled = features[t][:, list(seen)] @ imputer.fill(seen)
        mask = np.broadcast_to(shown[t], filled.shape)
        many = person.learn(world, many, filled, mask, outcomes[t])
        one = person.learn(world, one, filled[0], shown[t], outcomes[t, 0])
    weights = person.weights_of(world, many).mean(axis=0)
    return person.from_here(world, one, weights)


# Continuing the plan counts as equally good up to this share of the loss.
_AS_GOOD = 0.002
# Most available sets that are compared over all remaining cases.
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
        The number of this person's case, from 1; None if only counts are known.
    of
        How many cases the plan has; None if it has no end.
    settles
        The first case from which the plan repeats itself; None if unknown.
    on_plan
        Whether the person has seen exactly what the plan shows up to some case.
    reasons
        Remarks, a sentence each: off the plan, not available, over.
    loss
        Expected loss of this case; None if counts do not determine what the person knows.
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


def next_case(plan: Plan, so_far: SeenSoFar, available: Sequence[int] | None = None) -> NextCase:
    """Return what to show one person next.

    Parameters
    ----------
    plan
        The plan to follow.
    so_far
        What the person has seen since the plan began.
    available
        Columns that can be shown now; all if left out.

    Returns
    -------
    NextCase
        The plan's set for a person on the plan. For a person off it, the plan's next set if
        continuing is as good as planning again from there, else the first set of a new plan. If
        that is not available, the available set that costs least over all remaining cases.

    Raises
    ------
    NotApplicable
        The budget allows no set of what is available.
    """
    with one_blas_thread():
        return _Choice(plan, so_far).next_case(available)


class FollowedPlan:
    """A plan as people follow it: where each of them is, and what comes next.

    Parameters
    ----------
    plan
        The plan to follow.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.problem, self.policy = plan, plan.problem, plan.policy
        found = self.policy.settles()
        size = self.problem.size
        self.planned = None if found is None else PlannedCounts(found[0], found[1], size)
        self._length = self.policy.exploration_length

    def place(self, counts: Sequence[int], rounds: int | None) -> tuple[int, bool]:
        """Rounds of the plan that a person has seen, and whether that is all they have seen."""
        # A user's own policy has an answer for every state.
        return (0, True) if self.planned is None else self.planned.place(counts, rounds)

    def rest(self, done: int) -> ExploreThenRepeat | None:
        """The plan after `done` rounds; None if its continuation is unknown."""
        if self.planned is None:
            return None
        prefix, word = self.planned.prefix, self.planned.word
        turned = max(done - len(prefix), 0) % len(word)
        return ExploreThenRepeat(prefix[done:], (*word[turned:], *word[:turned]))

    def case(
        self,
        shown: TestSet,
        rounds: int | None,
        done: int,
        on_plan: bool,
        reasons: Sequence[str],
        loss: float | None = None,
    ) -> NextCase:
        """The next case of a person after `rounds` rounds, `done` of them those of the plan."""
        names, settles = tuple(self.problem.world.name_of(shown)), None
        case = None if rounds is None else rounds + 1
        if case is not None and on_plan and self.planned is not None:
            first = len(self.planned.prefix) if self._length is None else self._length
            settles = first + case - done
        horizon = self.problem.horizon
        return NextCase(shown, names, case, horizon, settles, on_plan, tuple(reasons), loss)


class _Choice(FollowedPlan):
    """One decision, with costly parts computed when needed."""

    def __init__(self, plan: Plan, so_far: SeenSoFar) -> None:
        super().__init__(plan)
        self.so_far, self.rounds = so_far, so_far.rounds
        self.reasons: list[str] = []
        self.done, self.on_plan = self.place(so_far.counts, so_far.rounds)

    @cached_property
    def now(self) -> Problem:
        """The problem from this person's state on."""
        now = from_here(self.problem, self.so_far)
        if self.problem.horizon is None:
            return now
        gone = self.done if self.rounds is None else self.rounds
        return now.replace(horizon=max(self.problem.horizon - gone, 1))

    def next_case(self, available: Sequence[int] | None) -> NextCase:
        done, on_plan = self.done, self.on_plan
        rest: Policy | None = self.rest(done)
        if isinstance(self.policy, CountPolicy) and rest is not None:
            rest = self._by_table(self.policy)
        horizon = self.problem.horizon
        over = horizon is not None and self.rounds is not None and self.rounds >= horizon
        if over:
            self.reasons.append(is_over(horizon or 0))
        elif not on_plan:
            rest = self._off_plan(done, rest)
        shown = self._recommended() if rest is None else rest.schedule(1)[0]
        if available is not None and not set(shown) <= set(available):
            wanted = shown
            shown = best_available(self.now, available, wanted, rest)
            self.reasons.append(unavailable_in_words(self.problem, wanted, available))
        return self.case(shown, self.rounds, done, on_plan, self.reasons, self._loss(shown))

    def _by_table(self, policy: CountPolicy) -> Policy:
        """Follow a table over counts, which has an answer for every state, from here."""
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
        """Return the rest of the plan or a better policy from here, and add the reason."""
        assert self.planned is not None
        self.reasons.append(off_plan_in_words(self.problem, self.planned, self.so_far.counts, done))
        if rest is None or isinstance(self.policy, CountPolicy):
            self.reasons.append("The plan covers this state too.")
            return rest
        continued = evaluate(self.now, rest)
        crowd = isinstance(self.problem.learner, Crowd)
        seconds = QUICK_SECONDS if self.now.learns_by_showings else PEOPLE_SECONDS / 2.0
        options = {"objective": "mean"} if crowd else {}
        again = solve(self.now, "auto", time_limit=seconds, seed=0, **options)
        if again.value >= continued * (1.0 - _AS_GOOD):
            self.reasons.append("Continuing the plan from there is as good as a new plan.")
            return rest
        self.reasons.append("This is the first set of a new plan from this state.")
        return again.policy

    def _loss(self, shown: TestSet) -> float | None:
        if self.rounds is None and any(self.so_far.counts) and not self.problem.learns_by_showings:
            return None
        return float(losses_along(self.now, [shown])[0])


def is_over(horizon: int) -> str:
    """Say that all cases of the plan are over."""
    return (
        f"The plan was for {counted(horizon, 'case')}, which are over; plan again from here for "
        "more."
    )


def off_plan_in_words(
    problem: Problem, planned: PlannedCounts, counts: Sequence[int], done: int
) -> str:
    """Say what a person has seen beyond the first `done` cases of the plan."""
    beyond = np.asarray(counts) - planned.after(done)
    world = problem.world
    more = [
        f"{name} {times(int(beyond[block[0]]))}"
        for name, block in zip(world.tests, world.blocks, strict=True)
        if beyond[block[0]] > 0
    ]
    what = listed(more).replace(NO_BREAK_SPACE, " ") if more else "single columns of a test"
    if done == 0:
        first = world.name_of(planned.shown(0))
        begins = listed(first) if first else "nothing shown"
        return f"They are off the plan: it begins with {begins}, but they have seen {what}."
    cases = "its first case" if done == 1 else f"its first {done:,} cases"
    return f"They are off the plan: beyond what {cases} show, they have seen {what}."


def unavailable_in_words(problem: Problem, wanted: TestSet, available: Sequence[int]) -> str:
    """Say what the plan would show, and that this is the best available set."""
    names = problem.world.name_of
    missing = names(sorted(set(wanted) - set(available)))
    which = "which is" if len(missing) == 1 else "which are"
    if len(missing) < len(names(wanted)):
        which = f"but {listed(missing)} {'is' if len(missing) == 1 else 'are'}"
    return (
        f"Next would be {listed(names(wanted))}, {which} not available; of what is, this costs "
        "least over the cases to come."
    )


def best_available(
    now: Problem, available: Sequence[int], wanted: TestSet, rest: Policy | None
) -> TestSet:
    """Return the available set that costs least over this case and all later ones.

    Parameters
    ----------
    now
        The problem from the person's state on.
    available
        Columns that can be shown.
    wanted
        The set that the plan would show.
    rest
        The policy after this case, which starts with `wanted`; None compares this case alone.

    Returns
    -------
    tuple of int
        Not empty unless only the empty set is allowed.

    Raises
    ------
    NotApplicable
        The budget allows no set of these tests.
    """
    sets = [shown for shown in _within(now, available, wanted) if now.budget.allows(shown)]
    sets = [shown for shown in sets if shown] or sets  # the empty set only if it is the only one
    if not sets:
        names = now.world.name_of(sorted(available))
        raise NotApplicable(
            f"available: {listed(names) if names else 'nothing'}; {now.budget_in_words()} may be "
            "shown, and no set of these fits; make more of them available"
        )
    if rest is None:
        return min(sets, key=lambda shown: float(losses_along(now, [shown])[0]))
    found = rest.settles()
    assert found is not None, "every schedule ends in a repetition"
    prefix, word = found
    return min(sets, key=lambda s: evaluate(now, ExploreThenRepeat((s, *prefix), tuple(word))))


def _within(now: Problem, available: Sequence[int], wanted: TestSet) -> Iterator[TestSet]:
    """Unions of available tests, the most important tests first if there are many."""
    usable = set(available)
    blocks = [block for block in now.world.blocks if usable.issuperset(block)]
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
