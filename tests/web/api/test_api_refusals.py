"""What nobody gets through with, on every address the router lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from recorder.config import Config
from recorder.store.db import Connection
from recorder.store.tokens import Rights
from recorder.web.app import make_app
from recorder.web.guard import BODY_LIMIT, LIMITS
from tests.makers import T0
from tests.web.asking import BASE, bearer, minted, routes, serving

OPEN = {"/api/health", "/login"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def closed(client: TestClient) -> list[tuple[str, str]]:
    """Every (method, address) that is not open to all."""
    app = client.app
    assert isinstance(app, FastAPI)
    found = [(method, path) for method, path in routes(app) if path not in OPEN]
    assert len(found) > 50 and ("POST", "/mcp") in found and ("GET", "/") in found
    return found


def code(answer: object) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic {}", "{}", "Bearer {}x", "Bearer \xe9"])
def test_nothing_but_a_token_opens_any_address(
    client: TestClient, closed: list[tuple[str, str]], config: Config, header: str
) -> None:
    token = bearer(config)["Authorization"].removeprefix("Bearer ")
    for method, path in closed:
        refused = client.request(method, path, headers={"Authorization": header.format(token).encode("latin-1")})
        assert refused.status_code == 401, (method, path)
        assert method == "HEAD" or refused.json()["error"]["code"] == "token", (method, path)


@pytest.mark.parametrize("headers", [{"Host": "evil.test"}, {"Origin": "https://evil.test"}, {"Origin": "null"}])
def test_another_name_or_another_page_opens_no_address_even_with_the_token(
    client: TestClient, closed: list[tuple[str, str]], config: Config, headers: dict[str, str]
) -> None:
    for method, path in [*closed, ("GET", "/api/health"), ("GET", "/login")]:
        refused = client.request(method, path, headers=bearer(config) | headers)
        assert refused.status_code == 403, (method, path)
        assert method == "HEAD" or refused.json()["error"]["code"] == "origin"


@pytest.mark.parametrize(
    ("headers", "with_form"),
    [
        ({}, False),
        ({"Origin": BASE}, False),
        ({"Sec-Fetch-Site": "same-origin"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({}, True),
    ],
    ids=str,
)
def test_a_form_of_another_page_changes_nothing_with_the_cookie(
    person: TestClient, closed: list[tuple[str, str]], headers: dict[str, str], with_form: bool
) -> None:
    form = person.headers.pop("x-recorder-form")
    person.headers.pop("origin")
    fields = {"form_token": form} if with_form else {}
    named = {"X-Recorder-Form": form} if with_form else {}
    for method, path in closed:
        if method in ("GET", "HEAD") or path.startswith("/static"):
            continue
        of_api = path.startswith(("/api", "/mcp"))
        sent = {"json": {}} if of_api else {"data": {"x": "y", **fields}}
        refused = person.request(method, path, headers=headers | (named if of_api else {}), **sent)  # type: ignore[arg-type]
        assert refused.status_code == 403, (method, path, refused.text)


def test_a_body_that_is_too_large_is_413_on_every_address_whatever_it_says_of_itself(
    client: TestClient, closed: list[tuple[str, str]], config: Config
) -> None:
    for method, path in closed:
        if method in ("GET", "HEAD") or not path.startswith(("/api", "/mcp")):
            continue
        limit = LIMITS.get(path, BODY_LIMIT)
        told = client.request(
            method, path, headers=bearer(config) | JSON | {"Content-Length": str(limit + 1)}, content=b"{"
        )
        assert code(told) == (413, "size"), (method, path)

        def pieces(most: int = limit) -> Iterator[bytes]:
            for _ in range(most // 65_536 + 1):
                yield b" " * 65_536

        if limit == BODY_LIMIT:
            untold = client.request(method, path, headers=bearer(config) | JSON, content=pieces())
            assert code(untold) == (413, "size"), (method, path)


@pytest.mark.parametrize("content", [b"[" * 50_000, b'{"a":' * 50_000, b"[" * 300 + b"]" * 300])
def test_json_that_is_nested_too_deeply_is_400_on_every_address(
    client: TestClient, closed: list[tuple[str, str]], config: Config, content: bytes
) -> None:
    for method, path in closed:
        if method in ("POST", "PATCH") and path.startswith("/api"):
            refused = client.request(method, path, headers=bearer(config) | JSON, content=content)
            assert refused.status_code == 400, (method, path, refused.text)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_does_not_say_it_is_json_is_415_on_every_address(
    client: TestClient, closed: list[tuple[str, str]], config: Config, kind: str
) -> None:
    for method, path in closed:
        if method in ("POST", "PATCH", "DELETE") and path.startswith("/api"):
            headers = bearer(config) | {"Content-Type": kind}
            assert code(client.request(method, path, headers=headers, content=b"{}")) == (415, "media_type"), path


@pytest.mark.parametrize("content", [b"nonsense", b"[]", b"7", b'"x"', b"null", b'{"unknown": 1}', b"\xff\xfe", b"NaN"])
def test_a_body_of_the_wrong_type_is_400_wherever_one_is_needed(
    client: TestClient, config: Config, content: bytes
) -> None:
    for path in ("/api/memory", "/api/memory/user/k/reject", "/api/memory/user/k/relations", "/api/review"):
        refused = client.post(path, headers=bearer(config) | JSON, content=content)
        assert refused.status_code == 400, (path, refused.text)
        assert set(refused.json()["error"]) == {"code", "message"}


def test_a_parameter_that_an_address_does_not_take_is_400_and_named_with_those_it_takes(
    client: TestClient, closed: list[tuple[str, str]], config: Config
) -> None:
    for method, path in [*closed, ("GET", "/api/health")]:
        if path.startswith("/api") and method != "HEAD":
            refused = client.request(method, f"{path}?namspace=user", headers=bearer(config) | JSON, content=b"{}")
            assert code(refused) == (400, "parameter"), (method, path, refused.text)
            assert "'namspace'" in refused.json()["error"]["message"]
    told = client.get("/api/memory?namspace=user", headers=bearer(config)).json()["error"]["message"]
    assert told.endswith("takes cursor, deleted, kind, limit, namespace, project, tag, trust"), told


def test_every_parameter_of_the_document_is_known_to_its_address_and_one_value_is_not_hidden_by_a_second(
    client: TestClient, config: Config
) -> None:
    described = client.get("/api/openapi.json", headers=bearer(config)).json()
    seen = 0
    for path, operations in described["paths"].items():
        at = re.sub(r"\{\w+\}", "1", path)
        for method, operation in operations.items():
            for one in operation.get("parameters", ()):
                if one["in"] != "query" or path == "/api/stream":  # it would not end
                    continue
                several = "array" in str(one["schema"])
                for given in (f"{one['name']}=", f"{one['name']}=1&{one['name']}=2"):
                    said = client.request(method, f"{at}?{given}", headers=bearer(config) | JSON, content=b"{}").text
                    assert "there is no parameter" not in said, (method, path, given, said)
                    twice = f"{one['name']} takes one value" in said
                    assert twice == ("&" in given and not several), (method, path, given, said)
                    seen += 1
    assert seen > 100


@pytest.mark.parametrize("method", ["PUT", "TRACE", "CONNECT", "PROPFIND", "FOO", "OPTIONS"])
def test_a_method_that_is_not_there_is_405_on_every_address(
    client: TestClient, closed: list[tuple[str, str]], config: Config, method: str
) -> None:
    for _, path in closed:
        refused = client.request(method, path, headers=bearer(config))
        assert refused.status_code == 405 or not path.startswith("/api"), (method, path)
        assert refused.status_code in (403, 405), (method, path)


TRICKS = (
    *("/static/../token", "/static/..%2f..%2ftoken", "/static/%2e%2e/%2e%2e/token", "/static/..%5ctoken"),
    *("/static//etc/passwd", "/static/%00", "/static/recorder.css/..", "//api/stats", "/api//stats", "/api/stats;x"),
    *("/API/STATS", "/api/stats%00", "/api/%2e%2e/api/stats", "/api/memory/user/%2e%2e%2f%2e%2e%2ftoken"),
    *("/api/memory/%2e%2e/x", "/api/sessions/..%2f..%2ftoken", "/api/memory/user/%ff%fe", "/api/memory/user/%"),
    *("/api/memory/user/" + "k" * 9_000, "/api/memory/user%2Fx/y", "/api/memory/" + "%2f" * 40, "/api/memory/user/%1f"),
)


def test_a_trick_with_the_path_finds_nothing_and_breaks_nothing(config: Config, db: Connection) -> None:
    headers = bearer(config)
    secret = headers["Authorization"].removeprefix("Bearer ")
    with serving(config) as port:
        for path in TRICKS:
            link = HTTPConnection("127.0.0.1", port, timeout=10)
            link.putrequest("GET", path)
            for name, value in headers.items():
                link.putheader(name, value)
            link.endheaders()
            answer = link.getresponse()
            said = answer.read().decode()
            link.close()
            assert answer.status in (307, 400, 403, 404) and secret not in said, (path, answer.status, said)


def test_what_is_read_only_changes_nothing_through_any_address(
    config: Config, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECORDER_READONLY", "1")
    app = make_app(config, lambda: T0)
    with TestClient(app, base_url=BASE) as client:
        for method, path in routes(app):
            if method in ("GET", "HEAD") or not path.startswith("/api"):
                continue
            assert code(client.request(method, path, headers=bearer(config), json={})) == (403, "readonly"), path
        assert client.get("/api/memory", headers=bearer(config)).status_code == 200


def test_what_is_read_only_keeps_no_note_of_who_reads_through_any_door(
    config: Config, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TestClient(make_app(config, lambda: T0), base_url=BASE, headers=bearer(config)) as client:
        new = {"namespace": "user", "key": "k", "value": "I drink tea"}
        name = f"m{client.post('/api/memory', json=new).json()['memory']['id']}"
        for at in ("/api/memory/user/k", f"/api/hits?id={name}"):
            assert client.get(at).status_code == 200
    noted = list(db.execute("select how, who from memory_refs"))
    assert len(noted) == 2
    monkeypatch.setenv("RECORDER_READONLY", "1")
    changes = next(iter(db.execute("pragma data_version")))
    with TestClient(make_app(config, lambda: T0), base_url=BASE, headers=bearer(config)) as client:
        for at in ("/api/memory/user/k", f"/api/hits?id={name}", f"/api/hits/{name}/why", "/api/search?q=tea"):
            assert client.get(at).status_code == 200
        for tool, given in (("memory_get", {"ids": [name]}), ("memory_search", {"query": "tea"})):
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": given}}
            said = client.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
            assert said.status_code == 200 and "I drink tea" in said.text, said.text
    assert next(iter(db.execute("pragma data_version"))) == changes
    assert list(db.execute("select how, who from memory_refs")) == noted


def test_a_token_that_may_read_changes_nothing_through_any_address(
    client: TestClient, closed: list[tuple[str, str]], db: Connection, ours: str
) -> None:
    reader = minted(db, Rights.READ, ours)
    for method, path in closed:
        if path == "/api/stream":  # it would not end
            continue
        answer = client.request(method, path, headers=reader)
        if method not in ("GET", "HEAD") and path != "/mcp":
            assert answer.status_code == 403, (method, path)
        elif not path.startswith(("/api", "/mcp", "/static")):
            assert answer.status_code == 403, (method, path)
