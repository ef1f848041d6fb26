"""Loss oracles: what a round is expected to cost, for any state of the person and any set."""

from preceptor.loss.empirical import Empirical
from preceptor.loss.gaussian import ClosedForm
from preceptor.loss.oracle import DeviationForms, LossModel, LossOracle

__all__ = ["ClosedForm", "DeviationForms", "Empirical", "LossModel", "LossOracle"]
