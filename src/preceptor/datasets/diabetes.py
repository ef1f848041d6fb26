"""Progression of diabetes from ten baseline tests: what `preceptor plan` plans when given no table.

scikit-learn carries the table. Importing scikit-learn takes longer than most plans take to find,
so the two files are read where it keeps them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.datasets.dataset import DataSet
from preceptor.errors import MissingExtra

# In the order of scikit-learn's columns, which calls the last six s1 to s6.
_TESTS = {
    "age": "years",
    "sex": "1 or 2; which is which is not documented",
    "BMI": "kg/m²",
    "blood pressure": "average, mmHg",
    "total cholesterol": "mg/dl",
    "LDL": "low-density lipoproteins, mg/dl",
    "HDL": "high-density lipoproteins, mg/dl",
    "cholesterol ratio": "total cholesterol / HDL",
    "triglycerides": "logarithm of mg/dl, presumably",
    "glucose": "mg/dl",
}
_OUTCOME = "progression"


def load_diabetes() -> DataSet:
    """442 patients, ten baseline tests, and a score of how far the disease got a year later.

    Numbers are on their original scale, not the one that scikit-learn gives by default; tests have
    the names that clinicians give them.

    Returns
    -------
    DataSet
        10 tests and the outcome.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.

    Examples
    --------
    >>> data = load_diabetes()
    >>> data.rows, len(data.tests), data.outcome
    (442, 10, 'progression')
    """
    values, outcomes = _numbers()
    columns = {name: values[:, i].copy() for i, name in enumerate(_TESTS)}
    return DataSet(
        name="diabetes",
        title="Progression of diabetes",
        columns=columns | {_OUTCOME: outcomes},
        outcome=_OUTCOME,
        outcome_label="progression score",
        units=_TESTS | {_OUTCOME: "score one year after baseline"},
        source=(
            "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani (2004), Least angle regression, "
            "Annals of Statistics 32(2), 407-499; as distributed with scikit-learn."
        ),
        licence="Distributed with scikit-learn (BSD licence); its terms of origin are not stated.",
        notes=(
            "Units are not documented; those given here are the usual ones that fit the numbers.",
            "The lipids are nearly dependent: total cholesterol is mostly LDL plus HDL, and the "
            "cholesterol ratio is made of two of them.",
        ),
    )


def _numbers() -> tuple[FloatArray, FloatArray]:
    """Cases (442, 10) and outcomes (442,)."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingExtra("scikit-learn", "data", "The diabetes table")
    folder = Path(package.origin).parent / "datasets" / "data"
    files = [folder / f"diabetes_{part}.csv.gz" for part in ("data_raw", "target")]
    if not all(path.is_file() for path in files):  # another version may keep them elsewhere
        from sklearn.datasets import load_diabetes as load

        loaded = load(scaled=False)
        return np.asarray(loaded.data, dtype=np.float64), np.asarray(loaded.target, np.float64)
    return np.loadtxt(files[0]), np.loadtxt(files[1])
