"""Learning curves: formulas, floors, and the checker that users get."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.people.curves import check_curve
from tests.strategies import curves


def test_formulas_of_the_paper():
    m = np.arange(6)
    assert_allclose(pr.Geometric(1.1).phi(m), 1.1 ** (-2.0 * m))
    assert_allclose(pr.PowerLaw(0.75).phi(m), (1.0 / (m + 1)) ** 0.75)
    assert pr.OneShot().phi(m).tolist() == [1, 0, 0, 0, 0, 0]
    assert pr.Tabulated([1, 0.5]).phi(m).tolist() == [1, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_half_life_means_that_the_error_halves():
    assert_allclose(pr.Geometric.from_half_life(14).retention([14, 28]), [0.5, 0.25])


@given(curves)
def test_every_built_in_curve_passes_its_own_check(curve):
    check_curve(curve)


@given(curves, st.floats(0.0, 1.0))
def test_learning_never_passes_the_floor(curve, floor):
    data = curve.to_dict() | {"floor": floor}
    floored = pr.Curve.from_dict(data)
    m = np.arange(300)
    bare = pr.Curve.from_dict(data | {"floor": 0.0})
    assert_allclose(floored.phi(m), np.maximum(bare.phi(m), floor))
    assert floored.phi(10**9) >= floored.limit >= floor


@given(curves.filter(lambda curve: curve.ratio is not None), st.integers(0, 40))
def test_a_constant_ratio_is_one(curve, m):
    assert_allclose(curve.retention(m + 1), curve.ratio * curve.retention(m), atol=1e-300)


@dataclass(frozen=True, eq=False)
class Forgetful(pr.Curve):
    kind = "forgetful-in-tests"
    rate: float = 0.1

    def raw(self, counts):
        return 0.5 + self.rate * counts


def test_the_checker_names_every_broken_rule():
    with pytest.raises(pr.InvalidProblem) as caught:
        check_curve(Forgetful())
    message = str(caught.value)
    assert "φ(0) is 0.5, must be 1" in message
    assert "rises from 0.5 to 0.6 at count 1" in message


def test_a_learner_refuses_a_curve_that_rises():
    with pytest.raises(pr.InvalidProblem, match="rises"):
        pr.Learner([0.0], Forgetful())


def test_a_curve_of_ones_own_goes_to_a_file_and_back():
    curve = Forgetful(rate=0.25)
    assert pr.Curve.from_dict(curve.to_dict()) == curve


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.Geometric(0.9), "alpha: 0.9"),
        (lambda: pr.Geometric(float("nan")), "alpha: nan"),
        (lambda: pr.Geometric(1.1, floor=1.5), "floor: 1.5"),
        (lambda: pr.PowerLaw(-1.0), "exponent: -1.0"),
        (lambda: pr.Tabulated([0.9, 0.5]), r"φ\(0\) is 0.9"),
        (lambda: pr.Tabulated([1.0, 0.5, 0.6]), "rises from 0.5 to 0.6 at count 2"),
        (lambda: pr.Tabulated([1.0, -0.1]), "phi_values: -0.1, must be numbers from 0 to 1"),
        (lambda: pr.Tabulated([]), "must be a list of n numbers"),
        (lambda: pr.Tabulated(["a"]), "give a list or array of numbers"),
        (lambda: pr.Geometric.from_half_life(0), "showings: 0"),
    ],
)
def test_bad_parameters_are_named_with_their_value(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()


def test_equality_is_by_value_and_kinds_are_taken_once():
    assert pr.Geometric(2) == pr.Geometric(2.0) == pr.Geometric(np.float64(2.0))
    with pytest.raises(TypeError, match="'geometric' is already used by Geometric"):

        class Another(pr.Curve):
            kind = "geometric"
