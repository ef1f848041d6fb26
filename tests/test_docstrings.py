"""Docstrings of public names say what goes in, what comes out, and show a line that runs.

That examples give what they say is checked in `test_package.py`.
"""

import builtins
import dataclasses
import importlib
import inspect
import re
from enum import Enum

import pytest

from preceptor import errors
from preceptor._base.values import Kind, Value
from preceptor.planning import SOLVERS

PACKAGES = [
    "preceptor",
    *(
        f"preceptor.{name}"
        for name in (
            *("advice", "datasets", "diagnosis", "estimation", "evaluation", "evidence"),
            *("experiments", "logs", "planning", "simulation", "tables", "theory", "tutoring"),
            "verification",
        )
    ),
]
BELIEFS = "preceptor.people.beliefs"

# Records that functions return and nobody makes: fields are explained as attributes, and the
# example is that of the function.
RETURNED_BY = {
    "Advice": "advise",
    "Alternative": "alternatives",
    "Cells": "read_cells",
    "Change": "sensitivity",
    "Comparison": "compare",
    "Converged": "run_until_converged",
    "Diagnosis": "diagnose",
    "GroupWeighed": "weigh_people",
    "PushTest": "push_test",
    "Reading": "read_log",
    "Tutored": "tutored",
    "Verdict": "verdict",
    "Weighed": "weigh",
    "DataSet": "load_diabetes",
    "Evaluation": "evaluate_with_error",
    "ExplorationCertificate": "exploration_certificate",
    "ExplorationTerms": "exploration_terms",
    "Finding": "reproduce",
    "OptimumUniqueness": "unique_optimum",
    "PairSolution": "optimal_policy",
    "RegularLoss": "regular_loss",
    "Plan": "solve",
    "Provenance": "advise",
    "Regrets": "solve",
    "Resampled": "advise",
    "Rollout": "rollout",
    "ScheduleRow": "advise",
    "Sheet": "read_sheet",
    "StationaryGap": "stationary_gap",
    "TailMargin": "least_tail_margin",
    "WeightInterval": "advise",
    "TightnessExample": "tightness_example",
    "TruncationCertificate": "truncation_certificate",
    "Verification": "verify",
    "VertexCoverDecision": "decide_by_planning",
    "VertexCoverInstance": "vertex_cover_instance",
    "WorldBootstrap": "WorldEstimate",
    "WorldEstimate": "fit_world",
}
WITHOUT_EXAMPLE = {
    "BatchHuman": "adds one method to Human, whose example shows the protocol",
    "LearnerEstimator": "fit_learner is the shorter way, and has the example",
    "Person": "a base; the examples are those of its kinds",
    "reproduce": "writes a folder of files and takes minutes",
    "write_report": "writes a file",
}


def public_things():
    """Every public name with what it stands for, each once."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            found.setdefault(name, getattr(module, name))
    beliefs = importlib.import_module(BELIEFS)
    for name, thing in vars(beliefs).items():
        if inspect.isfunction(thing) and thing.__module__ == BELIEFS:
            found[name] = thing
    return {name: thing for name, thing in sorted(found.items()) if callable(thing)}


THINGS = public_things()
CLASSES = {name: thing for name, thing in THINGS.items() if inspect.isclass(thing)}
FUNCTIONS = {name: thing for name, thing in THINGS.items() if not inspect.isclass(thing)}
FUNCTIONS |= {f"solve, method {name}": solver.solve for name, solver in SOLVERS.items()}


def public_methods():
    """Methods by name, unless they only fulfil what a base class has documented."""
    owners = {**CLASSES, "Value": Value, "Kind": Kind}
    for owner, thing in owners.items():
        for name, member in vars(thing).items():
            method = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            inherited = any(name in vars(base) for base in thing.__mro__[1:-1])
            own = inspect.isfunction(method) and method.__qualname__ == f"{owner}.{name}"
            if own and not name.startswith("_") and not inherited:
                yield f"{owner}.{name}", method


METHODS = dict(public_methods())
CALLABLES = FUNCTIONS | METHODS


def sections(thing):
    """Sections of a docstring by heading; the text before the first is called "summary"."""
    text = inspect.cleandoc(thing.__doc__ or "")
    parts = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"summary": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section):
    """What a section explains: the lines that are not indented, without stars."""
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for line in lines for name in line.split(",")]


def parameters(thing):
    """Names that a caller can give."""
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def is_error_without_arguments(thing):
    return issubclass(thing, BaseException) and "__init__" not in vars(thing)


MADE = {
    name: thing
    for name, thing in CLASSES.items()
    if name not in RETURNED_BY
    and not issubclass(thing, Enum)
    and not getattr(thing, "_is_protocol", False)
    and not is_error_without_arguments(thing)
}


def explained(thing):
    return entries(sections(thing).get("Parameters", ""))


@pytest.mark.parametrize("name", [*CALLABLES, *MADE])
def test_parameters_are_explained_in_their_order(name):
    thing = {**CALLABLES, **MADE}[name]
    assert explained(thing) == parameters(thing)


@pytest.mark.parametrize("name", RETURNED_BY)
def test_records_explain_their_fields(name):
    fields = [field.name for field in dataclasses.fields(CLASSES[name])]
    assert entries(sections(CLASSES[name])["Attributes"]) == fields
    assert RETURNED_BY[name] in THINGS


@pytest.mark.parametrize("name", CALLABLES)
def test_what_comes_back_is_explained_where_something_does(name):
    annotation = inspect.signature(CALLABLES[name]).return_annotation
    assert annotation is not inspect.Signature.empty
    if annotation in (None, "None"):
        assert "Returns" not in sections(CALLABLES[name])
    elif name in FUNCTIONS or parameters(CALLABLES[name]):
        # A method that takes nothing may say all of it in its summary, like a property.
        assert "Returns" in sections(CALLABLES[name])


@pytest.mark.parametrize("name", THINGS)
def test_a_line_that_runs_or_a_reason_why_not(name):
    thing = THINGS[name]
    raised = inspect.isclass(thing) and issubclass(thing, BaseException)
    excused = name in RETURNED_BY or name in WITHOUT_EXAMPLE or raised
    assert ">>> " in sections(thing).get("Examples", "") or excused


def test_excuses_are_for_names_that_need_them():
    assert {*RETURNED_BY, *WITHOUT_EXAMPLE} <= set(THINGS)
    assert not [name for name in WITHOUT_EXAMPLE if "Examples" in sections(THINGS[name])]


@pytest.mark.parametrize("name", [*THINGS, *METHODS])
def test_docstrings_have_one_shape(name):
    thing = {**THINGS, **METHODS}[name]
    parts = sections(thing)
    first, *rest = parts["summary"].splitlines()
    assert first.endswith((".", "?", ":"))
    assert not rest or rest[0] == ""
    order = ["summary", "Parameters", "Attributes", "Returns", "Raises", "Examples"]
    assert list(parts) == [heading for heading in order if heading in parts]
    assert [heading for heading, text in parts.items() if ">>>" in text] in ([], ["Examples"])
    assert not re.search(r"\bfor ever\b|\b(round|case|test)s? a (round|case)\b", thing.__doc__)


@pytest.mark.parametrize("name", [*THINGS, *METHODS])
def test_errors_that_are_named_exist(name):
    for error in entries(sections({**THINGS, **METHODS}[name]).get("Raises", "")):
        known = getattr(errors, error, None) or getattr(builtins, error, None)
        assert known is not None, f"{error} is no error"
        assert issubclass(known, Exception)
