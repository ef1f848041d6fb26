"""Standardised Beta marginals joined by a Gaussian copula."""

from __future__ import annotations

import numpy as np
from scipy import special

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem

# 128 nodes integrate the smooth quantile transform to about twelve digits.
_NODES = 128


def sample_beta_copula(
    cases: int, latent: FloatArray, shape: tuple[float, float], rng: np.random.Generator
) -> FloatArray:
    """Draw (cases, n) values with mean 0 and variance 1 in the population."""
    root = np.linalg.cholesky(latent)
    normal = rng.standard_normal((cases, latent.shape[0])) @ root.T
    return _standard_quantile(normal, shape)


def beta_copula_covariance(latent: FloatArray, shape: tuple[float, float]) -> FloatArray:
    """Correlation (n, n) of the transformed tests; each pair by a two-dimensional Gauss rule.

    For standard normals z, w with correlation ρ write w = ρz + sqrt(1-ρ²)u with u independent;
    then E[f(z)f(w)] is a double sum over Gauss-Hermite nodes of z and u.
    """
    if latent.ndim != 2 or latent.shape[0] != latent.shape[1] or np.abs(latent).max() > 1.0:
        raise InvalidProblem(
            "latent_correlation: must be one number between -1 and 1 or a square matrix of them"
        )
    nodes, weights = special.roots_hermitenorm(_NODES)
    weights = weights / weights.sum()
    at_nodes = _standard_quantile(nodes, shape)
    covariance = np.eye(latent.shape[0])
    cache: dict[float, float] = {}
    for i, j in zip(*np.triu_indices(latent.shape[0], 1), strict=True):
        rho = float(latent[i, j])
        if rho not in cache:
            other = rho * nodes[:, None] + np.sqrt(1.0 - rho * rho) * nodes[None, :]
            inner = _standard_quantile(other, shape) @ weights
            cache[rho] = float(np.sum(weights * at_nodes * inner))
        covariance[i, j] = covariance[j, i] = cache[rho]
    return covariance


def _standard_quantile(normal: FloatArray, shape: tuple[float, float]) -> FloatArray:
    p, q = shape
    mean = p / (p + q)
    deviation = np.sqrt(p * q / ((p + q) ** 2 * (p + q + 1)))
    # Beyond eight standard deviations nothing is drawn and quantiles have no accurate digits.
    level = special.ndtr(np.clip(normal, -8.0, 8.0))
    return np.asarray((special.betaincinv(p, q, level) - mean) / deviation)
