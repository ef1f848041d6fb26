"""The site: the service's interface for programs, and pages for people beside it."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware import Middleware

from preceptor.service.app import make_app
from preceptor.service.settings import Settings
from preceptor.web import (
    owner,
    owner_files,
    owner_study,
    start,
    static_files,
    studies_api,
    study_join,
    study_leaving,
    study_steps,
)
from preceptor.web.bodies import Bodies
from preceptor.web.failing import answer_with_pages
from preceptor.web.headers import Headers
from preceptor.web.owner_access import NotSignedIn, enter_first

_PAGES = (
    study_steps.router,
    study_join.router,
    study_leaving.router,
    studies_api.router,
    owner.router,
    owner_study.router,
    owner_files.router,
    start.router,
    static_files.router,
)
# Bytes that may be sent where that is more than a form of words.
_UPLOADS: dict[str, int] = {}


def make_site(settings: Settings) -> FastAPI:
    """Service and pages, not yet started.

    Parameters
    ----------
    settings
        How the service runs.

    Returns
    -------
    fastapi.FastAPI
        For any ASGI server; `preceptor serve` uses uvicorn.
    """
    return with_pages(make_app(settings, _PAGES))


def with_pages(app: FastAPI) -> FastAPI:
    """The application, with headers and refusals as pages need them."""
    answer_with_pages(app)
    app.add_exception_handler(NotSignedIn, enter_first)
    # Last in the list is innermost: the gate around it writes down what pages answered, too.
    app.user_middleware += [Middleware(Headers), Middleware(Bodies, uploads=_UPLOADS)]
    return app
