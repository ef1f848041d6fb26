"""Plans with a proof for any curve, imputation and convex risk: by potentials of the counts.

First the whole box of counts, where sweeping it is quick; then a first plan, potentials that bound
what any continuation must cost (`engine.general_dual`), ever wider beams that they guide
(`engine.guided_beam`), and a search from the best plan of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.values import IntArray
from preceptor.certificate import PotentialCertificate
from preceptor.errors import NotApplicable, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.counting import to_counts
from preceptor.planning.finite import as_policy, finite_plan
from preceptor.planning.lattice import DEFAULT_TOLERANCE, lattice_plan, states_needed
from preceptor.planning.proof import Proof
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.engine.potentials import PotentialBound

# A box of so many states is swept outright instead of being bounded by a dual.
SWEPT_BYTES = 2**30
# States x sets that an exact method gets through in a second, by the code of the risk; a charge
# without a closed form is integrated for each of them.
STATES_A_SECOND = {0: 2.5e8, 1: 2e7, 2: 8e7, 3: 5e6, -1: 1e5}
# Of the time that is left, what an exact method may take.
_EXACT_SHARE = 1 / 3
# Shares of the time: first search, dual; the beams get most of the rest.
_SHARES = (0.08, 0.5)
_FIRST_SEARCH = 2.0
# Tangent points that are worth keeping in a plan's file.
_MOST_TANGENTS = 500_000


def prove_by_counts(work: Proof) -> None:
    """The whole way, for problems that `why_not_counted` has nothing against."""
    from preceptor.engine.general_dual import solve_general_dual
    from preceptor.engine.potential_guide import PotentialGuide

    problem, watch = work.problem, work.watch

    def price(path: IntArray, commit: int) -> float:
        final = int(path[-1]) if commit < 0 else commit
        return evaluate(problem, as_policy(problem, path, final))

    sweep_if_small(work)
    if work.done() or watch.stop():
        return
    path, commit = _first_plan(work)
    if work.done() or watch.stop():
        return
    scale = work.value / total_weight(problem.discount, problem.horizon)
    work.raise_by_dual(
        lambda **limits: solve_general_dual(to_counts(problem), scale, goal=work.value, **limits),
        _SHARES[1],
        certificate_of_potentials,
        lambda bound: PotentialGuide(bound, price),
        path,
        commit,
    )


def certificate_of_potentials(bound: PotentialBound) -> PotentialCertificate:
    """What a freshly certified bound leaves behind in a plan."""
    tangents = bound.tangents(_MOST_TANGENTS)
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
    seconds = work.watch.share(_SHARES[0])
    if np.isfinite(seconds):  # else the seed is to decide everything, not the clock
        seconds = min(seconds, _FIRST_SEARCH)
    try:
        return work.look_for_plans(seconds)
    except NotApplicable:  # a user's own risk, say
        if work.policy is None:
            work.take_best_fixed()
        path = work.path()
        return path, int(path[-1])
