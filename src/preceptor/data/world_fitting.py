"""Estimate a world from a table of test results and outcomes.

Tests are standardised (mean 0, standard deviation 1); the outcome is centred but keeps its units,
so a loss is in squared units of the outcome and its root is a typical error. A world consists of
two estimates: the covariance of the tests, and a linear regression of the outcome on them. For a
yes-or-no outcome, the regression is probit or logistic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from preceptor._base.checks import count_faults
from preceptor._base.parallel import one_blas_thread
from preceptor._base.words import matches
from preceptor.data.datasets import DataSet
from preceptor.data.design import DesignMatrix, encode, read_table
from preceptor.data.estimators import BinaryRidge
from preceptor.data.moments import Recipe, TooFewShared, complete, estimate, location
from preceptor.data.opening import Reading
from preceptor.data.sheet import read_sheet
from preceptor.data.world_estimate import WorldEstimate
from preceptor.errors import InvalidData, InvalidFile, InvalidInput
from preceptor.model.outcomes import LINKS, PROBIT, Binary
from preceptor.model.world import Units, World


def fit_world(
    X: Any,
    y: Any,
    *,
    covariance: Any = None,
    regression: Any = None,
    missing: Any = "pairwise",
    names: Sequence[str] | None = None,
    outcome: str | None = None,
    drop: Iterable[str] = (),
    notes: Iterable[str] = (),
    reading: Reading | None = None,
    seed: int = 0,
    link: str = PROBIT,
    as_number: bool = False,
) -> WorldEstimate:
    """Estimate a world from cases.

    Tests are standardised; the outcome is centred but keeps its units. An outcome with two values
    (0 and 1, yes and no, any two words or numbers) is yes or no: the world then has a `Binary`
    outcome with the prevalence of the table, and weights add up to a score. Rows without an
    outcome, constant and redundant columns, dates, identifiers and categories that predict nothing
    are left out, and the estimate's `notes` say so.

    Parameters
    ----------
    X
        Test results, one row per case: a pandas or polars frame (or another that narwhals
        supports), a mapping of columns, or an array. A category is one test of several columns.
    y
        Outcomes as a series or an array of shape (cases,), or the name of a column of X.
    covariance
        Any scikit-learn covariance estimator; Ledoit-Wolf by default.
    regression
        Any linear regressor with `coef_`; by default ridge, its penalty chosen by leave-one-out.
        For a yes-or-no outcome, a linear classifier with `coef_` on the logistic scale, such as
        LogisticRegressionCV(); by default penalised maximum likelihood, likewise.
    missing
        "pairwise" computes each correlation over the cases in which both tests are known; or a
        scikit-learn imputer, which is given the encoded table.
    names
        Names of the columns.
    outcome
        Name of the outcome.
    drop
        Columns to ignore.
    notes
        Sentences on how the table was read; they come first in `notes`.
    reading
        Which values mean missing, and which of two outcomes counts as yes, where guessing would go
        wrong.
    seed
        Seed of cross-validation, and of the stand-in cases where values are missing.
    link
        Link function of a yes-or-no outcome, "probit" or "logistic".
    as_number
        Read an outcome of two values as a number, with squared error and a linear model.

    Returns
    -------
    WorldEstimate
        The world, how it was estimated, and doubts about it.

    Raises
    ------
    InvalidData
        The table does not permit an estimate.
    InvalidInput
        Invalid options, all of them in one message.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal([170.0, 70.0], [10.0, 8.0], size=(2_000, 2))
    >>> y = 0.1 * X[:, 0] - 0.05 * X[:, 1] + rng.normal(size=2_000)
    >>> fitted = fit_world(X, y, names=["height", "weight"], outcome="score")
    >>> fitted.world.coefficients.round(1), fitted.world.units.means.round()
    (array([ 1. , -0.4]), array([170.,  70.]))
    """
    recipe = _options(covariance, regression, missing, seed, link)
    table = read_table(
        X,
        y,
        names=names,
        outcome=outcome,
        drop=drop,
        notes=notes,
        reading=reading,
        as_number=as_number,
    )
    if table.outcome.is_binary:
        recipe = _for_yes_or_no(recipe, regression, link)
    with one_blas_thread():
        return _estimated(encode(table), recipe)


def _estimated(design: DesignMatrix, recipe: Recipe) -> WorldEstimate:
    """Estimate the world of an encoded table."""
    values = complete(design.values, recipe)
    means, scales = location(values)
    # A yes-or-no outcome stays 1 and 0, since answers are probabilities.
    outcome_mean = 0.0 if design.is_binary else float(design.outcome.mean())
    try:
        moments = estimate((values - means) / scales, design.outcome - outcome_mean, recipe)
    except TooFewShared as error:
        first, second = (design.names[i] for i in error.columns)
        raise InvalidData(
            f"columns {first!r} and {second!r}: both known in only {error.shared} cases, too few "
            "for a correlation; drop one of them (in Python: or impute, missing=SimpleImputer())"
        ) from None
    kind: dict[str, Any] = {"noise_variance": moments.noise_variance}
    if recipe.link is not None:
        kind = {"outcome": Binary(float(design.outcome.mean()), recipe.link)}
    world = World(
        moments.coefficients,
        moments.covariance,
        names=design.names,
        units=Units(
            means,
            scales,
            design.outcome_name,
            outcome_mean,
            design.levels or None,
            design.outcome_levels if design.is_binary else None,
        ),
        groups=design.groups or None,
        **kind,
    )
    return WorldEstimate(world, design, recipe, moments)


def _options(covariance: Any, regression: Any, missing: Any, seed: int, link: str) -> Recipe:
    """Validate options; return the estimators to use."""
    faults = []
    chosen = {"covariance": covariance, "regression": regression}
    chosen = {name: given for name, given in chosen.items() if given is not None}
    examples = {"covariance": "covariance estimator such as OAS()"}
    for name, given in chosen.items():
        if isinstance(given, type) or not hasattr(given, "fit"):
            what = examples.get(name, "linear regressor such as LassoCV()")
            faults.append(f"{name}: {given!r}, must be a scikit-learn {what}")
    if link not in LINKS:
        faults.append(f"link: {link!r}, must be {' or '.join(map(repr, LINKS))}")
    if missing != "pairwise" if isinstance(missing, str) else not hasattr(missing, "fit_transform"):
        faults.append(
            f"missing: {missing!r}, must be 'pairwise' or a scikit-learn imputer such as "
            "SimpleImputer()"
        )
    InvalidInput.raise_if(faults + count_faults(0, seed=seed))
    return Recipe(missing=missing, seed=int(seed), **chosen)


def _for_yes_or_no(recipe: Recipe, regression: Any, link: str) -> Recipe:
    """The estimators for a yes-or-no outcome."""
    if regression is None:
        return replace(recipe, regression=BinaryRidge(link), link=link)
    if not hasattr(regression, "predict_proba"):
        raise InvalidInput(
            f"regression: {regression!r}, but the outcome is yes or no; give a linear classifier "
            "such as LogisticRegressionCV(), or as_number=True for a linear model of 0 and 1"
        )
    return replace(recipe, link=link)


# Faults that begin with an argument stay so, for the command line to name its options.
_ARGUMENTS = ("missing:", "positive:", "drop:", "link:")


def fit_source(
    source: Any,
    outcome: str | None = None,
    *,
    unit: str | None = None,
    drop: Iterable[str] = (),
    reading: Reading | None = None,
    **options: Any,
) -> WorldEstimate:
    """Estimate a world from a file, a built-in data set, or anything that `fit_world` takes.

    Parameters
    ----------
    source
        The path of a file with a row per case: text (.csv, .txt, .tsv), a workbook (.xlsx, .xlsm,
        .xls, .ods), .jsonl or .parquet; a `DataSet`; or a frame, mapping or array as for
        `fit_world`.
    outcome
        The column to predict; a `DataSet` has its own.
    unit
        The unit of the outcome, for reports.
    drop
        Columns to ignore.
    reading
        Options for reading the table, where guessing would go wrong.
    **options
        `seed`, `link` and `as_number`, as for `fit_world`.
    """
    table, target, label = source, outcome, outcome
    notes: tuple[str, ...] = ()
    if isinstance(source, DataSet):
        if outcome is not None and not matches(outcome, [source.outcome]):
            raise InvalidInput(f"outcome: that of {source.name} is {source.outcome!r}")
        table, target, label = dict(source.columns), source.outcome, source.outcome_label
    elif isinstance(source, (str, Path)):
        sheet = read_sheet(Path(source), reading)
        # Numbers of a sheet that was read have decimal points.
        table, notes = sheet.frame, sheet.notes
        reading = replace(reading or Reading(), decimal=None)
        names = [str(name) for name in table.columns]
        if outcome is None:
            fault = f"outcome: say which column of {source} it is: {', '.join(names)}"
            raise InvalidInput(fault).with_notes(notes)
        alike = matches(outcome, names)
        target = label = alike[0] if len(alike) == 1 else outcome
    elif outcome is None:
        raise InvalidInput("outcome: missing; name the column to predict")
    if unit and not isinstance(source, DataSet):
        label = f"{label}, {unit}"
    try:
        return fit_world(
            table, target, outcome=label, drop=drop, reading=reading, notes=notes, **options
        )
    except InvalidInput as error:
        if not isinstance(source, (str, Path)):
            raise
        raise InvalidFile(
            [f if f.startswith(_ARGUMENTS) else f"{source}: {f}" for f in error.faults]
        ).with_notes(notes) from None


def name_of_source(source: Any) -> str:
    """Short name of where the cases came from, for reports."""
    if isinstance(source, DataSet):
        return source.title
    return Path(source).name if isinstance(source, (str, Path)) else f"a {type(source).__name__}"
