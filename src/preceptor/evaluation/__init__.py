"""What a policy costs: its exact value, the sums over time behind it, and its long run."""

from preceptor.evaluation.course import losses
from preceptor.evaluation.value import Evaluation, evaluate, evaluate_with_error

__all__ = ["Evaluation", "evaluate", "evaluate_with_error", "losses"]
