"""Policies: what to show, round by round or person by person.

Every policy answers two questions: `schedule(T)`, the sets for the first T rounds of somebody who
starts afresh, and `recommend(counts)`, what to show somebody who has seen each test so and so
often, on the plan or not. Counts are totals: `start` is what a new person had seen before round
0. Sets are tuples of test indices in rising order.
"""

from preceptor.policies.count_policy import CountPolicy
from preceptor.policies.policy import Policy, check_sets
from preceptor.policies.schedules import (
    Alternating,
    ExploreThenCommit,
    ExploreThenRepeat,
    Stationary,
)
from preceptor.policies.showings import as_set, as_sets, runs

__all__ = [
    "Alternating",
    "CountPolicy",
    "ExploreThenCommit",
    "ExploreThenRepeat",
    "Policy",
    "Stationary",
    "as_set",
    "as_sets",
    "check_sets",
    "runs",
]
