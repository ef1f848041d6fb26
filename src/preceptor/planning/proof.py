"""A plan and a bound in the making, as `certified` keeps them until they are close enough."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.progress import CONTRADICTION, Progress, Status, report
from preceptor._base.values import IntArray
from preceptor.certificate import Certificate
from preceptor.errors import NotApplicable, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.plan import Plan
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.finite import as_policy
from preceptor.planning.search import search
from preceptor.policies import Policy
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.engine.bound import DualBound
    from preceptor.engine.guided_beam import BeamResult

_NOT_CONVEX = (
    "A dual proved more than the plan costs, so the charge is not convex, though it looked so on a "
    "grid; that bound was thrown away."
)
# Of the time, what is left for a search after the beams.
_LAST_SEARCH = 0.06
# Children of a layer of the first beam; each beam is so many times as wide as the one before.
_CHILDREN, _WIDER, _MOST_BEAMS = 15_000, 3, 20


@dataclass
class Proof:
    """The best plan so far, the largest bound so far, and what went into them."""

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
    certificate: Certificate | None = None

    def plan(self) -> Plan:
        """What stands now; if the time was up before anything else, always the best fixed set."""
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
            options={"target_gap": self.target_gap, "seed": self.seed},
            certificate=self.certificate,
        ).settled()

    def raise_by_dual(
        self,
        solve: Callable[..., DualBound],
        share: float,
        path: IntArray,
        commit: int,
    ) -> None:
        """A dual for a share of the time, beams that it guides, and another search.

        `solve` takes limits, progress and when to stop; `path`, then `commit`, is the plan at hand.
        """
        watch, seconds = self.watch, min(self.watch.share(share), 1e9)
        with watch.proving(), watch.halting(seconds) as halt:
            bound = solve(
                time_limit=seconds,
                max_iterations=10**6 if self.max_iterations is None else self.max_iterations,
                progress=self._watch_dual,
                should_stop=lambda: watch.stop() or self.done(self.dual_so_far),
                halt=halt,
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
                self._raise_by_beams(bound, path, commit)
        if not self.done() and not watch.stop() and self.max_iterations is None:
            with suppress(NotApplicable):  # a user's own risk, say
                self.look_for_plans(watch.left, start=self.path())

    def _raise_by_beams(self, bound: DualBound, path: IntArray, commit: int) -> None:
        """Ever wider beams, each against the best plan of the one before."""
        from preceptor.engine.guided_beam import Guide, guided_beam, memory_width

        watch, guide = self.watch, Guide(bound, self._price)
        most = memory_width(guide, self.memory_limit / 2e6)
        for wanted in self._widths(bound.instance.actions.size):
            width = min(wanted, most)
            limited = np.isfinite(watch.left)
            result = guided_beam(
                guide,
                path,
                commit,
                self.value,
                width,
                time_limit=watch.left - watch.share(_LAST_SEARCH) if limited else np.inf,
                progress=lambda stage, _, value: self._tell(stage, None),
                should_stop=watch.stop,
            )
            path, commit = result.schedule, result.commit
            self.take(path, commit)
            if self._was_last(result, width) or width == most:
                break

    def _widths(self, actions: int) -> list[int]:
        """How wide beams are to be, one after the other."""
        from preceptor.engine.guided_beam import LEAST_WIDTH

        if self.width is not None:
            return [max(self.width, LEAST_WIDTH)]
        widths = [_CHILDREN * _WIDER**j // actions for j in range(_MOST_BEAMS)]
        return [max(width, LEAST_WIDTH) for width in widths]

    def _was_last(self, result: BeamResult, width: int) -> bool:
        """Keep what a beam proved; whether there is no use in another."""
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

    def look_for_plans(self, seconds: float, start: IntArray | None = None) -> tuple[IntArray, int]:
        """Search for so long, and keep what it finds."""
        path, commit = search(
            self.problem,
            self.watch,
            max_kicks=self.max_iterations,
            seed=self.seed,
            progress=lambda update: self._tell(update.stage, None, update.value),
            seconds=seconds,
            start=start,
        )
        self.take(path, commit)
        return path, commit

    def take_best_fixed(self) -> None:
        """Some plan, should there be no time for any other: a set that reads well, forever."""
        problem = self.problem
        now = problem.oracle.losses(problem.initial_errors[None, :])[0]
        for chosen in {int(now.argmin()), int(problem.oracle.floors().argmin())}:
            self.take(np.array([chosen], dtype=np.int64), chosen)

    def take_plan(self, solve: Callable[..., Plan], *work: int, **options: Any) -> None:
        """Keep bound and plan of another method, if it fits and there is time for it."""
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

    def take(self, path: IntArray, commit: int) -> None:
        """Keep a plan if it is better."""
        policy = self._policy(path, commit)
        value = evaluate(self.problem, policy)
        if value < self.value:
            self.policy, self.value = policy, value

    def _policy(self, path: IntArray, commit: int) -> Policy:
        """Sets of rounds, and the one that stays from then on; below 0 the last one."""
        return as_policy(self.problem, path, int(path[-1]) if commit < 0 else commit)

    def _price(self, path: IntArray, commit: int) -> float:
        return evaluate(self.problem, self._policy(path, commit))

    def path(self) -> IntArray:
        """The plan at hand as positions of sets."""
        assert self.policy is not None
        rounds = self.problem.horizon or max((self.policy.exploration_length or 0) + 1, 1)
        index = {shown: self.problem.sets.index(shown) for shown in self.policy.used_sets()}
        return np.array([index[s] for s in self.policy.schedule(rounds)], dtype=np.int64)

    def raise_bound(self, bound: float) -> bool:
        """Keep a bound if it is larger, and say so."""
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
            self.progress,
            stage,
            done=self.watch.seconds / (self.watch.seconds + self.watch.left),
            value=best if np.isfinite(best) else None,
            lower_bound=lower if np.isfinite(lower) else None,
        )
