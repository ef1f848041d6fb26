"""Docstrings of public names say what goes in, what comes out, and show a line that runs.

That examples give what they say is checked in `test_package.py`.
"""

import builtins
import dataclasses
import importlib
import inspect
import re
from enum import Enum

from preceptor import errors
from preceptor._base.values import Kind, Value
from preceptor.model import evaluation
from preceptor.planning.solvers import SOLVERS

PACKAGES = [
    "preceptor",
    *(
        f"preceptor.{name}"
        for name in (
            "advice",
            "data",
            "learners",
            "paper",
            "planning",
            "proofs",
            "simulation",
            "theory",
        )
    ),
]
BELIEFS = "preceptor.people.beliefs"
# Public names of a module whose package does not list them.
EVALUATION = ("losses",)

# Records that functions return and nobody makes: fields are explained as attributes, and the
# example is that of the function.
RETURNED_BY = {
    "Advice": "advise",
    "Alternative": "alternatives",
    "CaseAwarePlan": "case_aware_plan",
    "Cells": "read_cells",
    "Change": "sensitivity",
    "Comparison": "compare",
    "Converged": "run_until_converged",
    "Diagnosis": "diagnose",
    "GroupWeighed": "weigh_people",
    "PushTest": "push_test",
    "LogReading": "read_log",
    "Tutored": "tutored",
    "Verdict": "verdict",
    "Weighed": "weigh",
    "DataSet": "load_diabetes",
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
    found |= {name: getattr(evaluation, name) for name in EVALUATION}
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


def found_in(check, things):
    """Every fault that a check yields, each with the name that has it."""
    return [f"{name}: {fault}" for name, thing in things.items() for fault in check(name, thing)]


def none_of(faults):
    assert not faults, "\n" + "\n".join(faults)


def other_parameters(name, thing):
    if explained(thing) != parameters(thing):
        yield f"takes {parameters(thing)}, explains {explained(thing)}"


def test_parameters_are_explained_in_their_order():
    none_of(found_in(other_parameters, {**CALLABLES, **MADE}))


def other_fields(name, thing):
    fields = [field.name for field in dataclasses.fields(thing)]
    told = entries(sections(thing).get("Attributes", ""))
    if told != fields:
        yield f"has the fields {fields}, explains {told}"
    if RETURNED_BY[name] not in THINGS:
        yield f"is returned by {RETURNED_BY[name]}, which is not public"


def test_records_explain_their_fields():
    none_of(found_in(other_fields, {name: CLASSES[name] for name in RETURNED_BY}))


def untold_return(name, thing):
    annotation = inspect.signature(thing).return_annotation
    told = "Returns" in sections(thing)
    if annotation is inspect.Signature.empty:
        yield "has no return annotation"
    elif annotation in (None, "None"):
        if told:
            yield "returns nothing, and has a section Returns"
    # A method that takes nothing may say all of it in its summary, like a property.
    elif not told and (name in FUNCTIONS or parameters(thing)):
        yield "has no section Returns"


def test_what_comes_back_is_explained_where_something_does():
    none_of(found_in(untold_return, CALLABLES))


def no_example(name, thing):
    raised = inspect.isclass(thing) and issubclass(thing, BaseException)
    excused = name in RETURNED_BY or name in WITHOUT_EXAMPLE or raised
    if ">>> " not in sections(thing).get("Examples", "") and not excused:
        yield "has no example, and is neither in RETURNED_BY nor in WITHOUT_EXAMPLE"


def test_a_line_that_runs_or_a_reason_why_not():
    none_of(found_in(no_example, THINGS))


def test_excuses_are_for_names_that_need_them():
    assert {*RETURNED_BY, *WITHOUT_EXAMPLE} <= set(THINGS)
    assert not [name for name in WITHOUT_EXAMPLE if "Examples" in sections(THINGS[name])]


def another_shape(name, thing):
    parts = sections(thing)
    first, *rest = parts["summary"].splitlines() or [""]
    if not first.endswith((".", "?", ":")):
        yield f"the first line is no sentence: {first!r}"
    if rest and rest[0] != "":
        yield f"the summary has two lines: {rest[0]!r}"
    order = ["summary", "Parameters", "Attributes", "Returns", "Raises", "Examples"]
    if list(parts) != [heading for heading in order if heading in parts]:
        yield f"sections are {list(parts)}, in another order or with other names than {order}"
    if [heading for heading, text in parts.items() if ">>>" in text] not in ([], ["Examples"]):
        yield "an example is not in the section Examples"
    clumsy = re.search(r"\bfor ever\b|\b(round|case|test)s? a (round|case)\b", thing.__doc__ or "")
    if clumsy:
        yield f"says {clumsy.group()!r}"


def test_docstrings_have_one_shape():
    none_of(found_in(another_shape, {**THINGS, **METHODS}))


def unknown_errors(name, thing):
    for error in entries(sections(thing).get("Raises", "")):
        known = getattr(errors, error, None) or getattr(builtins, error, None)
        if not (inspect.isclass(known) and issubclass(known, Exception)):
            yield f"raises {error}, which is no error"


def test_errors_that_are_named_exist():
    none_of(found_in(unknown_errors, {**THINGS, **METHODS}))
