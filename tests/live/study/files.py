"""A small study file, for tests of whoever runs it."""

from __future__ import annotations

from pathlib import Path

SMALL = """\
format = "preceptor-study/1"
id = "two-tests"
title = "Two tests, one of them at a time"
description = "Do people who follow the plan predict better?"
contact = "lab@example.org"
seed = 7
people = 20

[problem]
format = "preceptor-problem/1"
horizon = 6
budget = { kind = "at-most", k = 1 }
learner = { initial = [0.2, 1.3], curves = { kind = "geometric", alpha = 1.1 } }

[problem.world]
coefficients = [1.0, 0.8]
covariance = [[1.0, 0.6], [0.6, 1.0]]
names = ["bmi", "bp"]

[[arm]]
name = "plan"
policy = "plan"

[[arm]]
name = "fixed"
policy = "best fixed"

[[block]]
kind = "consent"
text = "You will see 9 cases. You can stop at any time."

[[block]]
kind = "instructions"
pages = ["Predict the outcome from the test that is shown."]

[[block.question]]
text = "What do you predict?"
choices = ["The test", "The outcome"]
right = 2

[[block]]
kind = "training"
rounds = 6

[[block.check]]
after = 3
text = "Please answer 5."
answer = 5

[[block]]
kind = "test"
show = [["bmi"], ["bp"], ["bmi", "bp"]]

[[block]]
kind = "debrief"
text = "Thank you."

[exclusions]
failed_checks = 1

[analysis]
measure = "test error"
compare = ["plan", "fixed"]
"""


def small_file(folder: Path, text: str = SMALL) -> Path:
    """The file, in a folder."""
    path = folder / "study.toml"
    path.write_text(text)
    return path
