"""Search, then a proof: dual multipliers, a beam that they guide, and search again.

Every plan is followed by a lower bound that holds for all policies. A dual bounds what any
continuation must cost; the beam walks the count states in order of that bound, pruning what cannot
beat the plan at hand, and so raises the bound and often finds a better plan. There are two duals:

- where every showing divides an error by a constant, errors are squared and nobody imputes wrongly,
  multipliers of each round (`engine.dual`);
- for any other curve, imputation and convex risk, potentials of the counts
  (`engine.general_dual`), unless the whole box of counts is small enough to be swept outright.

What is left (yes or no, charges that are not convex, samples of a risk other than squared error)
has neither; the bound then comes from the lattice or from a truncated plan, whichever proves more.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.progress import Progress, Status, report
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import IntArray
from preceptor.certificate import Certificate, PotentialCertificate
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.plan import ROUNDING, Plan
from preceptor.planning.anytime import OutOfTime, Watch, watching
from preceptor.planning.bounds import instant_bound
from preceptor.planning.certified_counts import affordable_bytes, prove_by_counts
from preceptor.planning.certified_person import certify_person, why_not_certified
from preceptor.planning.counting import why_not_counted
from preceptor.planning.finite import DEFAULT_MEMORY, as_policy, finite_plan
from preceptor.planning.lattice import lattice_plan
from preceptor.planning.reduction import to_instance
from preceptor.planning.search import check_search_options, search, solve_search
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver
from preceptor.planning.truncated import truncated_plan
from preceptor.planning.warm_up import compile_counts, compile_for, compile_search_and_proof
from preceptor.policies import Policy
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.engine.certified_beam import BeamResult
    from preceptor.engine.dual import DualBound

DEFAULT_SECONDS = 30.0
DEFAULT_GAP = 1e-4
# Shares of the time: search, dual; the beam gets the rest. Large families need a longer dual.
_SHARES = (0.12, 0.33)
_LARGE_SHARES = (0.25, 0.62)
_LARGE = 10
_FIRST_SEARCH = 3.0


def solve_certified(
    problem: Problem,
    *,
    time_limit: float | None = DEFAULT_SECONDS,
    target_gap: float = DEFAULT_GAP,
    max_iterations: int | None = None,
    width: int | None = None,
    seed: int = 0,
    memory_limit: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Plan:
    """A plan and a bound, until the gap is at most `target_gap` or the time is up.

    With `max_iterations`, `width` and `time_limit=None` the result depends on the seed alone.
    Ctrl-C ends it with the best so far.

    Parameters
    ----------
    problem
        What to plan.
    time_limit
        Seconds; None for no limit.
    target_gap
        Stop once value and bound are this close, as a share of the bound.
    max_iterations
        Limits kicks of the search and steps of the dual.
    width
        Fixes the width of the beam that raises the bound.
    seed
        Seed of the search.
    memory_limit
        Bytes that it may use.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        With a `certificate` that `verify` proves again, where the bound comes from a dual.

    Raises
    ------
    InvalidInput
        Options that make no sense.
    """
    if not is_number(target_gap) or target_gap < 0:
        raise InvalidInput(f"target_gap: {target_gap!r}, must be a number of at least 0")
    if width is not None and not is_count(width, least=1):
        raise InvalidInput(f"width: {width!r}, must be a whole number of at least 1, or None")
    check_search_options(time_limit, max_iterations, seed)
    if not problem.learns_by_showings:
        if why_not_certified(problem):
            raise NotApplicable(f"certified: {why_not_certified(problem)}")
        compile_for(problem)
        with watching(time_limit) as watch:
            return certify_person(
                problem,
                watch,
                target_gap=target_gap,
                max_iterations=max_iterations,
                seed=seed,
                progress=progress,
            )
    shape = shape_of(problem)
    general = not shape.has_dual and not why_not_counted(problem)
    if shape.has_dual:
        compile_search_and_proof()
    elif general:
        compile_counts()
    with watching(time_limit) as watch:
        if shape.too_many_sets:
            plan = solve_search(
                problem,
                time_limit=time_limit,
                max_kicks=max_iterations,
                seed=seed,
                progress=progress,
            )
            return replace(plan, method="certified")
        work = _Work(
            problem, watch, target_gap, max_iterations, width, seed, memory_limit, progress
        )
        with watch.proving():
            work.instant = instant_bound(problem, watch)
        with one_blas_thread():
            if shape.has_dual:
                work.with_dual()
            elif general:
                prove_by_counts(work)
            else:
                work.without_dual(why_not_counted(problem))
        return work.plan()


def certificate_of(bound: DualBound) -> Certificate:
    """What a freshly certified bound leaves behind in a plan."""
    return Certificate(
        bound.kappa, bound.r, bound.N, bound.constants, bound.round_minima, bound.value
    )


@dataclass
class _Work:  # a `Proof`
    problem: Problem
    watch: Watch
    target_gap: float
    max_iterations: int | None
    width: int | None
    seed: int
    memory_limit: int
    progress: Progress | None
    policy: Policy | None = None
    value: float = np.inf
    bound: float = -np.inf
    instant: float = -np.inf
    states: int = 0
    dual_so_far: float = -np.inf
    finished: bool = True
    notes: tuple[str, ...] = ()
    certificate: Certificate | PotentialCertificate | None = None
    options: dict[str, object] = field(default_factory=dict)

    def with_dual(self) -> None:
        """The whole way, where each showing divides an error by a constant."""
        from preceptor.engine.dual import solve_dual

        problem, watch = self.problem, self.watch
        shares = _SHARES if problem.size <= _LARGE else _LARGE_SHARES
        first = watch.share(shares[0])
        if problem.size <= _LARGE and np.isfinite(first):
            first = min(first, _FIRST_SEARCH)  # the rest of the search comes after the proof
        path, commit = self.look_for_plans(first)
        if self.done():
            return
        instance, seconds = to_instance(problem), min(watch.share(shares[1]), 1e9)
        with watch.proving(), watch.halting(seconds) as halt:
            bound = solve_dual(
                instance,
                path,
                time_limit=seconds,
                max_iterations=10**6 if self.max_iterations is None else self.max_iterations,
                progress=self.watch_dual,
                should_stop=lambda: watch.stop() or self.done(self.dual_so_far),
                halt=halt,
            )
        self.finished &= bound.status != "time_limit"
        if np.isfinite(bound.value):  # else not one pass over all sets was finished
            self.raise_bound(bound.value)
            self.certificate = certificate_of(bound)
            if self.done() or watch.stop():
                return
            with watch.proving():
                self._beam(bound, path, commit)
        if not self.done() and not watch.stop() and self.max_iterations is None:
            self.look_for_plans(watch.left, start=self.path())

    def _beam(self, bound: object, path: IntArray, commit: int) -> None:
        from preceptor.engine.certified_beam import certified_beam, memory_width
        from preceptor.engine.dual import DualBound

        assert isinstance(bound, DualBound)
        most = memory_width(bound.instance, bound.length, self.memory_limit / 2e6)
        for width in self.widths(len(bound.instance.actions())):
            left = 0.94 * self.watch.left if np.isfinite(self.watch.left) else 1e9
            result = certified_beam(
                bound,
                path,
                commit,
                width=min(width, most),
                time_limit=left,
                progress=lambda stage, _, value: self.tell(stage, None),
                should_stop=self.watch.stop,
            )
            if result.value < self.value:
                path, commit = result.schedule, result.commit
                self.take(path, commit)
            if self.after_beam(result, min(width, most)) or width >= most:
                break

    def widths(self, actions: int) -> list[int]:
        """How wide beams are to be, one after the other."""
        if self.width is not None:
            return [max(self.width, 8)]  # what a beam keeps at the least
        return [max(1000 * 3**j * 15 // actions, 8) for j in range(20)]

    def after_beam(self, result: BeamResult, width: int) -> bool:
        """Keep what a beam proved; whether it was the last one."""
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

    def without_dual(self, why_not: str) -> None:
        """What neither dual covers: exact methods where they fit, else what bounds."""
        self.notes = (f"No dual bound: {why_not}.",)
        with suppress(NotApplicable):  # a user's own risk, say
            self.look_for_plans(self.watch.share(0.4))
        if self.policy is None:
            self.take_best_fixed()
        for solver in (_exactly, _first_rounds):
            if self.done() or self.watch.stop():
                break
            rate = 5e6 if self.problem.oracle.forms() is not None else 1e5
            work = int(min(self.watch.left, 1e6) * rate)
            budget = affordable_bytes(self.problem, self.watch, self.memory_limit, 1.0)
            try:
                with self.watch.proving():
                    plan = solver(self.problem, self.watch, budget, work)
            except TooLarge:
                continue
            except OutOfTime:
                self.finished = False
                break
            self.raise_bound(plan.lower_bound)
            self.states += plan.states
            if plan.value < self.value:
                self.policy, self.value = plan.policy, plan.value

    def plan(self) -> Plan:
        """What stands now; if the time was up before anything else, always the best fixed set."""
        if self.policy is None:
            self.take_best_fixed()
        if self.policy is None:
            raise NotApplicable(
                "certified: found no method for this problem; use method='lattice' or 'truncated'"
            )
        bound = min(max(self.bound, self.instant), self.value)
        closed = self.value - bound <= self.target_gap * abs(bound)
        finished = self.finished and not self.watch.stop()
        if self.value - bound <= ROUNDING * abs(bound):
            status = Status.OPTIMAL
        elif closed:
            status = Status.WITHIN_TARGET
        else:
            status = self.watch.status(finished=finished)
        return Plan(
            problem=self.problem,
            policy=self.policy,
            value=self.value,
            lower_bound=bound,
            status=status,
            method="certified",
            seconds=self.watch.seconds,
            proved=self.watch.proved,
            states=self.states,
            notes=self.notes,
            options={"target_gap": self.target_gap, "seed": self.seed},
            certificate=self.certificate,
        )

    def look_for_plans(self, seconds: float, start: IntArray | None = None) -> tuple[IntArray, int]:
        found = search(
            self.problem,
            self.watch,
            max_kicks=self.max_iterations,
            seed=self.seed,
            progress=lambda update: self.tell(update.stage, None, update.value),
            seconds=seconds,
            start=start,
        )
        self.take(found.path, found.commit)
        return found.path, found.commit

    def take_best_fixed(self) -> None:
        """Some plan, should there be no time for any other: a set that reads well, forever."""
        problem = self.problem
        now = problem.oracle.losses(problem.initial_errors[None, :])[0]
        for chosen in {int(now.argmin()), int(problem.oracle.floors().argmin())}:
            self.take(np.array([chosen], dtype=np.int64), chosen)

    def take(self, path: IntArray, commit: int) -> None:
        final = int(path[-1]) if commit < 0 else commit
        policy = as_policy(self.problem, path, final)
        value = evaluate(self.problem, policy)
        if value < self.value:
            self.policy, self.value = policy, value

    def path(self) -> IntArray:
        assert self.policy is not None
        rounds = self.problem.horizon or max((self.policy.exploration_length or 0) + 1, 1)
        index = {shown: self.problem.sets.index(shown) for shown in self.policy.used_sets()}
        return np.array([index[s] for s in self.policy.schedule(rounds)], dtype=np.int64)

    def raise_bound(self, bound: float) -> bool:
        if bound <= self.bound:
            return False
        self.bound = bound
        return True

    def watch_dual(self, stage: str, _iteration: int, proven: float) -> None:
        self.dual_so_far = proven
        self.tell(stage, proven)

    def done(self, also: float = -np.inf) -> bool:
        bound = max(self.bound, also)
        known = np.isfinite(bound) and np.isfinite(self.value)
        return bool(known and self.value - bound <= self.target_gap * abs(bound))

    def tell(self, stage: str, bound: float | None, value: float | None = None) -> None:
        lower = max(self.bound, -np.inf if bound is None else bound)
        best = min(self.value, np.inf if value is None else value)
        report(
            self.progress,
            stage,
            done=self.watch.seconds / (self.watch.seconds + self.watch.left),
            value=best if np.isfinite(best) else None,
            lower_bound=lower if np.isfinite(lower) else None,
        )


def _exactly(problem: Problem, watch: Watch, memory: int, _work: int) -> Plan:
    if problem.horizon is not None:
        return finite_plan(problem, memory, watch)
    return lattice_plan(problem, watch, memory_limit=memory)


def _first_rounds(problem: Problem, watch: Watch, memory: int, work: int) -> Plan:
    # the paper's rule for the suffix: weighing every end state can take minutes
    return truncated_plan(problem, watch, suffix="last", memory_limit=memory, most_work=work)


CERTIFIED = Solver(
    "certified",
    solve_certified,
    proves="a bound on the gap, down to the target",
    why_not=why_not_certified,
    all_people=True,
)
