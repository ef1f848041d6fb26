"""`Client`: one method for each call of the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar
from urllib.parse import quote

from preceptor.client.sending import Sender, Unreachable
from preceptor.service.answers import (
    Answer,
    CasesAnswer,
    PersonAnswer,
    PlanAnswer,
    RecommendAnswer,
    RoundAnswer,
)

Read = TypeVar("Read", bound=Answer)


class Client:
    """Calls a live service; threads may share one.

    Every method is one call. What the service refuses is raised as a `Refused` with its
    sentences. A call is repeated only where that cannot do anything twice: everything that the
    protocol answers the same way again (all but erasing people), and whatever the service did not
    take at all.

    Parameters
    ----------
    url
        Where the service is, e.g. "http://127.0.0.1:8000".
    token
        As `preceptor serve token create` printed it; None on the machine itself, while there are
        no tokens.
    timeout
        Seconds that one attempt may take.
    patience
        Seconds during which a call is repeated; 0 for a single attempt.
    connections
        Most that are open at once.

    Raises
    ------
    InvalidInput
        An address that is none.

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
        self._sender = Sender(url, token, timeout, patience, connections)

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._sender.url

    def close(self) -> None:
        """Close all connections."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- plans and cases ---------------------------------------------------------------------

    def put_plan(self, plan: str) -> PlanAnswer:
        """Keep a plan file under its hash.

        Parameters
        ----------
        plan
            The text of the file, as it is.

        Returns
        -------
        PlanAnswer
            Its name and what it is about.
        """
        name = hashlib.sha256(plan.encode()).hexdigest()
        return self._read(PlanAnswer, "PUT", f"/v1/plans/{name}", plan)

    def plan_file(self, plan: str) -> str:
        """The text of a plan file, by its hash."""
        return self._sender.send("GET", f"/v1/plans/{quote(plan, safe='')}").text

    def put_cases(
        self, name: str, cases: Sequence[Mapping[str, Any]], *, plan: str | None = None
    ) -> CasesAnswer:
        """Let the service hold cases, so that truths and hidden results stay there.

        Parameters
        ----------
        name
            Of the list.
        cases
            One mapping a case: `values` by test (None where missing) and `outcome`.
        plan
            Whose tests they have; the service's own if left out.

        Returns
        -------
        CasesAnswer
            What is kept.
        """
        body = _given(cases=list(cases), plan=plan)
        return self._read(CasesAnswer, "PUT", f"/v1/cases/{quote(name, safe='')}", body)

    def recommend(
        self,
        counts: Mapping[str, int] | None = None,
        *,
        plan: str | None = None,
        round: int | None = None,
        available: Sequence[str] | None = None,
    ) -> RecommendAnswer:
        """What to show somebody about whom nothing is kept.

        Parameters
        ----------
        counts
            How often they have seen each test.
        plan
            Its hash; the service's own plan if left out.
        round
            How many rounds they have had, where known.
        available
            Tests that the caller has; all if left out.

        Returns
        -------
        RecommendAnswer
            The set and the reason.
        """
        body = _given(
            counts=dict(counts or {}), plan=plan, round=round, available=_listed(available)
        )
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
        """Enrol somebody under a pseudonym of your own.

        Parameters
        ----------
        person
            The pseudonym.
        plan
            The hash of a plan; the service's own if left out.
        policy
            "plan" (if left out) or "tutor".
        start
            How often they had seen each test before.
        cases
            A list of cases that the service holds; else the caller has them.
        is_bot
            Whether they are simulated.

        Returns
        -------
        PersonAnswer
            As they stand; also if they were enrolled in the same way before.
        """
        body = _given(
            plan=plan,
            policy=policy,
            start=None if start is None else dict(start),
            cases=cases,
            is_bot=is_bot,
        )
        return self._read(PersonAnswer, "PUT", _person(person), body)

    def person(self, person: str) -> PersonAnswer:
        """Somebody as they stand, with what they seem to believe."""
        return self._read(PersonAnswer, "GET", _person(person))

    def export(self, person: str) -> dict[str, Any]:
        """Everything that is kept about somebody."""
        found: dict[str, Any] = self._json("GET", f"{_person(person)}/export")
        return found

    def erase(self, person: str) -> None:
        """Erase everything that is kept about somebody."""
        # Somebody else may enrol under the name in between, so this is never sent twice.
        self._sender.send("DELETE", _person(person), repeatable=False)

    # --- rounds ------------------------------------------------------------------------------

    def open_round(
        self,
        person: str,
        *,
        available: Sequence[str] | None = None,
        case: str | None = None,
        feedback: bool | None = None,
    ) -> RoundAnswer:
        """Open somebody's next round, or get the one that is open.

        Parameters
        ----------
        person
            Who.
        available
            Tests that the caller has; all if left out.
        case
            The caller's own name of the case.
        feedback
            Whether they are going to hear the truth; yes if left out.

        Returns
        -------
        RoundAnswer
            With what to show, and why.
        """
        body = _given(available=_listed(available), case=case, feedback=feedback)
        return self._read(RoundAnswer, "POST", f"{_person(person)}/rounds", body)

    def round(self, person: str, number: int) -> RoundAnswer:
        """A round as it stands."""
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
        """Say what somebody really saw.

        Parameters
        ----------
        person
            Who.
        number
            Of the round.
        values
            Results by test; left out where the service holds the case, which then answers them.
        tests
            What was shown; as recommended if left out.
        reason
            Why it was something else.

        Returns
        -------
        RoundAnswer
            As it stands now.
        """
        given = None if values is None else dict(values)
        body = _given(values=given, tests=_listed(tests), reason=reason)
        return self._read(RoundAnswer, "PUT", f"{_round(person, number)}/shown", body)

    def predict(self, person: str, number: int, prediction: float) -> RoundAnswer:
        """Say what somebody answered; where the service holds the case, the truth comes back."""
        body = {"prediction": prediction}
        return self._read(RoundAnswer, "PUT", f"{_round(person, number)}/prediction", body)

    def tell(
        self, person: str, number: int, outcome: float | None, *, told: bool | None = None
    ) -> RoundAnswer:
        """Say what was true, perhaps days later.

        Parameters
        ----------
        person
            Who.
        number
            Of the round.
        outcome
            The truth; None if it is never going to be known.
        told
            Whether they have heard it; as far as there is a truth, if left out.

        Returns
        -------
        RoundAnswer
            As it stands now.
        """
        body = {"outcome": outcome, "told": outcome is not None if told is None else told}
        return self._read(RoundAnswer, "PUT", f"{_round(person, number)}/outcome", body)

    def abandon(self, person: str, number: int) -> RoundAnswer:
        """Leave a round that waits for somebody; the row stays."""
        return self._read(RoundAnswer, "DELETE", _round(person, number))

    # --- the log -----------------------------------------------------------------------------

    def log(self, *, after: int = 0, person: str | None = None) -> Iterator[dict[str, Any]]:
        """Answered rounds in the order of their last change, page by page.

        Parameters
        ----------
        after
            The last `seq` that you have.
        person
            Of one person only.

        Yields
        ------
        dict
            A row of the library's log, and what the store knows besides. A round whose truth came
            later comes again with a higher `seq`; its last row holds.
        """
        while True:
            query = _given(after=after, person=person)
            lines = self._sender.send("GET", "/v1/log", query=query).text.splitlines()
            for line in lines:
                row = json.loads(line)
                after = row["seq"]
                yield row
            if not lines:
                return

    # --- health ------------------------------------------------------------------------------

    def check_ready(self) -> None:
        """Raise `ServiceError` if it is not ready within the client's patience."""
        self._sender.send("GET", "/readyz")

    def _read(self, kind: type[Read], method: str, path: str, body: Any = None) -> Read:
        """The answer to a call, as the service's own model of it."""
        said = self._json(method, path, body)
        try:
            return kind.model_validate(said)
        except ValueError:
            raise self._not_the_service(f"{path} gave another answer") from None

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._sender.send(method, path, body)
        try:
            return answer.json()
        except ValueError:
            raise self._not_the_service(f"{path} gave no JSON") from None

    def _not_the_service(self, why: str) -> Unreachable:
        return Unreachable(
            f"{self.url}: what answers there is not the service, or one of another version ({why})"
        )


def _person(person: str) -> str:
    return f"/v1/people/{quote(person, safe='')}"


def _round(person: str, number: int) -> str:
    return f"{_person(person)}/rounds/{int(number)}"


def _given(**fields: Any) -> dict[str, Any]:
    """What was said; the service knows what the rest means."""
    return {name: value for name, value in fields.items() if value is not None}


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)
