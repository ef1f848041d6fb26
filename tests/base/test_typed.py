"""Numbers, shares and yes or no as people type them."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor._base.checks import NO, YES, parse_number, parse_share, parse_spelling, parse_yes_no

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SIGNS = st.sampled_from([".", ","])
MARKS = {".": [",", "'", "\u2019", " ", "\u00a0", "\u202f", ""], ",": [".", "'", "\u202f", ""]}


def written(number, decimal, mark=""):
    """As a spreadsheet with these settings shows it."""
    return f"{number:,.2f}".translate({ord(","): mark, ord("."): decimal})


@given(number=FINITE, decimal=SIGNS)
def test_every_number_that_python_writes_is_read_to_the_last_bit(number, decimal):
    text = repr(number).replace(".", decimal)
    assert parse_number(text, decimal) == number
    assert parse_number(text.replace("-", "\N{MINUS SIGN}"), decimal) == number


@given(number=st.integers(-(10**9), 10**9), decimal=SIGNS, data=st.data())
def test_both_conventions_and_all_marks_between_thousands(number, decimal, data):
    text = written(number / 100, decimal, data.draw(st.sampled_from(MARKS[decimal])))
    assert parse_number(text, decimal) == number / 100
    # Two decimals can only be decimals, so nobody need say which convention it is.
    assert parse_number(f"  {text} ") == number / 100


@given(number=st.integers(1, 999), part=st.integers(0, 999))
def test_a_comma_before_three_digits_could_be_either(number, part):
    text = f"{number},{part:03}"
    for decimal in (None, "."):
        with pytest.raises(
            ValueError, match=rf"could be {number}\.{part:03} or {number}{part:03};"
        ):
            parse_number(text, decimal)
    assert parse_number(text, ",") == float(f"{number}.{part:03}")
    assert parse_number(text.replace(",", ".")) == float(f"{number}.{part:03}")
    assert parse_number(text.replace(",", "."), ",") == 1000 * number + part


@given(digits=st.integers(1, 9), power=st.integers(309, 9999), sign=st.sampled_from(["", "-"]))
def test_what_no_double_holds_is_too_large(digits, power, sign):
    text = f"{sign}{digits}e{power}"
    with pytest.raises(ValueError, match="is too large"):
        parse_number(text)
    assert math.isinf(parse_spelling(text).value)


@pytest.mark.parametrize(
    "text",
    ["", " ", "inf", "-Infinity", "nan", "NaN", "1_000", "0x10", "ten", "3 5", "1,2,3", "1.2.3",
     "1,234'567", "0,123.5", "--3", "+", ".", ",", "1e", "12kg", "<5", "5 %", "9 " * 500],
)  # fmt: skip
def test_what_is_not_a_number(text):
    for decimal in (None, ".", ","):
        with pytest.raises(ValueError, match="is not a number"):
            parse_number(text, decimal)


@given(text=st.text(st.sampled_from("0123456789.,' +-eE%<ni_"), max_size=12) | st.text(max_size=8))
def test_whatever_is_typed_is_a_finite_number_or_refused(text):
    for decimal in (None, ".", ","):
        for read in (parse_number, parse_share):
            with suppress(ValueError):
                assert math.isfinite(read(text, decimal))


def test_a_comma_where_points_are_known_says_what_to_do():
    with pytest.raises(ValueError, match=r"is not a number \(write decimals with a point\)"):
        parse_number("3,5", ".")


def test_points_of_a_program_among_decimal_commas():
    assert parse_number("3.5", ",") == 3.5


def test_a_unit_may_be_allowed():
    assert parse_number("12 %", unit="%") == parse_number("12", unit="%") == 12.0
    with pytest.raises(ValueError, match="is not a number"):
        parse_number("12 kg", unit="%")


@given(share=FINITE, decimal=SIGNS)
def test_percents_are_the_share_to_the_last_bit(share, decimal):
    digits, _, power = repr(share).partition("e")
    text = f"{digits}e{int(power or 0) + 2}".replace(".", decimal)
    assert parse_share(f"{text} %", decimal) == share
    assert parse_share(text, decimal, in_percent=True) == share


@given(text=st.sampled_from([*YES, *NO]), pad=st.sampled_from(["", " "]), data=st.data())
def test_words_for_yes_and_no(text, pad, data):
    cased = data.draw(st.sampled_from([text, text.upper(), text.title()]))
    assert parse_yes_no(f"{pad}{cased}{pad}") is (text in YES)


def test_no_word_is_both():
    assert not YES & NO
    assert all(word == word.casefold() for word in YES | NO)


@pytest.mark.parametrize("text", ["", "maybe", "2", "0.7", "10", "yess"])
def test_what_is_neither_yes_nor_no(text):
    assert parse_yes_no(text) is None


def test_words_of_a_table_come_first():
    assert parse_yes_no("Malignant ", ("benign", "malignant")) is True
    assert parse_yes_no("yes", ("benign", "malignant")) is True
    assert parse_yes_no("1", ("1", "2")) is False
    assert parse_yes_no("y", ("y", "x")) is False
