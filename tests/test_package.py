"""The public names, and what importing them costs."""

import doctest
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import preceptor as pr
import preceptor.errors
from tests.registries import restored

OPTIONAL = ["matplotlib", "typer", "rich", "networkx", "sklearn", "pandas"]
OPTIONAL += ["fastapi", "httpx", "pydantic", "sqlalchemy", "uvicorn"]
HEAVY = ["numba", "scipy.stats", "scipy.optimize", "scipy.special", "scipy.interpolate"]


def test_exports_are_sorted_and_real():
    assert pr.__all__ == sorted(pr.__all__)
    assert all(hasattr(pr, name) for name in pr.__all__)
    promised = {
        *("World", "Learner", "Problem", "Plan", "Status", "solve", "evaluate"),
        *("Geometric", "PowerLaw", "OneShot", "Tabulated"),
        *("AtMost", "Exactly", "Knapsack", "SquaredError", "Huber", "AbsoluteError"),
        *("Stationary", "Alternating", "ExploreThenCommit", "CountPolicy"),
    }
    assert promised <= set(pr.__all__)


def test_the_core_imports_without_extras_and_without_the_heavy_parts():
    code = (
        "import sys\n"
        f"for name in {OPTIONAL!r}: sys.modules[name] = None\n"
        "import preceptor, preceptor.learners, preceptor.learners, preceptor.learners\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def modules():
    names = [m.name for m in pkgutil.walk_packages(pr.__path__, "preceptor.")]
    return ["preceptor", *(n for n in names if not n.endswith("_kernels"))]


def has_examples(name) -> bool:
    source = importlib.util.find_spec(name).origin
    return ">>> " in Path(source).read_text("utf-8")


def test_every_module_can_be_imported():
    for name in modules():
        importlib.import_module(name)


PARTS = sorted({path.stem for path in Path(pr.__file__).parent.glob("[!_]*")} - {"py"} | {"_base"})
# Their examples take seconds.
DEAR = {"advice", "learners", "model"}


@pytest.mark.parametrize(
    "part", [pytest.param(p, marks=[pytest.mark.full] if p in DEAR else []) for p in PARTS]
)
def test_examples_in_docstrings_run(part):
    failed = []
    inside = [name for name in modules() if f"{name}.".startswith(f"preceptor.{part}.")]
    assert inside
    for name in filter(has_examples, inside):
        with restored():
            results = doctest.testmod(importlib.import_module(name))  # it prints what is wrong
        if results.failed or not results.attempted:
            failed.append(f"{name}: {results.failed} of {results.attempted} fail")
    assert not failed, "\n" + "\n".join(failed)


def test_every_error_is_in_the_tree():
    public = [getattr(pr, name) for name in pr.__all__]
    errors = [e for e in public if isinstance(e, type) and issubclass(e, BaseException)]
    assert len(errors) > 5
    for error in errors:
        assert issubclass(error, pr.PreceptorError)
        assert error.__name__ in (preceptor.errors.__doc__ or "")
