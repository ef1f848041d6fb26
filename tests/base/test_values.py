"""Values: equal ones have equal hashes, and survive pickling, copying and files."""

import copy
import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import preceptor as pr
from preceptor._base.packing import pack, unpack
from preceptor._base.values import Value, frozen_array, remembered
from preceptor.model.budgets import Grouped
from preceptor.model.certificate import Certificate
from tests.strategies import budgets, curves, problems, risks


@dataclasses.dataclass(frozen=True, eq=False)
class Box(Value):
    """A value that may hold anything."""

    content: Any


# Numbers that some type cannot tell apart: signs of zero, fractions in two precisions, and whole
# numbers next to where doubles begin to skip some.
NUMBERS = [0, 1, -1, 0.0, -0.0, 0.1, 0.5, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, 2.0**63]
SPELLINGS = [int, float, np.float64, np.float32, np.int64, np.uint64, np.int8]
DTYPES = [np.bool_, np.int8, np.int64, np.uint64, np.float32, np.float64, np.complex128]


def spelled(number, spelling):
    """The number in another type, or as it was if that type has no such number."""
    try:
        with np.errstate(all="ignore"):
            other = spelling(number)
        return other if other == number else number
    except (OverflowError, ValueError):
        return number


numbers = st.builds(spelled, st.sampled_from(NUMBERS), st.sampled_from(SPELLINGS))
number_lists = st.lists(st.sampled_from(NUMBERS[:7]), max_size=3)
arrays = st.builds(
    lambda items, dtype: np.array(items, dtype=np.float64).astype(dtype),
    number_lists,
    st.sampled_from(DTYPES),
)
large_arrays = st.builds(
    lambda item, dtype: np.array([item], dtype=dtype),
    st.sampled_from([2**53, 2**53 + 1, 2**53 + 2]),
    st.sampled_from([np.int64, np.uint64, np.float64]),
)
words = st.sampled_from(["", "a", "b"])
leaves = st.one_of(numbers, arrays, large_arrays, words, st.booleans(), st.none())
contents = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(words, inner, max_size=2),
        st.builds(Box, inner),
    ),
    max_leaves=4,
)


@given(contents, contents)
def test_equal_values_have_equal_hashes(left, right):
    assert (Box(left) == Box(right)) == (Box(right) == Box(left))
    if Box(left) == Box(right):
        assert hash(Box(left)) == hash(Box(right))


def test_equal_numbers_and_arrays_have_equal_hashes():
    """Every spelling of every number with every other, alone and in arrays."""
    every = [spelled(number, spelling) for number in NUMBERS for spelling in SPELLINGS]
    for boxes in ([Box(one) for one in every], [Box(np.array([one])) for one in every]):
        pairs = [(one, two) for one in boxes for two in boxes if one == two]
        assert len(pairs) > len(boxes)
        assert all(hash(one) == hash(two) for one, two in pairs)


def test_equality_of_numbers_is_passed_on():
    boxes = [Box(spelled(number, spelling)) for number in NUMBERS for spelling in SPELLINGS]
    for one in boxes:
        equal = [two for two in boxes if one == two]
        assert all(two == three for two in equal for three in equal)


def respell(draw, content):
    """Something equal, spelled differently wherever that is possible."""
    if isinstance(content, np.ndarray):
        dtype = draw(st.sampled_from(DTYPES))
        other = content.real.astype(dtype) if dtype != np.complex128 else content.astype(dtype)
        return other if np.array_equal(content, other) else content.copy()
    if isinstance(content, Box):
        return Box(respell(draw, content.content))
    if isinstance(content, dict):
        turned = dict(reversed(content.items()))
        return {key: respell(draw, item) for key, item in turned.items()}
    if isinstance(content, (list, tuple)):
        return type(content)(respell(draw, item) for item in content)
    if isinstance(content, (int, float)) and not isinstance(content, bool):
        other = spelled(content, draw(st.sampled_from(SPELLINGS)))
        exact = other.item() if isinstance(other, np.generic) else other
        return other if exact == content else content
    return copy.copy(content)


@given(st.data(), contents)
def test_another_spelling_is_the_same_value(data, content):
    value, other = Box(content), Box(respell(data.draw, content))
    assert value == other
    assert hash(value) == hash(other)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (pr.Geometric(2), pr.Geometric(2.0)),
        (pr.Geometric(2.0, floor=0.0), pr.Geometric(np.float64(2.0), floor=-0.0)),
        (pr.Knapsack([1, 2], 2), pr.Knapsack([1.0, 2.0], 2.0)),
        (pr.AtMost(1, price=[0, 1]), pr.AtMost(np.int64(1), price=(-0.0, 1.0))),
        (pr.Listed([[1, 0], []]), pr.Listed([(), np.array([0, 1])])),
        (Grouped(1, [[1, 2], [0]]), Grouped(pr.AtMost(1), ((0,), (2, 1)))),
        (pr.World([1, 0], np.eye(2, dtype=int)), pr.World([1.0, -0.0], np.eye(2))),
        (pr.Learner([1, 0], pr.Geometric(2)), pr.Learner((1.0, -0.0), pr.Geometric(2.0))),
        (pr.Stationary([1, 0]), pr.Stationary((0, 1))),
    ],
)
def test_what_means_the_same_is_the_same_member_of_a_set(value, other):
    assert value == other
    assert len({value, other}) == 1


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (pr.AtMost(1), pr.Exactly(1)),
        (Box(1), Box(True)),
        (Box((1,)), Box([1])),
        (Box(0.1), Box(np.float32(0.1))),
        (Box(2**53 + 1), Box(2.0**53)),
        (Box(np.zeros(1)), Box(np.zeros((1, 1)))),
        (Box(np.zeros(1)), Box(0.0)),
        (Box((np.zeros(2), 1)), Box((np.ones(2), 1))),
        (Box({"a": np.zeros(2)}), Box({"a": np.ones(2)})),
        (Box({"a": 1}), Box({"b": 1})),
    ],
)
def test_what_differs_is_not_equal(value, other):
    assert value != other


@st.composite
def any_value(draw):
    """A value of any kind that problems are made of, or a problem, or a plan's certificate."""
    multipliers = np.random.default_rng(draw(st.integers(0, 99))).standard_normal((3, 2))
    certificate = Certificate(multipliers, [1, 2], multipliers[0], dual_bound=1.5)
    several = [contents.map(Box), curves, risks, budgets(3), problems(horizons=(None, 2))]
    return draw(st.one_of(*several, st.just(certificate), st.just(pr.Listed([[0], [1, 2]]))))


def arrays_within(value):
    """The arrays of a value and of the values in it."""
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if isinstance(item, np.ndarray):
            yield item
        elif isinstance(item, Value):
            yield from arrays_within(item)


@given(any_value(), st.sampled_from(range(2, pickle.HIGHEST_PROTOCOL + 1)))
def test_pickling_keeps_the_value_and_drops_what_was_remembered(value, protocol):
    assert remembered(value, "answer", lambda: 42) == 42
    assert remembered(value, "answer", lambda: 43) == 42
    back = pickle.loads(pickle.dumps(value, protocol))
    assert back == value
    assert hash(back) == hash(value)
    assert set(back.__dict__) == {field.name for field in dataclasses.fields(value)}
    assert remembered(back, "answer", lambda: 43) == 43


@given(any_value())
def test_what_was_pickled_or_copied_cannot_be_changed_either(value):
    for back in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert back == value
        assert not any(array.flags.writeable for array in arrays_within(back))


def test_pickling_drops_cached_properties():
    budget = pr.Listed([[0], [1, 2]])
    assert budget.allows((2, 1))
    assert "_members" in budget.__dict__
    back = pickle.loads(pickle.dumps(budget))
    assert "_members" not in back.__dict__
    assert back.allows((2, 1))


def test_remembering_changes_neither_equality_nor_hash_nor_file():
    one, two = pr.Geometric(1.5), pr.Geometric(1.5)
    before = hash(one)
    remembered(one, "answer", lambda: [1, 2, 3])
    assert one == two
    assert hash(one) == hash(two) == before
    assert one.to_json() == two.to_json()


@given(problems(horizons=(None, 2)))
def test_a_trip_through_a_file_keeps_the_hash(problem):
    assert hash(pr.Problem.from_json(problem.to_json())) == hash(problem)


packable = arrays_of.arrays(
    st.sampled_from([np.bool_, np.uint8, np.int64, np.float32, np.float64, np.dtype(">f8")]),
    arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(packable, st.booleans())
def test_packed_arrays_survive_bit_by_bit(array, turned):
    array = array.T if turned else array  # not contiguous
    back = unpack("array", json.loads(json.dumps(pack(array))))
    assert back.shape == array.shape
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "damage",
    [
        {"zlib": "AAAA"},
        {"zlib": "not base 64"},
        {"zlib": 3},
        {"type": "<f3"},
        {"type": "O"},
        {"shape": [5]},
        {"shape": [10**30]},
        {"shape": "wide"},
    ],
)
def test_a_damaged_pack_is_reported_by_name(damage):
    packed = pack(np.arange(6.0).reshape(2, 3))
    with pytest.raises(pr.InvalidFile, match="weights: the packed array is damaged"):
        unpack("weights", packed | damage)
    with pytest.raises(pr.InvalidFile, match="weights: the packed array is damaged"):
        unpack("weights", {key: item for key, item in packed.items() if key not in damage})


def test_a_frozen_array_is_a_copy_that_cannot_be_written():
    source = np.zeros(2)
    frozen = frozen_array(source)
    source[0] = 1.0
    assert frozen.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 1.0
