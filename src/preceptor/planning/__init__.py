"""Solvers: each turns a problem into a `Plan`. A new one is a new file and a line in `solvers`."""

from preceptor.planning.solver import Solver
from preceptor.planning.solvers import SOLVERS, solve, solve_many

__all__ = ["SOLVERS", "Solver", "solve", "solve_many"]
