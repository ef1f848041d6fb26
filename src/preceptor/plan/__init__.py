"""A plan: what to show, what it costs, how far from the best it can be, and how it was found."""

from preceptor.plan.plan import ROUNDING, Plan
from preceptor.plan.reading import ALL_POLICIES, FIXED_SCHEDULES

__all__ = ["ALL_POLICIES", "FIXED_SCHEDULES", "ROUNDING", "Plan"]
