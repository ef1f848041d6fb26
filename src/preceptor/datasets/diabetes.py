"""Progression of diabetes from ten baseline measurements, as scikit-learn carries it."""

from __future__ import annotations

import numpy as np

from preceptor.datasets.dataset import DataSet
from preceptor.errors import MissingExtra

_UNITS = {
    "age": "years",
    "sex": "1 or 2; which is which is not documented",
    "bmi": "kg/m²",
    "bp": "average blood pressure, mmHg",
    "s1": "total serum cholesterol",
    "s2": "low-density lipoproteins",
    "s3": "high-density lipoproteins",
    "s4": "total cholesterol / HDL",
    "s5": "possibly log of serum triglycerides",
    "s6": "blood sugar",
}
_OUTCOME = "progression"


def load_diabetes() -> DataSet:
    """442 patients, ten baseline tests, and a score of how far the disease got a year later.

    Numbers are on their original scale, not the one that scikit-learn gives by default.

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
    try:
        from sklearn.datasets import load_diabetes as load
    except ImportError as error:
        raise MissingExtra("scikit-learn", "data", "The diabetes table") from error
    loaded = load(scaled=False)
    columns = {name: np.array(loaded.data[:, i]) for i, name in enumerate(loaded.feature_names)}
    return DataSet(
        name="diabetes",
        title="Progression of diabetes",
        columns=columns | {_OUTCOME: np.asarray(loaded.target, dtype=np.float64)},
        outcome=_OUTCOME,
        outcome_label="progression score",
        units=_UNITS | {_OUTCOME: "score one year after baseline"},
        source=(
            "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani (2004), Least angle regression, "
            "Annals of Statistics 32(2), 407-499; as distributed with scikit-learn."
        ),
        licence="Distributed with scikit-learn (BSD licence); its terms of origin are not stated.",
        notes=(
            "s1 to s4 are nearly dependent: total cholesterol is mostly LDL plus HDL, and s4 is "
            "a ratio of two of them.",
        ),
    )
