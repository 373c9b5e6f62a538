"""The OpenAPI document: as it is checked in, and as the service answers to whatever it allows."""

from __future__ import annotations

import json
import os
from itertools import cycle

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from recorder.config import Config
from recorder.store.db import Connection
from recorder.web import document
from tests.web.asking import bearer, routes

EXAMPLES = 25


def test_the_document_that_is_checked_in_is_what_the_service_says_of_itself(client: TestClient) -> None:
    app = client.app
    assert isinstance(app, FastAPI)
    if os.environ.get("RECORDER_WRITE_OPENAPI"):
        document.write(app)
    said = document.as_text(document.document(app))
    assert said == document.FILE.read_text(encoding="utf-8"), "RECORDER_WRITE_OPENAPI=1 with this test writes it anew"


def test_every_address_of_the_api_stands_in_the_document_with_its_errors(home: TestClient) -> None:
    described = home.get("/api/openapi.json").json()
    listed = {(method.lower(), path) for method, path in routes(home.app)}  # type: ignore[arg-type]
    told = {
        (method, path.replace("{namespace}", "user").replace("{key}", "user").replace("{id}", "1"))
        for path, operations in described["paths"].items()
        for method in operations
    }
    assert {one for one in listed if one[1].startswith("/api")} - told == {("get", "/api/openapi.json")}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert {"400", "401", "403", "404", "409", "413", "415", "503"} <= operation["responses"].keys(), (
                method,
                path,
            )
            assert "422" not in operation["responses"] and operation["summary"] and operation["description"]


def test_whatever_the_document_allows_is_answered_and_never_fails_inside(
    client: TestClient, person: TestClient, config: Config, db: Connection
) -> None:
    turn = cycle(((client, bearer(config)), (person, {})))  # what a token is refused at once a person is let do
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed (the extra dev has it)")
    hypothesis = pytest.importorskip("hypothesis")
    schema = schemathesis.openapi.from_dict(json.loads(document.FILE.read_text(encoding="utf-8")))
    schema.app = client.app
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == "/api/stream":  # it would not end
            continue

        @hypothesis.settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy())
        def answered(case: object) -> None:
            request = case.as_transport_kwargs(base_url="http://127.0.0.1:7377")  # type: ignore[attr-defined]
            request.pop("cookies", None)
            if isinstance(request.get("data"), bytes | str):  # what this client calls content
                request["content"] = request.pop("data")
            asker, who = next(turn)
            answer = asker.request(**(request | {"headers": {**(request.get("headers") or {}), **who}}))
            assert answer.status_code < 500 or (answer.status_code == 503 and operation.path == "/api/health"), (
                answer.text
            )

        answered()
