"""Means over draws with 95% intervals, and when two such means agree.

Tables use Student's t, which is honest about few draws; bands in figures are 1.96 standard errors
wide on either side, as in the paper, so that figures can be laid side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Mean:
    """A mean over draws, its standard error (0 if all are equal) and how many draws there were.

    A number that is known, not sampled, is `exact`.
    """

    value: float
    error: float
    draws: int
    exact: bool = False

    @classmethod
    def known(cls, value: float) -> Mean:
        """A number without sampling error."""
        return cls(value, 0.0, 0, exact=True)

    @classmethod
    def of(cls, values: Sequence[float] | Any) -> Mean:
        """Mean and standard error of a sample; NaN are left out."""
        array = np.asarray(values, dtype=np.float64)
        array = array[~np.isnan(array)]
        if array.size == 0:
            return cls(math.nan, math.nan, 0)
        spread = float(array.std(ddof=1)) if array.size > 1 else math.nan
        return cls(float(array.mean()), spread / math.sqrt(array.size), array.size)

    @property
    def says_something(self) -> bool:
        """Whether draws vary, or nothing was drawn: one draw, or equal ones, have no interval."""
        return self.exact or (self.draws > 1 and self.error > 0.0)

    @property
    def margin(self) -> float:
        """Half the width of the 95% interval, by Student's t."""
        from scipy.special import stdtrit

        if self.exact:
            return 0.0
        return float(stdtrit(self.draws - 1, 0.975)) * self.error if self.draws > 1 else math.nan

    @property
    def low(self) -> float:
        """Lower end of the 95% interval."""
        return self.value - self.margin

    @property
    def high(self) -> float:
        """Upper end of the 95% interval."""
        return self.value + self.margin

    def margin_beside(self, draws: int) -> float:
        """95% margin of the difference from another mean, of that many other draws."""
        return 0.0 if self.exact else self.margin * math.sqrt(1.0 + self.draws / draws)


def means(frame: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """One row for each group: its keys, `mean`, `draws`, and a band from `low` to `high`."""
    import pandas

    rows = []
    for keys, group in frame.groupby(list(by), sort=True, dropna=False):
        mean = Mean.of(group[column])
        half = 0.0 if math.isnan(mean.error) else 1.96 * mean.error
        rows.append(
            {
                **dict(zip(by, keys, strict=True)),
                "mean": mean.value,
                "low": mean.value - half,
                "high": mean.value + half,
                "draws": mean.draws,
            }
        )
    return pandas.DataFrame(rows)


def mean_where(frame: pd.DataFrame, column: str, **chosen: Any) -> Mean:
    """Mean of a column over the rows in which other columns have these values.

    Numbers are matched up to rounding, so that `rho=0.6` finds 0.6000000000000001.
    """
    picked = np.ones(len(frame), dtype=np.bool_)
    for name, value in chosen.items():
        if isinstance(value, float):
            picked &= np.isclose(frame[name].astype(float), value, rtol=0.0, atol=1e-9)
        else:
            picked &= (frame[name] == value).to_numpy()
    return Mean.of(frame.loc[picked, column])
