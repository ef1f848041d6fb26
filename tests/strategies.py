"""Random worlds, learners and problems for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import preceptor as pr


def examples(count: int) -> settings:
    """A test that deserves `count` examples where others get 40: fewer or more by the profile."""
    return settings(max_examples=max(5, count * settings.default.max_examples // 40))


seeds = st.integers(0, 2**32 - 1)

curves = st.one_of(
    st.builds(pr.Geometric, st.floats(1.0, 3.0)),
    st.builds(lambda a, f: pr.Geometric(a, floor=f), st.floats(1.05, 3.0), st.floats(0.0, 0.5)),
    st.builds(pr.PowerLaw, st.floats(0.0, 3.0)),
    st.builds(lambda e, f: pr.PowerLaw(e, floor=f), st.floats(0.1, 3.0), st.floats(0.0, 0.5)),
    st.builds(pr.OneShot),
    st.just(pr.Tabulated([1.0, 0.9, 0.4, 0.4, 0.1])),
)

risks = st.one_of(
    st.just(pr.SquaredError()),
    st.builds(pr.Huber, st.floats(0.2, 2.0)),
    st.just(pr.AbsoluteError()),
)


def covariance(rng: np.random.Generator, size: int) -> np.ndarray:
    """Correlations of both signs, variances of different sizes."""
    root = rng.standard_normal((size, size + 1))
    matrix = root @ root.T + 0.05 * np.eye(size)
    return matrix * rng.uniform(0.2, 2.0)


@st.composite
def budgets(draw, size: int):
    price = draw(st.sampled_from([0.0, 0.05]))
    kind = draw(st.sampled_from(["at-most", "exactly", "knapsack"]))
    k = draw(st.integers(1, size))
    if kind == "at-most":
        return pr.AtMost(k, price=price)
    if kind == "exactly":
        return pr.Exactly(k, price=price)
    costs = np.random.default_rng(draw(seeds)).uniform(0.5, 2.0, size)
    limit = float(costs.min()) + draw(st.floats(0.0, 2.0))
    return pr.Knapsack(costs, limit, price=price)


@st.composite
def problems(
    draw,
    sizes=(1, 2, 3),
    horizons=(1, 2, 3, 4),
    risks=risks,
    imputations=(0.0, 0.5, 1.0, "other"),
    diagonal=None,
    curves=curves,
):
    """Small problems of every kind; a horizon of None is infinite."""
    size = draw(st.sampled_from(sizes))
    rng = np.random.default_rng(draw(seeds))
    if diagonal is None:
        diagonal = draw(st.booleans()) and draw(st.booleans())
    matrix = covariance(rng, size)
    if diagonal:
        matrix = np.diag(np.diag(matrix))
    world = pr.World(rng.standard_normal(size), matrix, rng.uniform(0.0, 0.5))
    one_curve = draw(st.booleans())
    curve = draw(curves) if one_curve else [draw(curves) for _ in range(size)]
    imputation = draw(st.sampled_from(imputations))
    if imputation == "other":
        imputation = covariance(rng, size)
    learner = pr.Learner(rng.standard_normal(size), curve, imputation)
    start = draw(st.sampled_from([None, tuple(rng.integers(0, 4, size).tolist())]))
    return pr.Problem(
        world,
        learner,
        draw(budgets(size)),
        discount=draw(st.floats(0.0, 0.97)),
        horizon=draw(st.sampled_from(horizons)),
        risk=draw(risks),
        start=start,
    )
