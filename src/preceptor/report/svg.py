"""Figures as SVG that can live inside an HTML page: named, unique ids, the same bytes each time."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Text stays text: it can be searched, copied and read aloud, and the file is a third as large.
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "preceptor"}
_NOTHING = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """An `<svg>` element; `name` makes its ids unique, `description` is what a reader hears."""
    import matplotlib
    from markupsafe import escape
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        FigureCanvasSVG(figure).print_svg(buffer, metadata=_NOTHING)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'((?:xlink:)?href=")#', rf"\1#{name}-", text)
    text = text.replace("url(#", f"url(#{name}-")
    # A width in points would keep the picture from shrinking with the page.
    text = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", text)
    text = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1).strip()
