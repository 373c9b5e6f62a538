"""Who gets in over HTTP, and what a page may do."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from httpx import Response
from starlette.testclient import TestClient

from recorder.capture import spool
from recorder.config import Config
from recorder.store import jobs
from recorder.store.db import Connection, connect, transaction
from recorder.web import access
from recorder.web.app import make_app
from tests.makers import T0, event_of, project_folder, prompt, take

BASE = "http://127.0.0.1:7377"


@pytest.fixture
def client(config: Config, db: Connection) -> Iterator[TestClient]:
    with TestClient(make_app(config, lambda: T0), base_url=BASE, follow_redirects=False) as client:
        yield client


@pytest.fixture
def bearer(config: Config) -> dict[str, str]:
    return {"Authorization": f"Bearer {access.token(config.home)}"}


def test_health_is_open_to_all(client: TestClient) -> None:
    assert client.get("/api/health").json() == {"status": "ok", "reason": None, "version": "0.1.0"}


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({"Host": "127.0.0.1:7377"}, True),
        ({"Host": "localhost:7377"}, True),
        ({"Host": "[::1]:7377"}, True),
        ({"Host": "LOCALHOST"}, True),
        ({"Host": "evil.test"}, False),
        ({"Host": "evil.test:7377"}, False),
        ({"Host": "127.0.0.1.evil.test"}, False),
        ({"Host": "localhost.evil.test"}, False),
        ({"Host": "127.0.0.1@evil.test"}, False),
        ({"Host": "0.0.0.0:7377"}, False),
        ({"Host": ""}, False),
        ({"Host": "[::1"}, False),
        ({"Origin": BASE}, True),
        ({"Origin": "https://evil.test"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://127.0.0.1.evil.test:7377"}, False),
        ({"Origin": "http://127.0.0.1:3000"}, False),
        ({"Origin": "file://"}, False),
        ({"Host": "evil.test", "Origin": "http://evil.test"}, False),
    ],
    ids=str,
)
def test_another_name_or_another_page_gets_nowhere_even_with_the_token(
    client: TestClient, bearer: dict[str, str], headers: dict[str, str], passes: bool
) -> None:
    for path in ("/api/health", "/api/stats"):
        answer = client.get(path, headers=bearer | headers)
        assert answer.status_code == (200 if passes else 403), path
        if not passes:
            assert answer.json()["error"]["code"] == "origin"


def test_every_answer_forbids_what_a_page_does_not_need(client: TestClient, bearer: dict[str, str]) -> None:
    for answer in (
        client.get("/api/health"),
        client.get("/", headers=bearer),
        client.get("/", headers={"Host": "evil.test"}),
        client.get("/no/such", headers=bearer),
    ):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_the_token_is_made_once_for_its_owner_alone(config: Config, db: Connection) -> None:
    assert access.token(config.home) == access.token(config.home)
    assert (config.home / "token").stat().st_mode & 0o777 == 0o600


def test_what_was_recorded_cannot_act_on_the_page(
    client: TestClient, config: Config, db: Connection, own_home: Path
) -> None:
    assert client.get("/login", params={"once": access.link(config.home, os.getpid(), T0)}).status_code == 303
    hostile = """<script>alert(1)</script> "><img src=x onerror=alert(2)> {{ 7*7 }} </td></table> javascript:alert(3)"""
    take(db, config, [event_of(prompt(hostile, cwd=str(project_folder(own_home))))])
    page = client.get("/").text
    assert (
        "<script>" not in page
        and "<img" not in page
        and "onerror=alert" not in page.replace("&lt;img src=x onerror=alert", "")
    )
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_a_method_that_is_not_there_is_told_in_our_words(
    client: TestClient, bearer: dict[str, str], method: str
) -> None:
    answer = client.request(method, "/api/stats", headers=bearer)
    assert answer.status_code == 405 and set(answer.json()["error"]) == {"code", "message"}
    assert answer.headers["allow"] == "GET"
    assert client.request("FOO", "/api/memory", headers=bearer).headers["allow"] == "GET, POST"


@pytest.mark.parametrize(("path", "headers"), [("/", {}), ("/", {"Host": "evil.test"}), ("/" + "a" * 9_000, {})])
def test_a_browser_that_gets_nowhere_is_told_so_on_a_page_that_needs_nothing_else(
    client: TestClient, path: str, headers: dict[str, str]
) -> None:
    answer = client.get(path, headers={"Accept": "text/html", **headers})
    assert answer.status_code in (400, 401, 403) and "<h1>" in answer.text and "/static/" not in answer.text
    (style,) = re.findall("<style>(.*?)</style>", answer.text)
    named = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{named}';" in answer.headers["content-security-policy"]


def test_two_homes_of_one_machine_do_not_throw_each_other_out(config: Config, own_home: Path) -> None:
    assert access.cookie_name(config.home, "session") != access.cookie_name(own_home / "other", "session")


def test_the_head_of_a_page_can_be_asked_for(client: TestClient, config: Config) -> None:
    client.get("/login", params={"once": access.link(config.home, os.getpid(), T0)})
    assert client.head("/memories").status_code == 200


def test_a_link_that_was_pressed_on_a_page_of_another_site_lets_in_too(client: TestClient, config: Config) -> None:
    def enter(site: str) -> Response:
        once = access.link(config.home, os.getpid(), T0)
        return client.get("/login", params={"once": once}, headers={"Sec-Fetch-Site": site, "Accept": "text/html"})

    elsewhere = enter("cross-site")
    assert elsewhere.status_code == 200 and '<meta http-equiv="refresh" content="0; url=/">' in elsewhere.text
    assert "samesite=strict" in elsewhere.headers["set-cookie"].lower() and client.get("/").status_code == 200
    assert enter("none").headers["location"] == "/"


def test_a_stuck_queue_makes_health_503_until_it_moves(client: TestClient, config: Config, db: Connection) -> None:
    with transaction(db):
        jobs.ask(db, "distil", "s\np", due_ms=T0, now_ms=T0)
    db.execute("update jobs set state = 'dead', error = 'why'")
    answer = client.get("/api/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "stuck")
    with transaction(db):
        jobs.revive(db, T0)
    assert client.get("/api/health").status_code == 200
    spool.prepare(config.spool)
    (config.spool / "new" / "a.json").write_text(json.dumps({}))
    assert client.get("/api/health").status_code == 200


def test_a_store_that_cannot_be_opened_is_503_with_a_reason_and_never_500(config: Config) -> None:
    config.home.mkdir(parents=True)
    config.db_path.write_bytes(b"my thesis, chapter one " * 200)
    with TestClient(make_app(config, lambda: T0), base_url=BASE, raise_server_exceptions=False) as client:
        answer = client.get("/api/health")
    assert answer.status_code == 503 and "recorder.db" in answer.json()["error"]["message"]
    config.db_path.unlink()
    connect(config.db_path).close()
