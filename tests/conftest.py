"""Shared by all tests: how many random examples there are, and which dice they come from."""

import random
import re
from collections import defaultdict

import pytest
from hypothesis import settings

from tests.registries import restored

pytest_plugins = ["tests.snapshots"]

# The first example of a test may compile kernels, so no deadline. In the fast suite dice are fixed,
# so that a red run can be had again; the slow suite throws them anew and prints how to repeat it.
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=8)
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=120)
settings.load_profile("fast")


# Begun first, so that no process is left alone with them at the end.
_LONG = [
    "test_docs.py",
    "test_participant_pages.py",
    "test_owner.py",
    "test_explore.py",
    "test_studies_page.py",
    "test_two_servers.py",
    "test_end_to_end.py",
    "test_dist.py",
    "test_package.py",
]

# Fixtures that start a browser, a server, a database, a cluster or an environment. Tests that ask
# for one are `full`: `make test` leaves them to `make test-all`, unless they are marked `smoke`.
_REAL = {
    *("browser", "site", "server", "serve", "guarded", "pair"),
    *("postgres", "cluster", "installed"),
}


@pytest.fixture(autouse=True)
def registries_forget():
    """Examples in pages and docstrings enter kinds and solvers; the next test must not see them."""
    with restored():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in _LONG)
    for item in items:
        asked = {*getattr(item, "fixturenames", ())}
        if asked & _REAL or "postgres" in item.name:
            item.add_marker(pytest.mark.full)
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.dice)
    _leave_most_of_many(items)


def _leave_most_of_many(items):
    """Of a test marked `few(n)`, n cases stay in the fast suite; the others become `full`."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, found in cases.items():
        # As many of a function wherever it is collected, and always the same ones.
        found.sort(key=lambda item: item.nodeid)
        (most,) = found[0].get_closest_marker("few").args
        kept = random.Random(name).sample(found, min(most, len(found)))
        for item in found:
            if item not in kept:
                item.add_marker(pytest.mark.full)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Several processes: each takes a file, or a page of the documentation, and then another."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrPage(LoadFileScheduling):
        def _split_scope(self, nodeid):
            """Tests of a file share what is dear to make; those of a page share nothing else."""
            page = re.search(r"\[\w+\.md\]$", nodeid)
            return super()._split_scope(nodeid) + (page.group() if page else "")

    return ByFileOrPage(config, log)
