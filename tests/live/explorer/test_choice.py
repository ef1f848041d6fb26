"""Sliders in addresses: written and read back, every fault named."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.errors import InvalidInput
from preceptor.live.explorer.ground import PRESETS, beliefs_of, preset, read_choice, sliders_of


@pytest.mark.parametrize("name", PRESETS)
def test_choice_survives_its_address(name):
    ground = preset(name)

    @given(st.data())
    def survives(data):
        said = {
            slider.name: f"{slider.snapped(data.draw(st.floats(slider.low, slider.high))):g}"
            for slider in sliders_of(ground)
        }
        said["ends"] = data.draw(st.sampled_from(["yes", "no"]))
        said["beliefs"] = data.draw(st.sampled_from(beliefs_of(ground)))
        choice = read_choice(said, ground)
        query = choice.to_query(name)
        again = read_choice(dict(parse_qsl(query)), ground)
        assert again == choice
        assert again.to_query(name) == query

    survives()


def test_every_fault_is_a_sentence():
    said = {
        "correlation": "1.5",
        "half_life": "nan",
        "tests": "1.5",
        "cases": "many",
        "imputation": "-1",
        "ends": "perhaps",
        "beliefs": "mine",
        "colour": "blue",
    }
    with pytest.raises(InvalidInput) as raised:
        read_choice(said, preset("two-tests"))
    faults = raised.value.faults
    assert {fault.split(":")[0] for fault in faults} == set(said)
    assert "correlation: '1.5', must be a number from -0.9 to 0.95" in faults
    assert "tests: '1.5', must be a whole number from 1 to 2" in faults


@pytest.mark.parametrize("text", ["1e400", "-inf", "", "1_0e", "0x10", "9" * 5000])
def test_numbers_that_are_none_are_refused(text):
    with pytest.raises(InvalidInput, match="half_life") as raised:
        read_choice({"half_life": text}, preset("two-tests"))
    assert len(str(raised.value)) < 200


def test_worlds_of_real_cases_have_no_slider_for_their_correlation():
    assert "correlation" not in {slider.name for slider in sliders_of(preset("diabetes"))}
    with pytest.raises(InvalidInput, match="correlation: is not known"):
        read_choice({"correlation": "0.5"}, preset("diabetes"))


def test_values_between_steps_go_to_the_nearest_one():
    ground = preset("two-tests")
    assert read_choice({"half_life": "7.3"}, ground).half_life == 7.25
    assert read_choice({}, ground).correlation == 0.8
