"""A world from a table of cases: test results and outcomes.

Tests are standardised (mean 0, standard deviation 1), the outcome is centred but keeps its units,
so a loss is in squared units of the outcome and its root is a typical error. Two estimates make a
world: a covariance of the tests, and a linear regression of the outcome on them. An outcome of two
values is yes or no: the regression is then that of a score (probit or logistic).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from preceptor._base.checks import is_count
from preceptor._base.threads import one_blas_thread
from preceptor._base.words import matches
from preceptor.datasets import DataSet
from preceptor.errors import InvalidData, InvalidFile, InvalidInput
from preceptor.estimation.binary_ridge import BinaryRidge
from preceptor.estimation.encoding import Design, encode
from preceptor.estimation.moments import Recipe, TooFewShared, complete, estimate, location
from preceptor.estimation.table import read_table
from preceptor.estimation.world_estimate import WorldEstimate
from preceptor.model.links import LINKS, PROBIT
from preceptor.model.outcomes import Binary
from preceptor.model.units import Units
from preceptor.model.world import World
from preceptor.tables import Reading, read_sheet


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

    Tests are standardised, the outcome is centred but keeps its units. An outcome that takes two
    values (0 and 1, yes and no, any two words or numbers) is yes or no: the world then has a
    `Binary` outcome with the share of yes in the table, and weights add up to a score. Of two
    words, one counts as yes. Rows without an outcome, constant and repeated columns, dates, names
    of cases and categories that predict nothing are left out. The estimate's `notes` say so.

    Parameters
    ----------
    X
        Test results, one row per case: a pandas or polars frame (or another that narwhals knows), a
        mapping of columns, or an array. Categories and text become one test of several columns.
    y
        Outcomes as a series or an array of shape (cases,), or the name of a column of X.
    covariance
        Any scikit-learn covariance estimator; Ledoit-Wolf if left out.
    regression
        Any linear regressor with `coef_`; ridge with its strength chosen by leave-one-out if left
        out. For a yes-or-no outcome a linear classifier with `coef_` on the logistic scale, such as
        LogisticRegressionCV(); left out, maximum likelihood with a ridge penalty whose strength is
        chosen by leave-one-out.
    missing
        "pairwise" takes each correlation over the cases that know both tests; or a scikit-learn
        imputer, which gets the encoded table as it is.
    names
        What to call the columns.
    outcome
        What to call the outcome.
    drop
        Columns to ignore.
    notes
        How the table was read before it came here, a sentence each; they come first in `notes`.
    reading
        Which values stand for a missing one, and which of two outcomes counts as yes, where
        guessing would go wrong.
    seed
        Seed of cross-validation, and of the stand-in cases where values are missing.
    link
        How a score becomes a probability where the outcome is yes or no: "probit" or "logistic".
    as_number
        Read an outcome of two values as a number, with squared errors and a linear model.

    Returns
    -------
    WorldEstimate
        The world, how it was estimated, and what is doubtful about it.

    Raises
    ------
    InvalidData
        No world can be estimated from the table.
    InvalidInput
        Options that make no sense, all of them in one message.

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


def _estimated(design: Design, recipe: Recipe) -> WorldEstimate:
    """The world of an encoded table, in the units of its columns."""
    values = complete(design.values, recipe)
    means, scales = location(values)
    # Yes and no are 1 and 0 everywhere, and answers to them probabilities; nothing is centred.
    outcome_mean = 0.0 if design.is_binary else float(design.outcome.mean())
    try:
        moments = estimate((values - means) / scales, design.outcome - outcome_mean, recipe)
    except TooFewShared as error:
        first, second = (design.names[i] for i in error.columns)
        raise InvalidData(
            f"columns {first!r} and {second!r}: both known in {error.shared} cases only, too few "
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
    """Check that the estimators can be what they are given as."""
    faults = []
    wanted = (
        ("covariance", covariance, "fit", "a scikit-learn covariance estimator such as OAS()"),
        ("regression", regression, "fit", "a scikit-learn linear regressor such as LassoCV()"),
    )
    for name, given, method, what in wanted:
        if given is not None and (isinstance(given, type) or not hasattr(given, method)):
            faults.append(f"{name}: {given!r}, must be {what}")
    if link not in LINKS:
        faults.append(f"link: {link!r}, must be {' or '.join(map(repr, LINKS))}")
    if missing != "pairwise" if isinstance(missing, str) else not hasattr(missing, "fit_transform"):
        faults.append(
            f"missing: {missing!r}, must be 'pairwise' or a scikit-learn imputer such as "
            "SimpleImputer()"
        )
    if not is_count(seed, least=0):
        faults.append(f"seed: {seed!r}, must be a whole number of at least 0")
    InvalidInput.raise_if(faults)
    chosen = {"covariance": covariance, "regression": regression}
    given_ones = {name: value for name, value in chosen.items() if value is not None}
    return Recipe(missing=missing, seed=int(seed), **given_ones)


def _for_yes_or_no(recipe: Recipe, regression: Any, link: str) -> Recipe:
    """The recipe for an outcome that is yes or no."""
    if regression is None:
        return replace(recipe, regression=BinaryRidge(link), link=link)
    if not hasattr(regression, "predict_proba"):
        raise InvalidInput(
            f"regression: {regression!r}, but the outcome is yes or no; give a linear classifier "
            "such as LogisticRegressionCV(), or as_number=True for a linear model of 0 and 1"
        )
    return replace(recipe, link=link)


# Faults of these arguments begin with them, so that the command line can name its options.
_ARGUMENTS = ("missing:", "positive:", "drop:", "link:")


def fit_source(
    source: Any,
    outcome: str | None = None,
    *,
    unit: str | None = None,
    drop: Iterable[str] = (),
    reading: Reading | None = None,
    seed: int = 0,
    link: str = PROBIT,
    as_number: bool = False,
) -> WorldEstimate:
    """Estimate a world from a file of cases, a built-in table, or anything `fit_world` takes.

    Parameters
    ----------
    source
        The path of a file with a row per case: text (.csv, .txt, .tsv), a workbook (.xlsx, .xlsm,
        .xls, .ods), .jsonl or .parquet; a `DataSet`; or a frame, mapping or array as for
        `fit_world`.
    outcome
        The column that is to be predicted; a `DataSet` knows its own.
    unit
        The unit of the outcome, for reports.
    drop
        Columns to ignore.
    reading
        How the table is written and what its values mean, where guessing would go wrong.
    seed
        Seed of everything random in the estimate.
    link
        How a score becomes a probability where the outcome is yes or no.
    as_number
        Read an outcome of two values as a number.
    """
    notes: tuple[str, ...] = ()
    table, target = source, outcome
    if isinstance(source, DataSet):
        if outcome is not None and not matches(outcome, [source.outcome]):
            raise InvalidInput(f"outcome: that of {source.name} is {source.outcome!r}")
        table, target = dict(source.columns), source.outcome
    elif isinstance(source, (str, Path)):
        sheet = read_sheet(Path(source), reading)
        table, notes = sheet.frame, sheet.notes
        reading = with_points(reading or Reading())
        target = _as_in_the_table(outcome, table.columns)
    if target is None:
        if isinstance(source, (str, Path)):
            names = ", ".join(map(str, table.columns))
            fault = f"outcome: say which column of {source} it is: {names}"
            raise InvalidInput(fault).beside(notes)
        raise InvalidInput("outcome: missing; name the column that is to be predicted")
    label = f"{target}, {unit}" if unit else target
    if isinstance(source, DataSet):
        label = source.outcome_label
    try:
        return fit_world(
            table,
            target,
            outcome=label,
            drop=drop,
            reading=reading,
            notes=notes,
            seed=seed,
            link=link,
            as_number=as_number,
        )
    except InvalidInput as error:
        if not isinstance(source, (str, Path)):
            raise
        raise InvalidFile(
            [f if f.startswith(_ARGUMENTS) else f"{source}: {f}" for f in error.faults]
        ).beside(notes) from None


def with_points(reading: Reading) -> Reading:
    """How a sheet is read on: whatever stood before decimals in its file, now it is a point."""
    return replace(reading, decimal=None)


def _as_in_the_table(outcome: str | None, columns: Iterable[str]) -> str | None:
    """The name of the outcome's column, capitals and blanks aside; as it is if that is unclear."""
    alike = [] if outcome is None else matches(outcome, map(str, columns))
    return alike[0] if len(alike) == 1 else outcome


def name_of_source(source: Any) -> str:
    """Where the cases came from, in a word or two, for reports."""
    if isinstance(source, DataSet):
        return source.title
    return Path(source).name if isinstance(source, (str, Path)) else f"a {type(source).__name__}"
