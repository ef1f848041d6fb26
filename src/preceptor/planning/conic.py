"""Semidefinite programs, assembled block by block and solved by Clarabel.

They are not modelled in cvxpy, which takes 2.3 to 2.7 times as long for the same program (eight
tests, 28 sets, one and two knots; processor time, Clarabel in both).

Symmetric matrices are written as vectors: the upper triangle column by column, entries off the
diagonal times √2, so that inner products stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from preceptor._base.extensions import from_extra
from preceptor._base.progress import UNCOUNTED
from preceptor._base.values import FloatArray


def has_solver() -> bool:
    """Whether Clarabel is installed."""
    from importlib.util import find_spec

    return find_spec("clarabel") is not None


class Symmetric:
    """Symmetric matrices of one size as vectors."""

    def __init__(self, size: int) -> None:
        rows, columns = np.triu_indices(size)
        order = np.lexsort((rows, columns))
        self.rows, self.columns = rows[order], columns[order]
        self.size, self.length = size, rows.size
        self.basis = np.zeros((self.length, size, size))
        at = np.arange(self.length)
        share = np.where(self.rows == self.columns, 1.0, np.sqrt(0.5))
        self.basis[at, self.rows, self.columns] = share
        self.basis[at, self.columns, self.rows] = share

    def vector(self, matrices: FloatArray) -> FloatArray:
        """Matrices (..., size, size) as vectors (..., length)."""
        twice = np.where(self.rows == self.columns, 1.0, np.sqrt(2.0))
        return np.asarray(matrices[..., self.rows, self.columns] * twice)

    def matrix(self, vectors: FloatArray) -> FloatArray:
        """Vectors (..., length) as matrices (..., size, size)."""
        return np.asarray(np.tensordot(vectors, self.basis, axes=1))

    def operator(self, image: Callable[[FloatArray], FloatArray], to: Symmetric) -> FloatArray:
        """The matrix (to.length, length) of a linear map of symmetric matrices."""
        return to.vector(image(self.basis)).T


class Solution(NamedTuple):
    """A solver's answer; `values` are accurate to its tolerance, or not at all if it gave up."""

    values: FloatArray
    status: str


@dataclass(eq=False)
class Program:
    """Minimise a linear function of unknowns such that affine matrices are semidefinite."""

    unknowns: int = 0
    _length: int = 0
    _entries: list[tuple[Any, Any, Any]] = field(default_factory=list)
    _constants: list[FloatArray] = field(default_factory=list)
    _cones: list[tuple[str, int]] = field(default_factory=list)

    def add_unknowns(self, count: int) -> int:
        """Add this many unknowns; return the index of the first."""
        first = self.unknowns
        self.unknowns += count
        return first

    def require_semidefinite(
        self, constant: FloatArray, terms: list[tuple[int, FloatArray]], space: Symmetric
    ) -> None:
        """Require constant + Σ term x unknowns, each from its index on, to be semidefinite."""
        self._require(constant, terms)
        self._cones.append(("semidefinite", space.size))

    def require_nonnegative(self, first: int, count: int) -> None:
        """Require unknowns to be nonnegative."""
        self._require(np.zeros(count), [(first, np.eye(count))])
        self._cones.append(("nonnegative", count))

    def _require(self, constant: FloatArray, terms: list[tuple[int, FloatArray]]) -> None:
        for first, term in terms:
            rows, columns = np.nonzero(term)
            self._entries.append((rows + self._length, columns + first, -term[rows, columns]))
        self._length += constant.size
        self._constants.append(constant)

    def minimise(self, objective: FloatArray, time_limit: float) -> Solution:
        """Solve.

        Parameters
        ----------
        objective
            Coefficients of the unknowns.
        time_limit
            Seconds after which the solver stops.

        Returns
        -------
        Solution
            Unchecked: the caller must verify it.

        Raises
        ------
        MissingExtra
            Clarabel is not installed.
        """
        with UNCOUNTED.within():
            clarabel = from_extra("clarabel", "bounds", "A semidefinite bound")
            from scipy import sparse

        rows, columns, values = (
            np.concatenate([entry[part] for entry in self._entries]) for part in range(3)
        )
        shape = (self._length, self.unknowns)
        matrix = sparse.csc_matrix((values, (rows, columns)), shape=shape)
        cones = [
            clarabel.PSDTriangleConeT(size)
            if kind == "semidefinite"
            else clarabel.NonnegativeConeT(size)
            for kind, size in self._cones
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        # Interior-point steps; well-behaved programs take 20 to 50.
        settings.max_iter = 100
        settings.tol_gap_rel = 1e-6
        settings.tol_gap_abs = 1e-7
        settings.tol_feas = 1e-9
        settings.time_limit = max(time_limit, 0.01)
        none = sparse.csc_matrix((self.unknowns, self.unknowns))
        constants = np.concatenate(self._constants)
        solver = clarabel.DefaultSolver(none, objective, matrix, constants, cones, settings)
        found = solver.solve()
        return Solution(np.array(found.x), str(found.status))
