"""Imported once before servers are forked: what every one of them would import and compile."""

from __future__ import annotations

import importlib

import preceptor as pr
from tests.live.service.servers import small_problem

for name in (
    "preceptor.cli",
    "preceptor.live.service.app",
    "preceptor.live.web.site",
    "psycopg",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.httptools_impl",
):
    importlib.import_module(name)
pr.Tutor(small_problem()).recommendation()
