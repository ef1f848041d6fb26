"""/v1/jobs/{id}: how far work is that takes longer than a request."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from preceptor.service.answers import REFUSALS, JobAnswer
from preceptor.service.live import live_of
from preceptor.service.scopes import needs
from preceptor.service.views import answer
from preceptor.store import jobs
from preceptor.store.jobs import Job

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=REFUSALS)


@router.get("/{id}", response_model=JobAnswer, dependencies=[needs("read")])
async def read(request: Request, id: Annotated[str, Path(pattern="^[0-9a-f]{32}$")]) -> Response:
    """A job as it stands."""
    live = live_of(request)
    return answer(job_view(await live.store.reading(lambda connection: jobs.find(connection, id))))


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
