"""What the package exports, what it imports, and that its examples run."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from preceptor import theory

MODULES = sorted(m.name for m in pkgutil.iter_modules(theory.__path__))


def test_exports_are_sorted_and_there():
    assert theory.__all__ == sorted(theory.__all__)
    assert all(hasattr(theory, name) for name in theory.__all__)


def test_importing_the_package_needs_neither_theory_nor_networkx():
    code = (
        "import sys, preceptor; assert 'preceptor.theory' not in sys.modules; "
        "import preceptor.theory; assert 'networkx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(f"preceptor.theory.{name}")
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried > 0
