"""Draw the proven gaps for every kind of learner, from the results that `make bench` keeps.

usage: make bench BENCH_ARGS="proofs-5 proofs-8 proofs-10 proofs-13", then
       python docs/make_proofs.py [picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks import kept, proofs  # noqa: E402

PICTURE = ROOT / "docs" / "assets" / "proofs.svg"
LEAST = 1e-3  # per cent; gaps below it are as good as none
BEFORE, NOW = "#9a9a9a", "#0b5394"


def gaps() -> dict[str, float]:
    """Per cent by name of the row; the ratio that was kept is what is wanted over the gap."""
    ratios = kept.read()
    found = {}
    for name in proofs.BEFORE:
        ratio = ratios[proofs.work_of(name)]
        found[name] = proofs.wanted(name) / ratio
    return found


def draw(picture: Path) -> None:
    now = gaps()
    names = list(proofs.BEFORE)[::-1]
    figure, axes = plt.subplots(figsize=(7.2, 6.4), layout="constrained")
    for row, name in enumerate(names):
        left = max(now[name], LEAST)
        axes.plot([left, proofs.BEFORE[name]], [row, row], color="#dddddd", zorder=1)
        axes.scatter(proofs.BEFORE[name], row, s=28, facecolor="white", edgecolor=BEFORE, zorder=2)
        axes.scatter(left, row, s=28, color=NOW, zorder=3)
    axes.scatter([], [], s=28, facecolor="white", edgecolor=BEFORE, label="without potentials")
    axes.scatter([], [], s=28, color=NOW, label="now")
    axes.axvline(1.0, color="#bbbbbb", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(0.7 * LEAST, 300)
    ticks = [1e-3, 1e-2, 0.1, 1, 10, 100]
    axes.set_xticks(ticks, ["0.001 or less", "0.01", "0.1", "1", "10", "100"])
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_xlabel("proven gap after 30 seconds, per cent")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize=8)
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"], plt.rcParams["svg.fonttype"] = "preceptor", "none"
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
