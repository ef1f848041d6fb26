"""Small pure tasks for testing the runner; in a module of their own so that workers find them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from preceptor.paper.sweep import Sweep


def numbers(setting, seed):
    """Two rows of random numbers whose every bit depends on the seed."""
    rng = np.random.default_rng(seed)
    scale = setting["scale"]
    return [
        {"row": row, "number": scale * float(rng.standard_normal()), "kind": f"r{row}"}
        for row in range(2)
    ]


def untimed(frame):
    """Without the columns that measure time: what must be the same in every run."""
    return frame[[c for c in frame.columns if not c.startswith("seconds")]]


def slow_numbers(setting, seed):
    """The same, after a pause."""
    time.sleep(setting["pause"])
    return numbers(setting, seed)


def with_holes(setting, seed):
    """A number that is not one, a missing one, and an infinite one: journals must keep them."""
    return [{"number": float("nan"), "none": None, "far": float("inf"), "tenth": 0.1 + 0.2}]


def refuses(setting, seed):
    """A task that is simply wrong."""
    raise ZeroDivisionError("by this test")


def kills_its_worker_once(setting, seed):
    """The first to come here dies without a word; `marker` tells the others that it happened."""
    try:
        Path(setting["marker"]).touch(exist_ok=False)
    except FileExistsError:
        return numbers(setting, seed)
    os._exit(1)


def kills_its_worker(setting, seed):
    """Always dies."""
    os._exit(1)


def sweep(task=numbers, *, scales=(1.0, 2.0), draws=3, seed=0, name="numbers", batch=1, **more):
    """A sweep over `scales`."""
    settings = tuple({"scale": scale, **more} for scale in scales)
    return Sweep(name, task, settings, draws, seed, batch=batch)
