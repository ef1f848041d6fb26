"""QR codes of addresses, for pages and for the terminal."""

from __future__ import annotations

import io

import segno
from markupsafe import Markup


def qr_picture(address: str) -> Markup:
    """An SVG image, dark on light in every colour scheme so that cameras can read it."""
    return Markup(
        segno.make(address, micro=False).svg_inline(
            scale=4,
            border=4,
            dark="#000",
            light="#fff",
            omitsize=True,
            svgclass="qr",
            lineclass=None,
        )
    )


def qr_text(address: str) -> str:
    """The code as text of half blocks, for a terminal."""
    text = io.StringIO()
    segno.make(address, micro=False).terminal(text, compact=True)
    return text.getvalue()
