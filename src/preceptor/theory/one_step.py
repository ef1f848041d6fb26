"""What one round costs under squared error, written out as on paper.

These are the slow twins of the loss oracle: no factors are kept, nothing is shared between sets.
They are here to be read, and for tests to compare the fast code with.

The person sees the tests S, fills in the rest by conditional expectation and adds up with their
own coefficients. The residual then has three independent parts: the noise, what the hidden tests
do that the shown ones cannot tell, and how wrongly the shown ones are read. Its variance is

    noise + hidden part + reading part,

and the two functions below write the last two parts in the two ways in which the proofs use them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray


def conditional_covariance(covariance: npt.ArrayLike, shown: Sequence[int]) -> FloatArray:
    """Covariance of the hidden tests once the shown ones are known.

    The Schur complement Σ_HH - Σ_HS Σ_SS⁻¹ Σ_SH.

    Parameters
    ----------
    covariance
        Σ, shape (n, n).
    shown
        Indices of the shown tests, S.

    Returns
    -------
    array of shape (hidden, hidden)
        Hidden tests in rising order.

    Examples
    --------
    >>> conditional_covariance([[1.0, 0.5], [0.5, 1.0]], [0]).tolist()
    [[0.75]]
    """
    sigma = np.asarray(covariance, dtype=np.float64)
    inside, hidden = list(shown), _hidden(sigma.shape[0], shown)
    across = sigma[np.ix_(hidden, inside)]
    return np.asarray(
        sigma[np.ix_(hidden, hidden)]
        - across @ np.linalg.solve(sigma[np.ix_(inside, inside)], across.T)
    )


def explained_covariance(covariance: npt.ArrayLike, shown: Sequence[int]) -> FloatArray:
    """The paper's M_S: covariance of the tests as they are filled in from the shown ones.

    M_S = Σ[:, S] Σ_SS⁻¹ Σ[S, :]; the zero matrix if nothing is shown, Σ if everything is.

    Parameters
    ----------
    covariance
        Σ, shape (n, n).
    shown
        Indices of the shown tests, S.

    Returns
    -------
    array of shape (n, n)
        M_S.

    Examples
    --------
    >>> explained_covariance([[1.0, 0.5], [0.5, 1.0]], [0]).tolist()
    [[1.0, 0.5], [0.5, 0.25]]
    """
    sigma = np.asarray(covariance, dtype=np.float64)
    inside = list(shown)
    rows = sigma[inside, :]
    return np.asarray(rows.T @ np.linalg.solve(sigma[np.ix_(inside, inside)], rows))


def one_step_loss_by_blocks(
    coefficients: npt.ArrayLike,
    beliefs: npt.ArrayLike,
    covariance: npt.ArrayLike,
    noise_variance: float,
    shown: Sequence[int],
) -> float:
    """Expected squared error of one round, split into shown and hidden tests.

    With e = a - h, the person misreads the shown tests by b = e_S + Σ_SS⁻¹ Σ_SH e_H, and the loss
    is

        noise + a_H' Σ_(H|S) a_H + b' Σ_SS b.

    Parameters
    ----------
    coefficients
        True weights a, shape (n,).
    beliefs
        The person's weights h, shape (n,).
    covariance
        Σ, shape (n, n).
    noise_variance
        Variance of what no test explains.
    shown
        Indices of the shown tests, S.

    Returns
    -------
    float
        In squared units of the outcome.

    Examples
    --------
    >>> one_step_loss_by_blocks([1, 1], [1, 1], [[1, 0.5], [0.5, 1]], 0.25, [0])
    1.0
    """
    a = np.asarray(coefficients, dtype=np.float64)
    sigma = np.asarray(covariance, dtype=np.float64)
    error = a - np.asarray(beliefs, dtype=np.float64)
    inside, hidden = list(shown), _hidden(a.size, shown)
    among_shown = sigma[np.ix_(inside, inside)]
    filled_in = np.linalg.solve(among_shown, sigma[np.ix_(inside, hidden)] @ error[hidden])
    misread = error[inside] + filled_in
    untold = a[hidden] @ conditional_covariance(sigma, shown) @ a[hidden]
    return float(noise_variance + untold + misread @ among_shown @ misread)


def one_step_loss_by_quadratic_form(
    coefficients: npt.ArrayLike,
    beliefs: npt.ArrayLike,
    covariance: npt.ArrayLike,
    noise_variance: float,
    shown: Sequence[int],
) -> float:
    """The same loss without blocks: noise + a'(Σ - M_S)a + e'M_S e.

    In this form one sees that the loss is a quadratic form in the person's errors, and that it has
    the Lipschitz constant used for commitment.

    Parameters
    ----------
    coefficients
        True weights a, shape (n,).
    beliefs
        The person's weights h, shape (n,).
    covariance
        Σ, shape (n, n).
    noise_variance
        Variance of what no test explains.
    shown
        Indices of the shown tests, S.

    Returns
    -------
    float
        In squared units of the outcome.

    Examples
    --------
    >>> one_step_loss_by_quadratic_form([1, 1], [1, 1], [[1, 0.5], [0.5, 1]], 0.25, [0])
    1.0
    """
    a = np.asarray(coefficients, dtype=np.float64)
    error = a - np.asarray(beliefs, dtype=np.float64)
    explained = explained_covariance(covariance, shown)
    untold = a @ (np.asarray(covariance, dtype=np.float64) - explained) @ a
    return float(noise_variance + untold + error @ explained @ error)


def _hidden(size: int, shown: Sequence[int]) -> list[int]:
    return [i for i in range(size) if i not in set(shown)]
