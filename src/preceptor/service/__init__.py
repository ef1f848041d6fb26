"""The live service: what should this person see now, and what happened, over HTTP.

Its processes that plan need nothing of the web, so the application is imported when it is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preceptor.service.app import make_app
    from preceptor.service.settings import Settings

__all__ = ["Settings", "make_app"]


def __getattr__(name: str) -> Any:
    if name == "make_app":
        from preceptor.service.app import make_app

        return make_app
    if name == "Settings":
        from preceptor.service.settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
