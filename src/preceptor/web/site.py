"""The site: the service's interface for programs, and pages for people beside it."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response

from preceptor._base.version import VERSION
from preceptor.explorer.ground import MOST_BYTES, Ground
from preceptor.service.app import make_app
from preceptor.service.settings import Settings
from preceptor.web import (
    explore,
    owner,
    owner_files,
    owner_study,
    pages,
    studies_live,
    study_join,
    study_steps,
)
from preceptor.web.failing import answer_with_pages
from preceptor.web.headers import AroundPages
from preceptor.web.owner import NotSignedIn, enter_first

_start = APIRouter(include_in_schema=False)
_PAGES = (
    study_steps.router,
    study_join.router,
    studies_live.router,
    owner.router,
    owner_study.router,
    owner_files.router,
    _start,
    pages.router,
)


@_start.get("/")
async def start(request: Request) -> Response:
    """The first page: what is here, with links."""
    has_explorer = hasattr(request.app.state, "explorer")
    return pages.page(request, "start.html.j2", has_explorer=has_explorer)


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
    return _with_pages(make_app(settings, [*_PAGES, explore.router], [explore.exploring()]))


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
        lifespan=explore.exploring(own, at_once=True),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    for router in (door, explore.router, pages.router):
        app.router.routes.extend(router.routes)
    return _with_pages(app)


def _with_pages(app: FastAPI) -> FastAPI:
    """The application, with headers and refusals as pages need them."""
    answer_with_pages(app)
    app.add_exception_handler(NotSignedIn, enter_first)
    # Last in the list is innermost: the gate around it writes down what pages answered, too.
    # A form with a table has other fields, too.
    table_limit = MOST_BYTES + Settings.body_limit
    around = Middleware(AroundPages, form_limit=Settings.body_limit, table_limit=table_limit)
    app.user_middleware.append(around)
    return app
