"""The site: the API of the service, and pages for people."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response

from preceptor._base.version import VERSION
from preceptor.live.explorer.ground import Ground
from preceptor.live.service.app import make_app
from preceptor.live.service.settings import Settings
from preceptor.live.web.class_pages import class_router
from preceptor.live.web.course_pages import course_router
from preceptor.live.web.explore import explore_router, exploring
from preceptor.live.web.headers import AroundPages, answer_with_pages
from preceptor.live.web.owner import NotSignedIn, enter_first, owner_router
from preceptor.live.web.pages import page, pages_router
from preceptor.live.web.study_access import Elsewhere, api_router, go_elsewhere
from preceptor.live.web.study_steps import taking_part_router

_start = APIRouter(include_in_schema=False)
_PAGES = (
    taking_part_router,
    api_router,
    owner_router,
    course_router,
    class_router,
    _start,
    pages_router,
)


@_start.get("/")
async def start(request: Request) -> Response:
    """The start page."""
    has_explorer = hasattr(request.app.state, "explorer")
    return page(request, "start.html.j2", has_explorer=has_explorer)


def make_site(settings: Settings) -> FastAPI:
    """Make the application with API and pages.

    Parameters
    ----------
    settings
        Options of the service.

    Returns
    -------
    fastapi.FastAPI
        For any ASGI server; `preceptor serve` uses uvicorn.
    """
    if settings.explorer == "nobody":
        return _with_pages(make_app(settings, _PAGES))
    return _with_pages(make_app(settings, [*_PAGES, explore_router], [exploring()]))


def make_explorer(own: Ground | None = None) -> FastAPI:
    """Make the explorer alone, without a service and its database, for `preceptor explore`.

    Parameters
    ----------
    own
        What to explore in addition to the examples.

    Returns
    -------
    fastapi.FastAPI
        Its start page redirects to the explorer.
    """
    root = APIRouter(include_in_schema=False)
    where = "/explore" if own is None else f"/explore?preset={own.name}"
    root.add_api_route("/", lambda: RedirectResponse(where, 303))
    app = FastAPI(
        title="Preceptor explorer",
        version=VERSION,
        lifespan=exploring(own, at_once=True),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    for router in (root, explore_router, pages_router):
        app.router.routes.extend(router.routes)
    return _with_pages(app)


def _with_pages(app: FastAPI) -> FastAPI:
    """Add headers and error pages to an application."""
    answer_with_pages(app)
    app.add_exception_handler(NotSignedIn, enter_first)
    app.add_exception_handler(Elsewhere, go_elsewhere)
    # The last is innermost: the gate around it logs the responses of pages, too.
    app.user_middleware.append(Middleware(AroundPages, form_limit=Settings.body_limit))
    return app
