"""The stream of what is captured, and hook inputs that come over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recorder import install
from recorder.capture import spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.store import events, tokens
from recorder.store.db import Connection
from recorder.store.tokens import Rights
from recorder.web import access, serve
from tests.hooks.running import environ
from tests.makers import T0, bash, event_of, project_folder, prompt, take
from tests.web.asking import bearer, minted, serving
from worker.drain import Drain

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def listening(port: int, headers: dict[str, str], query: str = "") -> Iterator[Iterator[dict[str, str]]]:
    """The messages of the stream, as they come."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    link.request("GET", f"/api/stream{query}", headers=headers)
    answer = link.getresponse()
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")

    def messages() -> Iterator[dict[str, str]]:
        message: dict[str, str] = {}
        for raw in answer:
            line = raw.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                message[name] = value
            elif message:
                yield message
                message = {}

    try:
        yield messages()
    finally:
        link.close()


def test_a_listener_that_comes_again_has_missed_nothing_and_gets_nothing_twice(
    config: Config, db: Connection, own_home: Path
) -> None:
    cwd = str(project_folder(own_home))
    project_id = None
    with serving(config) as port:
        take(db, config, [event_of(prompt("before", cwd=cwd, session="s0"))])
        project_id = events.listing(db)[0].project_id
        headers, query = bearer(config), f"?project={project_id}"
        with listening(port, headers, query) as messages:
            assert "retry" in next(messages)
            take(db, config, [event_of(prompt("first", cwd=cwd, session="s1"))])
            first = next(messages)
            assert first["event"] == "captured" and json.loads(first["data"])["text"] == "first"
        for number in range(150):
            take(db, config, [event_of(prompt(f"missed {number}", cwd=cwd, session="s2", prompt_id=f"p{number}"))])
        with listening(port, headers | {"Last-Event-ID": first["id"]}, query) as messages:
            next(messages)
            came = [json.loads(next(messages)["data"])["text"] for _ in range(150)]
            take(db, config, [event_of(prompt("last", cwd=cwd, session="s3"))])
            came.append(json.loads(next(messages)["data"])["text"])
        assert came == [*(f"missed {number}" for number in range(150)), "last"]


def test_what_another_project_does_does_not_reach_the_listener_of_one(
    config: Config, db: Connection, own_home: Path, ours: str, theirs: str
) -> None:
    with serving(config) as port, listening(port, minted(db, Rights.READ, ours), "?after=0") as messages:
        next(messages)
        take(db, config, [event_of(prompt("theirs", cwd=str(own_home / "elsewhere"), session="s1"))])
        take(db, config, [event_of(prompt("ours", cwd=str(own_home / "project"), session="s2"))])
        assert json.loads(next(messages)["data"])["text"] == "ours"


def test_who_is_shut_out_is_told_nothing_more(config: Config, db: Connection, own_home: Path, ours: str) -> None:
    cwd = str(own_home / "project")
    by_project, by_home = minted(db, Rights.READ, ours), bearer(config)
    with serving(config) as port:
        for headers, shut_out in (
            (by_project, lambda: tokens.revoke(db, 1, T0)),
            (by_home, lambda: access.rotate(config.home)),
        ):
            with listening(port, headers, f"?project={ours}") as messages:
                next(messages)
                take(db, config, [event_of(prompt("before", cwd=cwd, session=f"b{headers}"))])
                assert json.loads(next(messages)["data"])["text"] == "before"
                shut_out()
                take(db, config, [event_of(prompt("after", cwd=cwd, session=f"a{headers}"))])
                assert next(messages, None) is None


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 30])
def test_a_place_in_the_stream_that_is_none_is_400(home: TestClient, given: str) -> None:
    assert home.get("/api/stream", headers={"Last-Event-ID": given}).status_code == 400


def test_a_service_with_open_streams_ends_within_two_seconds(config: Config) -> None:
    up = subprocess.Popen(
        [sys.executable, "-m", "recorder", "up", "--no-open", "--port", "0"],
        cwd=ROOT,
        env=environ(config.home, KF_RULE_CACHE_DIR=os.environ["KF_RULE_CACHE_DIR"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert up.stdout is not None and "/login?once=" in up.stdout.readline()
        at = serve.running(config.home)
        assert at is not None
        with listening(at.port, bearer(config)) as one, listening(at.port, bearer(config)) as other:
            next(one), next(other)
            began = time.monotonic()
            up.send_signal(signal.SIGTERM)
            assert list(one) == list(other) == []
            took_s = time.monotonic() - began
        _, complained = up.communicate(timeout=30)
        assert took_s < 2 and "Traceback" not in complained, complained
    finally:
        up.kill()
        serve.down(config.home)


def test_hook_inputs_over_http_are_taken_in_as_if_a_hook_had_brought_them(
    home: TestClient, config: Config, db: Connection, own_home: Path
) -> None:
    cwd = str(project_folder(own_home))
    assert home.post("/api/ingest", json=prompt("one", cwd=cwd)).json() == {"accepted": 1}
    many = [bash(f"make {n}", "ok", use=f"t{n}", cwd=cwd) for n in range(3)]
    assert home.post("/api/ingest", json=many).status_code == 202
    files = spool.pending(config.spool)
    assert len(files) == 4 and all(file.path.stat().st_mode & 0o077 == 0 for file in files)
    assert Drain(config, Redactor(config.capture)).once(db, files[-1].received_ms + 1) == 4
    assert [event.kind for event in events.listing(db, newest_first=False)] == ["prompt", *["tool_call"] * 3]
    assert home.post("/api/ingest", json=many[0]).status_code == 202
    Drain(config, Redactor(config.capture)).once(db, files[-1].received_ms + 2)
    assert events.count(db) == 4


def test_while_paused_nothing_that_comes_over_http_is_taken(home: TestClient, config: Config) -> None:
    install.pause(config.home, None)
    assert home.post("/api/ingest", json=prompt("one")).json() == {"accepted": 0}
    assert spool.pending(config.spool) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"7", b"null", b"{}", b"[[]]", b'{"session_id": "s"}', b'{"session_id": 1, "hook_event_name": "Stop"}']
    + [b'{"session_id":"s","hook_event_name":"Stop"} x', b"[" * 5_000, b'{"a":' * 5_000, b"\xff"],
)
def test_what_is_no_hook_input_is_400_and_leaves_nothing(home: TestClient, config: Config, content: bytes) -> None:
    answer = home.post("/api/ingest", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert spool.pending(config.spool) == []


def test_the_token_of_a_project_brings_in_what_happened_there_alone(
    client: TestClient, config: Config, db: Connection, own_home: Path, ours: str, theirs: str
) -> None:
    headers = minted(db, Rights.WRITE, ours)
    take(db, config, [event_of(prompt("theirs", cwd=str(own_home / "elsewhere"), session="s-theirs"))])
    for wrong in (
        prompt("x", cwd=str(own_home / "elsewhere")),
        prompt("x", cwd="/nowhere/at/all"),
        prompt("x", cwd=str(own_home / "project"), session="s-theirs"),
    ):
        assert client.post("/api/ingest", json=wrong, headers=headers).status_code == 403
    assert (
        client.post("/api/ingest", json=prompt("x", cwd=str(own_home / "project")), headers=headers).status_code == 202
    )
    (dropped,) = spool.pending(config.spool)
    assert "transcript_path" not in json.loads(dropped.path.read_bytes())
