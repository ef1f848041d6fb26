"""Preceptor: which tests should an assistant show a person who is still learning?

An assistant shows at most k of n correlated tests, the person predicts, hears the truth and gets
better at exactly the tests that were shown. Preceptor plans what to show, for how long, and
proves how far from the best possible its plan can be.
"""

from preceptor import _base  # noqa: F401 # isort: skip - Ctrl-C is seen to before all else
from importlib import import_module
from typing import TYPE_CHECKING, Any

from preceptor._base.progress import Status
from preceptor._base.version import VERSION
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
from preceptor.evaluation import evaluate, losses
from preceptor.loss import ClosedForm, Empirical
from preceptor.model.budgets import AtMost, Budget, Exactly, Knapsack, Listed
from preceptor.model.outcomes import Binary
from preceptor.model.risks import (
    AbsoluteError,
    Huber,
    NumberRisk,
    ResidualRisk,
    Risk,
    SquaredError,
)
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, Decision, LogLoss, YesNoRisk
from preceptor.people.bayesian import Bayesian
from preceptor.people.by_showings import Learner
from preceptor.people.crowd import Crowd
from preceptor.people.curves import (
    Branch,
    Curve,
    Geometric,
    OneShot,
    PowerLaw,
    Tabulated,
)
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.drifting import Drifting
from preceptor.people.folding import Folding
from preceptor.people.forgetful import Forgetful
from preceptor.people.indirect import Indirect
from preceptor.people.no_learning import NoLearning
from preceptor.people.own_person import OwnPerson
from preceptor.people.person import Person
from preceptor.plan import Plan
from preceptor.planning import solve, solve_many
from preceptor.policies import (
    Alternating,
    CountPolicy,
    ExploreThenCommit,
    ExploreThenRepeat,
    Policy,
    Stationary,
)
from preceptor.problem import Problem, schema
from preceptor.regrets import Regrets

if TYPE_CHECKING:
    from preceptor.advice import advise
    from preceptor.estimation import fit_learner, fit_world
    from preceptor.report.html import write_report
    from preceptor.tutoring import Tutor
    from preceptor.verification import verify

__version__ = VERSION

# Loaded when they are named, because they need more than the core or take long to import.
_PACKAGES = (
    *("bots", "client", "datasets", "diagnosis", "estimation", "evidence", "experiments"),
    *("simulation", "tables", "testing", "theory", "tutoring"),
)
_FUNCTIONS = {
    "advise": "preceptor.advice",
    "fit_learner": "preceptor.estimation",
    "fit_world": "preceptor.estimation",
    "Tutor": "preceptor.tutoring",
    "verify": "preceptor.verification",
    "write_report": "preceptor.report.html",
}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"preceptor.{name}")
    if name in _FUNCTIONS:
        return getattr(import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'preceptor' has no attribute {name!r}")


__all__ = [
    "AbsoluteError",
    "Alternating",
    "AtMost",
    "Bayesian",
    "Binary",
    "Branch",
    "Brier",
    "Budget",
    "ClosedForm",
    "CountPolicy",
    "Crowd",
    "Curve",
    "Decision",
    "DeltaRule",
    "Drifting",
    "Empirical",
    "Exactly",
    "ExploreThenCommit",
    "ExploreThenRepeat",
    "Folding",
    "Forgetful",
    "Geometric",
    "Huber",
    "Indirect",
    "InvalidData",
    "InvalidFile",
    "InvalidInput",
    "InvalidPolicy",
    "InvalidProblem",
    "Knapsack",
    "Learner",
    "Listed",
    "LogLoss",
    "MissingExtra",
    "NoLearning",
    "NotApplicable",
    "NotSerializable",
    "NumberRisk",
    "OneShot",
    "OwnPerson",
    "Person",
    "Plan",
    "Policy",
    "PowerLaw",
    "PreceptorError",
    "Problem",
    "Regrets",
    "ResidualRisk",
    "Risk",
    "SquaredError",
    "Stationary",
    "Status",
    "Tabulated",
    "TooLarge",
    "Tutor",
    "UnknownMethod",
    "World",
    "YesNoRisk",
    "advise",
    "evaluate",
    "fit_learner",
    "fit_world",
    "losses",
    "schema",
    "solve",
    "solve_many",
    "verify",
    "write_report",
]
