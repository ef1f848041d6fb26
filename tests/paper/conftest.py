"""Every experiment once, at tiny size, for all tests that look at what came of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from preceptor.paper import truncation, variants
from preceptor.paper.experiment import Scale
from preceptor.paper.reproduction import ExperimentResult, reproduce

TINY = Scale(draws=2, rho=(0.5, 0.99), quick=True)


class Reproduced(NamedTuple):
    """What a run returned, and the folder it wrote to."""

    result: ExperimentResult
    folder: Path


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory):
    """Run one experiment by its name, in this process; the second time it is remembered."""

    @cache
    def once(name: str) -> Reproduced:
        folder = tmp_path_factory.mktemp(name)
        with pytest.MonkeyPatch.context() as less:
            # Huber loss is averaged case by case; two lengths and one repeat show as much.
            less.setattr(variants, "LENGTHS", (10, 60))
            less.setattr(variants, "_REPEATS", 1)
            # Times on a busy machine mean nothing, so each program is timed once.
            less.setattr(truncation, "PROGRAMS", dict.fromkeys(truncation.PROGRAMS, 1))
            result = reproduce([name], output=folder, scale=TINY, workers=1)[0]
        return Reproduced(result, folder)

    return once
