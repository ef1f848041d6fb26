"""Serves the page, and stands between participants and the service.

Of this folder only the page, its scripts and what `index.html` loads are served: a file of cases
or a database in it is not. The token stays here. A visitor gets a pseudonym in a cookie, and of the
service they reach only their own rounds: `/v1/people/me/rounds...`. What they might ask besides
(the log, other people, the truth before their answer) is not passed on, or not answered.

usage: python serve.py [--service URL] [--list NAME] [--cases cases.json] [--port 8080]

`cases.json` is a list of {"values": {"BMI": 27.5, ...}, "outcome": 222.0}; it is handed to the
service once, under the name of the list. PRECEPTOR_TOKEN is the token, where there is one: it may
write, and do everything if cases are handed over. Needs preceptor[client].
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
from functools import partial
from http.cookies import SimpleCookie
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from preceptor.live.client import Client

HERE = Path(__file__).parent
ALLOWED = re.compile(r"POST /rounds|GET /rounds/\d+|PUT /rounds/\d+/(shown|prediction)")
MINE = "/v1/people/me"
# The page, what it loads, and what its script imports.
SERVED = {"/", "/index.html", "/service.js"} | {
    f"/{path}" for path in re.findall(r'(?:src|href)="([^"]+)"', (HERE / "index.html").read_text())
}
MOST = 65_536  # bytes of a body


class Page(SimpleHTTPRequestHandler):
    """The page's files, and calls of one participant."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args, client: Client, token: str | None, cases: str, **kwargs):
        self.client, self.token, self.cases = client, token, cases
        super().__init__(*args, directory=str(HERE), **kwargs)

    def do_GET(self):
        if self.path.startswith(MINE):
            self.pass_on()
        elif self.path.partition("?")[0] in SERVED:
            super().do_GET()
        else:
            self.send_error(404)

    def do_HEAD(self):
        self.send_error(405)

    def do_POST(self):
        self.pass_on()

    def do_PUT(self):
        self.pass_on()

    def end_headers(self):
        if self.path.partition("?")[0] in ("/", "/index.html") and self.participant() is None:
            name = f"js-{secrets.token_hex(16)}"
            self.client.enrol(name, cases=self.cases)
            cookie = f"participant={name}; HttpOnly; SameSite=Strict; Path=/"
            self.send_header("Set-Cookie", cookie)
        super().end_headers()

    def participant(self) -> str | None:
        found = SimpleCookie(self.headers.get("Cookie", "")).get("participant")
        known = found is not None and re.fullmatch(r"js-[0-9a-f]{32}", found.value)
        return found.value if known else None

    def pass_on(self):
        size = int(self.headers.get("Content-Length") or 0)
        path = self.path.removeprefix(MINE)
        who = self.participant()
        if who is None or size > MOST or not ALLOWED.fullmatch(f"{self.command} {path}"):
            self.close_connection = True
            self.send_error(403)
            return
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        answer = httpx.request(
            self.command,
            f"{self.client.url}/v1/people/{who}{path}",
            content=self.rfile.read(size),
            headers=headers,
            timeout=30.0,
        )
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers["content-type"])
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_):
        """No addresses of participants are written down."""


def main():
    parser = argparse.ArgumentParser(description="Serve the page.")
    parser.add_argument("--service", default="http://127.0.0.1:8000")
    parser.add_argument("--list", default="jspsych")
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--port", type=int, default=8080)
    given = parser.parse_args()
    token = os.environ.get("PRECEPTOR_TOKEN")
    with Client(given.service, token) as client:
        if given.cases is not None:
            client.put_cases(given.list, json.loads(given.cases.read_text("utf-8")))
        page = partial(Page, client=client, token=token, cases=given.list)
        with ThreadingHTTPServer(("127.0.0.1", given.port), page) as server:
            print(f"Serving the page at http://127.0.0.1:{server.server_port}", flush=True)
            server.serve_forever()


if __name__ == "__main__":
    main()
