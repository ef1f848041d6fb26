"""Errors arrive whole from wherever they were raised, other processes included."""

import pickle

import pytest

import preceptor as pr
from preceptor.errors import MissingExtra


@pytest.mark.parametrize(
    "error",
    [
        pr.InvalidFile(["a: 1, must be 2", "b: 2, must be 1"]),
        pr.InvalidProblem("k: 0, must be at least 1"),
        pr.TooLarge("5 GiB, more than there are", bytes_needed=5 * 2**30),
        MissingExtra("pandas", "data", "A table"),
        pr.NotApplicable("finite: no horizon"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_between_processes(error):
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    for name in ("faults", "bytes_needed"):
        assert getattr(arrived, name, None) == getattr(error, name, None)
