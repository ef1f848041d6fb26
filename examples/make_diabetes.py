"""Regenerates examples/diabetes.toml: `python examples/make_diabetes.py` (needs scikit-learn)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# Column of the data as scikit-learn ships it, and what we call it.
TESTS = {"bmi": "bmi", "bp": "blood pressure", "s5": "triglycerides", "s1": "cholesterol"}
HALF_LIFE = 7
DIGITS = 6

HEADER = f"""\
# Diabetes progression: which two of four tests should a novice see?
#
# Data: the 442 patients of Efron, Hastie, Johnstone and Tibshirani, "Least Angle Regression",
# Annals of Statistics 32 (2004) 407-499, as shipped by scikit-learn
# (sklearn.datasets.load_diabetes(scaled=False)). The outcome is a measure of disease progression
# one year after baseline.
#
# Computed by examples/make_diabetes.py, rounded to {DIGITS} digits:
#   - tests and outcome are brought to mean 0 and variance 1 (dividing by n, not n - 1);
#     triglycerides are column s5, the logarithm of the serum level; cholesterol is column s1,
#     total serum cholesterol;
#   - coefficients: least squares of the outcome on the four tests;
#   - covariance: the sample correlation matrix of the four tests;
#   - noise_variance: residual sum of squares / (442 - 4 - 1);
#   - initial: the novice has learned each test on its own and takes its simple correlation with
#     the outcome for its weight. That counts twice what two tests tell together, and gets even
#     the sign of cholesterol wrong;
#   - alpha = 2^(1/{HALF_LIFE}): the error of a weight halves every {HALF_LIFE} showings. (An assumption; the
#     data say nothing about how people learn.)
#
# The four tests, the beliefs and the half-life were picked among several dozen combinations because
# their plan is instructive: against the best fixed set, plans of the others saved from nothing to
# a sixth. An illustration, not a finding about patients or doctors.
"""  # noqa: E501


def numbers() -> dict[str, Any]:
    """Everything in the file that is computed from the data."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    columns = [data.feature_names.index(name) for name in TESTS]
    x = data.data[:, columns]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = (data.target - data.target.mean()) / data.target.std()
    cases, size = x.shape
    covariance = x.T @ x / cases
    simple = x.T @ y / cases
    coefficients = np.linalg.solve(covariance, simple)
    residual = y - x @ coefficients
    return {
        "coefficients": coefficients,
        "covariance": covariance,
        "noise_variance": float(residual @ residual) / (cases - size - 1),
        "initial": simple,
        "alpha": 2.0 ** (1.0 / HALF_LIFE),
    }


def text() -> str:
    """The whole file."""
    found = numbers()
    names = ", ".join(f'"{name}"' for name in TESTS.values())
    rows = "\n".join(f"  {_row(row)}," for row in found["covariance"])
    return f"""{HEADER}
format = "preceptor-problem/1"
budget = 2       # at most two tests a patient
discount = 0.99  # about a hundred patients ahead; no horizon: there is always a next one

[world]
names = [{names}]
coefficients = {_row(found["coefficients"])}
noise_variance = {found["noise_variance"]:.{DIGITS}f}
covariance = [
{rows}
]

[learner]
initial = {_row(found["initial"])}

[learner.curves]
kind = "geometric"
alpha = {found["alpha"]:.{DIGITS}f}
"""


def _row(values: Any) -> str:
    return "[" + ", ".join(f"{value:.{DIGITS}f}" for value in values) + "]"


if __name__ == "__main__":
    target = Path(__file__).with_name("diabetes.toml")
    target.write_text(text(), encoding="utf-8")
    print(f"wrote {target}")
