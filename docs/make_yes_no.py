"""The figures and tables of `yes_or_no.md`: the paper's two tests as a diagnosis.

    python docs/make_yes_no.py

writes docs/assets/yes_no/*.svg and the table between the markers of the page.
"""

from __future__ import annotations

import re
from pathlib import Path

from people_pictures import on_paper

import preceptor as pr
from preceptor._base.numerics import total_weight
from preceptor.report.charts import DASHES, Axis, Line, line_chart

HERE = Path(__file__).parent
PAGE = HERE / "yes_or_no.md"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
CORRELATIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
SHOWN = (0.3, 0.4, 0.5, 0.7, 0.9, 0.99)  # in the table
PREVALENCES = (0.5, 0.3, 0.1)
RISKS = {
    "wrong decisions": pr.Decision(),
    "a miss costs 5 false alarms": pr.Decision(5, 1),
    "Brier score": pr.Brier(),
    "log loss": pr.LogLoss(),
}


def instance(correlation: float, outcome: pr.Binary | None, risk: pr.Risk | None) -> pr.Problem:
    """The paper's misspecification instance, as it is or as a diagnosis."""
    world = pr.World.equicorrelated([1.0, 0.8], correlation, outcome=outcome)
    person = pr.Learner([0.2, 1.3], pr.Geometric(1.10))
    return pr.Problem(world, person, budget=1, discount=0.99, horizon=600, risk=risk)


def saving(problem: pr.Problem) -> tuple[float, int]:
    """What the best plan saves of what the best fixed set costs, and how long it explores."""
    plan, fixed = pr.solve(problem, "finite"), pr.solve(problem, "stationary")
    least = plan.problem.oracle.accuracy * total_weight(problem.discount, problem.horizon)
    saved = fixed.value - plan.value
    return (saved / fixed.value, plan.exploration_length or 0) if saved > 2 * least else (0.0, 0)


def _told(share: float, length: int) -> str:
    return f"{100 * share:.1f} ({length})" if length else "0"


def main() -> None:
    """Solve, draw, write."""
    numbers = {rho: saving(instance(rho, None, None)) for rho in CORRELATIONS}
    found = {
        (prevalence, name): [
            saving(instance(rho, pr.Binary(prevalence), risk)) for rho in CORRELATIONS
        ]
        for prevalence in PREVALENCES
        for name, risk in RISKS.items()
    }
    folder = HERE / "assets" / "yes_no"
    folder.mkdir(parents=True, exist_ok=True)
    for prevalence in PREVALENCES:
        lines = [
            Line(
                name,
                CORRELATIONS,
                [100 * share for share, _ in found[prevalence, name]],
                COLOURS[i],
                DASHES[i],
                2.2,
            )
            for i, name in enumerate(RISKS)
        ]
        told = "; ".join(f"{line.name} {line.y[-1]:.1f} %" for line in lines)
        picture = line_chart(
            f"yes-no-{prevalence:g}",
            f"Saving of the best plan against the correlation of the tests, prevalence "
            f"{prevalence:.0%}. At a correlation of .99: {told}",
            lines,
            x_axis=Axis.covering([0.0, 1.0]),
            x_label=f"correlation of the two tests; {prevalence:.0%} of cases are yes",
            y_label="saved by the best plan, %",
        )
        (folder / f"saving-{round(100 * prevalence)}.svg").write_text(
            on_paper(picture, 2000.0), "utf-8"
        )
    head = " | ".join(f"ρ = {rho:g}" for rho in SHOWN)
    rows = [f"| what is charged | yes | {head} |", "|" + "---|" * (2 + len(SHOWN))]
    lines = [("squared error of a number", "", [numbers[rho] for rho in CORRELATIONS])]
    lines += [(name, f"{prevalence:.0%}", found[prevalence, name]) for prevalence, name in found]
    for name, share, cells in lines:
        told = [_told(*cells[CORRELATIONS.index(rho)]) for rho in SHOWN]
        rows.append(f"| {name} | {share} | " + " | ".join(told) + " |")
    page = PAGE.read_text("utf-8")
    start, end = "<!-- savings: written by docs/make_yes_no.py -->", "<!-- savings: end -->"
    table = start + "\n" + "\n".join(rows) + "\n" + end
    PAGE.write_text(re.sub(f"{start}.*?{end}", lambda _: table, page, flags=re.S), "utf-8")


if __name__ == "__main__":
    main()
