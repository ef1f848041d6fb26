"""Tables that tests of worlds are made of."""

import numpy as np

ROWS = 300


def columns(rows: int = ROWS, **changes) -> dict[str, list]:
    """Two tests that matter, an outcome `y`, and columns that are added or replaced."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, rows))
    base = {"a": a.tolist(), "b": b.tolist()}
    return base | {"y": (a - b + rng.normal(size=rows)).tolist()} | changes


def said(sentences, *words) -> str:
    """The one sentence that has all these words."""
    [found] = [text for text in sentences if all(word in text for word in words)]
    return found
