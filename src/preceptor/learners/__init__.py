"""How a person learns: evidence from logs, fitted learners, diagnostic blocks and the tutor."""

from preceptor.learners.case_bound import CaseAwarePlan, case_aware_plan
from preceptor.learners.case_choice import CasePool, Plausibility
from preceptor.learners.case_policy import CaseAware
from preceptor.learners.diagnosis import Diagnosis, diagnose, read
from preceptor.learners.diagnostic_blocks import Block, BlockRound
from preceptor.learners.folding import cannot_tell
from preceptor.learners.kind_posterior import LogReading, read_log
from preceptor.learners.learner_estimator import LearnerEstimator, fit_learner
from preceptor.learners.populations import GroupWeighed, weigh_people
from preceptor.learners.push_test import PushTest, push_test
from preceptor.learners.records import Record
from preceptor.learners.simulated_tutoring import Tutored, tutored
from preceptor.learners.tutor import Tutor
from preceptor.learners.verdict import Verdict, group_verdict, verdict
from preceptor.learners.weighing import Weighed, weigh

__all__ = [
    "Block",
    "BlockRound",
    "CaseAware",
    "CaseAwarePlan",
    "CasePool",
    "Diagnosis",
    "GroupWeighed",
    "LearnerEstimator",
    "LogReading",
    "Plausibility",
    "PushTest",
    "Record",
    "Tutor",
    "Tutored",
    "Verdict",
    "Weighed",
    "cannot_tell",
    "case_aware_plan",
    "diagnose",
    "fit_learner",
    "group_verdict",
    "push_test",
    "read",
    "read_log",
    "tutored",
    "verdict",
    "weigh",
    "weigh_people",
]
