"""Any scikit-learn regressor with `partial_fit` as a person; `SGDRegressor` unless told."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, frozen_array
from preceptor.errors import InvalidProblem, MissingExtra
from preceptor.model.sets import TestSet
from preceptor.people.human import Seed


class PartialFit:
    """A person whose learning is a scikit-learn regressor's, one case at a time.

    Hidden tests are filled in with their average, 0. The regressor learns what the beliefs leave
    unexplained, which starts it at those beliefs by public means only; a penalty then pulls
    towards them rather than towards 0.

    Parameters
    ----------
    beliefs
        Weights at the start, shape (n,), in the world's units.
    regressor
        Anything with `partial_fit` and `predict`; SGDRegressor if left out. It is never fitted
        itself, only clones of it.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.
    MissingExtra
        scikit-learn is not installed.

    Examples
    --------
    >>> from sklearn.linear_model import SGDRegressor
    >>> person = PartialFit([0.5, 0.0], SGDRegressor(eta0=0.1))
    >>> person.predict((0,), np.array([2.0]))
    1.0
    """

    def __init__(self, beliefs: npt.ArrayLike, regressor: Any = None) -> None:
        try:
            self.beliefs = frozen_array(beliefs)
        except (TypeError, ValueError):
            raise InvalidProblem(f"beliefs: {beliefs!r}, must be a list of numbers") from None
        faults = []
        if self.beliefs.ndim != 1 or not np.all(np.isfinite(self.beliefs)):
            faults.append(f"beliefs: {beliefs!r}, must be one finite number for each test")
        if regressor is None:
            regressor = _sklearn("linear_model").SGDRegressor()
        if not (hasattr(regressor, "partial_fit") and hasattr(regressor, "predict")):
            faults.append(
                f"regressor: {regressor!r}, must have partial_fit and predict; "
                "use SGDRegressor or MLPRegressor, for example"
            )
        InvalidProblem.raise_if(faults)
        self.regressor = regressor
        self.reset(0)

    def reset(self, rng: Seed = None) -> None:
        """A fresh clone, with a seed of its own if it takes one.

        Parameters
        ----------
        rng
            A seed or a generator.
        """
        self._model = _sklearn("base").clone(self.regressor)
        if "random_state" in self._model.get_params():
            seed = int(np.random.default_rng(rng).integers(2**31))
            self._model.set_params(random_state=seed)
        self._has_learned = False

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """What the beliefs say, corrected by what was learned since.

        Parameters
        ----------
        shown
            Indices of the shown tests, in rising order.
        values
            Their results in the same order, shape (len(shown),), in the world's units.

        Returns
        -------
        float
            The predicted outcome, in the world's units.
        """
        row = self._row(shown, values)
        answer = float(self.beliefs @ row)
        if self._has_learned:
            with _without_checks():
                answer += float(self._model.predict(row[None, :])[0])
        return answer

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """One call of `partial_fit` with one row.

        Parameters
        ----------
        shown
            Indices of the shown tests, in rising order.
        values
            Their results in the same order, shape (len(shown),), in the world's units.
        outcome
            What was true, in the world's units.
        """
        row = self._row(shown, values)
        unexplained = np.array([outcome - float(self.beliefs @ row)])
        if self._has_learned:
            with _without_checks():
                self._model.partial_fit(row[None, :], unexplained)
        else:  # once with all of scikit-learn's own checks, so that bad settings are found
            self._model.partial_fit(row[None, :], unexplained)
        self._has_learned = True

    def _row(self, shown: TestSet, values: FloatArray) -> FloatArray:
        row = np.zeros(self.beliefs.size)
        row[list(shown)] = values
        return row


def _without_checks() -> Any:
    # Rows made here are finite and of one shape; checking each again doubles the time.
    return _sklearn("").config_context(assume_finite=True, skip_parameter_validation=True)


def _sklearn(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"sklearn.{module}".rstrip("."))
    except ImportError as error:
        raise MissingExtra("scikit-learn", "data", "A person who learns by partial_fit") from error
