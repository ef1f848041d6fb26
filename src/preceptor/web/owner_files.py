"""Files for the owner: what was registered, and the data."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from preceptor.service.live import live_of
from preceptor.store import studies
from preceptor.store.refusals import NotThere
from preceptor.study.export import export, must_be_unblinded
from preceptor.study.freezing import Registration
from preceptor.study.registered_words import JSON, TEXT, markdown, sections
from preceptor.web.owner import owner_of, owners_page
from preceptor.web.owner_study import kind_of

router = APIRouter(include_in_schema=False)

_KINDS = {JSON: "application/json", TEXT: "text/markdown"}


@router.get("/studies/{name}/registration")
async def registration(request: Request, name: str) -> Response:
    """What was registered, as a page."""
    owner = await owner_of(request)
    kept = await live_of(request).store.reading(lambda c: studies.find(c, name))
    found = Registration(kept.registration)
    return owners_page(
        request,
        owner,
        "owner_registration.html.j2",
        kept=kept,
        title=found.content["title"],
        sha256=found.sha256,
        sections=sections(found),
    )


@router.get("/studies/{name}/registered/{file}")
async def registered(request: Request, name: str, file: str) -> Response:
    """What was registered as a file: byte by byte, as a page, or for registries such as OSF."""
    await owner_of(request)
    if file not in _KINDS:
        raise NotThere(f"file: {file!r} is not there")
    kept = await live_of(request).store.reading(lambda c: studies.find(c, name))
    found = Registration(kept.registration)
    text = found.text if file == JSON else markdown(found)
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(text, headers=headers, media_type=_KINDS[file])


@router.get("/studies/{name}/export.zip")
async def data(request: Request, name: str) -> Response:
    """All data of one kind of participant, as one file."""
    owner = await owner_of(request)
    live, kind = live_of(request), kind_of(request)
    full = request.query_params.get("full") == "yes"
    kept = await live.store.reading(lambda c: studies.find(c, name))
    must_be_unblinded(kept, kind)
    file = f"{kept.id}-{'full' if full else 'data'}.zip"
    folder = Path(tempfile.mkdtemp(prefix="preceptor-"))
    try:
        made = await asyncio.to_thread(
            lambda: export(
                live.store, name, folder / file, who=owner.name, kind=kind, full=full, zipped=True
            )
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # Sent piece by piece; the file goes once it has been sent, or once nobody wants it any more.
    gone = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(made.path, filename=file, media_type="application/zip", background=gone)
