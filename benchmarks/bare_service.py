"""The least that a service can do: FastAPI, one insert into SQLite, and wait for the disk."""

from __future__ import annotations

import sqlite3
import sys
import threading

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from preceptor.live.service.app import address_of, listen


class Answered(BaseModel):
    prediction: float


def make_app(database: str) -> FastAPI:
    app, lock = FastAPI(), threading.Lock()
    connection = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE answer (person TEXT, round INTEGER, prediction REAL)")

    @app.put("/v1/people/{who}/rounds/{number}/prediction")
    def answer(who: str, number: int, said: Answered) -> dict[str, object]:
        with lock:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT INTO answer VALUES (?, ?, ?)", (who, number, said.prediction)
            )
            connection.execute("COMMIT")
        return {"person": who, "round": number, "prediction": said.prediction}

    return app


if __name__ == "__main__":
    made = listen("127.0.0.1", 0)
    print(f"Listening at {address_of(made)}", flush=True)
    config = uvicorn.Config(make_app(sys.argv[1]), log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[made])
