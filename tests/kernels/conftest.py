"""Tiny instances for kernels: compiled in the fast suite, as plain Python in `make test-kernels`.

As plain Python, coverage sees their lines, and an index beyond the end of an array is an error
instead of somebody else's memory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.planning.exact import ErrorInstance, random_instance

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            # 64-bit integers wrap around in random numbers and hashes, as they are meant to
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered in scalar"))


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr("preceptor._base.parallel.os.cpu_count", lambda: 1)


@pytest.fixture(params=[(0, 3, (0, 1, 2)), (1, 3, (2,)), (2, 2, (0, 1))], ids=str)
def instance(request) -> ErrorInstance:
    seed, n, sizes = request.param
    return random_instance(seed, n, sizes, price=np.linspace(0.0, 0.1, n))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)
