"""Nonsense for every route: refused, and never a failure of the server."""

from __future__ import annotations

import pytest

from tests.live.service.fuzzing import fuzz


@pytest.mark.parametrize("calls", [150, pytest.param(2_000, marks=pytest.mark.full)])
def test_no_nonsense_makes_the_server_fail(tmp_path, calls):
    found = fuzz(tmp_path, calls, seed=calls)
    assert found.total() == calls
    refused = sum(number for status, number in found.items() if status >= 400)
    assert refused > calls / 3
