"""The numbers that the paper prints, and comparisons with them.

Guan, Raman and Fang (2026). Percentages are written as such. `rounding` is half a unit of the last
printed digit: 93% may be anything from 92.5 to 93.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from preceptor.paper.experiment import Agreement, Finding
from preceptor.paper.sweep import SampleMean


@dataclass(frozen=True)
class Printed:
    """A number in the paper: `relation` is "=", "≥", "≤", "<" or ">"; a mean over `draws` draws."""

    claim: str
    value: float
    rounding: float
    unit: str = "%"
    relation: str = "="
    draws: int = 20

    @property
    def text(self) -> str:
        """The number as printed."""
        digits = max(0, round(-math.log10(2 * self.rounding)))
        sign = "" if self.relation == "=" else f"{self.relation} "
        return f"{sign}{self.value:.{digits}f}{_unit(self.unit)}"


STATIONARY_HALF = Printed("best fixed set at ρ=.5 (α=1.10)", 93, 0.5)
STATIONARY_HIGH = Printed("best fixed set at ρ=.99 (α=1.10)", 53, 0.5)
STATIONARY_SLOW = Printed("best fixed set at ρ=.5, slow learning (α=1.05)", 97, 0.5)
STATIONARY_FAST = Printed("best fixed set at ρ=.5, fast learning (α=1.20)", 89, 0.5)

MAP_LAST_STATIONARY = Printed("nothing is explored up to ρ", 0.5, 0.05, "", "≥")
MAP_AT_SIXTY = Printed("exploration at ρ=.6 lasts", 49, 0.5, " rounds")
MAP_AT_HIGH = Printed("exploration at ρ=.99 lasts", 150, 0.5, " rounds", ">")

EXPLORATION_PAIR = Printed("mean exploration of (2,1) at ρ=.99", 121.00, 0.005, " rounds")
EXPLORATION_TRIPLE = Printed("largest mean exploration of (3,2)", 23.65, 0.005, " rounds", "≤")

TRUNCATED_80 = Printed("truncated at T̄=80 keeps (α=1.10)", 98, 0.5)
TRUNCATED_120 = Printed("truncated at T̄=120 keeps, for every α", 99, 0.5, "%", "≥")
TRUNCATED_TIME_80 = Printed("time at T̄=80, of that at T=600", 2, 0.5)
TRUNCATED_TIME_120 = Printed("time at T̄=120, of that at T=600", 4, 0.5, "%", "≤")

DROP_LEARNING_50 = Printed("φ wrong by 50% loses", 1.5, 0.05, draws=80)
DROP_LOSS_50 = Printed("loss oracle wrong by 50% loses", 9.4, 0.05, draws=80)
DROP_IMPUTATION_20 = Printed("imputation wrong by 20% loses", 5.9, 0.05, draws=80)
DROP_IMPUTATION_50 = Printed("imputation wrong by 50% loses", 19.0, 0.05, draws=80)
KEPT_AT_10 = Printed("any input wrong by 10% keeps", 98.4, 0.05, "%", "≥", draws=80)

VARIANTS_LONGEST = Printed("largest T̄ keeps, in every scenario", 97, 0.5, "%", "≥", draws=3)


def compare(printed: Printed, mean: SampleMean, *, claim: str = "", why: str = "") -> Finding:
    """Compare a mean of ours with a number in the paper.

    They agree if ours equals the printed number in all printed digits, or satisfies the printed
    inequality. They are compatible if a mean over as many draws as the paper's could well have come
    out as printed, given how much ours vary.
    """
    name = claim or printed.claim
    ours = mean_in_words(mean, printed.unit)
    if not mean.says_something:
        return Finding(name, printed.text, ours, Agreement.NOT_RUN, why)
    return Finding(name, printed.text, ours, verdict_on(printed, mean), why)


def verdict_on(printed: Printed, mean: SampleMean) -> Agreement:
    """Return whether a mean agrees, is compatible, or differs."""
    if _is_as_printed(printed, mean.value, 0.0):
        return Agreement.AGREES
    close = _is_as_printed(printed, mean.value, mean.margin_against(printed.draws))
    return Agreement.COMPATIBLE if close else Agreement.DIFFERS


def _is_as_printed(printed: Printed, value: float, margin: float) -> bool:
    """Whether a number within that margin of ours would be printed so or satisfy the inequality."""
    if printed.relation == "=":
        return abs(value - printed.value) <= margin + printed.rounding
    if printed.relation == ">":
        return value + margin > printed.value
    if printed.relation == "≥":
        return value + margin >= printed.value - printed.rounding
    return value - margin <= printed.value + printed.rounding


def fitted(printed: Printed, mean: SampleMean, why: str, *, claim: str = "") -> Finding:
    """A number that something was chosen to fit: shown with the paper's, without a verdict."""
    ours = mean_in_words(mean, printed.unit)
    verdict = Agreement.NOT_RUN if math.isnan(mean.value) else Agreement.NOT_COMPARABLE
    return Finding(claim or printed.claim, printed.text, ours, verdict, why)


def not_stated(claim: str, ours: SampleMean | str, unit: str = "%", why: str = "") -> Finding:
    """A number of ours that has no counterpart in the paper."""
    text = ours if isinstance(ours, str) else mean_in_words(ours, unit)
    return Finding(claim, "-", text, Agreement.NOT_SAID, why)


def statement(claim: str, paper: str, ours: str, agrees: bool | None, why: str = "") -> Finding:
    """A statement in words, and whether it holds here; None if too little was run to say."""
    if agrees is None:
        return Finding(claim, paper, "-", Agreement.NOT_RUN, why)
    return Finding(claim, paper, ours, Agreement.HOLDS if agrees else Agreement.DIFFERS, why)


def mean_in_words(mean: SampleMean, unit: str) -> str:
    """A mean with its interval, e.g. `93.8 ± 2.1%`."""
    if math.isnan(mean.value):
        return "-"
    margin = "" if mean.exact or math.isnan(mean.margin) else f" ± {_number(mean.margin)}"
    return f"{_number(mean.value)}{margin}{_unit(unit)}"


def _number(value: float) -> str:
    """Two decimals for small numbers, fewer for large ones; never an exponent."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 100 else f"{value:.2f}"


def _unit(unit: str) -> str:
    return unit if unit in ("", "%") else f" {unit.strip()}"
