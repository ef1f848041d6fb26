"""The world: how test results and the outcome come about.

An outcome is a weighted sum of n correlated tests plus noise, y = a·x + ε, with x centred and
ε independent of it; or it is yes if a base score, the weighted sum and noise are together above 0.
Only second moments enter the closed forms, so a `World` is coefficients, a
covariance and a noise variance; the shape of the marginals matters when cases are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.fields import GoesWith, InFiles, Items, Matrix, NonNegative, Positive, Vector
from preceptor._base.values import FloatArray, Value, frozen_array, remembered
from preceptor._base.words import TOGETHER, counted, first_few, labelled, repeated, unknown_names
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.model.groups import (
    Blocks,
    Columns,
    Groups,
    blocks_of,
    checked_groups,
    columns_by_test,
)
from preceptor.model.matrices import (
    average_correlation,
    correlations_of,
    covariance_faults,
    equicorrelation,
    read_numbers,
)
from preceptor.model.outcomes import Binary
from preceptor.model.score_pairs import ScorePair
from preceptor.model.units import Units

# Variances beyond this leave no room for sums over rounds.
_LARGEST = 1e100
# So many tests are named when a world or a problem shows itself.
NAMED = 8
# What `noise_variance` is if nobody says anything.
_DEFAULT_NOISE = 1e-3


class Cases(NamedTuple):
    """Drawn cases: `features` of shape (cases, n) and `outcomes` of shape (cases,).

    Yes-or-no outcomes are 1 and 0.
    """

    features: FloatArray
    outcomes: FloatArray


@dataclass(frozen=True, eq=False)
class World(Value):
    """How tests and outcomes come about: true weights, covariance, noise and names.

    An outcome is a weighted sum of n centred tests plus independent noise. A world never changes
    and is checked once, when it is made.

    A test may consist of several columns, such as the levels of a category. Such a test is shown,
    counted and priced as one. Everything of shape (n,) is about columns; `tests` and `blocks` are
    about tests. Without groups the two are the same.

    Parameters
    ----------
    coefficients
        True weights, shape (n,), in units of the outcome per unit of the column.
    covariance
        Covariance of the columns, shape (n, n), symmetric and positive definite.
    noise_variance
        Variance of what no test explains, in squared units of the outcome. Where the outcome is
        yes or no, its link decides it (1 for the probit), and it need not be given.
    names
        Names of the columns, each once; x1 to xn if left out.
    beta_shape
        None for Gaussian tests. With (p, q) every column has a standardised Beta(p, q) marginal.
    latent_correlation
        Correlation, shape (n, n), of the Gaussian copula that ties Beta marginals together; goes
        with `beta_shape` (`World.beta_copula` makes both).
    units
        Translates to the numbers that people read, where the world came from a table.
    groups
        Name and column indices of every test that has several columns.
    outcome
        None for an outcome that is a number; `Binary(prevalence)` for yes or no. Weights then add
        up to a score.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

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
    units: Annotated[
        Units | None,
        "What the numbers of a world that was estimated from a table mean outside of it.",
    ] = None
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
        faults: list[str] = []
        vector = read_numbers("coefficients", coefficients, 1, faults)
        matrix = read_numbers("covariance", covariance, 2, faults)
        latent = None
        if latent_correlation is not None:
            latent = read_numbers("latent_correlation", latent_correlation, 2, faults)
        if vector is not None and matrix is not None:
            faults += covariance_faults("covariance", matrix, vector.size)
            if latent is not None:
                faults += covariance_faults("latent_correlation", latent, vector.size)
        faults += _noise_faults(noise_variance) + _outcome_faults(outcome, noise_variance)
        if isinstance(outcome, Binary):
            noise_variance = outcome.from_score.variance
        size = vector.size if vector is not None else 0
        labels = _names(names, size, faults)
        together = checked_groups(groups, labels or _default_names(size), faults)
        if beta_shape is not None and (len(beta_shape) != 2 or min(beta_shape) <= 0):
            faults.append(f"beta_shape: {beta_shape!r}, must be two positive numbers")
        if (beta_shape is None) != (latent_correlation is None):
            faults.append(
                "beta_shape and latent_correlation belong together: give both or neither "
                "(in Python: World.beta_copula makes them)"
            )
        if beta_shape is not None and outcome is not None:
            faults.append("outcome: yes or no needs Gaussian tests; leave beta_shape out")
        if units is not None and not isinstance(units, Units):
            faults.append(f"units: {units!r} is not a Units")
        elif units is not None and size and units.means.size != size:
            faults.append(f"units: of {units.means.size} tests, but there are {size}")
        elif units is not None and units.levels and not faults:
            faults += units.level_faults(columns_by_test(together, labels or _default_names(size)))
        if not faults and vector is not None and matrix is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                explained = float(np.abs(vector) @ np.abs(matrix) @ np.abs(vector))
            if not explained < _LARGEST:
                largest = np.abs(vector).max()
                faults.append(
                    f"coefficients: up to {largest:.1e}, so large that losses overflow; "
                    "measure the outcome in larger units"
                )
        InvalidProblem.raise_if(faults)
        assert vector is not None
        assert matrix is not None
        set_field = object.__setattr__
        set_field(self, "coefficients", frozen_array(vector))
        set_field(self, "covariance", frozen_array((matrix + matrix.T) / 2))
        set_field(self, "noise_variance", float(noise_variance))
        set_field(self, "names", labels)
        shape = None if beta_shape is None else (float(beta_shape[0]), float(beta_shape[1]))
        set_field(self, "beta_shape", shape)
        set_field(self, "latent_correlation", None if latent is None else frozen_array(latent))
        set_field(self, "units", units)
        set_field(self, "groups", together)
        set_field(self, "outcome", outcome)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> World:
        """Rebuild what `to_dict` gave. To estimate a world from cases, use `fit_world`."""
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
        """A world of unit variances with one correlation between all pairs, Σ = (1-ρ)I + ρ11'.

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
            `Binary(prevalence)` for an outcome that is yes or no.

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
            One number ρ, or a correlation matrix (n, n), of the Gaussian that lies underneath. The
            covariance of the tests themselves follows by quadrature.
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
        from preceptor.model._copula import beta_copula_covariance

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
        """The names of the columns, x1..xn where none were given."""
        return self.names if self.names is not None else _default_names(self.size)

    @property
    def blocks(self) -> Blocks:
        """For each test the columns that it consists of, in the order of their first columns."""
        return blocks_of(self.groups, self.size)

    @property
    def tests(self) -> tuple[str, ...]:
        """For each test its name: that of its group, or of its only column."""
        grouped = {} if self.groups is None else {columns: name for name, columns in self.groups}
        return tuple(grouped.get(block, self.labels[block[0]]) for block in self.blocks)

    def name_of(self, shown: Iterable[int]) -> tuple[str, ...]:
        """Name a set of columns: tests that are shown whole by their name, other columns by theirs.

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
            Indices of columns in rising order, each once.

        Raises
        ------
        InvalidInput
            A name that is not known; the message lists those that are.

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
        InvalidInput.raise_if(unknown_names("test", unknown, self.tests))
        return tuple(sorted({i for name in wanted for i in where[name]}))

    @property
    def score_variance(self) -> float:
        """Variance a'Σa of the weighted sum of all tests."""
        return float(self.coefficients @ self.covariance @ self.coefficients)

    @property
    def outcome_variance(self) -> float:
        """Variance of y: what somebody who always predicts the average is charged.

        Where the outcome is yes or no, the variance of what is compared with 0.
        """
        return self.score_variance + self.noise_variance

    @property
    def is_binary(self) -> bool:
        """Whether the outcome is yes or no."""
        return self.outcome is not None

    @property
    def base_score(self) -> float:
        """The score of an average case; 0 where the outcome is a number."""
        if self.outcome is None:
            return 0.0
        outcome, spread = self.outcome, self.score_variance
        return remembered(self, "base score", lambda: outcome.base_score(spread))

    @property
    def explained_share(self) -> float:
        """Share of the outcome's variance that all tests together explain, from 0 to 1."""
        variance = self.outcome_variance
        return 1.0 - self.noise_variance / variance if variance > 0.0 else 0.0

    @property
    def typical_correlation(self) -> float:
        """Mean absolute correlation of two columns; 0 if there is only one."""
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
        """How much all tests together tell."""
        if self.outcome is None:
            return (
                f"{self.explained_share:.0%} of the variance of the outcome, "
                f"whose standard deviation is {self.outcome_variance**0.5:.4g}"
            )
        known = np.array([self.score_variance])
        link, base = self.outcome.from_score, self.base_score
        area = ScorePair.best_reader(link, base, self.score_variance, known).area()[0]
        return f"whoever reads all tests rightly has an area under the ROC curve of {area:.3f}"

    @property
    def is_gaussian(self) -> bool:
        """Whether the tests are jointly Gaussian."""
        return self.beta_shape is None

    @property
    def is_diagonal(self) -> bool:
        """Whether no two tests are correlated."""
        off = self.covariance - np.diag(np.diag(self.covariance))
        return not np.any(off)

    def sample(self, cases: int, rng: np.random.Generator | int | None = None) -> Cases:
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
            `features` of shape (cases, n) and `outcomes` of shape (cases,), both centred; outcomes
            that are yes or no are 1 and 0.

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
            from preceptor.model._copula import sample_beta_copula

            assert self.latent_correlation is not None
            unit = sample_beta_copula(cases, self.latent_correlation, self.beta_shape, generator)
            features = unit * np.sqrt(np.diag(self.covariance))
        explained = features @ self.coefficients
        if self.outcome is None:
            noise = generator.standard_normal(cases) * np.sqrt(self.noise_variance)
            return Cases(features, explained + noise)
        chance = self.outcome.from_score.probability(explained + self.base_score)
        return Cases(features, (generator.random(cases) < chance).astype(np.float64))


def weights_in_words(names: Sequence[str], weights: FloatArray) -> str:
    """Names with their weights, the largest first; a name stays on the line of its weight."""
    order = np.argsort(-np.abs(weights), kind="stable")
    return first_few([f"{names[i]}{TOGETHER}{weights[i]:.3g}" for i in order], NAMED)


def _noise_faults(noise_variance: float) -> list[str]:
    if not is_number(noise_variance) or noise_variance < 0:
        return [f"noise_variance: {noise_variance!r}, must be a finite number of at least 0"]
    return []


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
        faults.append(f"names: {listed} repeated, every test needs a name of its own")
    return labels
