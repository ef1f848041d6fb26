"""Search followed by a proof: dual multipliers, a beam guided by them, and another search.

Every plan comes with a lower bound that holds for all policies. For people who learn from outcomes
it holds for schedules fixed in advance, unless more is requested (`certify_person`). A dual bounds
the cost of every continuation. The beam visits count states in order of that bound and prunes those
that cannot beat the best plan; this raises the bound and often finds a better plan. The dual's
rounds are minimised in one of two ways, with the same kind of certificate:

- over errors (`error_dual`), where every showing divides an error by a constant, the risk is
  squared error and the person imputes from the true covariance;
- over counts (`count_dual`), for any other curve, imputation and convex risk, unless the
  whole box of counts is small enough to be swept outright.

Neither covers yes-or-no outcomes, risks that are not convex, and samples of a risk other than
squared error; the bound then comes from the lattice or from a truncated plan, whichever is higher.

For one person who does not learn by showings, a search is followed by another proof. Where rounds
are linear in the errors, the bound is a semidefinite program (`semidefinite.py`). Otherwise it is
the floor of every case, and the plan has a note about that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.numerics import total_weight
from preceptor._base.parallel import one_blas_thread
from preceptor._base.progress import CONTRADICTION, Progress, Status, report
from preceptor._base.values import IntArray
from preceptor.errors import InvalidInput, MissingExtra, NotApplicable, TooLarge
from preceptor.model.certificate import Certificate
from preceptor.model.evaluation import evaluate, expectations
from preceptor.model.plan import ALL_POLICIES, FIXED_SCHEDULES, Plan
from preceptor.model.policies import Policy, Stationary
from preceptor.model.problem import Problem
from preceptor.people.crowd import Crowd
from preceptor.people.moments import quadratic_rounds
from preceptor.planning.anytime import OutOfTime, SearchEffort, Watch, watching
from preceptor.planning.bounds import instant_bound
from preceptor.planning.candidate_sets import shape_of
from preceptor.planning.conic import has_solver
from preceptor.planning.dual_instances import to_counts, why_not_counted
from preceptor.planning.finite import DEFAULT_MEMORY, as_policy, solve_finite
from preceptor.planning.lattice import DEFAULT_TOLERANCE, solve_lattice, states_needed
from preceptor.planning.search import (
    CLIMB_SHARE,
    check_search_options,
    search,
    solve_search,
    why_not_search,
)
from preceptor.planning.semidefinite import (
    MOST_SETS,
    MOST_TESTS,
    SemidefiniteBound,
    semidefinite_bound,
)
from preceptor.planning.solver import Solver
from preceptor.planning.truncated import solve_truncated

if TYPE_CHECKING:
    from preceptor.planning.dual import Dual, DualBound
    from preceptor.planning.guided_beam import BeamResult


def may_be_proven(problem: Problem) -> bool:
    """Whether a semidefinite bound is worth trying: one linear person, few tests and sets."""
    if isinstance(problem.learner, Crowd) or problem.size > MOST_TESTS or problem.discount == 0.0:
        return False
    if problem.budget.count(problem.size) > MOST_SETS or not has_solver():
        return False
    (expected,) = expectations(problem)
    return not isinstance(quadratic_rounds(expected), str)


def certify_person(
    problem: Problem, effort: SearchEffort, target_gap: float, bound_holds_for: str
) -> Plan:
    """The best schedule found, and the best bound available for this kind of person."""
    watch, max_kicks, seed, progress = effort
    # The proof gets the larger share of the time.
    hurry = Watch(None if watch.left == float("inf") else max(0.4 * watch.left, 1e-3))
    plan = solve_search(problem, hurry, max_kicks=max_kicks, seed=seed, progress=progress)
    report(progress, "proving", value=plan.value)
    (expected,) = expectations(problem)
    # Seconds for a proof where there is no time limit.
    seconds = max(min(watch.left, 120.0), 1e-3)
    found: SemidefiniteBound | str
    try:
        with watch.proving():
            found = semidefinite_bound(
                expected,
                problem.discount,
                problem.horizon,
                time_limit=seconds,
                adaptive=bound_holds_for == ALL_POLICIES,
            )
    except MissingExtra as error:
        found = f"{error}"
    proved = plan.proved + watch.proved
    if isinstance(found, str) or found.bound <= plan.lower_bound:
        why = found if isinstance(found, str) else "The semidefinite bound is not better."
        note = f"The lower bound is the floor of every case, which usually says little. {why}"
        notes = (*plan.notes, note)
        return replace(plan, method="certified", notes=notes, seconds=watch.seconds, proved=proved)
    reach = "schedules fixed in advance; a policy that reacts to cases and outcomes may cost less"
    if found.adaptive:
        reach = "every policy, even one that sees the person's weights"
    closed = plan.value - found.bound <= target_gap * abs(found.bound)
    status = Status.WITHIN_TARGET if closed else plan.status
    return replace(
        plan,
        method="certified",
        lower_bound=found.bound,
        bound_holds_for=ALL_POLICIES if found.adaptive else FIXED_SCHEDULES,
        status=Status.INTERRUPTED if watch.interrupted else status,
        certificate=found.certificate,
        options={**plan.options, "target_gap": target_gap},
        notes=(*plan.notes, f"The lower bound (a semidefinite program) holds for {reach}."),
        seconds=watch.seconds,
        proved=proved,
    ).settled()


# The state of `certified`: the best plan and the best bound until the gap is small enough.

_NOT_CONVEX = (
    "A dual proved more than the plan costs, so the charge is not convex, though it looked so on a "
    "grid; that bound was thrown away."
)
# Children per layer of the first beam, how much wider the next one is, and the number of beams.
_CHILDREN, _WIDER, _MOST_BEAMS = 15_000, 3, 20


@dataclass
class Proof:
    """The best plan and the largest bound so far, with the options of the run."""

    problem: Problem
    effort: SearchEffort
    target_gap: float
    width: int | None
    memory_limit: int
    policy: Policy | None = None
    value: float = np.inf
    bound: float = -np.inf
    instant: float = -np.inf
    states: int = 0
    dual_so_far: float = -np.inf
    finished: bool = True
    notes: tuple[str, ...] = ()
    certificate: Certificate | None = None

    @property
    def watch(self) -> Watch:
        """The time that is left."""
        return self.effort.watch

    def plan(self) -> Plan:
        """The result so far; a fixed set if the time was up before any plan was found."""
        if self.policy is None:
            self.take_best_fixed()
        if self.policy is None:
            raise NotApplicable(
                "certified: found no method for this problem; use method='lattice' or 'truncated'"
            )
        bound = max(self.bound, self.instant)
        closed = self.value - bound <= self.target_gap * abs(bound)
        finished = self.finished and not self.watch.stop()
        return Plan(
            problem=self.problem,
            policy=self.policy,
            value=self.value,
            lower_bound=bound,
            status=Status.WITHIN_TARGET if closed else self.watch.status(finished=finished),
            method="certified",
            seconds=self.watch.seconds,
            proved=self.watch.proved,
            states=self.states,
            notes=self.notes,
            options={"target_gap": self.target_gap, "seed": self.effort.seed},
            certificate=self.certificate,
        ).settled()

    def raise_by_dual(self, dual_of: Callable[[IntArray], Dual], share: float) -> None:
        """A dual for a share of the time, beams guided by it, and another search.

        `dual_of` takes a flag that halts it.
        """
        from preceptor.planning.dual import conduct

        watch, seconds = self.watch, min(self.watch.share(share), 1e9)
        with watch.proving(), watch.halting(seconds) as halt:
            bound = conduct(
                dual_of(halt),
                time_limit=seconds,
                max_iterations=10**6 if self.effort.max_kicks is None else self.effort.max_kicks,
                progress=self._watch_dual,
                should_stop=lambda: watch.stop() or self.done(self.dual_so_far),
            )
        self.finished &= bound.status != "time_limit"
        if bound.value > self.value + CONTRADICTION * abs(self.value):
            self.notes = (*self.notes, _NOT_CONVEX)
        elif np.isfinite(bound.value):  # else not one pass over all sets was finished
            self.raise_bound(bound.value)
            self.certificate = Certificate(bound.theta, bound.caps, bound.minima, bound.value)
            if self.done() or watch.stop():
                return
            with watch.proving():
                self._raise_by_beams(bound)
        if not self.done() and not watch.stop() and self.effort.max_kicks is None:
            with suppress(NotApplicable):  # too many rounds to search
                self.look_for_plans(watch.left, known=self.policy)

    def _raise_by_beams(self, bound: DualBound) -> None:
        """Wider and wider beams, each with the best plan of the one before as its limit."""
        from preceptor.planning.guided_beam import BeamGuide, guided_beam, memory_width

        watch, guide = self.watch, BeamGuide(bound, self._price)
        path = self.path()
        commit = int(path[-1])
        most = memory_width(guide, self.memory_limit / 2e6)
        for wanted in self._widths(bound.instance.actions.size):
            width = min(wanted, most)
            limited = np.isfinite(watch.left)
            # Some of the time is reserved for a search after the beams.
            result = guided_beam(
                guide,
                path,
                commit,
                self.value,
                width,
                time_limit=watch.left - watch.share(0.06) if limited else np.inf,
                progress=lambda stage, _, value: self._tell(stage, None),
                should_stop=watch.stop,
            )
            path, commit = result.schedule, result.commit
            self.take(self._policy(path, commit))
            if self._was_last(result, width) or width == most:
                break

    def _widths(self, actions: int) -> list[int]:
        """Widths of the beams, in order."""
        from preceptor.planning.guided_beam import LEAST_WIDTH

        if self.width is not None:
            return [max(self.width, LEAST_WIDTH)]
        widths = [_CHILDREN * _WIDER**j // actions for j in range(_MOST_BEAMS)]
        return [max(width, LEAST_WIDTH) for width in widths]

    def _was_last(self, result: BeamResult, width: int) -> bool:
        """Keep what a beam proved; return whether a wider one is of no use."""
        if self.raise_bound(result.lower_bound):
            assert self.certificate is not None
            self.certificate = self.certificate.with_beam(width, result.layers, result.lower_bound)
        self.states += result.widest
        cut = result.status != "complete"
        self.finished = not cut and (self.finished or result.exhausted)
        if self.done() or cut or result.exhausted:
            return True
        if self.watch.left < 0.05 * self.watch.seconds:
            self.finished = False
            return True
        return False

    def look_for_plans(self, seconds: float, known: Policy | None = None) -> None:
        """Search for at most `seconds` and keep a better plan."""
        told = self.effort._replace(progress=lambda now: self._tell(now.stage, None, now.value))
        until = self.watch.until(CLIMB_SHARE)
        self.take(search(self.problem, told, seconds=seconds, known=known, stop=until))

    def take_best_fixed(self) -> None:
        """Take a plan that needs no search: a good set shown throughout."""
        problem = self.problem
        now = problem.oracle.losses(problem.initial_errors[None, :])[0]
        for chosen in {int(now.argmin()), int(problem.oracle.floors().argmin())}:
            self.take(Stationary(problem.sets[chosen]))

    def take_plan(self, solve: Callable[..., Plan], *work: int, **options: Any) -> None:
        """Keep bound and plan of another method, if it fits in memory and time."""
        try:
            with self.watch.proving():
                plan = solve(self.problem, self.watch, *work, **options)
        except TooLarge:
            return
        except OutOfTime:
            self.finished = False
            return
        self.raise_bound(plan.lower_bound)
        self.states += plan.states
        if plan.value < self.value:
            self.policy, self.value = plan.policy, plan.value

    def take(self, policy: Policy) -> None:
        """Keep a plan if it is better."""
        value = evaluate(self.problem, policy)
        if value < self.value:
            self.policy, self.value = policy, value

    def _policy(self, path: IntArray, commit: int) -> Policy:
        """The policy that shows `path` and then `commit`, or the last set if that is negative."""
        return as_policy(self.problem, path, int(path[-1]) if commit < 0 else commit)

    def _price(self, path: IntArray, commit: int) -> float:
        return evaluate(self.problem, self._policy(path, commit))

    def path(self) -> IntArray:
        """The best plan as positions of sets."""
        assert self.policy is not None
        rounds = self.problem.horizon or max((self.policy.exploration_length or 0) + 1, 1)
        index = {shown: self.problem.sets.index(shown) for shown in self.policy.used_sets()}
        return np.array([index[s] for s in self.policy.schedule(rounds)], dtype=np.int64)

    def raise_bound(self, bound: float) -> bool:
        """Keep a bound if it is larger; return whether it was."""
        if bound <= self.bound:
            return False
        self.bound = bound
        return True

    def _watch_dual(self, stage: str, _iteration: int, proven: float) -> None:
        """Report what a dual has proven so far."""
        self.dual_so_far = proven
        self._tell(stage, proven)

    def done(self, also: float = -np.inf) -> bool:
        """Whether value and bound are close enough."""
        bound = max(self.bound, also)
        known = np.isfinite(bound) and np.isfinite(self.value)
        return bool(known and self.value - bound <= self.target_gap * abs(bound))

    def _tell(self, stage: str, bound: float | None, value: float | None = None) -> None:
        """Report progress."""
        lower = max(self.bound, -np.inf if bound is None else bound)
        best = min(self.value, np.inf if value is None else value)
        report(
            self.effort.progress,
            stage,
            done=self.watch.seconds / (self.watch.seconds + self.watch.left),
            value=best if np.isfinite(best) else None,
            lower_bound=lower if np.isfinite(lower) else None,
        )


DEFAULT_SECONDS = 30.0
DEFAULT_GAP = 1e-4
# Shares of the time for search and dual; the beam gets the rest. A dual over counts takes longer;
# with many tests so does a good first plan.
_SHARES, _COUNTS_SHARES, _LARGE_SHARES = (0.12, 0.33), (0.08, 0.5), (0.25, 0.62)
_LARGE = 10
# A box of counts up to this many bytes is solved exactly instead of being bounded by a dual,
_SWEPT_BYTES = 2**30
# if that takes no more than this share of the time left. Where there is no dual, the first search
# takes the same share.
_THIRD = 1 / 3
# States x sets that an exact method gets through in a second, by the code of the risk; a charge
# without a closed form is integrated for each of them.
_STATES_A_SECOND = {0: 2.5e8, 1: 2e7, 2: 8e7, 3: 5e6, -1: 1e5}


def solve_certified(
    problem: Problem,
    *,
    time_limit: float | None = DEFAULT_SECONDS,
    target_gap: float = DEFAULT_GAP,
    max_iterations: int | None = None,
    width: int | None = None,
    seed: int = 0,
    memory_limit: int = DEFAULT_MEMORY,
    bound_holds_for: str = FIXED_SCHEDULES,
    progress: Progress | None = None,
) -> Plan:
    """A plan and a bound, improved until the gap is at most `target_gap` or the time is up.

    With `max_iterations`, `width` and `time_limit=None` the result depends on the seed alone.
    Ctrl-C returns the best plan so far.

    Parameters
    ----------
    problem
        What to plan.
    time_limit
        Seconds; None for no limit.
    target_gap
        Stop once the gap between value and bound is this share of the bound.
    max_iterations
        Limits kicks of the search and steps of the dual.
    width
        Fixes the width of the beam that raises the bound.
    seed
        Seed of the search.
    memory_limit
        Bytes the solver may use.
    bound_holds_for
        "all policies" requests a bound that holds for every policy, including those that observe
        the person. This matters for people who learn from outcomes, where bounds on "schedules
        fixed in advance" are higher. For other people bounds hold for all policies anyway.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        With a `certificate` that `verify` proves again, where the bound comes from a dual.

    Raises
    ------
    InvalidInput
        An option is out of range.
    """
    if not is_number(target_gap) or target_gap < 0:
        raise InvalidInput(f"target_gap: {target_gap!r}, must be a number of at least 0")
    if width is not None and not is_count(width, least=1):
        raise InvalidInput(f"width: {width!r}, must be a whole number of at least 1, or None")
    check_search_options(time_limit, max_iterations, seed)
    check_bound_holds_for(bound_holds_for)
    if why_not_proven(problem):
        raise NotApplicable(f"certified: {why_not_proven(problem)}")
    if not problem.learns_by_showings:
        with watching(time_limit) as watch:
            effort = SearchEffort(watch, max_iterations, seed, progress)
            return certify_person(problem, effort, target_gap, bound_holds_for)
    shape = shape_of(problem)
    general = not shape.has_dual and not why_not_counted(problem)
    with watching(time_limit) as watch, one_blas_thread():
        effort = SearchEffort(watch, max_iterations, seed, progress)
        if shape.too_many_sets:
            plan = solve_search(
                problem, watch, max_kicks=max_iterations, seed=seed, progress=progress
            )
            return replace(plan, method="certified")
        work = Proof(problem, effort, target_gap, width, memory_limit)
        with watch.proving():
            work.instant = instant_bound(problem, watch)
        if shape.has_dual or general:
            prove_by_dual(work, over_errors=shape.has_dual)
        else:
            prove_without_dual(work, why_not_counted(problem))
        return work.plan()


def check_bound_holds_for(asked: str) -> None:
    """Raise `InvalidInput` for a bound on anything but schedules or all policies."""
    if asked not in (ALL_POLICIES, FIXED_SCHEDULES):
        raise InvalidInput(
            f"bound_holds_for: {asked!r}, must be {ALL_POLICIES!r} or {FIXED_SCHEDULES!r}"
        )


def why_not_proven(problem: Problem) -> str:
    """Why no proof is available for a problem; empty if one may be."""
    if isinstance(problem.learner, Crowd):
        return "proves bounds for one person, not for a crowd"
    by_dual = problem.learns_by_showings and shape_of(problem).has_dual
    return why_not_search(problem) if by_dual else ""


def prove_by_dual(work: Proof, over_errors: bool) -> None:
    """A first plan, a dual, beams guided by it, and a search from the best plan."""
    from preceptor.planning.count_dual import CountDual
    from preceptor.planning.error_dual import ErrorDual

    problem, watch = work.problem, work.watch
    if not over_errors:
        sweep_if_small(work)
        if work.done() or watch.stop():
            return
    shares = _SHARES if over_errors else _COUNTS_SHARES
    if over_errors and problem.size > _LARGE:
        shares = _LARGE_SHARES
    # The first search is short where a dual follows: it continues after the proof.
    most = np.inf if problem.size > _LARGE else 3.0
    _first_plan(work, shares[0], most)
    if work.done() or watch.stop():
        return
    instance = to_counts(problem, over_errors=over_errors)
    dual: Callable[[IntArray], Dual] = partial(ErrorDual, instance, work.path())
    if not over_errors:
        loss = work.value / total_weight(problem.discount, problem.horizon)
        dual = partial(CountDual, instance, loss, work.value)
    work.raise_by_dual(dual, shares[1])


def _first_plan(work: Proof, share: float, most: float = np.inf) -> None:
    """A starting plan: found by search, or else a fixed set."""
    seconds = work.watch.share(share)
    if np.isfinite(seconds):  # without a limit, the result must not depend on the clock
        seconds = min(seconds, most)
    try:
        work.look_for_plans(seconds)
    except NotApplicable:  # too many rounds to search
        if work.policy is None:
            work.take_best_fixed()


def affordable_bytes(problem: Problem, watch: Watch, memory_limit: int, share: float) -> int:
    """Bytes of tables that can be filled within a share of the time left."""
    rate = _STATES_A_SECOND[problem.risk.code]
    states = min(share * watch.left, 1e6) * rate / len(problem.sets)
    return min(memory_limit, _SWEPT_BYTES, int(9 * states) + 2**16)


def sweep_if_small(work: Proof) -> None:
    """Solve exactly if there are few enough states."""
    problem = work.problem
    budget = affordable_bytes(problem, work.watch, work.memory_limit, _THIRD)
    endless = problem.horizon is None
    if not endless or states_needed(problem, DEFAULT_TOLERANCE)[1] <= budget:
        _sweep(work, budget)


def _sweep(work: Proof, budget: int) -> None:
    """Solve over every state, or over infinitely many rounds over as many as fit."""
    solve = solve_lattice if work.problem.horizon is None else solve_finite
    work.take_plan(solve, memory_limit=budget)


def prove_without_dual(work: Proof, why_not: str) -> None:
    """Prove a bound where no dual applies: by exact methods, or by truncated plans."""
    problem, watch = work.problem, work.watch
    work.notes = (f"No dual bound: {why_not}.",)
    _first_plan(work, _THIRD)
    if not work.done() and not watch.stop():
        _sweep(work, affordable_bytes(problem, watch, work.memory_limit, 1.0))
    if not work.done() and not watch.stop():
        rate = _STATES_A_SECOND[3 if problem.oracle.forms() is not None else -1]
        budget = affordable_bytes(problem, watch, work.memory_limit, 1.0)
        most = int(min(watch.left, 1e6) * rate)
        # The paper's rule for the suffix: comparing every end state can take minutes.
        work.take_plan(solve_truncated, most, suffix="last", memory_limit=budget)
    if not work.done() and not watch.stop() and work.effort.max_kicks is None:
        with suppress(NotApplicable):
            work.look_for_plans(watch.left, known=work.policy)


CERTIFIED = Solver(
    "certified",
    solve_certified,
    proves="a bound on the gap, down to the target",
    why_not=why_not_proven,
    all_people=True,
)
