"""Families: the kinds of person that a log is weighed against, with the parameters to try.

Priors are what published experiments found (quoted beside each axis). A family belongs to a group:
people who do not learn, who learn by showings (whatever the outcome was), or by outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import repeated, unknown_names
from preceptor.errors import InvalidInput
from preceptor.evidence.axes import Axis, values_of
from preceptor.evidence.designs import (
    Design,
    Rounds,
    by_certainty,
    by_exposure,
    by_surprise,
    no_learning,
)
from preceptor.evidence.record import Record
from preceptor.people.bayesian import Bayesian
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric, PowerLaw
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.forgetful import Forgetful
from preceptor.people.no_learning import NoLearning
from preceptor.people.person import Person

NONE, SHOWINGS, OUTCOMES = "none", "by showings", "by outcomes"
GROUPS = (NONE, SHOWINGS, OUTCOMES)
# From this probability on, somebody is said to be of a kind, and planned for alone.
SURE = 0.9

# --- parameters as published experiments found them: what to try, and how likely it is ---

# A falling rate is compared with a constant one at this round.
REFERENCE_ROUND = 20.0

# ln rate ~ N(ln 0.05, 1.1): a median half-life of 14 showings.
RATE = Axis("rate", "share of a weight's error that one showing removes", 0.003, 0.7, 12, 0.05, 1.1)
FEW_RATES = Axis("rate", RATE.meaning, 0.004, 0.6, 9, 0.05, 1.1)
# 10, 50 and 90 % points .12, .40, 1.
FLOOR = Axis(
    "floor", "share of the error that stays, however often a test is shown", 0.07, 0.85, 5,
    beta=(2.0, 3.0),
)  # fmt: skip
# (1 + m)^-power leaves as much after 20 showings as a rate of 0.05 does, in the median.
POWER = Axis("power", "the error falls as (showings + 1) to minus this", 0.03, 3.0, 10, 0.34, 1.0)
# Half of people do not fade at all (the families without fading); else log-uniform.
FADING = Axis("forgetting", "share of the exposure that a round takes away", 0.003, 0.1, 4)
DAILY = Axis("forgetting", "share of the exposure that a day takes away", 0.003, 0.3, 5)
LEAK = Axis("leak", "share by which weights go back to the first ones each round", 0.003, 0.1, 4)
DECAY = Axis("decay", "power of time by which steps become smaller", 0.25, 1.0, 3)
LATE_RATE = Axis("rate", "step at the twentieth round", 0.004, 0.6, 9, 0.05, 1.1)
# After m showings about 1 / (1 + ratio m) of an error is left: half after 14, in the median.
RATIO = Axis(
    "certainty", "prior variance of weights over the noise they expect", 0.003, 6.0, 10, 0.07, 1.3
)
FEW_RATIOS = Axis("certainty", RATIO.meaning, 0.004, 5.0, 7, 0.07, 1.3)
# In the long run a Bayesian with drift moves like a delta rule of rate sqrt(drift).
DRIFT = Axis("drift", "variance that weights gain each round, over the noise", 1e-4, 4e-2, 4)

Make = Callable[[Record, FloatArray, FloatArray, float], Person]
Build = Callable[[Rounds, FloatArray], Design]


@dataclass(frozen=True, eq=False)
class Family:
    """A kind of person with parameters to try.

    Parameters
    ----------
    name
        Unique among families.
    group
        "none", "by showings" or "by outcomes".
    words
        How such people learn, as part of a sentence.
    axes
        Their parameters.
    make
        Makes the person from the record, first weights (n,) in the world's units, parameters and
        κ.
    build
        Compiled builder of designs from parameters (points, axes).
    dated
        Whether the family needs dates.
    hiding
        Whether the family is another one's twin unless tests are hidden.
    numbers
        Whether the family is weighed only where outcomes are numbers.
    """

    name: str
    group: str
    words: str
    axes: tuple[Axis, ...]
    make: Make
    build: Build
    dated: bool = False
    hiding: bool = False
    numbers: bool = False

    def design(self, rounds: Rounds, coordinates: FloatArray) -> Design:
        """Designs at rows of coordinates (points, axes), for every dial."""
        return self.build(rounds, values_of(self.axes, coordinates))

    def person(
        self, record: Record, initial: FloatArray, point: Sequence[float] | FloatArray,
        imputation: float,
    ) -> Person:  # fmt: skip
        """Somebody of this kind.

        Parameters
        ----------
        record
            Of the person; it says which world, and what a day is worth in rounds.
        initial
            First weights (n,) in the world's units.
        point
            A value for each axis.
        imputation
            κ from 0 to 1.

        Returns
        -------
        Person
            Ready to act, to be planned for and to be followed.
        """
        return self.make(record, initial, np.asarray(point, dtype=np.float64), imputation)

    def __reduce__(self) -> Any:
        # Ours are made of small functions without a name; other processes find them by their own.
        if FAMILIES.get(self.name) is self:
            return _ours, (self.name,)
        return super().__reduce__()


def _four(speed: Any, floor: Any = 0.0, fading: Any = 0.0, daily: Any = 0.0) -> FloatArray:
    columns = np.broadcast_arrays(np.asarray(speed, dtype=np.float64), floor, fading, daily)
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=-1)


def _speed(rate: FloatArray) -> FloatArray:
    return np.asarray(-np.log1p(-rate))


def _curve(rate: float, floor: float = 0.0) -> Geometric:
    return Geometric(1.0 / (1.0 - rate), floor=floor**2)


def _world_rate(record: Record, rate: float) -> float:
    return float(rate * np.mean(1.0 / record.test_sds**2) / record.mean_slope)


def _delta(
    record: Record, initial: FloatArray, rate: float, dial: float, **more: float
) -> DeltaRule:
    return DeltaRule(initial, _world_rate(record, rate), dial, **more)  # type: ignore[arg-type]


def _bayesian(
    record: Record, initial: FloatArray, ratio: float, dial: float, **more: float
) -> Bayesian:
    """Only ratios are known; the noise is taken to be half of the outcome's variance."""
    noise = 0.5 * record.outcome_sd**2
    return Bayesian(initial, ratio * noise / record.test_sds**2, noise, dial, **more)


def _drift(record: Record, drift: float) -> float:
    return float(0.5 * drift * record.outcome_sd**2 * np.mean(1.0 / record.test_sds**2))


def _per_round(record: Record, daily: float) -> float:
    """Days are not planned with; so the fading of a round is that of the days between rounds."""
    return float(1.0 - (1.0 - daily) ** max(float(np.mean(record.gaps[1:])), 0.0))


def _late(points: FloatArray) -> FloatArray:
    first = points[:, 0] * REFERENCE_ROUND ** points[:, 1]
    return np.stack([first, points[:, 1], np.zeros(len(points))], axis=-1)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "none", NONE, "not at all", (),
            lambda record, first, at, dial: NoLearning(first, dial),
            no_learning,
        ),
        Family(
            "geometric", SHOWINGS, "by showings, each of which removes the same share of the error",
            (RATE,),
            lambda record, first, at, dial: Learner(first, _curve(at[0]), dial),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]))),
        ),
        Family(
            "floor", SHOWINGS, "by showings, down to an error that stays",
            (RATE, FLOOR),
            lambda record, first, at, dial: Learner(first, _curve(at[0], at[1]), dial),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]), at[:, 1])),
        ),
        Family(
            "power law", SHOWINGS, "by showings, fast at first and then ever slower",
            (POWER,),
            lambda record, first, at, dial: Learner(first, PowerLaw(2.0 * at[0]), dial),
            lambda rounds, at: by_exposure(rounds, _four(at[:, 0]), power=True),
        ),
        Family(
            "forgetful", SHOWINGS, "by showings, forgetting tests that are not shown",
            (FEW_RATES, FADING),
            lambda record, first, at, dial: Forgetful(first, _curve(at[0]), float(at[1]), dial),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]), fading=at[:, 1])),
            hiding=True,
        ),
        Family(
            "forgetful by days", SHOWINGS, "by showings, forgetting with the days that pass",
            (FEW_RATES, DAILY),
            lambda record, first, at, dial: Forgetful(
                first, _curve(at[0]), _per_round(record, at[1]), dial
            ),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]), daily=at[:, 1])),
            dated=True,
        ),
        Family(
            "delta rule", OUTCOMES, "by outcomes, in steps of constant size",
            (RATE,),
            lambda record, first, at, dial: _delta(record, first, at[0], dial),
            lambda rounds, at: by_surprise(rounds, _four(at[:, 0])[:, :3]),
        ),
        Family(
            "decaying delta rule", OUTCOMES, "by outcomes, in steps that become smaller",
            (LATE_RATE, DECAY),
            lambda record, first, at, dial: _delta(
                record, first, at[0] * REFERENCE_ROUND ** at[1], dial, decay=float(at[1])
            ),
            lambda rounds, at: by_surprise(rounds, _late(at)),
        ),
        Family(
            "leaking delta rule", OUTCOMES, "by outcomes, with a pull back to the first weights",
            (FEW_RATES, LEAK),
            lambda record, first, at, dial: _delta(record, first, at[0], dial, leak=float(at[1])),
            lambda rounds, at: by_surprise(rounds, _four(at[:, 0], 0.0, at[:, 1])[:, :3]),
        ),
        Family(
            "bayesian", OUTCOMES, "by outcomes as a regression does, the surer the less",
            (RATIO,),
            lambda record, first, at, dial: _bayesian(record, first, at[0], dial),
            lambda rounds, at: by_certainty(rounds, _four(at[:, 0])[:, :2]),
            numbers=True,
        ),
        Family(
            "drifting bayesian", OUTCOMES, "by outcomes as a regression does, never quite sure",
            (FEW_RATIOS, DRIFT),
            lambda record, first, at, dial: _bayesian(
                record, first, at[0], dial, drift=_drift(record, at[1])
            ),
            lambda rounds, at: by_certainty(rounds, at),
            numbers=True,
        ),
    )
}  # fmt: skip


def _ours(name: str) -> Family:
    return FAMILIES[name]


def chosen(families: Sequence[str] | None, record: Record) -> tuple[Family, ...]:
    """The families to weigh, of those that this record allows.

    Parameters
    ----------
    families
        Names; all if left out.
    record
        Without dates, nobody can be weighed who goes by days; where nothing was ever hidden,
        whoever fades while hidden is left out unless named; where outcomes are yes or no, the
        Bayesian is left out, who is hardly ever told from a delta rule.

    Returns
    -------
    tuple of Family
        In the order given.

    Raises
    ------
    InvalidInput
        A name that is not known, or the same name twice.
    """
    names = tuple(FAMILIES) if families is None else tuple(families)
    faults = unknown_names("families", names, tuple(FAMILIES))
    faults += [f"families: {name!r} is there twice" for name in repeated(names)]
    InvalidInput.raise_if(faults)
    binary, found = record.world.is_binary, [FAMILIES[name] for name in names]
    if families is not None:
        InvalidInput.raise_if(
            f"families: {family.name!r} is not weighed where the outcome is yes or no; leave it out"
            for family in found
            if binary and family.numbers
        )
    kept = tuple(
        family
        for family in found
        if (record.dated or not family.dated)
        and (record.hides or not family.hiding or families is not None)
        and not (binary and family.numbers)
    )
    if not kept:
        raise InvalidInput("families: nothing to weigh; name at least one that needs no dates")
    return kept


def kappa_in_words(dial: float) -> str:
    """What somebody with this κ does with hidden tests."""
    if math.isclose(dial, 0.0, abs_tol=1e-9):
        return "knowing correlations"
    return "ignoring correlations" if math.isclose(dial, 1.0) else "knowing correlations in part"
