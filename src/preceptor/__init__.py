"""Preceptor: which tests should an assistant show a person who is still learning?

An assistant shows at most k of n correlated tests; the person predicts, learns the truth and gets
better at exactly the tests that were shown. Preceptor plans what to show and for how long, and
proves how far from optimal its plan can be.
"""

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
from preceptor.model.budgets import AtMost, Budget, Exactly, Knapsack, Listed
from preceptor.model.count_policy import CountPolicy
from preceptor.model.empirical_loss import Empirical
from preceptor.model.evaluation import evaluate, losses
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.model.outcomes import Binary
from preceptor.model.person import Person
from preceptor.model.plan import Plan, Regrets
from preceptor.model.policies import (
    Alternating,
    ExploreThenCommit,
    ExploreThenRepeat,
    Policy,
    Stationary,
)
from preceptor.model.problem import Problem, schema
from preceptor.model.risks import AbsoluteError, Huber, NumberRisk, ResidualRisk, Risk, SquaredError
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, Decision, LogLoss, YesNoRisk
from preceptor.people.by_showings import Learner
from preceptor.people.coordinatewise import Drifting, Indirect, NoLearning
from preceptor.people.crowd import Crowd
from preceptor.people.curves import Branch, Curve, Geometric, OneShot, PowerLaw, Tabulated
from preceptor.people.folding import Folding
from preceptor.people.forgetful import Forgetful
from preceptor.people.outcome_learners import Bayesian, DeltaRule
from preceptor.people.own_person import OwnPerson
from preceptor.people.with_level import WithLevel
from preceptor.planning.solvers import solve, solve_many

if TYPE_CHECKING:
    from preceptor.advice.advising import advise
    from preceptor.data.world_fitting import fit_world
    from preceptor.learners.case_policy import CaseAware
    from preceptor.learners.learner_estimator import fit_learner
    from preceptor.learners.tutor import Tutor
    from preceptor.proofs.verify import verify
    from preceptor.report.html import write_report

__version__ = VERSION

# Imported on first access, because they need optional libraries or take long to import.
_PACKAGES = ("data", "learners", "paper", "proofs", "simulation", "testing", "theory")
_FUNCTIONS = {
    "advise": "preceptor.advice",
    "fit_learner": "preceptor.learners",
    "fit_world": "preceptor.data",
    "CaseAware": "preceptor.learners",
    "Tutor": "preceptor.learners",
    "verify": "preceptor.proofs",
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
    "CaseAware",
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
    "WithLevel",
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
