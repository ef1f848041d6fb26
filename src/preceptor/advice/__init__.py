"""A plan beside what else could be done, and beside what else could be true.

`advise` goes all the way from a table to a plan with its rivals. This room may plan, so that the
report need not: it gives values that are only drawn there.
"""

from preceptor.advice.advice import Advice, Provenance
from preceptor.advice.advising import advise
from preceptor.advice.alternatives import Alternative, alternatives
from preceptor.advice.resampling import Resampled, WeightInterval
from preceptor.advice.schedule import ScheduleRow
from preceptor.advice.sensitivity import Change, sensitivity

__all__ = [
    "Advice",
    "Alternative",
    "Change",
    "Provenance",
    "Resampled",
    "ScheduleRow",
    "WeightInterval",
    "advise",
    "alternatives",
    "sensitivity",
]
