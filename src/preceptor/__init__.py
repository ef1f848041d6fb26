"""Preceptor: which tests should an assistant show a person who is still learning?

An assistant shows at most k of n correlated tests, the person predicts, hears the truth and gets
better at exactly the tests that were shown. Preceptor plans what to show, for how long, and
proves how far from the best possible its plan can be.
"""

from importlib import import_module
from types import ModuleType

from preceptor.errors import (
    InvalidData,
    InvalidFile,
    InvalidInput,
    InvalidPolicy,
    InvalidProblem,
    MissingExtra,
    NotApplicable,
    NotSerializable,
    PreceptorError,
    TooLarge,
    UnknownMethod,
)
from preceptor.evaluation import evaluate
from preceptor.loss import ClosedForm, Empirical
from preceptor.plan import Plan, Status
from preceptor.planning import solve, solve_many
from preceptor.policies import (
    Alternating,
    CountPolicy,
    ExploreThenCommit,
    Policy,
    Stationary,
)
from preceptor.problem.budgets import AtMost, Budget, Exactly, Knapsack, Listed
from preceptor.problem.curves import (
    Curve,
    Geometric,
    OneShot,
    PowerLaw,
    Tabulated,
    check_curve,
)
from preceptor.problem.learner import Learner
from preceptor.problem.problem import Problem, schema
from preceptor.problem.risks import AbsoluteError, Huber, ResidualRisk, Risk, SquaredError
from preceptor.problem.world import World

__version__ = "0.1.0"

# Loaded when they are named, because they need more than the core or take long to import.
_PACKAGES = ("datasets", "estimation", "experiments", "simulation", "theory")


def __getattr__(name: str) -> ModuleType:
    if name in _PACKAGES:
        return import_module(f"preceptor.{name}")
    raise AttributeError(f"module 'preceptor' has no attribute {name!r}")


__all__ = [
    "AbsoluteError",
    "Alternating",
    "AtMost",
    "Budget",
    "ClosedForm",
    "CountPolicy",
    "Curve",
    "Empirical",
    "Exactly",
    "ExploreThenCommit",
    "Geometric",
    "Huber",
    "InvalidData",
    "InvalidFile",
    "InvalidInput",
    "InvalidPolicy",
    "InvalidProblem",
    "Knapsack",
    "Learner",
    "Listed",
    "MissingExtra",
    "NotApplicable",
    "NotSerializable",
    "OneShot",
    "Plan",
    "Policy",
    "PowerLaw",
    "PreceptorError",
    "Problem",
    "ResidualRisk",
    "Risk",
    "SquaredError",
    "Stationary",
    "Status",
    "Tabulated",
    "TooLarge",
    "UnknownMethod",
    "World",
    "check_curve",
    "evaluate",
    "schema",
    "solve",
    "solve_many",
]
