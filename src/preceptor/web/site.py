"""The site: the service's interface for programs, and pages for people beside it."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse

from preceptor._base.version import VERSION
from preceptor.explorer.ground import Ground
from preceptor.service.app import make_app
from preceptor.service.settings import Settings
from preceptor.web import (
    explore,
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
from preceptor.web.explorer_desks import exploring
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
# Bytes that may be sent where that is more than a form of words: the table and what is around it.
_UPLOADS = {explore.UPLOAD: explore.MOST_BYTES + 10_000}


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
    if settings.explorer == "nobody":
        return _with_pages(make_app(settings, _PAGES))
    return _with_pages(make_app(settings, [*_PAGES, explore.router], [exploring()]))


def make_explorer(own: Ground | None = None) -> FastAPI:
    """The explorer by itself, without a service and its database: `preceptor explore`.

    Parameters
    ----------
    own
        What to explore beside the examples.

    Returns
    -------
    fastapi.FastAPI
        Its first page leads to the explorer.
    """
    door = APIRouter(include_in_schema=False)
    where = "/explore" if own is None else f"/explore?preset={own.name}"
    door.add_api_route("/", lambda: RedirectResponse(where, 303))
    app = FastAPI(
        title="Preceptor explorer",
        version=VERSION,
        lifespan=exploring(own, at_once=True),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    for router in (door, explore.router, static_files.router):
        app.router.routes.extend(router.routes)
    return _with_pages(app)


def _with_pages(app: FastAPI) -> FastAPI:
    """The application, with headers and refusals as pages need them."""
    answer_with_pages(app)
    app.add_exception_handler(NotSignedIn, enter_first)
    # Last in the list is innermost: the gate around it writes down what pages answered, too.
    app.user_middleware += [Middleware(Headers), Middleware(Bodies, uploads=_UPLOADS)]
    return app
