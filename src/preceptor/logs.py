"""Logs: what people were shown, what they predicted, and what was true; one row a round.

Everything is in the units that the person read. `world.units` translates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._value import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Log:
    """Rounds of one or more people, ordered by participant and round.

    - `names`: the tests, n of them;
    - `participant`: (rows,) text, who;
    - `rounds`: (rows,) whole numbers, each at most once for a participant;
    - `shown`: (rows, n) whether the test was shown;
    - `values`: (rows, n) its result, NaN where it was hidden;
    - `prediction`: (rows,) what the person said;
    - `outcome`: (rows,) what was true, NaN where the person was not told.
    """

    names: tuple[str, ...]
    participant: npt.NDArray[np.str_]
    rounds: IntArray
    shown: npt.NDArray[np.bool_]
    values: FloatArray
    prediction: FloatArray
    outcome: FloatArray
