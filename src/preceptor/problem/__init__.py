"""World, person, budget and risk over time: all that a solver is told, and its files."""

from preceptor.problem.checks import MOST_SHOWINGS
from preceptor.problem.problem import FORMAT, Problem
from preceptor.problem.schema import schema

__all__ = ["FORMAT", "MOST_SHOWINGS", "Problem", "schema"]
