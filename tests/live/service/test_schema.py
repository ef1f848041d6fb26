"""Random calls that the OpenAPI document allows, and some that it does not (schemathesis)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import positive_data_acceptance

from preceptor.live.store import tokens
from preceptor.live.store.database import Store
from tests.live.service.servers import Server, start

pytestmark = pytest.mark.full

# People who are there and have rounds, so that calls get beyond "not there".
PEOPLE = [f"p{i}" for i in range(3)]

# Calls of each kind, right and wrong ones.
MOST = 6


@pytest.fixture(scope="module")
def served(tmp_path_factory, plan_file) -> Iterator[Server]:
    """With a token: a random call may make the first one, which shuts the open door."""
    folder = tmp_path_factory.mktemp("schema")
    with Store(str(folder / "live.db")) as store:
        secret, _ = store.write(lambda connection: tokens.create(connection, "admin"))
    server = start(folder, "--plan", plan_file, "--database", folder / "live.db", "--rate", 0)
    server.http.headers["Authorization"] = f"Bearer {secret}"
    yield server
    assert server.stop() == 0


def test_every_call_is_answered_as_the_document_says(served):
    document = f"{served.address}/openapi.json"
    token = {"Authorization": served.http.headers["Authorization"]}
    faults = []
    for found in schemathesis.openapi.from_url(document).get_all_operations():
        operation = found.ok()
        for mode in GenerationMode:
            cases = operation.as_strategy(generation_mode=mode, headers=token)
            try:
                checked(served, cases, is_valid=mode is GenerationMode.POSITIVE)()
            except Unsatisfiable:  # a call that says nothing cannot say anything wrong
                assert mode is GenerationMode.NEGATIVE, operation.label
            except FailureGroup as group:
                faults += [f"{operation.label}: {each}" for each in group.exceptions]
    assert not faults, "\n\n".join(faults)


def checked(served: Server, cases: st.SearchStrategy[Any], *, is_valid: bool) -> Callable[[], None]:
    """A test of such calls; those that are valid are about people and rounds that are there."""

    @settings(suppress_health_check=list(HealthCheck), max_examples=MOST)
    @given(cases, st.sampled_from(PEOPLE), st.integers(0, 3))
    def check(case, who, number):
        named = case.path_parameters or {}
        if is_valid and "who" in named:
            served.http.put(f"/v1/people/{who}", json={})
            served.http.post(f"/v1/people/{who}/rounds")
            named |= {"who": who, **({"number": number} if "number" in named else {})}
        # That a plan does not know a test is refused, too; no schema could say so.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    return check
