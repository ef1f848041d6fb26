"""A client of the live service: `Client`, one method for each call, and its errors.

Responses are the service's own models. It needs httpx and pydantic
(`pip install 'preceptor[client]'`), and nothing else that the service needs.

Three things can go wrong with a call. The service is busy (429, 503): it has written nothing, so
any call may be repeated. The connection is refused: nothing has arrived, so any call may be
repeated. The response is lost: the call may have taken effect, so only an idempotent call is
repeated. Other failures are raised:

ServiceError
├── Unreachable        no response; says where and why
└── Refused            the service responded with an error
    ├── Forbidden      401, 403: no valid token, or one that may not do this
    ├── NotThere       404: nothing has that name
    ├── Conflicting    409: it exists already and differs; has the current round
    ├── Unusable       413, 422: invalid values, all of them in one message
    └── Unavailable    429, 503, 507: not now; nothing was written
"""

from __future__ import annotations

import hashlib
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Self, TypeVar
from urllib.parse import quote

from preceptor._base.values import plain
from preceptor.errors import InvalidInput, MissingExtra, PreceptorError

try:
    import httpx

    from preceptor.live.service.answers import (
        CasesAnswer,
        PersonAnswer,
        PlanAnswer,
        RecommendAnswer,
        ResponseBody,
        RoundAnswer,
        Weight,
    )
except ImportError as missing:
    raise MissingExtra(str(missing.name), "client", "The client of the service") from None

__all__ = [
    "CasesAnswer",
    "Client",
    "Conflicting",
    "Forbidden",
    "NotThere",
    "PersonAnswer",
    "PlanAnswer",
    "RecommendAnswer",
    "Refused",
    "RoundAnswer",
    "ServiceError",
    "Unavailable",
    "Unreachable",
    "Unusable",
    "Weight",
]

# Seconds before the second attempt, and at most before a later one, unless the service says.
_FIRST, _LONGEST = 0.05, 2.0


class ServiceError(PreceptorError):
    """A call of the live service failed."""


class Unreachable(ServiceError):
    """There was no response."""


class Refused(ServiceError):
    """The service refused a call.

    Attributes
    ----------
    status
        HTTP status code.
    errors
        One sentence for each fault.
    round
        On 409, the current state of the round, if there is one.
    retry_after
        Seconds after which to try again, if the service says so.
    """

    def __init__(
        self,
        status: int,
        errors: list[str],
        round: RoundAnswer | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__("\n".join(errors))
        self.status, self.errors = status, tuple(errors)
        self.round, self.retry_after = round, retry_after


class Forbidden(Refused):
    """No valid token, or one that may not do this."""


class NotThere(Refused):
    """Nothing has that name."""


class Conflicting(Refused):
    """It exists already and differs; `round` is its current state."""


class Unusable(Refused):
    """Invalid values."""


class Unavailable(Refused):
    """The service is busy or its disk is full; nothing was written."""


_KINDS: dict[int, type[Refused]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotThere,
    409: Conflicting,
    413: Unusable,
    422: Unusable,
    429: Unavailable,
    503: Unavailable,
    507: Unavailable,
}


def refusal(response: httpx.Response) -> Refused:
    """Read an error response; a proxy may send one that is not problem+json."""
    said = _problem(response)
    errors = said.get("errors") or [
        f"{response.request.url.path}: {response.status_code} {response.reason_phrase}"
    ]
    there = said.get("round")
    after = response.headers.get("retry-after", "")
    return _KINDS.get(response.status_code, Refused)(
        response.status_code,
        [str(each) for each in errors],
        RoundAnswer.model_validate(there) if isinstance(there, dict) else None,
        float(after) if after.isdigit() else None,
    )


def _problem(response: httpx.Response) -> dict[str, Any]:
    if "json" not in response.headers.get("content-type", ""):
        return {}
    try:
        said = response.json()
    except json.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}


@cache
def _authorities() -> ssl.SSLContext:
    """Trusted certificates; cached, because reading them takes longer than many calls."""
    return httpx.create_ssl_context(trust_env=False)


def http_client(url: str, token: str | None, timeout: float, connections: int = 1) -> httpx.Client:
    """An HTTP client for one service; proxies of the environment are ignored."""
    return httpx.Client(
        base_url=url,
        headers={} if token is None else {"Authorization": f"Bearer {token}"},
        timeout=timeout,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        trust_env=False,
        verify=_authorities(),
    )


def persist(
    attempt: Callable[[], httpx.Response], url: str, patience: float, *, repeatable: bool = True
) -> httpx.Response:
    """Repeat a call while the service is busy or unreachable, for `patience` seconds.

    A call that is not `repeatable` is sent again only if it never arrived.
    """
    end, pause = time.monotonic() + patience, _FIRST
    while True:
        wait = pause
        try:
            return attempt()
        except Unavailable as refused:
            wait = refused.retry_after or pause
            if refused.status == 507 or time.monotonic() + wait > end:
                raise
        except httpx.TransportError as error:
            never_arrived = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
            if not (repeatable or never_arrived) or time.monotonic() + wait > end:
                said = str(error) or type(error).__name__
                raise Unreachable(f"{url}: no response ({said})") from error
        time.sleep(wait)
        pause = min(2.0 * pause, _LONGEST)


def _is_address(url: str) -> bool:
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return read.scheme in ("http", "https") and bool(read.host)


def _written(body: Any) -> str | None:
    if body is None or isinstance(body, str):
        return body
    try:
        return json.dumps(plain(body), allow_nan=False)
    except ValueError:
        raise InvalidInput("body: holds a number that is not finite") from None


Read = TypeVar("Read", bound=ResponseBody)


class Client:
    """Calls a live service; threads may share one client.

    Every method is one call. An error response is raised as `Refused`, with the service's messages.
    A call is repeated only if it cannot take effect twice: if it is idempotent (all but erasing
    people), or if the service did not accept it at all.

    Parameters
    ----------
    url
        URL of the service, such as "http://127.0.0.1:8000".
    token
        As `preceptor serve token create` printed it; None on the same machine while no token
        exists.
    timeout
        Seconds that one attempt may take.
    patience
        Seconds during which a call is repeated; 0 for a single attempt.
    connections
        Open connections, at most.

    Raises
    ------
    InvalidInput
        The URL is invalid.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8000") as client:
    ...     client.url
    'http://127.0.0.1:8000'
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 30.0,
        connections: int = 32,
    ) -> None:
        if not _is_address(url):
            raise InvalidInput(f"url: {url!r}, must be an address such as http://127.0.0.1:8000")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InvalidInput("token: must be as `preceptor serve token create` printed it")
        self._url, self._patience = url.rstrip("/"), patience
        self._http = http_client(self._url, token, timeout, connections)

    @property
    def url(self) -> str:
        """URL of the service."""
        return self._url

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- plans and cases ---------------------------------------------------------------------

    def put_plan(self, plan: str) -> PlanAnswer:
        """Store a plan file under its hash.

        Parameters
        ----------
        plan
            Text of the file.

        Returns
        -------
        PlanAnswer
            Its hash, its tests and its outcome.
        """
        name = hashlib.sha256(plan.encode()).hexdigest()
        return self._read(PlanAnswer, "PUT", f"/v1/plans/{name}", plan)

    def plan_file(self, plan: str) -> str:
        """Return the text of a plan file, by its hash."""
        return self._send("GET", f"/v1/plans/{quote(plan, safe='')}").text

    def put_cases(
        self, name: str, cases: Sequence[Mapping[str, Any]], *, plan: str | None = None
    ) -> CasesAnswer:
        """Store cases in the service, so that outcomes and hidden results stay there.

        Parameters
        ----------
        name
            Name of the list.
        cases
            One mapping per case: `values` by test (None where missing) and `outcome`.
        plan
            Hash of the plan whose tests they have; by default the service's.

        Returns
        -------
        CasesAnswer
            The stored list.
        """
        body = _given(cases=cases, plan=plan)
        return self._read(CasesAnswer, "PUT", f"/v1/cases/{quote(name, safe='')}", body)

    def recommend(
        self,
        counts: Mapping[str, int] | None = None,
        *,
        plan: str | None = None,
        round: int | None = None,
        available: Sequence[str] | None = None,
    ) -> RecommendAnswer:
        """Recommend what to show, without a stored person.

        Parameters
        ----------
        counts
            Exposure count of each test.
        plan
            Hash of the plan; by default the service's.
        round
            Rounds they have had, if known.
        available
            Tests that are available; by default all.

        Returns
        -------
        RecommendAnswer
            The set, and the reason for it.
        """
        body = _given(counts=counts, plan=plan, round=round, available=available)
        return self._read(RecommendAnswer, "POST", "/v1/recommend", body)

    # --- people ------------------------------------------------------------------------------

    def enrol(
        self,
        person: str,
        *,
        plan: str | None = None,
        policy: str | None = None,
        start: Mapping[str, int] | None = None,
        cases: str | None = None,
        is_bot: bool | None = None,
    ) -> PersonAnswer:
        """Enrol a person under a pseudonym.

        Parameters
        ----------
        person
            The pseudonym.
        plan
            Hash of the plan; by default the service's.
        policy
            "plan" (the default) or "tutor".
        start
            Exposure count of each test at the start.
        cases
            A list of cases that the service holds; by default the caller has them.
        is_bot
            Whether they are simulated.

        Returns
        -------
        PersonAnswer
            Their state; the same enrolment may be repeated.
        """
        body = _given(plan=plan, policy=policy, start=start, cases=cases, is_bot=is_bot)
        return self._read(PersonAnswer, "PUT", _person(person), body)

    def person(self, person: str) -> PersonAnswer:
        """State of a person, with estimates of their weights."""
        return self._read(PersonAnswer, "GET", _person(person))

    def export(self, person: str) -> dict[str, Any]:
        """Everything stored about a person."""
        found: dict[str, Any] = self._json("GET", f"{_person(person)}/export")
        return found

    def erase(self, person: str) -> None:
        """Erase everything stored about a person."""
        # Another person may be enrolled under the name in between, so this is never sent twice.
        self._send("DELETE", _person(person), repeatable=False)

    # --- rounds ------------------------------------------------------------------------------

    def open_round(
        self,
        person: str,
        *,
        available: Sequence[str] | None = None,
        case: str | None = None,
        known: Mapping[str, float | str] | None = None,
        feedback: bool | None = None,
    ) -> RoundAnswer:
        """Open a person's next round, or return the one that is open.

        Parameters
        ----------
        person
            The person.
        available
            Tests that are available; by default all.
        case
            The caller's name for the case.
        known
            Results that a tutor may look at before it chooses, by test.
        feedback
            Whether they will be told the outcome; by default yes.

        Returns
        -------
        RoundAnswer
            What to show, and why.
        """
        body = _given(available=available, case=case, known=known, feedback=feedback)
        return self._read(RoundAnswer, "POST", f"{_person(person)}/rounds", body)

    def round(self, person: str, number: int) -> RoundAnswer:
        """State of a round."""
        return self._read(RoundAnswer, "GET", _round(person, number))

    def show(
        self,
        person: str,
        number: int,
        values: Mapping[str, float | str] | None = None,
        *,
        tests: Sequence[str] | None = None,
        reason: str | None = None,
    ) -> RoundAnswer:
        """Record what a person actually saw.

        Parameters
        ----------
        person
            The person.
        number
            Number of the round.
        values
            Results by test; omitted if the service holds the case, which then returns them.
        tests
            What was shown; by default what was recommended.
        reason
            Why it was something else.

        Returns
        -------
        RoundAnswer
            Its new state.
        """
        body = _given(values=values, tests=tests, reason=reason)
        return self._read(RoundAnswer, "PUT", f"{_round(person, number)}/shown", body)

    def predict(self, person: str, number: int, prediction: float) -> RoundAnswer:
        """Record an answer; if the service holds the case, the outcome is returned."""
        body = {"prediction": prediction}
        return self._read(RoundAnswer, "PUT", f"{_round(person, number)}/prediction", body)

    def tell(
        self, person: str, number: int, outcome: float | None, *, told: bool | None = None
    ) -> RoundAnswer:
        """Record the outcome, perhaps days later.

        Parameters
        ----------
        person
            The person.
        number
            Number of the round.
        outcome
            The outcome; None if it will never be known.
        told
            Whether the person was told; by default yes if there is an outcome.

        Returns
        -------
        RoundAnswer
            Its new state.
        """
        body = {"outcome": outcome, "told": outcome is not None if told is None else told}
        return self._read(RoundAnswer, "PUT", f"{_round(person, number)}/outcome", body)

    def abandon(self, person: str, number: int) -> RoundAnswer:
        """Abandon a round that has not been answered; the row stays."""
        return self._read(RoundAnswer, "DELETE", _round(person, number))

    # --- the log -----------------------------------------------------------------------------

    def log(self, *, after: int = 0, person: str | None = None) -> Iterator[dict[str, Any]]:
        """Answered rounds in the order of their last change, page by page.

        Parameters
        ----------
        after
            The last `seq` you have received.
        person
            Only rounds of this person.

        Yields
        ------
        dict
            A row of the library's log, with further columns of the store. A round whose outcome
            came later is repeated with a higher `seq`; its last row holds.
        """
        while True:
            query = _given(after=after, person=person)
            lines = self._send("GET", "/v1/log", query=query).text.splitlines()
            for line in lines:
                row = json.loads(line)
                after = row["seq"]
                yield row
            if not lines:
                return

    # --- studies -----------------------------------------------------------------------------

    def study(self, study: str) -> dict[str, Any]:
        """A study as it was frozen, with its arms; it includes the right answers of its checks."""
        found: dict[str, Any] = self._json("GET", f"/v1/studies/{quote(study, safe='')}")
        return found

    # --- health ------------------------------------------------------------------------------

    def check_ready(self) -> None:
        """Raise `ServiceError` if the service is not ready within the client's patience."""
        self._send("GET", "/readyz")

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        repeatable: bool = True,
    ) -> httpx.Response:
        """Send a call until it succeeds or patience runs out; `repeatable` says it is idempotent.

        `body` is text that is sent unchanged, or plain data that is sent as JSON.
        """
        content = _written(body)
        headers = None if content is None else {"Content-Type": "application/json"}

        def attempt() -> httpx.Response:
            response = self._http.request(
                method, path, content=content, headers=headers, params=query
            )
            if not response.is_success:
                raise refusal(response)
            return response

        return persist(attempt, self.url, self._patience, repeatable=repeatable)

    def _read(self, kind: type[Read], method: str, path: str, body: Any = None) -> Read:
        """Make a call; return its response as a model."""
        said = self._json(method, path, body)
        try:
            return kind.model_validate(said)
        except ValueError:
            raise self._not_the_service(f"{path} gave another response") from None

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._send(method, path, body)
        try:
            return answer.json()
        except ValueError:
            raise self._not_the_service(f"{path} gave no JSON") from None

    def _not_the_service(self, why: str) -> Unreachable:
        return Unreachable(
            f"{self.url}: what responds there is not the service, or another version of it ({why})"
        )


def _person(person: str) -> str:
    return f"/v1/people/{quote(person, safe='')}"


def _round(person: str, number: int) -> str:
    return f"{_person(person)}/rounds/{int(number)}"


def _given(**fields: Any) -> dict[str, Any]:
    """Fields that are given; the service has defaults for the rest."""
    return {name: value for name, value in fields.items() if value is not None}
