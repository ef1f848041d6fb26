"""Plans with a proof for any curve, imputation and convex risk: by potentials of the counts.

First the whole box of counts, where sweeping it is quick; then a first plan, potentials that bound
what any continuation must cost (`engine.general_dual`), ever wider beams that they guide
(`engine.count_beam`), and a search from the best plan of those.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.values import IntArray
from preceptor.certificate import Certificate, PotentialCertificate
from preceptor.errors import NotApplicable, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.counting import to_counts
from preceptor.planning.finite import as_policy, finite_plan
from preceptor.planning.lattice import DEFAULT_TOLERANCE, lattice_plan, states_needed
from preceptor.policies import Policy
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.engine.certified_beam import BeamResult
    from preceptor.engine.potentials import PotentialBound

# A box of so many states is swept outright instead of being bounded by a dual.
SWEPT_BYTES = 2**30
# States x sets that an exact method gets through in a second, by the code of the risk; a charge
# without a closed form is integrated for each of them.
STATES_A_SECOND = {0: 2.5e8, 1: 2e7, 2: 8e7, 3: 5e6, -1: 1e5}
# Of the time that is left, what an exact method may take.
_EXACT_SHARE = 1 / 3
# Shares of the time: first search, dual; and what the last search gets after the beams.
_SHARES, _LAST_SEARCH = (0.08, 0.5), 0.06
_FIRST_SEARCH = 2.0
# Tangent points that are worth keeping in a plan's file.
_MOST_TANGENTS = 500_000


class Proof(Protocol):
    """A plan and a bound in the making, as `certified` keeps them."""

    problem: Problem
    watch: Watch
    max_iterations: int | None
    memory_limit: int
    policy: Policy | None
    value: float
    states: int
    finished: bool
    certificate: Certificate | PotentialCertificate | None
    dual_so_far: float

    def done(self, also: float = -np.inf) -> bool:
        """Whether value and bound are close enough."""

    def tell(self, stage: str, bound: float | None) -> None:
        """Report progress."""

    def watch_dual(self, stage: str, iteration: int, proven: float) -> None:
        """Report progress of a dual."""

    def take(self, path: IntArray, commit: int) -> None:
        """Keep a plan if it is better."""

    def take_best_fixed(self) -> None:
        """Keep some plan."""

    def raise_bound(self, bound: float) -> bool:
        """Keep a bound if it is better."""

    def look_for_plans(self, seconds: float, start: IntArray | None = None) -> tuple[IntArray, int]:
        """Search, and keep what it finds."""

    def path(self) -> IntArray:
        """The plan as positions of sets."""

    def widths(self, actions: int) -> list[int]:
        """How wide beams are to be."""

    def after_beam(self, result: BeamResult, width: int) -> bool:
        """Keep what a beam proved; whether it was the last."""


def prove_by_counts(work: Proof) -> None:
    """The whole way, for problems that `why_not_counted` has nothing against."""
    from preceptor.engine.general_dual import solve_general_dual

    problem, watch = work.problem, work.watch
    sweep_if_small(work)
    if work.done() or watch.stop():
        return
    path, commit = _first_plan(work)
    if work.done() or watch.stop():
        return
    seconds = min(watch.share(_SHARES[1]), 1e9)
    with watch.proving(), watch.halting(seconds) as halt:
        bound = solve_general_dual(
            to_counts(problem),
            work.value / total_weight(problem.discount, problem.horizon),
            time_limit=seconds,
            max_iterations=10**6 if work.max_iterations is None else work.max_iterations,
            progress=work.watch_dual,
            should_stop=lambda: watch.stop() or work.done(work.dual_so_far),
            halt=halt,
        )
    work.finished &= bound.status != "time_limit"
    if np.isfinite(bound.value):  # else not one pass over all sets was finished
        work.raise_bound(bound.value)
        work.certificate = certificate_of_potentials(bound)
        if work.done() or watch.stop():
            return
        with watch.proving():
            _beams(work, bound, path, commit)
    if not work.done() and not watch.stop() and work.max_iterations is None:
        with suppress(NotApplicable):
            work.look_for_plans(watch.left, start=work.path())


def certificate_of_potentials(bound: PotentialBound) -> PotentialCertificate:
    """What a freshly certified bound leaves behind in a plan."""
    tangents = bound.tangents
    if tangents.size > _MOST_TANGENTS:
        tangents = np.zeros((0, 0, 0))
    return PotentialCertificate(bound.theta, bound.instance.caps, tangents, bound.value)


def affordable_bytes(problem: Problem, watch: Watch, memory_limit: int, share: float) -> int:
    """What tables may take so that filling them takes no more than a share of the time left."""
    rate = STATES_A_SECOND[problem.risk.code]
    states = min(share * watch.left, 1e6) * rate / len(problem.sets)
    return min(memory_limit, SWEPT_BYTES, int(9 * states) + 2**16)


def sweep_if_small(work: Proof) -> None:
    """Every state there is, where they are few enough."""
    problem, watch = work.problem, work.watch
    budget = affordable_bytes(problem, watch, work.memory_limit, _EXACT_SHARE)
    try:
        with watch.proving():
            if problem.horizon is not None:
                plan = finite_plan(problem, budget, watch)
            elif states_needed(problem, DEFAULT_TOLERANCE)[1] <= budget:
                plan = lattice_plan(problem, watch, memory_limit=budget)
            else:
                return
    except (TooLarge, OutOfTime):
        return
    work.raise_bound(plan.lower_bound)
    work.states += plan.states
    if plan.value < work.value:
        work.policy, work.value = plan.policy, plan.value


def _first_plan(work: Proof) -> tuple[IntArray, int]:
    """A plan to begin with: searched for, or a fixed set."""
    try:
        return work.look_for_plans(min(work.watch.share(_SHARES[0]), _FIRST_SEARCH))
    except NotApplicable:  # a user's own risk, say
        if work.policy is None:
            work.take_best_fixed()
        path = work.path()
        return path, int(path[-1])


def _beams(work: Proof, bound: PotentialBound, path: IntArray, commit: int) -> None:
    """Ever wider passes, each against the best plan of the one before."""
    from preceptor.engine.count_beam import count_beam, memory_width

    def price(path: IntArray, commit: int) -> float:
        final = int(path[-1]) if commit < 0 else commit
        return evaluate(work.problem, as_policy(work.problem, path, final))

    watch = work.watch
    most = memory_width(bound.instance, work.memory_limit / 2e6)
    for width in work.widths(len(bound.instance.actions)):
        left = watch.left - watch.share(_LAST_SEARCH)
        result = count_beam(
            bound,
            path,
            commit,
            work.value,
            price,
            min(width, most),
            left if np.isfinite(left) else 1e9,
            progress=lambda stage, _, value: work.tell(stage, None),
            should_stop=watch.stop,
        )
        path, commit = result.schedule, result.commit
        work.take(path, commit)
        if work.after_beam(result, min(width, most)) or width >= most:
            break
