"""What the registered analysis found: numbers, plain data, and sentences for a paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy import stats

from preceptor._base.values import FloatArray
from preceptor._base.words import listed
from preceptor.diagnosis.kind_posterior import SURE


@dataclass(frozen=True)
class Verdicts:
    """How people learn, counted: from outcomes, not from outcomes, not decided."""

    outcomes: int
    others: int
    undecided: int

    @classmethod
    def of(cls, shares: FloatArray) -> Verdicts:
        """From everybody's probability to learn from outcomes."""
        yes, no = int((shares >= SURE).sum()), int((shares <= 1.0 - SURE).sum())
        return cls(yes, no, len(shares) - yes - no)


@dataclass(frozen=True, eq=False)
class Result:
    """What the registered analysis found.

    Attributes
    ----------
    measure, test, alternative, level
        As registered.
    arms
        Those compared; one where people are compared with themselves.
    people
        How many of each arm were analysed: where arms are swapped within places, people at places
        that both arms have.
    means, deviations
        Of the measure, in each arm. A mixed model estimates the means, for the same mixture of
        places in both arms; so the effect is always the difference of the two.
    effect, low, high
        First arm minus second (or the mean of the one arm), with its 1 - level interval.
    effect_deviation
        The standard deviation behind the interval: of differences between people at the same place
        (permutation, mixed), of people within arms (Welch), of people (one arm). NaN for a sign
        test, whose effect is a share.
    standardised
        The effect in these standard deviations, corrected for small samples: Hedges' g.
    p
        NaN where the test could not be carried out.
    verdicts
        For the measure `kind`: how many people of each arm learn in which way.
    slope
        Mean change of the slope on the probed test with its interval, where one is named and there
        is one arm.
    participants, excluded, numbers
        Everybody, why they are left out (empty if they are not), and what was measured.
    doubts
        What to be wary of, in sentences.
    """

    measure: str
    test: str
    alternative: str
    level: float
    arms: tuple[str, ...]
    people: tuple[int, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    effect: float
    low: float
    high: float
    effect_deviation: float
    standardised: float
    p: float
    participants: tuple[str, ...]
    excluded: tuple[str, ...]
    numbers: FloatArray
    verdicts: tuple[Verdicts, ...] = ()
    slope: tuple[float, float, float] | None = None
    doubts: tuple[str, ...] = ()

    @property
    def is_significant(self) -> bool:
        """Whether p is below the level; not where there is none."""
        return bool(self.p < self.level)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None where a number could not be computed."""
        said = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("numbers", "verdicts", "participants", "excluded")
        }
        said["verdicts"] = [vars(each) for each in self.verdicts]
        said["participants"] = [
            {"participant": who, "excluded": why, "measure": float(number)}
            for who, why, number in zip(self.participants, self.excluded, self.numbers, strict=True)
        ]
        return {name: plain(part) for name, part in said.items()}

    def in_words(self) -> str:
        """A few sentences that can go into a paper."""
        out = sum(bool(why) for why in self.excluded)
        whom = [f"{n} of {arm}" for n, arm in zip(self.people, self.arms, strict=True)]
        lines = [
            f"Analysed: {listed(whom)} ({out} of {len(self.excluded)} people left out by the "
            "registered rules)."
        ]
        if self.measure == "kind":
            lines += [_kinds(a, v) for a, v in zip(self.arms, self.verdicts, strict=True)]
        each = [
            f"{mean:.4g} (sd {sd:.3g}) in {arm}"
            for arm, mean, sd in zip(self.arms, self.means, self.deviations, strict=True)
        ]
        what = "Probability of learning from outcomes" if self.measure == "kind" else self.measure
        lines.append(f"{what[0].upper()}{what[1:]}: {listed(each)}.")
        if self.measure != "kind" or len(self.arms) == 2:
            size = f", {self.standardised:.2f} of these standard deviations"
            lines.append(
                f"{self._effect()}: {self.effect:.4g} (sd {self.effect_deviation:.3g}, "
                f"{1 - self.level:.0%} interval {self.low:.4g} to {self.high:.4g})"
                f"{'' if math.isnan(self.standardised) else size}."
            )
        if self.slope is not None:
            mean, low, high = self.slope
            lines.append(
                f"Slope on the probed test changed by {mean:.3g} ({1 - self.level:.0%} interval "
                f"{low:.3g} to {high:.3g})."
            )
        lines.append(self._verdict())
        return "\n".join([*lines, *(f"Note: {doubt}." for doubt in self.doubts)])

    def _effect(self) -> str:
        if len(self.arms) == 1:
            return "Mean"
        if self.test == "welch":
            return "Difference between arms"
        return "Difference between people at the same place"

    def _verdict(self) -> str:
        if math.isnan(self.p):
            return "There is no p-value."
        kind = "Sign" if self.measure == "kind" and len(self.arms) == 1 else self.test.title()
        said = f"{kind} test, {self.alternative}: p = {self.p:.3g}"
        if self.is_significant:
            return f"{said}, below {self.level:g}."
        return f"{said}, not below {self.level:g}; that does not show that there is no effect."


def _kinds(arm: str, found: Verdicts) -> str:
    total = found.outcomes + found.others + found.undecided
    made = stats.binomtest(found.outcomes, max(total, 1)).proportion_ci(0.95)
    return (
        f"{arm}: {found.outcomes} of {total} learn from outcomes (95% interval {made.low:.0%} to "
        f"{made.high:.0%}), {found.others} do not, {found.undecided} stay open."
    )


def plain(part: Any) -> Any:
    """Data that JSON can hold: None where a number could not be computed."""
    if isinstance(part, float):
        return part if math.isfinite(part) else None
    if isinstance(part, (list, tuple)):
        return [plain(each) for each in part]
    if isinstance(part, dict):
        return {name: plain(each) for name, each in part.items()}
    return part
