"""Built-in tables: their numbers, what they mean, and where they come from.

Progression of diabetes, the default table of `preceptor plan`, and diagnoses of breast masses ship
with scikit-learn. Importing scikit-learn takes longer than most plans take to compute, so its files
are read directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.extensions import from_extra
from preceptor._base.values import FloatArray
from preceptor.errors import MissingExtra


@dataclass(frozen=True, eq=False)
class DataSet:
    """A built-in table of numbers: one column is the outcome, the others are tests.

    Attributes
    ----------
    name
        A short name.
    title
        The name for reports.
    columns
        Numbers by column, each of shape (rows,).
    outcome
        The column to predict.
    outcome_label
        How the outcome reads in a sentence.
    units
        The unit of each column.
    source
        Where the numbers come from.
    licence
        Terms of use.
    notes
        Known oddities, as sentences.
    """

    name: str
    title: str
    columns: Mapping[str, npt.NDArray[np.float64]]
    outcome: str
    outcome_label: str
    units: Mapping[str, str]
    source: str
    licence: str
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of cases."""
        return int(self.columns[self.outcome].size)

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests: every column but the outcome."""
        return tuple(name for name in self.columns if name != self.outcome)

    @property
    def frame(self) -> Any:
        """The table as a pandas frame, tests first, the outcome last."""
        pandas = from_extra("pandas", "data", "A data frame")
        order = (*self.tests, self.outcome)
        return pandas.DataFrame({name: self.columns[name] for name in order})

    def describe(self) -> str:
        """Describe the table as text.

        Returns
        -------
        str
            Cases, tests, units, source, licence and notes.
        """
        listed = ", ".join(f"{test} ({self.units[test]})" for test in self.tests)
        lines = [
            f"{self.title}: {self.rows} cases, {len(self.tests)} tests",
            f"Outcome: {self.outcome} ({self.units[self.outcome]})",
            f"Tests: {listed}",
            f"Source: {self.source}",
            f"Use: {self.licence}",
            *(f"Note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


# In the order of the columns in scikit-learn, which calls the last six s1 to s6.
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
    """442 patients, ten baseline tests, and a score of disease progression a year later.

    Numbers are on their original scale, not scikit-learn's default one; tests have clinical names.

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
    values, outcomes = _diabetes_numbers()
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


def _diabetes_numbers() -> tuple[FloatArray, FloatArray]:
    """Cases (442, 10) and outcomes (442,)."""
    files = [_data_file(f"diabetes_{part}.csv.gz") for part in ("data_raw", "target")]
    if None in files:
        from sklearn.datasets import load_diabetes as load

        loaded = load(scaled=False)
        return np.asarray(loaded.data, dtype=np.float64), np.asarray(loaded.target, np.float64)
    return np.loadtxt(str(files[0])), np.loadtxt(str(files[1]))


# The first ten columns in scikit-learn: means over the cell nuclei of one mass.
_NUCLEI = {
    "radius": "mean distance from the centre to the edge",
    "texture": "standard deviation of grey values",
    "perimeter": "length of the edge",
    "area": "inside the edge",
    "smoothness": "local variation of the radius",
    "compactness": "perimeter² / area - 1",
    "concavity": "depth of the concave parts of the edge",
    "concave points": "concave parts of the edge",
    "symmetry": "of both halves",
    "fractal dimension": "of the edge, minus 1",
}
_DIAGNOSIS = "malignant"


def load_breast_cancer() -> DataSet:
    """569 breast masses, ten measurements of their cell nuclei, and whether they were malignant.

    Of the thirty columns of the original table, the ten means are kept.

    Returns
    -------
    DataSet
        10 tests and the outcome, which is 1 for malignant and 0 for benign.

    Raises
    ------
    MissingExtra
        scikit-learn is not installed.

    Examples
    --------
    >>> data = load_breast_cancer()
    >>> data.rows, len(data.tests), int(data.columns[data.outcome].sum())
    (569, 10, 212)
    """
    file = _data_file("breast_cancer.csv")
    if file is None:
        from sklearn.datasets import load_breast_cancer as load

        loaded = load()
        values, benign = loaded.data, loaded.target
    else:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
        values, benign = table[:, :-1], table[:, -1]
    columns = {name: values[:, i].copy() for i, name in enumerate(_NUCLEI)}
    return DataSet(
        name="breast-cancer",
        title="Malignant breast masses",
        columns=columns | {_DIAGNOSIS: 1.0 - benign},
        outcome=_DIAGNOSIS,
        outcome_label=_DIAGNOSIS,
        units=_NUCLEI | {_DIAGNOSIS: "1 if malignant, 0 if benign"},
        source=(
            "W. N. Street, W. H. Wolberg and O. L. Mangasarian (1993), Nuclear feature extraction "
            "for breast tumor diagnosis, SPIE 1905, 861-870; as distributed with scikit-learn."
        ),
        licence="Distributed with scikit-learn (BSD licence); from the UCI repository (CC BY 4.0).",
        notes=(
            "Radius, perimeter and area are nearly copies of each other.",
            "Units are not documented.",
        ),
    )


EXAMPLES = {"diabetes": load_diabetes, "breast-cancer": load_breast_cancer}


def _data_file(name: str) -> Path | None:
    """A table of scikit-learn, or None where its version keeps it elsewhere."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingExtra("scikit-learn", "data", "The built-in tables")
    path = Path(package.origin).parent / "datasets" / "data" / name
    return path if path.is_file() else None
