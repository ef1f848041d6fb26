"""A plan beside what else could be done, and beside what else could be true.

This layer may plan, so that the report need not: it gives values that are only drawn there.
"""

from preceptor.comparison.alternatives import Alternative, alternatives
from preceptor.comparison.sensitivity import Change, sensitivity

__all__ = ["Alternative", "Change", "alternatives", "sensitivity"]
