"""The deskilling study end to end: python docs/make_deskilling.py [people] [folder].

Opens the template, serves it, and lets simulated people of all kinds that it assumes go through its
pages. Then checks the database, exports it, runs the registered script of the export, and draws
errors with the assistant against errors alone (assets/deskilling.svg). Prints what docs/studies.md
says.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from preceptor._base.files import parse_toml
from preceptor.cli._serving import own_server
from preceptor.live.bots import Attended, StudyBots, humans_named
from preceptor.live.service.guides import PlanCache
from preceptor.live.store import studies
from preceptor.live.store.database import Store
from preceptor.live.study.export import export
from preceptor.live.study.opening import open_study
from preceptor.live.study.registration import from_template
from preceptor.live.study.status import verify
from preceptor.live.study.study import Study
from preceptor.report.plots import GREY, OKABE_ITO, figure_class, picture_of

PICTURE = Path(__file__).parent / "assets" / "deskilling.svg"
ARMS = {"fixed": "always the same two", "helps": "helps (τ = 0)", "teaches": "teaches (τ = 30)"}
# Kinds of the template, as the page names them.
KINDS = {
    "delta-rule, imputation 1": "from outcomes, ignores correlations",
    "delta-rule, imputation 0": "from outcomes, knows correlations",
    "by-showings, imputation 0": "by showings",
    "exemplar": "remembers cases",
    "no-learning": "does not learn",
}


def made_study() -> Study:
    """The template with all places filled in, and without the rule about speed: bots are fast."""
    text = re.sub(
        r"\[\[[^\]\"]* [^\]\"]*\]\]", "as agreed", from_template("deskilling", "deskilling", 7)
    )
    return Study.from_dict(
        parse_toml(re.sub(r"^fastest_seconds.*\n", "", text, flags=re.MULTILINE))
    )


def played(folder: Path, people: int) -> tuple[Attended, Path]:
    """What bots did, and the export of it."""
    study, database = made_study(), str(folder / "live.db")
    with Store(database) as store:
        open_study(store, study)
    with own_server(database) as address:
        crowd = StudyBots(f"{address}/s/{study.id}", people, humans_named(study, "assumed"))
        attended = crowd.play(connections=2)
    with Store(database) as store:
        kept = store.read(lambda c: studies.find(c, study.id))
        checked = store.read(lambda c: verify(c, kept, PlanCache().columns_of))
        assert not checked.faults, checked.faults
        size = checked.checked
        print(
            f"{size.events:,} events, {size.rounds:,} rounds, {size.people:,} people: consistent."
        )
        made = export(store, study.id, folder / "data", who="docs", kind="bot")
    print(made.result)
    return attended, made.path


def errors(attended: Attended, data: Path) -> pd.DataFrame:
    """Mean squared errors of each person: in the last 20 rounds of training, and alone."""
    rounds = pd.concat(map(pd.read_csv, sorted((data / "data").glob("*_data.csv"))))
    late, alone = rounds["training_round"] > 40, rounds["block"] == 5
    by = ["arm", "place"]
    table = pd.DataFrame(
        {
            "aided": rounds[late].groupby(by)["charge"].mean(),
            "alone": rounds[alone].groupby(by)["charge"].mean(),
        }
    )
    found = zip(attended.places, attended.kinds, strict=True)
    table["kind"] = pd.Series({(at.arm, at.number): kind for at, kind in found if at is not None})
    return table.reset_index()


def cell(numbers: pd.Series) -> str:
    """Mean and standard error."""
    if numbers.size < 2:
        return f"{numbers.mean():.0f} (1)" if numbers.size else ""
    return f"{numbers.mean():.0f} ± {numbers.sem():.0f} ({numbers.size})"


def tables(table: pd.DataFrame) -> None:
    """By arm, and alone by arm and kind."""
    print("| arm | people | with the assistant, last 20 rounds | alone |\n|---|---|---|---|")
    for arm, words in ARMS.items():
        own = table[table["arm"] == arm]
        said = [f"{own[c].mean():.0f} ± {own[c].sem():.0f}" for c in ("aided", "alone")]
        print(f"| {words} | {len(own)} | {said[0]} | {said[1]} |")
    print(f"\n| alone, by kind | {' | '.join(ARMS.values())} |\n|---|---|---|---|")
    for kind, words in KINDS.items():
        own = table[table["kind"] == kind]
        cells = [cell(own[own["arm"] == arm]["alone"]) for arm in ARMS]
        print(f"| {words} | {' | '.join(cells)} |")


def draw(table: pd.DataFrame) -> None:
    """Errors alone against errors with the assistant: people, and the mean of each arm."""
    figure = figure_class()(figsize=(6.0, 5.2), layout="constrained")
    axes = figure.add_subplot()
    ends = 0.0, 1.04 * float(table[["aided", "alone"]].to_numpy().max())
    axes.plot(ends, ends, color=GREY, linewidth=1.0, linestyle="dotted")
    for (arm, words), colour, marker in zip(ARMS.items(), OKABE_ITO, "sD^", strict=False):
        own = table[table["arm"] == arm]
        axes.scatter(own["aided"], own["alone"], s=10, color=colour, marker=marker, alpha=0.35)
        axes.errorbar(
            own["aided"].mean(), own["alone"].mean(), own["alone"].sem(), own["aided"].sem(),
            color=colour, marker=marker, markersize=9, capsize=3, label=words, linewidth=1.5,
            markeredgecolor="black", zorder=5,
        )  # fmt: skip
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.set_xlabel("squared error with the assistant, last 20 rounds (cm²)")
    axes.set_ylabel("squared error alone (cm²)")
    axes.legend(frameon=False, loc="lower right")
    PICTURE.write_bytes(picture_of(figure, ".svg"))
    print(f"Wrote {PICTURE}")


def main(people: int, folder: Path) -> None:
    """Run, analyse and draw."""
    attended, data = played(folder, people)
    print(f"{sum(attended.finished)} of {people} finished, {attended.calls.size:,} pages, "
          f"{attended.seconds:.0f} s")  # fmt: skip
    said = subprocess.run(
        [sys.executable, data / "analysis" / "analysis.py"], check=True, capture_output=True
    )
    again, kept = (
        json.loads(said.stdout),
        json.loads((data / "analysis" / "result.json").read_text()),
    )
    print(json.dumps(again, indent=2))
    assert np.isclose(again["p"], kept["p"])
    assert np.isclose(again["effect"], kept["effect"])
    table = errors(attended, data)
    tables(table)
    draw(table)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    if len(sys.argv) > 2:
        main(number, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as own:
            main(number, Path(own))
