"""From a file to a report: whole commands, as somebody with a table of their own would run them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Row, one_time

# Seconds that a tall table may take, and that a wide one may take.
LIMIT = 20.0


def tall() -> Row:
    """100,000 cases of 60 tests with gaps and two categories, beside what scikit-learn needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.csv"
        made(100_000, 60, gaps=0.05).to_csv(path, index=False, float_format="%.5g")
        ours, megabytes = _command(path)
        theirs, _ = one_time(lambda: _bare_estimate(path))
        size = path.stat().st_size / 1e6
    return Row(
        work="preceptor plan, 100,000 cases of 60 tests, from the file to the report",
        against=f"a limit of {LIMIT:g} seconds",
        ratio=LIMIT / ours,
        wanted=1.0,
        details={
            "seconds": ours,
            "peak MB": megabytes,
            "file MB": size,
            "pandas, Ledoit-Wolf and RidgeCV alone": theirs,
        },
    )


def wide() -> Row:
    """198 cases of 80 tests: many sets, few cases."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.csv"
        made(198, 80, gaps=0.0).to_csv(path, index=False)
        ours, megabytes = _command(path)
    return Row(
        work="preceptor plan, 198 cases of 80 tests, from the file to the report",
        against=f"a limit of {LIMIT:g} seconds",
        ratio=LIMIT / ours,
        wanted=1.0,
        details={"seconds": ours, "peak MB": megabytes},
    )


def made(rows: int, tests: int, *, gaps: float) -> pd.DataFrame:
    """Correlated tests, two of them categories, some values missing."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((rows, 4))
    values = 0.6 * common @ rng.standard_normal((4, tests)) + rng.standard_normal((rows, tests))
    outcome = values[:, :8] @ rng.standard_normal(8) + 2.0 * rng.standard_normal(rows)
    values[rng.random(values.shape) < gaps] = np.nan
    frame = pd.DataFrame(values, columns=[f"test {i + 1}" for i in range(tests)])
    if gaps:
        frame["test 1"] = pd.cut(common[:, 0], 4, labels=["I", "II", "III", "IV"]).astype(str)
        frame["test 2"] = np.where(common[:, 1] > 0.5, "yes", "no")
    return frame.assign(outcome=outcome)


def _command(path: Path) -> tuple[float, float]:
    """Seconds and the most megabytes that the command took."""
    command = [sys.executable, "-m", "preceptor", "plan", str(path), "--outcome", "outcome"]
    # As on the machines of users, modules are compiled once, by a command that does little.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    small = [*command[:4], "--dry-run", "--time-limit", "0.5"]
    subprocess.run(small, cwd=path.parent, env=usual, check=True, capture_output=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    started = time.perf_counter()
    subprocess.run(command, cwd=path.parent, env=usual, check=True, capture_output=True)
    seconds = time.perf_counter() - started
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # The system keeps the largest of all children; an earlier one may have been larger.
    return seconds, most / 1e3 if most > before else float("nan")


def _bare_estimate(path: Path) -> None:
    """Reading, mean imputation and both estimates by the libraries themselves."""
    from sklearn.covariance import LedoitWolf
    from sklearn.linear_model import RidgeCV

    frame = pd.get_dummies(pd.read_csv(path), drop_first=True).astype(float)
    values = frame.drop(columns="outcome")
    filled = values.fillna(values.mean()).to_numpy()
    LedoitWolf().fit(filled)
    RidgeCV(np.logspace(-3, 5, 33)).fit(filled, frame["outcome"])


ROWS = {"table-wide": wide, "table-tall": tall}
