"""The infinite horizon: against QuantEcon's DiscreteDP, and against our own first prototype."""

from __future__ import annotations

import numpy as np

import preceptor as pr
from benchmarks.instances import instance
from benchmarks.measure import Row, best_time, one_time

# The prototype from which this package started took so long for the same sweep on one core of
# the same kind of machine; a constant, because that code is not part of this project.
PROTOTYPE_SECONDS = 1.45


def against_quantecon() -> Row:
    """(2,1), counts up to 300: the same capped problem as a sparse state-action DiscreteDP."""
    from quantecon.markov import DiscreteDP

    problem = instance(2, 1, 0.99)
    cap = 300
    side = cap + 1
    sets = list(problem.sets)
    index = np.arange(side * side)
    counts = np.stack(np.divmod(index, side), axis=1)
    losses = problem.oracle.losses(problem.learner.errors(problem.world, counts))

    def build() -> DiscreteDP:
        from scipy import sparse

        rewards, targets, states, actions = [], [], [], []
        for a, shown in enumerate(sets):
            after = counts.copy()
            after[:, list(shown)] = np.minimum(after[:, list(shown)] + 1, cap)
            rewards.append(-losses[:, a])
            targets.append(after[:, 0] * side + after[:, 1])
            states.append(index)
            actions.append(np.full(index.size, a))
        order = np.lexsort((np.concatenate(actions), np.concatenate(states)))
        target = np.concatenate(targets)[order]
        ones = np.ones(order.size)
        q = sparse.csr_matrix((ones, (np.arange(order.size), target)), (order.size, index.size))
        return DiscreteDP(
            np.concatenate(rewards)[order],
            q,
            problem.discount,
            np.concatenate(states)[order],
            np.concatenate(actions)[order],
        )

    setup, peer = one_time(build)
    peer.solve(method="policy_iteration")  # whatever it compiles or caches
    theirs, result = one_time(lambda: peer.solve(method="policy_iteration"))
    ours = best_time(lambda: pr.solve(problem, "lattice", caps=cap))
    from preceptor.planning.lattice import CapEffects, sweep

    effects = CapEffects.of(problem)
    caps = np.full(2, cap)
    kernel = best_time(lambda: sweep(problem, effects, caps))
    value, _ = sweep(problem, effects, caps)
    assert np.isclose(-result.v[0], value, rtol=1e-9)
    return Row(
        work="lattice, (2,1), M=300: the sweep",
        against="quantecon DiscreteDP, policy iteration, without its set-up",
        ratio=theirs / kernel,
        wanted=500.0,
        details={
            "quantecon_setup_seconds": setup,
            "quantecon_seconds": theirs,
            "sweep_seconds": kernel,
            "whole_solve_seconds": ours,
            "same_value": True,
        },
    )


def against_prototype() -> Row:
    from preceptor.planning.lattice import CapEffects, sweep

    problem = instance(3, 2, 0.99)
    effects = CapEffects.of(problem)
    caps = np.full(3, 280)
    seconds = best_time(lambda: sweep(problem, effects, caps), seconds=2.0)
    return Row(
        work="lattice, (3,2), M=280, all 7 sets, 22 million states",
        against=f"our prototype's {PROTOTYPE_SECONDS} s on one core",
        ratio=PROTOTYPE_SECONDS / seconds,
        wanted=3.0,
        details={"sweep_seconds": seconds, "million_states_a_second": 281**3 / seconds / 1e6},
    )


ROWS = {"lattice-quantecon": against_quantecon, "lattice-three": against_prototype}
