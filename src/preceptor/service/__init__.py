"""The live service: what should this person see now, and what happened, over HTTP."""

from preceptor.service.app import make_app
from preceptor.service.settings import Settings

__all__ = ["Settings", "make_app"]
