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

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.discounting import total_weight
from preceptor._base.progress import Progress, Status, report
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import IntArray
from preceptor.certificate import Certificate, PotentialCertificate
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.plan import Plan
from preceptor.planning.anytime import Watch, watching
from preceptor.planning.bounds import instant_bound
from preceptor.planning.certified_person import certify_person, why_not_certified
from preceptor.planning.finite import DEFAULT_MEMORY, as_policy, solve_finite
from preceptor.planning.counting import to_counts, why_not_counted
from preceptor.planning.lattice import DEFAULT_TOLERANCE, solve_lattice, states_needed
from preceptor.planning.reduction import to_instance
from preceptor.planning.search import check_search_options, search, solve_search
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver
from preceptor.planning.truncated import solve_truncated
from preceptor.planning.stationary import solve_stationary
from preceptor.planning.warm_up import (
    compile_counts,
    compile_for,
    compile_proof,
    compile_search,
)
from preceptor.policies import Policy
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.engine.certified_beam import BeamResult
    from preceptor.engine.dual import DualBound
    from preceptor.engine.potentials import PotentialBound

DEFAULT_SECONDS = 30.0
DEFAULT_GAP = 1e-4
# A box of so many states is swept outright instead of being bounded by a dual.
_SWEPT_BYTES = 2**30
# States x sets that an exact method gets through in a second, by the code of the risk; a charge
# without a closed form is integrated for each of them.
_STATES_A_SECOND = {0: 2.5e8, 1: 2e7, 2: 8e7, 3: 5e6, -1: 1e5}
# Of the time that is left, what an exact method may take.
_EXACT_SHARE = 1 / 3
# Shares of the time with the general dual: first search, dual, beam; the search gets the rest.
_GENERAL_SHARES = (0.08, 0.5, 0.9)
_GENERAL_FIRST_SEARCH = 2.0
# Tangent points that are worth keeping in a plan's file.
_MOST_TANGENTS = 500_000
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
        compile_search()
        compile_proof()
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
        with one_blas_thread():
            if shape.has_dual:
                work.with_dual()
            elif general:
                work.with_general_dual()
            else:
                work.without_dual(why_not_counted(problem))
        return work.plan()


def certificate_of(bound: DualBound) -> Certificate:
    """What a freshly certified bound leaves behind in a plan."""
    return Certificate(
        bound.kappa, bound.r, bound.N, bound.constants, bound.round_minima, bound.value
    )


def certificate_of_potentials(bound: PotentialBound) -> PotentialCertificate:
    """The same for a bound by potentials of the counts."""
    tangents = bound.tangents
    if tangents.size > _MOST_TANGENTS:
        tangents = np.zeros((0, 0, 0))
    return PotentialCertificate(bound.theta, bound.instance.caps, tangents, bound.value)


@dataclass
class _Work:
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
    states: int = 0
    _dual_so_far: float = -np.inf
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
        path, commit = self._search(first)
        if self._done():
            return
        instance = to_instance(problem)
        bound = solve_dual(
            instance,
            path,
            time_limit=min(watch.share(shares[1]), 1e9),
            max_iterations=10**6 if self.max_iterations is None else self.max_iterations,
            progress=self._watch_dual,
            should_stop=lambda: watch.stop() or self._done(self._dual_so_far),
        )
        self._raise_bound(bound.value)
        self.certificate = certificate_of(bound)
        self.finished &= bound.status != "time_limit"
        if self._done() or watch.stop():
            return
        self._beam(bound, path, commit)
        if not self._done() and not watch.stop() and self.max_iterations is None:
            self._search(watch.left, start=self._path())

    def _beam(self, bound: object, path: IntArray, commit: int) -> None:
        from preceptor.engine.certified_beam import certified_beam, memory_width
        from preceptor.engine.dual import DualBound

        assert isinstance(bound, DualBound)
        most = memory_width(bound.instance, bound.length, self.memory_limit / 2e6)
        for width in self._widths(len(bound.instance.actions())):
            left = 0.94 * self.watch.left if np.isfinite(self.watch.left) else 1e9
            result = certified_beam(
                bound,
                path,
                commit,
                width=min(width, most),
                time_limit=left,
                progress=lambda stage, _, value: self._tell(stage, None),
                should_stop=self.watch.stop,
            )
            if result.value < self.value:
                path, commit = result.schedule, result.commit
                self._take(path, commit)
            if self._after_beam(result, min(width, most)) or width >= most:
                break

    def with_general_dual(self) -> None:
        """Any curve, imputation and convex risk: exactly if that is quick, else by potentials."""
        from preceptor.engine.general_dual import solve_general_dual

        problem, watch = self.problem, self.watch
        self._exactly()
        if self._done() or watch.stop():
            return
        shares = _GENERAL_SHARES
        path, commit = self._first_plan(min(watch.share(shares[0]), _GENERAL_FIRST_SEARCH))
        instance = to_counts(problem)
        per_round = self.value / total_weight(problem.discount, problem.horizon)
        bound = solve_general_dual(
            instance,
            per_round,
            time_limit=min(watch.share(shares[1]), 1e9),
            max_iterations=10**6 if self.max_iterations is None else self.max_iterations,
            progress=self._watch_dual,
            should_stop=lambda: watch.stop() or self._done(self._dual_so_far),
        )
        self._raise_bound(bound.value)
        self.certificate = certificate_of_potentials(bound)
        self.finished &= bound.status != "time_limit"
        if self._done() or watch.stop():
            return
        self._count_beam(bound, path, commit)
        if not self._done() and not watch.stop() and self.max_iterations is None:
            with suppress(NotApplicable):
                self._search(watch.left, start=self._path())

    def _count_beam(self, bound: PotentialBound, path: IntArray, commit: int) -> None:
        """Ever wider passes, each against the best plan of the one before."""
        from preceptor.engine.count_beam import count_beam, memory_width

        most = memory_width(bound.instance, self.memory_limit / 2e6)
        for width in self._widths(len(bound.instance.actions)):
            left = self.watch.left - self.watch.share(1.0 - _GENERAL_SHARES[2])
            result = count_beam(
                bound,
                path,
                commit,
                self.value,
                self._price,
                min(width, most),
                left if np.isfinite(left) else 1e9,
                progress=lambda stage, _, value: self._tell(stage, None),
                should_stop=self.watch.stop,
            )
            path, commit = result.schedule, result.commit
            self._take(path, commit)
            if self._after_beam(result, min(width, most)) or width >= most:
                break

    def _widths(self, actions: int) -> list[int]:
        if self.width is not None:
            return [max(self.width, 8)]  # what a beam keeps at the least
        return [max(1000 * 3**j * 15 // actions, 8) for j in range(20)]

    def _after_beam(self, result: BeamResult, width: int) -> bool:
        """Keep what a pass proved; whether it was the last one."""
        if self._raise_bound(result.lower_bound):
            assert isinstance(self.certificate, (Certificate, PotentialCertificate))
            self.certificate = self.certificate.with_beam(width, result.layers, result.lower_bound)
        self.states += result.widest
        cut = result.status != "complete"
        self.finished = not cut and (self.finished or result.exhausted)
        if self._done() or cut or result.exhausted:
            return True
        if self.watch.left < 0.05 * self.watch.seconds:
            self.finished = False
            return True
        return False

    def _first_plan(self, seconds: float) -> tuple[IntArray, int]:
        """A plan to begin with: searched for, or the best fixed set."""
        try:
            return self._search(seconds)
        except NotApplicable:  # a user's own risk, say
            policy = solve_stationary(self.problem).policy
            shown = self.problem.sets.index(policy.schedule(1)[0])
            path = np.full(self.problem.horizon or 1, shown, dtype=np.int64)
            self._take(path, shown)
            return path, shown

    def _exactly(self) -> None:
        """Every state there is, where they are few enough."""
        problem = self.problem
        budget = self._affordable_bytes(_EXACT_SHARE)
        try:
            if problem.horizon is not None:
                plan = solve_finite(problem, memory_limit=budget)
            elif states_needed(problem, DEFAULT_TOLERANCE)[1] <= budget:
                plan = solve_lattice(problem, memory_limit=budget)
            else:
                return
        except TooLarge:
            return
        self._raise_bound(plan.lower_bound)
        self.states += plan.states
        self.policy, self.value = plan.policy, plan.value

    def _affordable_bytes(self, share: float) -> int:
        """What tables may take so that filling them takes no more than a share of the time left."""
        rate = _STATES_A_SECOND[self.problem.risk.code]
        states = min(share * self.watch.left, 1e6) * rate / len(self.problem.sets)
        return min(self.memory_limit, _SWEPT_BYTES, int(9 * states) + 2**16)

    def _price(self, path: IntArray, commit: int) -> float:
        final = int(path[-1]) if commit < 0 or not path.size else commit
        return evaluate(self.problem, as_policy(self.problem, path, final))

    def without_dual(self, why_not: str) -> None:
        """Whatever else there is: exact methods where they fit, else what bounds."""
        self.notes = (f"No dual bound: {why_not}.",)
        with suppress(NotApplicable):  # a user's own risk, say
            self._search(self.watch.share(0.4))
        exact = solve_finite if self.problem.horizon is not None else solve_lattice
        solvers: list[tuple[Callable[..., Plan], dict[str, Any]]] = [
            (exact, {}),
            # the paper's rule for the suffix: weighing every end state can take minutes
            (solve_truncated, {"suffix": "last"}),
        ]
        for solver, options in solvers:
            if self._done() or self.watch.stop():
                break
            try:
                plan = solver(self.problem, memory_limit=self._affordable_bytes(1.0), **options)
            except TooLarge:
                continue
            self._raise_bound(plan.lower_bound)
            self.states += plan.states
            if plan.value < self.value:
                self.policy, self.value = plan.policy, plan.value

    def plan(self) -> Plan:
        """What stands now."""
        if self.policy is None:
            raise NotApplicable(
                "certified: found no method for this problem; use method='lattice' or 'truncated'"
            )
        bound = min(max(self.bound, instant_bound(self.problem)), self.value)
        closed = self.value - bound <= self.target_gap * abs(bound)
        finished = self.finished and not self.watch.stop()
        status = Status.OPTIMAL if closed else self.watch.status(finished=finished)
        return Plan(
            problem=self.problem,
            policy=self.policy,
            value=self.value,
            lower_bound=bound,
            status=status,
            method="certified",
            seconds=self.watch.seconds,
            states=self.states,
            notes=self.notes,
            options={"target_gap": self.target_gap, "seed": self.seed},
            certificate=self.certificate,
        )

    def _search(self, seconds: float, start: IntArray | None = None) -> tuple[IntArray, int]:
        found = search(
            self.problem,
            self.watch,
            max_kicks=self.max_iterations,
            seed=self.seed,
            progress=lambda update: self._tell(update.stage, None, update.value),
            seconds=seconds,
            start=start,
        )
        self._take(found.path, found.commit)
        return found.path, found.commit

    def _take(self, path: IntArray, commit: int) -> None:
        final = int(path[-1]) if commit < 0 else commit
        policy = as_policy(self.problem, path, final)
        value = evaluate(self.problem, policy)
        if value < self.value:
            self.policy, self.value = policy, value

    def _path(self) -> IntArray:
        assert self.policy is not None
        rounds = self.problem.horizon or max((self.policy.exploration_length or 0) + 1, 1)
        index = {shown: self.problem.sets.index(shown) for shown in self.policy.used_sets()}
        return np.array([index[s] for s in self.policy.schedule(rounds)], dtype=np.int64)

    def _raise_bound(self, bound: float) -> bool:
        if bound <= self.bound:
            return False
        self.bound = bound
        return True

    def _watch_dual(self, stage: str, _iteration: int, proven: float) -> None:
        self._dual_so_far = proven
        self._tell(stage, proven)

    def _done(self, also: float = -np.inf) -> bool:
        bound = max(self.bound, also)
        known = np.isfinite(bound) and np.isfinite(self.value)
        return bool(known and self.value - bound <= self.target_gap * abs(bound))

    def _tell(self, stage: str, bound: float | None, value: float | None = None) -> None:
        lower = max(self.bound, -np.inf if bound is None else bound)
        best = min(self.value, np.inf if value is None else value)
        report(
            self.progress,
            stage,
            done=self.watch.seconds / (self.watch.seconds + self.watch.left),
            value=best if np.isfinite(best) else None,
            lower_bound=lower if np.isfinite(lower) else None,
        )


CERTIFIED = Solver(
    "certified",
    solve_certified,
    proves="a bound on the gap, down to the target",
    why_not=why_not_certified,
    all_people=True,
)
