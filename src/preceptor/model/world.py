"""The world: how test results and outcomes are generated, and the units they are read in.

A test may consist of several columns, such as the levels of a category: showing the region of a
case reveals every "region = ..." column at once. So such columns form one test: shown together or
not at all, counted once, priced once.

A world estimated from a table measures each test in standard deviations, and the outcome as a
deviation from its mean. Users read centimetres and milligrams; `Units` converts both ways.

An outcome is a weighted sum of n correlated tests plus noise, y = a·x + ε, with x centred and ε
independent of it; or it is yes if base score + weighted sum + noise is above 0. Only second moments
enter the closed forms, so a `World` is coefficients, a covariance and a noise variance; the shape
of the marginals matters when cases are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.schema import (
    GoesWith,
    Index,
    InFiles,
    Items,
    Limits,
    Matrix,
    NonNegative,
    Positive,
    Vector,
    set_checked,
)
from preceptor._base.values import FloatArray, Value, frozen_array, remembered
from preceptor._base.words import (
    NO_BREAK_SPACE,
    counted,
    first_few,
    labelled,
    repeated,
    unknown_name_faults,
)
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.model.matrices import (
    average_correlation,
    correlations_of,
    covariance_faults,
    equicorrelation,
)
from preceptor.model.outcomes import Binary
from preceptor.model.score_pairs import ScorePair

# The columns that a test consists of.
Columns = Annotated[tuple[Index, ...], Items(at_least=1, unique=True)]
# Name of a test and its columns.
Groups = tuple[tuple[str, Columns], ...]
# The columns of each test; every column belongs to exactly one.
Blocks = Annotated[tuple[Columns, ...], Items(at_least=1)]


def checked_groups(
    groups: Mapping[str, Sequence[int]] | Groups | None, labels: Sequence[str], faults: list[str]
) -> Groups | None:
    """Groups in the order of their first columns; their faults are added to `faults`."""
    if groups is None:
        return None
    try:
        pairs = list(groups.items()) if isinstance(groups, Mapping) else list(groups)
        given = [(str(name), list(columns)) for name, columns in pairs]
    except (TypeError, ValueError):
        faults.append(f"groups: {groups!r}, must be a table of test names and lists of columns")
        return None
    size, found = len(labels), len(faults)
    for name, columns in given:
        wrong = [i for i in columns if not is_count(i, least=0) or (size and i >= size)]
        if wrong or not columns:
            shown = wrong[0] if wrong else columns
            faults.append(f"groups: {name!r} has column {shown!r}, must be among 0..{size - 1}")
    if len(faults) > found:
        return None
    used = [int(i) for _, columns in given for i in columns]
    again = repeated(used)
    if again:
        faults.append(f"groups: column {again[0]} appears twice, must be in one test only")
    taken = set(used)
    alone = [label for i, label in enumerate(labels) if i not in taken]
    names = [name for name, _ in given] + alone
    twice = repeated(names)
    if twice:
        faults.append(f"groups: {twice[0]!r} names two tests, every test needs its own name")
    ordered = [(name, tuple(sorted(int(i) for i in columns))) for name, columns in given]
    return tuple(sorted(ordered, key=lambda pair: pair[1])) or None


def blocks_of(groups: Groups | None, size: int) -> Blocks:
    """The columns of each test; a column in no group is a test by itself.

    >>> blocks_of((("site", (1, 2)),), 4)
    ((0,), (1, 2), (3,))
    """
    grouped = () if groups is None else tuple(columns for _, columns in groups)
    taken = {i for columns in grouped for i in columns}
    alone = tuple((i,) for i in range(size) if i not in taken)
    return tuple(sorted(grouped + alone))


def columns_by_test(groups: Groups | None, labels: Sequence[str]) -> dict[str, list[str]]:
    """Names of the columns of each test.

    >>> columns_by_test((("site", (1, 2)),), ["age", "site=b", "site=c"])
    {'age': ['age'], 'site': ['site=b', 'site=c']}
    """
    names = {} if groups is None else {columns: name for name, columns in groups}
    blocks = blocks_of(groups, len(labels))
    return {names.get(b, labels[b[0]]): [labels[i] for i in b] for b in blocks}


@dataclass(frozen=True, eq=False)
class Units(Value):
    """Mean and standard deviation of each test (n,), and the mean of the outcome.

    `levels` maps each level of a categorical test to the column that is 1 for it;
    `outcome_levels` are the words for no and yes of a two-valued outcome.

    >>> units = Units([80.0], [8.0], outcome="body fat, %", outcome_mean=19.0)
    >>> units.standardise([[96.0]]), units.restore([[2.0]])
    (array([[2.]]), array([[96.]]))
    """

    means: Annotated[Vector, "Mean of each test."]
    scales: Annotated[Vector, Limits(above=0), "Standard deviation of each test."]
    outcome: Annotated[str, "Name of the outcome."] = "outcome"
    outcome_mean: Annotated[float, "Mean of the outcome."] = 0.0
    levels: Annotated[
        dict[str, dict[str, str]] | None,
        "Categorical tests: each level as written in the table, and the column that is 1 for it; "
        "empty for the reference level.",
    ] = None
    outcome_levels: Annotated[
        tuple[str, str] | None, "How no and yes are written, if the outcome is one of two texts."
    ] = None

    def __init__(
        self,
        means: npt.ArrayLike,
        scales: npt.ArrayLike,
        outcome: str = "outcome",
        outcome_mean: float = 0.0,
        levels: Mapping[str, Mapping[str, str]] | None = None,
        outcome_levels: Sequence[str] | None = None,
    ) -> None:
        faults = set_checked(self, means=means, scales=scales, outcome_mean=outcome_mean)
        if not faults and self.means.shape != self.scales.shape:
            faults.append(
                f"{self.means.size} means but {self.scales.size} scales; lengths must agree"
            )
        faults = [f"units: {fault}" for fault in faults]
        known = _levels(levels, faults)
        both = _both(outcome_levels, faults)
        InvalidProblem.raise_if(faults)
        self.set_fields(outcome=str(outcome), levels=known, outcome_levels=both)

    def standardise(self, values: npt.ArrayLike) -> FloatArray:
        """Convert test results (..., n) from original to the world's units; NaN stays NaN."""
        return (np.asarray(values, dtype=np.float64) - self.means) / self.scales

    def restore(self, values: npt.ArrayLike) -> FloatArray:
        """Convert test results (..., n) from the world's to original units; NaN stays NaN."""
        return np.asarray(values, dtype=np.float64) * self.scales + self.means

    def centre(self, outcomes: npt.ArrayLike) -> FloatArray:
        """Convert outcomes or predictions to deviations from the mean outcome."""
        return np.asarray(outcomes, dtype=np.float64) - self.outcome_mean

    def uncentre(self, outcomes: npt.ArrayLike) -> FloatArray:
        """Convert deviations from the mean outcome to outcomes."""
        return np.asarray(outcomes, dtype=np.float64) + self.outcome_mean

    def level_faults(self, columns_of: Mapping[str, Sequence[str]]) -> list[str]:
        """Faults of the levels, given the names of each test's columns."""
        faults = []
        for test, levels in (self.levels or {}).items():
            if test not in columns_of:
                known = ", ".join(columns_of)
                faults.append(f"units: levels of {test!r}, which is not a test; tests are {known}")
                continue
            wrong = sorted({name for name in levels.values() if name} - {*columns_of[test]})
            faults += [
                f"units: levels of {test!r} name the column {name!r}; it has "
                f"{', '.join(map(repr, columns_of[test]))}"
                for name in wrong
            ]
        return faults


def _levels(given: Any, faults: list[str]) -> dict[str, dict[str, str]] | None:
    """A copy of the levels; anything but tables of texts is a fault."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(
        isinstance(table, Mapping)
        and all(isinstance(text, str) for pair in table.items() for text in pair)
        for table in given.values()
    ):
        faults.append(
            f"units: levels are {given!r}, must be a table for each test, of levels and columns"
        )
        return None
    return {str(test): dict(table) for test, table in given.items()} or None


def _both(given: Any, faults: list[str]) -> tuple[str, str] | None:
    """The words for no and yes; anything but two different texts is a fault."""
    if given is None:
        return None
    words = [] if isinstance(given, str) else list(given)
    if len(words) != 2 or words[0] == words[1] or not all(isinstance(w, str) for w in words):
        faults.append(f"units: outcome_levels are {given!r}, must be two texts, no and yes")
        return None
    return words[0], words[1]


# With larger variances sums over rounds could overflow.
_LARGEST = 1e100
# Tests named in the `repr` of a world or a problem.
NAMED = 8
_DEFAULT_NOISE = 1e-3


class SampledCases(NamedTuple):
    """Drawn cases: `features` of shape (cases, n) and `outcomes` of shape (cases,).

    Yes-or-no outcomes are 1 and 0.
    """

    features: FloatArray
    outcomes: FloatArray


@dataclass(frozen=True, eq=False)
class World(Value):
    """How tests and outcomes are generated: true weights, covariance, noise and names.

    An outcome is a weighted sum of n centred tests plus independent noise. A world is immutable and
    validated when it is created.

    A test may consist of several columns, such as the levels of a category, and is then shown,
    counted and priced as one. Arrays of shape (n,) are over columns; `tests` and `blocks` are over
    tests. Without groups the two are the same.

    Parameters
    ----------
    coefficients
        True weights, shape (n,), in units of the outcome per unit of the column.
    covariance
        Covariance of the columns, shape (n, n), symmetric and positive definite.
    noise_variance
        Variance that no test explains, in squared units of the outcome. For a yes-or-no outcome
        the link determines it (1 for the probit), and it need not be given.
    names
        Names of the columns, all different; x1 to xn if left out.
    beta_shape
        None for Gaussian tests. With (p, q) every column has a standardised Beta(p, q) marginal.
    latent_correlation
        Correlation, shape (n, n), of the Gaussian copula that joins Beta marginals; goes with
        `beta_shape` (`World.beta_copula` makes both).
    units
        Conversion to the original units, if the world was estimated from a table.
    groups
        Name and column indices of each test with several columns.
    outcome
        None for a numeric outcome; `Binary(prevalence)` for yes or no. The weighted sum is then a
        score.

    Raises
    ------
    InvalidProblem
        Invalid values, all in one message.

    Examples
    --------
    >>> world = World([1.0, 0.8], [[1.0, 0.5], [0.5, 1.0]], names=["bmi", "bp"])
    >>> world.size, world.names
    (2, ('bmi', 'bp'))
    """

    coefficients: Annotated[Vector, "True weight of each test."]
    covariance: Annotated[Matrix, "Covariance of the tests: symmetric and positive definite."]
    noise_variance: Annotated[NonNegative, "Variance of the noise that no test explains."] = (
        _DEFAULT_NOISE
    )
    names: Annotated[
        tuple[str, ...] | None,
        Items(at_least=1, unique=True),
        "Names of the tests, all different. Left out: x1, x2, ...",
    ] = None
    beta_shape: Annotated[
        tuple[Positive, Positive] | None,
        GoesWith("latent_correlation"),
        "The Beta distribution that every test follows. Left out: tests are Gaussian.",
    ] = None
    latent_correlation: Annotated[
        Matrix | None,
        GoesWith("beta_shape"),
        "Correlation of the Gaussian underneath Beta marginals.",
    ] = None
    units: Annotated[Units | None, "Original units of a world that was estimated from a table."] = (
        None
    )
    groups: Annotated[
        Groups | None,
        InFiles(dict[str, Columns] | None),
        "Tests of several columns, shown, counted and priced as one: name and columns (from 0). "
        "Left out: every column is a test.",
    ] = None
    outcome: Annotated[
        Binary | None, "Yes or no, and how common yes is. Left out: the outcome is a number."
    ] = None

    def __init__(
        self,
        coefficients: npt.ArrayLike,
        covariance: npt.ArrayLike,
        noise_variance: float = _DEFAULT_NOISE,
        names: Sequence[str] | None = None,
        beta_shape: Sequence[float] | None = None,
        latent_correlation: npt.ArrayLike | None = None,
        units: Units | None = None,
        groups: Mapping[str, Sequence[int]] | Groups | None = None,
        outcome: Binary | None = None,
    ) -> None:
        faults = _outcome_faults(outcome, noise_variance)
        if isinstance(outcome, Binary) and is_number(noise_variance):
            noise_variance = outcome.from_score.variance
        faults += set_checked(
            self, coefficients=coefficients, covariance=covariance, noise_variance=noise_variance,
            latent_correlation=latent_correlation,
        )  # fmt: skip
        vector, matrix, size = self.coefficients, self.covariance, self.coefficients.size
        for name in ("covariance", "latent_correlation"):
            given_matrix = getattr(self, name)
            if size and given_matrix is not None and given_matrix.size:
                faults += covariance_faults(name, given_matrix, size)
        given = _names(names, size, faults)
        labels = given or _default_names(size)
        together = checked_groups(groups, labels, faults)
        if beta_shape is not None and (len(beta_shape) != 2 or min(beta_shape) <= 0):
            faults.append(f"beta_shape: {beta_shape!r}, must be two positive numbers")
        if (beta_shape is None) != (latent_correlation is None):
            faults.append(
                "beta_shape and latent_correlation go together: give both or neither "
                "(in Python: World.beta_copula makes them)"
            )
        if beta_shape is not None and outcome is not None:
            faults.append("outcome: yes or no needs Gaussian tests; leave beta_shape out")
        if units is not None and not isinstance(units, Units):
            faults.append(f"units: {units!r} is not a Units")
        elif units is not None and size and units.means.size != size:
            faults.append(f"units: of {units.means.size} tests, but there are {size}")
        elif units is not None and units.levels and not faults:
            faults += units.level_faults(columns_by_test(together, labels))
        if not faults:
            with np.errstate(over="ignore", invalid="ignore"):
                explained = float(np.abs(vector) @ np.abs(matrix) @ np.abs(vector))
            if not explained < _LARGEST:
                largest = np.abs(vector).max()
                faults.append(
                    f"coefficients: up to {largest:.1e}, so large that losses overflow; "
                    "measure the outcome in larger units"
                )
        InvalidProblem.raise_if(faults)
        shape = None if beta_shape is None else (float(beta_shape[0]), float(beta_shape[1]))
        self.set_fields(
            covariance=frozen_array((matrix + matrix.T) / 2), names=given, beta_shape=shape,
            units=units, groups=together, outcome=outcome,
        )  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> World:
        """Rebuild a world from plain data. To estimate one from cases, use `fit_world`."""
        fields = dict(data)
        if isinstance(fields.get("units"), Mapping):
            fields["units"] = Units.from_dict(fields["units"])
        if isinstance(fields.get("outcome"), Mapping):
            fields["outcome"] = Binary.from_dict(fields["outcome"])
        return super().from_dict(fields)

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their default; groups as a table of name and columns."""
        data = super().to_dict()
        if self.groups is not None:
            data["groups"] = {name: list(columns) for name, columns in self.groups}
        return data

    @classmethod
    def equicorrelated(
        cls,
        coefficients: npt.ArrayLike,
        correlation: float,
        noise_variance: float = _DEFAULT_NOISE,
        names: Sequence[str] | None = None,
        outcome: Binary | None = None,
    ) -> World:
        """A world with unit variances and one correlation for all pairs, Σ = (1-ρ)I + ρ11'.

        Parameters
        ----------
        coefficients
            True weights, shape (n,).
        correlation
            The correlation ρ, above -1/(n-1) and below 1.
        noise_variance
            Variance of what no test explains.
        names
            Names of the tests; x1 to xn if left out.
        outcome
            `Binary(prevalence)` for a yes-or-no outcome.

        Returns
        -------
        World
            Gaussian tests with that covariance.

        Examples
        --------
        >>> World.equicorrelated([1.0, 0.8], 0.5).covariance.tolist()
        [[1.0, 0.5], [0.5, 1.0]]
        """
        matrix = equicorrelation(np.size(np.asarray(coefficients)), correlation)
        return cls(coefficients, matrix, noise_variance, names, outcome=outcome)

    @classmethod
    def beta_copula(
        cls,
        coefficients: npt.ArrayLike,
        latent_correlation: npt.ArrayLike,
        beta_shape: tuple[float, float] = (2.0, 5.0),
        noise_variance: float = _DEFAULT_NOISE,
        names: Sequence[str] | None = None,
    ) -> World:
        """Standardised Beta marginals joined by a Gaussian copula, as in the paper's variants.

        Parameters
        ----------
        coefficients
            True weights, shape (n,).
        latent_correlation
            One number ρ, or a correlation matrix (n, n), of the latent Gaussian. The covariance of
            the tests follows by quadrature.
        beta_shape
            The two positive parameters of the Beta distribution.
        noise_variance
            Variance of what no test explains.
        names
            Names of the tests; x1 to xn if left out.

        Returns
        -------
        World
            Tests of unit variance that are not Gaussian.

        Examples
        --------
        >>> World.beta_copula([1.0, 0.8], 0.5).is_gaussian
        False
        """
        from preceptor.model.copula import beta_copula_covariance

        latent = np.asarray(latent_correlation, dtype=np.float64)
        if latent.ndim == 0:
            latent = equicorrelation(np.size(np.asarray(coefficients)), float(latent))
        covariance = beta_copula_covariance(latent, beta_shape)
        return cls(coefficients, covariance, noise_variance, names, beta_shape, latent)

    @property
    def size(self) -> int:
        """How many tests there are, n."""
        return int(self.coefficients.size)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns, x1..xn by default."""
        return self.names if self.names is not None else _default_names(self.size)

    @property
    def blocks(self) -> Blocks:
        """The columns of each test, in the order of their first columns."""
        return blocks_of(self.groups, self.size)

    @property
    def tests(self) -> tuple[str, ...]:
        """Name of each test: that of its group, or of its only column."""
        return tuple(columns_by_test(self.groups, self.labels))

    def name_of(self, shown: Iterable[int]) -> tuple[str, ...]:
        """Name a set of columns: whole tests by the test's name, other columns by their own.

        Parameters
        ----------
        shown
            Indices of columns.

        Returns
        -------
        tuple of str
            The names, in the order of the tests.

        Examples
        --------
        >>> world = World([1, 1, 1], np.eye(3), names=["age", "a", "b"], groups={"site": [1, 2]})
        >>> world.tests, world.name_of((0, 1, 2)), world.name_of((1,))
        (('age', 'site'), ('age', 'site'), ('a',))
        """
        columns = set(shown)
        words: list[str] = []
        for name, block in zip(self.tests, self.blocks, strict=True):
            if columns.issuperset(block):
                words.append(name)
            else:
                words += [self.labels[i] for i in block if i in columns]
        return tuple(words)

    def columns_of(self, names: Iterable[str]) -> tuple[int, ...]:
        """Find the columns of tests (or single columns) given by name.

        Parameters
        ----------
        names
            Names of tests or columns, in any order.

        Returns
        -------
        tuple of int
            Column indices in increasing order, each once.

        Raises
        ------
        InvalidInput
            An unknown name; the message lists the known ones.

        Examples
        --------
        >>> world = World([1, 1, 1], np.eye(3), names=["age", "a", "b"], groups={"site": [1, 2]})
        >>> world.columns_of(["site"])
        (1, 2)
        """
        where: dict[str, tuple[int, ...]] = {label: (i,) for i, label in enumerate(self.labels)}
        where |= dict(zip(self.tests, self.blocks, strict=True))
        wanted = list(names)
        unknown = [name for name in wanted if name not in where]
        InvalidInput.raise_if(unknown_name_faults("test", unknown, self.tests))
        return tuple(sorted({i for name in wanted for i in where[name]}))

    def best_reading(self, shown: Sequence[int]) -> tuple[FloatArray, float]:
        """Return the best linear prediction of the outcome from some columns.

        Parameters
        ----------
        shown
            The columns, by index.

        Returns
        -------
        tuple of array and float
            Weights of these columns, and the variance that they leave.

        Examples
        --------
        >>> World([1.0, 2.0], np.eye(2), 0.5).best_reading([1])
        (array([2.]), 1.5)
        """
        rows = list(shown)
        with_outcome = (self.covariance @ self.coefficients)[rows]
        best = np.asarray(np.linalg.solve(self.covariance[np.ix_(rows, rows)], with_outcome))
        return best, max(self.outcome_variance - float(with_outcome @ best), 0.0)

    @property
    def score_variance(self) -> float:
        """Variance a'Σa of the weighted sum of all tests."""
        return float(self.coefficients @ self.covariance @ self.coefficients)

    @property
    def outcome_variance(self) -> float:
        """Variance of y: the squared error of always predicting the mean.

        For a yes-or-no outcome, the variance of score plus noise.
        """
        return self.score_variance + self.noise_variance

    @property
    def is_binary(self) -> bool:
        """Whether the outcome is yes or no."""
        return self.outcome is not None

    @property
    def base_score(self) -> float:
        """Score of an average case; 0 for a numeric outcome."""
        if self.outcome is None:
            return 0.0
        outcome, spread = self.outcome, self.score_variance
        return remembered(self, "base score", lambda: outcome.base_score(spread))

    @property
    def explained_share(self) -> float:
        """Share of the outcome variance that all tests together explain, from 0 to 1."""
        variance = self.outcome_variance
        return 1.0 - self.noise_variance / variance if variance > 0.0 else 0.0

    @property
    def typical_correlation(self) -> float:
        """Mean absolute correlation over pairs of columns; 0 if there is only one."""
        return average_correlation(correlations_of(self.covariance))

    def __repr__(self) -> str:
        outcome = self.units.outcome if self.units is not None else "no unit given"
        if self.outcome is not None:
            named = f"{outcome}, " if self.units is not None else ""
            outcome = f"{named}yes in {100.0 * self.outcome.prevalence:.3g}% of all cases"
        title = f"World of {counted(len(self.tests), 'test')}; outcome: {outcome}"
        rows = [
            ("weights", weights_in_words(self.labels, self.coefficients)),
            ("correlation", f"{self.typical_correlation:.2f} between two tests on average"),
            ("explained", self._explained_in_words()),
        ]
        if self.groups is not None:
            sizes = [f"{name} ({counted(len(part), 'column')})" for name, part in self.groups]
            rows.append(("groups", first_few(sizes, NAMED // 2)))
        if self.beta_shape is not None:
            p, q = self.beta_shape
            rows.append(("marginals", f"Beta({p:g}, {q:g}), standardised, in a Gaussian copula"))
        return labelled(title, rows)

    def _explained_in_words(self) -> str:
        """How well all tests together predict."""
        if self.outcome is None:
            return (
                f"{self.explained_share:.0%} of the variance of the outcome, "
                f"whose standard deviation is {self.outcome_variance**0.5:.4g}"
            )
        known = np.array([self.score_variance])
        link, base = self.outcome.from_score, self.base_score
        area = ScorePair.best_reader(link, base, self.score_variance, known).area()[0]
        return f"the best reader of all tests has an area under the ROC curve of {area:.3f}"

    @property
    def is_gaussian(self) -> bool:
        """Whether the tests are jointly Gaussian."""
        return self.beta_shape is None

    @property
    def is_diagonal(self) -> bool:
        """Whether no two tests are correlated."""
        off = self.covariance - np.diag(np.diag(self.covariance))
        return not np.any(off)

    def sample(self, cases: int, rng: np.random.Generator | int | None = None) -> SampledCases:
        """Draw cases with their outcomes.

        Parameters
        ----------
        cases
            How many to draw.
        rng
            A seed or a generator; the same seed gives the same cases.

        Returns
        -------
        Cases
            `features` of shape (cases, n) and `outcomes` of shape (cases,), both centred; yes is
            1 and no is 0.

        Examples
        --------
        >>> World([1.0, 0.8], np.eye(2)).sample(5, rng=0).features.shape
        (5, 2)
        """
        generator = np.random.default_rng(rng)
        if self.beta_shape is None:
            root = np.linalg.cholesky(self.covariance)
            features = generator.standard_normal((cases, self.size)) @ root.T
        else:
            from preceptor.model.copula import sample_beta_copula

            assert self.latent_correlation is not None
            unit = sample_beta_copula(cases, self.latent_correlation, self.beta_shape, generator)
            features = unit * np.sqrt(np.diag(self.covariance))
        explained = features @ self.coefficients
        if self.outcome is None:
            noise = generator.standard_normal(cases) * np.sqrt(self.noise_variance)
            return SampledCases(features, explained + noise)
        chance = self.outcome.from_score.probability(explained + self.base_score)
        return SampledCases(features, (generator.random(cases) < chance).astype(np.float64))


def weights_in_words(names: Sequence[str], weights: FloatArray) -> str:
    """Names with their weights, largest first; no line break between name and weight."""
    order = np.argsort(-np.abs(weights), kind="stable")
    return first_few([f"{names[i]}{NO_BREAK_SPACE}{weights[i]:.3g}" for i in order], NAMED)


def _outcome_faults(outcome: Binary | None, noise_variance: float) -> list[str]:
    if outcome is None:
        return []
    if not isinstance(outcome, Binary):
        return [f"outcome: {outcome!r}, must be Binary(prevalence), or left out for a number"]
    fixed = outcome.from_score.variance
    if is_number(noise_variance) and noise_variance not in (_DEFAULT_NOISE, fixed):
        return [
            f"noise_variance: {noise_variance!r}, but with the {outcome.link} link it is "
            f"{fixed:.6g}; leave it out, and choose the weights accordingly"
        ]
    return []


def _default_names(size: int) -> tuple[str, ...]:
    return tuple(f"x{i + 1}" for i in range(size))


def _names(names: Sequence[str] | None, size: int, faults: list[str]) -> tuple[str, ...] | None:
    if names is None:
        return None
    labels = tuple(str(name) for name in names)
    if size and len(labels) != size:
        faults.append(f"names: {len(labels)} names for {size} tests; lengths must agree")
    twice = repeated(labels)
    if twice:
        listed = ", ".join(map(repr, twice))
        faults.append(f"names: {listed} repeated, every test needs its own name")
    return labels
