"""Calls of the service with nothing but the standard library, since oTree pins what else is there.

Every call may be made again: after a timeout, a reload or a crash of oTree the service answers what
it has, so nothing is counted twice.
"""

import json
from os import environ
from urllib.error import HTTPError
from urllib.request import Request, urlopen


class Service:
    """One participant at the service."""

    def __init__(self, url, person):
        self.person = f"{url}/v1/people/{person}"

    def enrol(self, cases):
        """Under a pseudonym, with cases that the service holds."""
        return self.call("PUT", "", {"cases": cases})

    def open_round(self):
        """The next round, or the one that is open."""
        return self.call("POST", "/rounds", {})

    def show(self, number):
        """The results that the participant sees, in `values`."""
        return self.call("PUT", f"/rounds/{number}/shown", {})

    def predict(self, number, prediction):
        """Send an answer; the truth comes back in `outcome`."""
        return self.call("PUT", f"/rounds/{number}/prediction", {"prediction": prediction})

    def call(self, method, path, body):
        headers = {"Content-Type": "application/json"}
        if "PRECEPTOR_TOKEN" in environ:
            headers["Authorization"] = f"Bearer {environ['PRECEPTOR_TOKEN']}"
        request = Request(self.person + path, json.dumps(body).encode(), headers, method=method)
        try:
            with urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except HTTPError as refused:
            said = json.load(refused)
            raise RuntimeError("; ".join(said["errors"])) from None
