"""What a log says about who somebody is: kinds weighed, pushes tested, and what would tell more."""

from preceptor.evidence.everybody import weigh_people
from preceptor.evidence.folding import cannot_tell
from preceptor.evidence.group import GroupWeighed
from preceptor.evidence.push import PushTest, push_test
from preceptor.evidence.record import Record
from preceptor.evidence.verdict import Verdict, group_verdict, verdict
from preceptor.evidence.weighed import Weighed
from preceptor.evidence.weighing import weigh

__all__ = [
    "GroupWeighed",
    "PushTest",
    "Record",
    "Verdict",
    "Weighed",
    "cannot_tell",
    "group_verdict",
    "push_test",
    "verdict",
    "weigh",
    "weigh_people",
]
