"""A plan: what to show, what it costs, how far from the best it can be, and how it was found."""

from preceptor.plan.plan import ROUNDING, Plan

__all__ = ["ROUNDING", "Plan"]
