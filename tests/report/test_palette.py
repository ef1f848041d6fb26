"""Colours: each means one thing, is seen on paper and on dark screens, and never stands alone."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor import report as room
from preceptor.report import figures, palette, schedule_view
from preceptor.report.palette import BACKGROUNDS, EVERYTHING, MARKS, RULE, WORDS, contrast
from preceptor.report.schedule_view import colours_of, places_of
from tests.report.test_html import PLAN, page_of_plan

FOLDER = Path(room.__file__).parent
SCHEMES = ("light", "dark")


def test_contrast_is_that_of_the_standard():
    # Examples of WCAG's own: grey #767676 on white just passes, #777777 does not.
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#123456", "#123456") == 1.0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", BACKGROUNDS, ids=lambda colour: colour.name)
def test_words_can_be_read_and_marks_be_seen(scheme, ground):
    behind = getattr(ground, scheme)
    for colour in WORDS:
        assert contrast(getattr(colour, scheme), behind) >= 4.5, colour
    for colour in (*MARKS, RULE):
        assert contrast(getattr(colour, scheme), behind) >= 3.0, colour


def test_numbers_in_cells_can_be_read():
    for correlation in np.linspace(-1.0, 1.0, 41):
        ink, ground = figures.colours_at(float(correlation))
        assert contrast(ink, ground) >= 4.5
    assert figures.colours_at(1.0)[1] != figures.colours_at(-1.0)[1]


def test_a_colour_means_one_thing():
    for scheme in SCHEMES:
        used = [getattr(colour, scheme) for colour in MARKS]
        assert len(set(used)) == len(used)
    light = [colour.light for colour in EVERYTHING]
    assert len(set(light)) == len(light), "a dark screen could not tell which to put in its place"


def test_neighbours_differ():
    """Colours of tests are far apart, so that nobody takes one for another."""
    for one, other in combinations(palette.TESTS[:5], 2):
        for scheme in SCHEMES:
            apart = [
                int(getattr(one, scheme)[i : i + 2], 16)
                - int(getattr(other, scheme)[i : i + 2], 16)
                for i in (1, 3, 5)
            ]
            assert np.linalg.norm(apart) > 60


def test_dark_screens_replace_every_colour_and_paper_stays_white():
    page = page_of_plan()
    sheet = page[page.index("<style>") : page.index("</style>")]
    dark = sheet[sheet.index("@media screen and (prefers-color-scheme: dark)") :]
    dark = dark[: dark.index("\n}")]
    drawn = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', page))
    known = {colour.light: colour for colour in EVERYTHING}
    for colour in drawn:
        assert f'[fill="{colour}"] {{ fill: var(--{known[colour].name}); }}' in dark
        assert f'[stroke="{colour}"] {{ stroke: var(--{known[colour].name}); }}' in dark
    for colour in EVERYTHING:
        assert f"--{colour.name}: {colour.dark};" in dark
        assert f"--{colour.name}: {colour.light};" in sheet
    assert "prefers-color-scheme" not in page.replace(
        "@media screen and (prefers-color-scheme: dark)", ""
    )


def test_sheets_take_their_colours_from_the_palette():
    names = {colour.name for colour in EVERYTHING}
    for sheet in ("report.css", "session.css"):
        text = (FOLDER / "templates" / sheet).read_text("utf-8")
        assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= names
        assert set(re.findall(r"#[0-9a-f]{3,6}\b", text)) <= {"#000"}  # boxes on paper


def world_of(weights, **options):
    size = len(weights)
    return pr.World(weights, np.eye(size), **options)


def test_tests_that_weigh_most_have_colours_of_their_own():
    world = world_of(np.linspace(0.1, 3.0, 20))
    schedule = [(i,) for i in range(20)]
    places = places_of(world, schedule)
    assert [places[test] for test in range(19, -1, -1)] == list(range(20))
    colours = colours_of(world, schedule)
    assert len({colours[test] for test in range(12, 20)}) == 8
    assert list(colours_of(world, [(3,), (5, 7)])) == [3, 5, 7]


def test_columns_of_one_test_share_its_colour():
    world = world_of([1.0, 0.5, 0.2], names=["age", "a", "b"], groups={"site": [1, 2]})
    colours = colours_of(world, [(0,), (1, 2)])
    assert colours[1] == colours[2] != colours[0]


def test_a_test_has_one_colour_in_pictures_and_beside_its_name():
    colours = colours_of(PLAN.problem.world, PLAN.policy.schedule(30))
    for svg in (schedule_view.timeline(PLAN), figures.learning(PLAN)):
        assert set(colours.values()) <= set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', svg))
    page = page_of_plan()
    chips = dict(re.findall(r'<span class="chip (chip-\d)"></span><bdi>([^<]+)</bdi></th>', page))
    numbers = {f"chip-{i}": colour for i, colour in enumerate(palette.TESTS, start=1)}
    found = {name: numbers[chip].light for chip, name in chips.items()}
    assert found["bmi"] == colours[0]
    assert len(found) == 3
