"""Arrays that depend on which tests were shown, for a crowd that was shown different ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.sets import Shown, TestSet


def for_each_set(shown: Shown, work_out: Callable[[TestSet], FloatArray]) -> FloatArray:
    """What `work_out` gives for what each person was shown, worked out once for each set.

    Parameters
    ----------
    shown
        Which tests were seen, shape (..., n).
    work_out
        From a set to an array whose shape is always the same.

    Returns
    -------
    array of shape (..., *shape)
        One array for each person.

    Examples
    --------
    >>> seen = np.array([[True, False], [True, True], [True, False]])
    >>> for_each_set(seen, lambda shown: np.array(10.0 * len(shown)))
    array([10., 20., 10.])
    """
    masks, which = np.unique(shown.reshape(-1, shown.shape[-1]), axis=0, return_inverse=True)
    sets = [tuple(int(i) for i in np.flatnonzero(mask)) for mask in masks]
    answers = np.stack([work_out(one) for one in sets])
    return answers[which.reshape(shown.shape[:-1])]
