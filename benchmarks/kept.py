"""The last results, kept in the repository, and what became slower since.

Only ratios are kept: seconds say more about the machine than about us. A run of some benchmarks
replaces their rows and leaves the others.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path

from benchmarks.measure import Row

KEPT = Path(__file__).parent / "results.json"
# Ratios on a busy machine are this uncertain, and gaps next to nothing are all the same.
NOISE, PLENTY = 0.25, 1e3


def read(path: Path = KEPT) -> dict[str, float]:
    """Ratio of each row by what it measured; empty if nothing was kept."""
    if not path.exists():
        return {}
    rows: dict[str, float] = json.loads(path.read_text())["ratios"]
    return rows


def write(rows: list[Row], path: Path = KEPT) -> None:
    """Replace these rows, and keep the others."""
    ratios = read(path) | {row.work: float(f"{row.ratio:.3g}") for row in rows}
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    data = {"last machine": machine, "ratios": dict(sorted(ratios.items()))}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def changes(rows: list[Row], before: dict[str, float]) -> tuple[list[str], list[str]]:
    """What became slower (or worse) than last time by more than noise, and what became faster."""
    slower, faster = [], []
    for row in rows:
        if row.work not in before:
            continue
        was, now = min(before[row.work], PLENTY), min(row.ratio, PLENTY)
        said = f"{row.work}: {before[row.work]:.3g} x, now {row.ratio:.3g} x"
        if now < was * (1.0 - NOISE):
            slower.append(said)
        elif now * (1.0 - NOISE) > was:
            faster.append(said)
    return slower, faster
