"""Colours of pages and pictures, for white paper and for dark screens.

A colour has one meaning: eight are for tests, four for policies, seven for kinds of person, the
others for text and background. Those of tests, policies and kinds have the contrast to their
background that WCAG AA requires, and names, dashes or shapes always carry the same information.
Pictures are written in the light colours; on dark screens, style rules made here replace them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Colour:
    """Name in the style sheet, colour on white paper, and on a dark screen."""

    name: str
    light: str
    dark: str


PAPER = Colour("paper", "#ffffff", "#12171e")
WASH = Colour("wash", "#f4f6f9", "#1d242e")  # behind cards and boxes
SHADE = Colour("shade", "#eceff3", "#262e39")  # behind a part of a picture
LINE = Colour("line", "#d9dee6", "#39424f")  # between rows of a table
GRID = Colour("grid", "#dfe3e8", "#333c48")  # behind data; carries no information
RULE = Colour("rule", "#7d8591", "#7d8899")  # an axis at zero, the outline of a box
INK = Colour("ink", "#1d2430", "#e4e8ee")
SOFT = Colour("soft", "#545e6e", "#a9b3c2")  # notes and captions
ACCENT = Colour("accent", "#0067a6", "#5ab3ee")
WARNING = Colour("warning", "#a13d00", "#ff9f69")

# As distinct for colour-blind readers as eight colours can be; the first ones most.
TESTS = (
    Colour("test-1", "#0068a8", "#5ab4ee"),
    Colour("test-2", "#a03f83", "#e290c6"),
    Colour("test-3", "#007a55", "#3fc79a"),
    Colour("test-4", "#7d4a1e", "#d3a06f"),
    Colour("test-5", "#4a3fa5", "#a9a0f5"),
    Colour("test-6", "#0b7687", "#4cc4d6"),
    Colour("test-7", "#a8203f", "#f58a9f"),
    Colour("test-8", "#51606e", "#aebccb"),
)
KINDS = (
    Colour("kind-1", "#a33f00", "#ff9d66"),
    Colour("kind-2", "#5b6b12", "#b3c767"),
    Colour("kind-3", "#806000", "#e3bd3f"),
    Colour("kind-4", "#7a2e12", "#e58d70"),
    Colour("kind-5", "#6b5b3e", "#cbb792"),
    Colour("kind-6", "#3f5a2a", "#8fc07a"),
    Colour("kind-7", "#94580f", "#f0b060"),
)
PLAN = Colour("plan", "#15191f", "#f2f4f7")
FIXED = Colour("fixed", "#c24a00", "#ff9457")
PREDICTIVE = Colour("predictive", "#7c5f00", "#e0ba3c")
RANDOM = Colour("random", "#69717d", "#98a2b1")
# The best achievable, tests that are never shown, and none of the kinds.
GREY = Colour("grey", "#6b7078", "#9aa1ab")

WORDS = (INK, SOFT, ACCENT, WARNING)
MARKS = (*TESTS, *KINDS, PLAN, FIXED, PREDICTIVE, RANDOM, GREY)
BACKGROUNDS = (PAPER, WASH, SHADE)
EVERYTHING = (*BACKGROUNDS, LINE, GRID, RULE, *WORDS, *MARKS)


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, from 1 to 21, as WCAG defines it.

    >>> round(contrast("#ffffff", "#000000"), 6)
    21.0
    """
    darker, brighter = sorted((brightness(one), brightness(other)))
    return (brighter + 0.05) / (darker + 0.05)


def brightness(colour: str) -> float:
    """Relative luminance of "#rrggbb", from 0 to 1."""
    shares = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def styles() -> str:
    """Style sheet rules: all colours by name, and their replacements on dark screens.

    Prints are always on white.
    """
    light = " ".join(f"--{colour.name}: {colour.light};" for colour in EVERYTHING)
    dark = " ".join(f"--{colour.name}: {colour.dark};" for colour in EVERYTHING)
    rules = [
        f'  svg [{what}="{colour.light}"] {{ {what}: var(--{colour.name}); }}'
        for colour in EVERYTHING
        for what in ("fill", "stroke")
    ]
    chips = [
        f".chip-{i} {{ background: var(--{colour.name}); }}"
        for i, colour in enumerate(TESTS, start=1)
    ]
    return "\n".join(
        [
            f":root {{ color-scheme: light; {light} }}",
            *chips,
            "@media screen and (prefers-color-scheme: dark) {",
            f"  :root {{ color-scheme: dark; {dark} }}",
            *rules,
            "}",
        ]
    )
