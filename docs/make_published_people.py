"""Write the tables and the picture of published_people.md.

`python docs/make_published_people.py [DIR]`; DIR holds the files that `preceptor people`
reads, by default ../shared/data beside the repository. `... DIR first-weights` prints how likely
answers are by how far first weights are from 0.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from people_pictures import COLOURS, on_paper

from preceptor.data.public_experiments import ExperimentArm, arms_in
from preceptor.learners.posterior import NuisancePrior, logsumexp_rows
from preceptor.learners.published_people import measure
from preceptor.learners.weighing import weigh
from preceptor.report.charts import DASHES, Axis, Line, line_chart
from preceptor.report.people_tables import people_tables

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/published_people.md"
PICTURE = ROOT / "docs/assets/published_people.svg"
DATA = ROOT.parent / "shared/data"
# Most participants answered 50 cases; means are over blocks of this number.
ROUNDS, BLOCK = 50, 5


def level_picture(arms: list[ExperimentArm]) -> str:
    """Mean answer of each arm, block by block."""
    starts = np.arange(0, ROUNDS, BLOCK)
    lines = []
    for number, arm in enumerate(arms):
        block = (arm.log.rounds - 1) // BLOCK
        means = [100.0 * float(arm.log.prediction[block == b].mean()) for b in range(starts.size)]
        middles = (starts + (BLOCK + 1) / 2).tolist()
        told = bool(arm.log.told.any())
        lines.append(
            Line(arm.name, middles, means, COLOURS[number // 2], DASHES[0 if told else 1], 2.2)
        )
    shares = ", ".join(
        f"{arm.name.split(',')[0]} {100 * float(np.mean(arm.log.outcome)):.0f} %"
        for arm in arms[::2]
    )
    picture = line_chart(
        "published-people",
        f"Mean answer over rounds, by arm; arrested again in truth: {shares}",
        lines,
        x_axis=Axis.covering([0.0, float(ROUNDS)]),
        x_label="round",
        y_label="mean answer, %",
    )
    return on_paper(picture, 2000.0)


# Standard deviations of first weights, in standard units, and the families that are weighed.
SPREADS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.8)
FEW = {
    "Albrecht 2019": ("none", "geometric", "delta rule", "bayesian"),
    "weather prediction, first day": ("none", "floor", "delta rule"),
}


def first_weights(arm: ExperimentArm) -> list[float]:
    """Log density of all answers of an arm, for each prior of first weights."""
    found = []
    for spread in SPREADS:
        prior, total = NuisancePrior(weights=spread, none_of_these=0.0), 0.0
        for name in arm.log.participants:
            weighed = weigh(
                arm.world, arm.log.for_participant(name), families=FEW[arm.name],
                dials=(arm.imputation,), spread=prior,
            )  # fmt: skip
            evidence = np.array(list(weighed.log_evidence.values()))
            total += float(logsumexp_rows(np.log(weighed.prior) + evidence))
        found.append(total)
    return found


def with_tables(page: str, tables: str) -> str:
    """The page with these tables between its markers."""
    marked = f"<!-- tables -->\n{tables}\n<!-- end of tables -->"
    return re.sub(r"<!-- tables -->.*<!-- end of tables -->", lambda _: marked, page, flags=re.S)


if __name__ == "__main__":
    found = arms_in(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
    if sys.argv[2:] == ["first-weights"]:
        for arm in (arm for arms in found.values() for arm in arms if arm.name in FEW):
            print(arm.name, [round(total, 1) for total in first_weights(arm)])
        sys.exit()
    if "lin2020_compas.csv" in found:
        PICTURE.write_text(level_picture(found["lin2020_compas.csv"]), "utf-8")
    results = [measure(arm) for arms in found.values() for arm in arms]
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), people_tables(results)), "utf-8")
