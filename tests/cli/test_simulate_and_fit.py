"""The README's own sequence: plan, simulate, fit; with columns that no Gaussian world has."""

import numpy as np

import preceptor as pr


def test_what_simulate_writes_can_be_fitted(run, tmp_path):
    """A yes/no column, one of 0 and 1, a category, and an outcome of two values."""
    rng = np.random.default_rng(0)
    rows = 150
    smoker, chf = rng.choice(["yes", "no"], rows), rng.integers(0, 2, rows)
    grade = rng.choice(["I", "II", "III"], rows)
    risk = 2.0 * chf + 2.0 * (smoker == "yes") + (grade == "III")
    died = np.where(risk + rng.normal(size=rows) > 2.0, "yes", "no")
    lines = [",".join(row) for row in zip(smoker, map(str, chf), grade, died, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["smoker,chf,grade,died", *lines]) + "\n")
    options = ("--tests", 3, "--cases", 20, "--person", "by-showings", "--time-limit", 0.5)
    made = run("plan", "t.csv", "--outcome", "died", *options, "--no-report")
    assert made.exit_code == 0, made.stderr
    hint = "What to show one person next: preceptor next plan.json --log log.csv --participant NAME"
    assert hint in made.stderr
    played = run(
        "simulate", "plan.json", "--people", 2, "--noise", 0.05, "--rounds", 20, "--log", "s.csv"
    )
    assert played.exit_code == 0, played.stderr
    fitted = run("fit", "s.csv", "--data", "t.csv", "--outcome", "died")
    assert fitted.exit_code == 0, fitted.stderr
    assert "Wrote what was found to learner.json" in fitted.stderr


def test_steps_of_the_delta_rule_are_said_in_words():
    said = pr.DeltaRule([0.0], 0.0233).learning_in_words()
    assert "moves by 2.33% of the surprise times its result" in said
