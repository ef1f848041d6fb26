"""/v1/jobs/{id}: how far work is that takes longer than a request."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.service.answers import REFUSALS, JobAnswer
from preceptor.service.live import Live, live_of
from preceptor.service.refusal import Refusal
from preceptor.service.scopes import needs
from preceptor.service.views import answer
from preceptor.store import jobs
from preceptor.store.jobs import Job

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=REFUSALS)
# Seconds after which a place in a full queue may have become free.
_FULL = 10


@router.get("/{id}", response_model=JobAnswer, dependencies=[needs("read")])
async def read(request: Request, id: Annotated[str, Path(pattern="^[0-9a-f]{32}$")]) -> Response:
    """A job as it stands; Retry-After says when to look again."""
    live = live_of(request)
    found = await live.store.reading(lambda connection: jobs.find(connection, id))
    return answer(job_view(found), 200, **_headers(found))


def accepted(live: Live, job: Job, is_new: bool) -> Response:
    """Begin a job that is new, and answer where to look."""
    if is_new:
        live.planner.begin(job)
    return answer(job_view(job), 202, Location=f"/v1/jobs/{job.id}", **_headers(job))


def must_have_room(live: Live, connection: Connection) -> None:
    """Refuse where too many jobs wait already."""
    most = live.settings.most_jobs
    if jobs.waiting(connection) >= most:
        raise Refusal(
            503, f"jobs: {most} are waiting already; try later", {"Retry-After": str(_FULL)}
        )


def job_view(job: Job) -> dict[str, Any]:
    """What callers get to see of a job."""
    return {
        "job": job.id,
        "kind": job.kind,
        "state": job.state,
        "created": job.created,
        "finished": job.finished,
        "result": job.result,
        "error": job.error,
    }


def _headers(job: Job) -> dict[str, str]:
    return {"Retry-After": "1"} if job.is_live else {}
