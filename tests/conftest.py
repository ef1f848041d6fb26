"""Shared by all tests: how many random examples there are, and which dice they come from."""

from pathlib import Path

import pytest
from hypothesis import settings

from tests.registries import restored

# The first example of a test may compile kernels, so no deadline. In the fast suite dice are fixed,
# so that a red run can be had again; the slow suite throws them anew and prints how to repeat it.
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=120)
settings.load_profile("fast")


# Begun first, so that no process is left alone with them at the end.
_LONG = ["test_docs.py", "test_end_to_end.py", "test_dask.py"]


@pytest.fixture(autouse=True)
def registries_forget():
    """Examples in pages and docstrings enter kinds and solvers; the next test must not see them."""
    with restored():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in _LONG)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_together(item)))
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.dice)


def _together(item):
    """What one process runs: a file, whose tests share what is dear to make, or a page of ours."""
    page = item.callspec.params.get("page") if hasattr(item, "callspec") else None
    return f"{item.path}: {page.name}" if isinstance(page, Path) else str(item.path)
