"""Compare a plan with what else could be shown, and with what else could be true.

`advise` goes all the way from a table to a plan with its rivals. Everything that the report needs
is computed here, so that the report only has to draw it.
"""

from preceptor.advice.advice import Advice, Provenance, ScheduleRow
from preceptor.advice.advising import advise
from preceptor.advice.alternatives import Alternative, alternatives
from preceptor.advice.comparing import Resampled, WeightInterval
from preceptor.advice.options import Charges, PersonOptions, TableOptions
from preceptor.advice.sensitivity import Change, sensitivity

__all__ = [
    "Advice",
    "Alternative",
    "Change",
    "Charges",
    "PersonOptions",
    "Provenance",
    "Resampled",
    "ScheduleRow",
    "TableOptions",
    "WeightInterval",
    "advise",
    "alternatives",
    "sensitivity",
]
