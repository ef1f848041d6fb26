"""Body fat from tape measures: a table of thirteen tests for tests, benchmarks and documentation.

Body fat is measured by weighing people under water; a tape measure is cheaper. Which places
should somebody learn to read who guesses body fat by eye?

The data may be used for non-commercial purposes (`TERMS.md`), so the package does not carry them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from preceptor.data.datasets import DataSet
from preceptor.errors import InvalidInput

TABLE = Path(__file__).with_name("body_fat.csv")

_TESTS = {
    "age": "years",
    "weight": "lb",
    "height": "in",
    "neck": "cm",
    "chest": "cm",
    "abdomen": "cm",
    "hip": "cm",
    "thigh": "cm",
    "knee": "cm",
    "ankle": "cm",
    "biceps": "cm",
    "forearm": "cm",
    "wrist": "cm",
}
_OUTCOMES = {
    "brozek": "% of weight, 457/density - 414.2",
    "siri": "% of weight, 495/density - 450",
}
_NOTES = (
    "The numbers are as published. Row 42 weighs 205 lb at a height of 29.5 in, presumably 69.5.",
    "Body fat of row 182 is 0: both equations gave a negative number, set to 0 at the source.",
    "Body fat of rows 48, 76 and 96 does not follow from their densities, each of which seems to "
    "have one wrong digit at the source.",
    "Row 39, at 363 lb, is far from all others and pulls on every estimate.",
)


def load_body_fat(outcome: Literal["brozek", "siri"] = "brozek") -> DataSet:
    """252 men: age, weight, height and ten circumferences, and their percentage of body fat.

    Parameters
    ----------
    outcome
        The equation by which body fat was computed from body density: "brozek" or "siri".

    Returns
    -------
    DataSet
        13 tests and the outcome, in percent of weight.

    Raises
    ------
    InvalidInput
        Another outcome.

    Examples
    --------
    >>> data = load_body_fat()
    >>> data.rows, len(data.tests), data.outcome
    (252, 13, 'brozek')
    """
    if outcome not in _OUTCOMES:
        raise InvalidInput(f"outcome: {outcome!r}, must be 'brozek' or 'siri'")
    header, *rows = TABLE.read_text("utf-8").splitlines()
    table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    columns = dict(zip(header.split(","), table.T, strict=True))
    return DataSet(
        name="body-fat",
        title="Body fat from tape measures",
        columns={name: columns[name] for name in (*_TESTS, outcome)},
        outcome=outcome,
        outcome_label="body fat, %",
        units=_TESTS | {outcome: _OUTCOMES[outcome]},
        source=(
            "R. W. Johnson (1996), Fitting percentage of body fat to simple body measurements, "
            "Journal of Statistics Education 4(1); measured by K. W. Penrose, A. G. Nelson and "
            "A. G. Fisher (1985). Taken from the `fat` table of the Python package faraway 0.0.6."
        ),
        licence=(
            "A. G. Fisher gave permission to distribute the data freely and to use them for "
            "non-commercial purposes."
        ),
        notes=_NOTES,
    )
