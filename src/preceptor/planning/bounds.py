"""Lower bounds on what any policy must cost."""

from __future__ import annotations

import numpy as np

from preceptor._base.discounting import total_weight, weight_between, weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.people.crowd import Crowd
from preceptor.people.no_learning import NoLearning
from preceptor.people.own_person import OwnPerson
from preceptor.planning.anytime import Watch
from preceptor.problem import Problem

# Rounds for which the one-dimensional bound is worked out before the floor takes over.
_PROJECTED_ROUNDS = 400
# and the share of a time limit that it may take.
_PROJECTED_SHARE = 0.1


def instant_bound(problem: Problem, watch: Watch | None = None) -> float:
    """The best bound that costs no search: the floor, or the one-dimensional one.

    With very many sets the second takes seconds; with a watch, no more than a share of its time.
    """
    if isinstance(problem.learner, Crowd):
        members = problem.learner.members
        alone = ((m.weight, problem.replace(learner=m.person)) for m in members)
        return sum(weight * instant_bound(each, watch) for weight, each in alone)
    if problem.learner.kind == NoLearning.kind:
        first = float(problem.oracle.losses(problem.initial_errors[None, :]).min())
        return first * total_weight(problem.discount, problem.horizon)
    if isinstance(problem.learner, OwnPerson):
        return remaining_floor(problem, after=0)
    if not problem.learns_by_showings:
        return floor_bound(problem)
    return max(floor_bound(problem), projection_bound(problem, watch))


def least_loss(problem: Problem) -> float:
    """A loss that no round of any policy goes below: the best set read by the best reader."""
    return float(problem.oracle.floors().min())


def floor_bound(problem: Problem) -> float:
    """Instant bound on the whole problem: the first round's best loss, then the floor.

    The first round is known exactly because the person's state is; every later round costs at
    least `least_loss`.
    """
    first = float(problem.oracle.losses(problem.initial_errors[None, :]).min())
    return first + remaining_floor(problem, after=1)


def remaining_floor(problem: Problem, after: int) -> float:
    """Discounted floor of all rounds from `after` on."""
    return weight_between(problem.discount, after, problem.horizon) * least_loss(problem)


def projection_bound(problem: Problem, watch: Watch | None = None) -> float:
    """Each round's loss along one direction per set, with the fastest learning the budget allows.

    For squared error and a person who knows the correlations, e'M_S e >= (w'e)²/(v'Σ_SS v) for
    w = Σ[:,S]v and any v; we take v = Σ_SS⁻¹(Σe)_S at the start, where this is an equation. Let
    y_i = w_i e_i, so that Σy = |deviation|² there. In round t every test was shown at most t
    times and all together at most kt times, so w'e is at least Σy minus the most that so many
    showings can remove from the positive y_i. This holds for round t by itself, so the
    discounted sum bounds every policy. -inf where it does not apply.
    """
    from preceptor.planning._bound_kernels import projected_rounds

    form = problem.oracle.forms()
    if form is None or not form.is_squared or np.any(form.shift):
        return -np.inf
    errors = problem.initial_errors
    rounds = _checkpoints(problem)
    gone, step = _concave_learning(problem, int(rounds[-1]))
    deviation = form.reading @ errors  # (sets, rows): L⁻¹(Σe)_S
    cost_floor = form.floor + form.prices
    least = np.empty(rounds.size)
    watch = Watch(None) if watch is None else watch
    with watch.halting(watch.share(_PROJECTED_SHARE)) as halt:
        projected_rounds(
            np.argsort(cost_floor, kind="stable"),
            cost_floor,
            np.sum(deviation**2, axis=1),
            np.einsum("sri,sr->si", form.reading, deviation) * errors,
            gone,
            step,
            int(problem.sets.sizes.max()),
            rounds,
            least,
            halt,
        )
    # What a round costs at least does not grow with t: between checkpoints use the next one.
    times = np.arange(rounds[-1] + 1)
    per_round = least[np.searchsorted(rounds, times)]
    weigh = weights(problem.discount, times.size)
    if problem.horizon is not None:
        weigh[problem.horizon :] = 0.0
    slack = 1e-12 * float(weigh @ per_round)
    return float(weigh @ per_round) + remaining_floor(problem, after=times.size) - slack


def _checkpoints(problem: Problem) -> IntArray:
    """Rounds at which the bound is worked out: every one at first, then ever fewer."""
    rounds = [0]
    while rounds[-1] < _PROJECTED_ROUNDS:
        rounds.append(rounds[-1] + 1 + rounds[-1] // 30)
    return np.array(rounds, dtype=np.int64)


def _concave_learning(problem: Problem, showings: int) -> tuple[FloatArray, FloatArray]:
    """Share of each error that can be gone after m showings (n, m), at most, and its steps.

    Steps are sorted so that they fall: no order of learning removes more, and curves that learn
    in jumps are covered too. Where an error changes sign more than all of it can be gone, and a
    step back toward the first error removes nothing.
    """
    table = problem.by_showings.retention_table(problem.start_counts, showings + 1)
    now = table[:, :1]
    shares = np.divide(table, now, out=np.ones_like(table), where=now != 0)
    fallen = np.maximum(shares[:, :-1] - shares[:, 1:], 0.0)
    steps = np.sort(fallen, axis=1)[:, ::-1]
    gone = np.concatenate([np.zeros_like(now), np.cumsum(steps, axis=1)], axis=1)
    return gone, np.ascontiguousarray(steps)
