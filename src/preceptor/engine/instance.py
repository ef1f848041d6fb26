"""The problem reduced to arrays, with the quantities that every bound and every search needs.

A state is a vector of relative errors `u` in (0, 1]: test i has error `initial_error[i] *
u[i]`, and showing it once divides `u[i]` by `alpha[i]`. Showing set S in state u costs
`set_cost[S] + |factor[S] u|^2`, where `factor[S]` has one row per member of S.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from preceptor._base.values import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class DualInstance:
    """Arrays that define one problem; see the module docstring for the model.

    covariance (n, n), initial_error (n,), alpha (n,) >= 1, members (n_sets, kmax) test indices
    padded with -1, set_cost (n_sets,) the part of the round loss that no learning removes, price
    included. `horizon` None is infinite and needs `discount < 1`; an int is the number of
    rounds, nothing is paid after.

    `actions` are the sets that can matter before stopping. Showing nothing leaves the state as it
    is, so if it is best once it is best forever (for a finite horizon: postponing the plan by a
    round and ending with nothing are compared by the same sum). Bounds therefore treat the empty
    set as an absorbing stop, never as a round between two others.
    """

    covariance: FloatArray
    initial_error: FloatArray
    alpha: FloatArray
    members: IntArray
    set_cost: FloatArray
    discount: float
    horizon: int | None = None
    factor: FloatArray = field(init=False, repr=False)
    shown: NDArray[np.bool_] = field(init=False, repr=False)
    actions: IntArray = field(init=False, repr=False)
    empty_set: int = field(init=False)

    def __post_init__(self) -> None:
        n_sets, kmax = self.members.shape
        n = len(self.initial_error)
        factor = np.zeros((n_sets, max(kmax, 1), n))
        shown = np.zeros((n_sets, n), dtype=np.bool_)
        sizes = (self.members >= 0).sum(axis=1)
        for size in range(1, kmax + 1):  # one batched Cholesky per set size
            rows = np.flatnonzero(sizes == size)
            if not len(rows):
                continue
            sets = np.sort(self.members[rows], axis=1)[:, kmax - size :]
            block = self.covariance[sets[:, :, None], sets[:, None, :]]
            lower = np.linalg.cholesky(block)
            factor[rows, :size, :] = np.linalg.solve(lower, self.covariance[sets])
            shown[rows[:, None], sets] = True
        factor *= self.initial_error
        empty = np.flatnonzero(sizes == 0)
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "shown", shown)
        object.__setattr__(self, "actions", np.flatnonzero(sizes > 0).astype(np.int64))
        cheapest_empty = int(empty[np.argmin(self.set_cost[empty])]) if len(empty) else -1
        object.__setattr__(self, "empty_set", cheapest_empty)

    @property
    def n_features(self) -> int:
        """How many tests there are."""
        return len(self.initial_error)

    @property
    def n_sets(self) -> int:
        """How many sets may be shown, the empty one included."""
        return len(self.members)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(n,) tests whose error can change; the others need no multipliers."""
        mask: NDArray[np.bool_] = (self.alpha > 1.0) & (self.initial_error != 0.0)
        return mask
