"""Tables of a yes-or-no world whose numbers are known, drawn from its definition alone."""

from __future__ import annotations

import numpy as np

WEIGHTS = np.array([0.9, -0.5, 0.3])
COVARIANCE = np.array([[1.0, 0.4, 0.2], [0.4, 1.0, 0.3], [0.2, 0.3, 1.0]])


def drawn(rows: int, rng: np.random.Generator, *, link: str = "probit", base: float = -0.8):
    """Tests (rows, 3) and outcomes of 0 and 1 (rows,): yes if base + tests + chance is above 0."""
    tests = rng.multivariate_normal(np.zeros(3), COVARIANCE, size=rows)
    chance = rng.standard_normal(rows) if link == "probit" else rng.logistic(size=rows)
    scale = 1.0 if link == "probit" else 1.702
    return tests, (scale * (base + tests @ WEIGHTS) + chance > 0).astype(float)
