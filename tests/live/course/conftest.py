"""Closes the connections of trainees when a test ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.course.classroom import TraineeClient


@pytest.fixture(autouse=True)
def _no_connection_stays_open() -> Iterator[None]:
    yield
    while TraineeClient.made:
        TraineeClient.made.pop().http.close()
