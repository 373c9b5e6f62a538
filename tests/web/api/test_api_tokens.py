"""What each token sees, and who comes in by a link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recorder import gate
from recorder.config import Config
from recorder.lifecycle import export as exports
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope, Trust
from recorder.store import memories
from recorder.store.db import Connection, connect
from recorder.store.tokens import Rights
from recorder.web import access, people, serve
from recorder.web.app import make_app
from tests.makers import T0, event_of, project_folder, prompt, take
from tests.web.asking import BASE, bearer, enter, form_token, minted


def tell(db: Connection, project_id: str | None, key: str, value: str) -> None:
    where = f"project.{project_id}" if project_id else "user"
    said = Proposal(where, key, value, MemoryKind.SEMANTIC, Origin.USER_SAID, "terminal", explicit=True)
    gate.tell(db, said, gate.Writer(Channel.PERSON, "terminal", Scope(project_id), T0))


def keys(client: TestClient, headers: dict[str, str], **params: str) -> set[str]:
    return {one["key"] for one in client.get("/api/memory", headers=headers, params=params).json()["items"]}


def test_a_token_sees_the_user_and_its_own_project_and_the_homes_own_any_that_it_names(
    client: TestClient, db: Connection, config: Config, ours: str, theirs: str
) -> None:
    tell(db, None, "mine", "I drink tea")
    tell(db, ours, "our", "Our build uses make")
    tell(db, theirs, "their", "Their build uses Bazel")
    minted_for_ours = minted(db, Rights.READ, ours)
    assert keys(client, minted_for_ours) == keys(client, minted_for_ours, project=ours) == {"mine", "our"}
    assert client.get("/api/memory", headers=minted_for_ours, params={"project": theirs}).status_code == 404
    assert keys(client, bearer(config)) == {"mine"}
    assert keys(client, bearer(config), project=theirs) == {"mine", "their"}
    assert client.get("/api/memory", headers=bearer(config), params={"project": "no-such"}).status_code == 404
    assert client.get("/api/me", headers=minted_for_ours).json()["project"] == ours
    assert [one["id"] for one in client.get("/api/projects", headers=minted_for_ours).json()["items"]] == [ours]
    assert len(client.get("/api/projects", headers=bearer(config)).json()["items"]) == 2


def test_what_is_about_every_project_is_not_for_the_token_of_one(client: TestClient, db: Connection, ours: str) -> None:
    headers = minted(db, Rights.ADMIN, ours)
    for method, path in (
        ("POST", "/api/memory/_import"),
        ("POST", "/api/memory/_purge"),
        ("POST", "/api/memory/_sync_claude"),
        ("GET", "/api/jobs"),
    ):
        answer = client.request(method, path, headers=headers, json={} if method == "POST" else None)
        assert answer.status_code in (400, 403), path
        if path != "/api/memory/_import":
            assert answer.json()["error"]["code"] == "rights"
    assert "worker" not in client.get("/api/stats", headers=headers).json()
    writer = minted(db, Rights.WRITE, ours)
    assert client.get("/api/memory/export", headers=writer).status_code == 403
    assert client.get("/api/memory/export", headers=headers).status_code == 200


def test_journal_and_stream_of_a_token_hold_its_own_project_alone(
    client: TestClient, db: Connection, config: Config, own_home: Path, ours: str, theirs: str
) -> None:
    for name, session in (("project", "s-ours"), ("elsewhere", "s-theirs")):
        take(db, config, [event_of(prompt(f"hello from {name}", session=session, cwd=str(own_home / name)))])
    headers = minted(db, Rights.READ, ours)
    for path in ("/api/events", "/api/prompts", "/api/sessions", "/api/files", "/api/tool-calls", "/api/stats"):
        said = client.get(path, headers=headers).text
        assert "elsewhere" not in said and "s-theirs" not in said, path
    assert [one["id"] for one in client.get("/api/sessions", headers=headers).json()["items"]] == ["s-ours"]
    assert len(client.get("/api/prompts", headers=headers).json()["items"]) == 1
    assert client.get("/api/sessions/s-theirs", headers=headers).status_code == 404
    assert client.get("/api/events", headers=headers, params={"session": "s-theirs"}).json()["items"] == []
    assert client.get("/api/sessions/s-ours", headers=headers).json()["summary"]["prompts"] == ["hello from project"]


def test_a_person_sees_every_project_and_each_by_its_name(
    person: TestClient, db: Connection, config: Config, own_home: Path, ours: str, theirs: str
) -> None:
    for name, session in (("project", "s-ours"), ("elsewhere", "s-theirs")):
        take(db, config, [event_of(prompt(f"hello from {name}", session=session, cwd=str(own_home / name)))])
    assert len(person.get("/api/sessions").json()["items"]) == 2
    assert len(person.get("/api/prompts").json()["items"]) == 2
    one = person.get("/api/sessions", params={"project": theirs}).json()["items"]
    assert [found["id"] for found in one] == ["s-theirs"]


def test_tokens_are_minted_listed_and_revoked_at_the_terminal_and_kept_nowhere(
    client: TestClient, db: Connection, config: Config, own_home: Path
) -> None:
    folder = project_folder(own_home)
    token = recorder(config, "token", "--project", str(folder), "--rights", "read").strip()
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/me", headers=headers).json()["rights"] == "read"
    assert client.post("/api/memory", headers=headers, json={"key": "k", "value": "v"}).status_code == 403
    (listed,) = json.loads(recorder(config, "token", "--list", "--json"))
    assert listed["rights"] == "read" and token not in json.dumps(listed)
    assert token.encode() not in b"".join(path.read_bytes() for path in config.home.rglob("*") if path.is_file())
    recorder(config, "token", "--revoke", str(listed["id"]))
    assert client.get("/api/me", headers=headers).status_code == 401
    assert json.loads(recorder(config, "token", "--list", "--json")) == []


def test_a_revoked_token_stays_out_when_an_older_backup_is_restored(config: Config, own_home: Path) -> None:
    folder = project_folder(own_home)
    recorder(config, "token", "--project", str(folder))
    (kept,) = json.loads(recorder(config, "token", "--list", "--json"))
    backup = json.loads(recorder(config, "backup", "--json"))["path"]
    recorder(config, "token", "--revoke", str(kept["id"]))
    recorder(config, "token", "--project", str(folder), "--rights", "read")
    recorder(config, "restore-backup", backup)
    assert [one["rights"] for one in json.loads(recorder(config, "token", "--list", "--json"))] == ["read"]


def recorder(config: Config, *words: str) -> str:
    environ = os.environ | {"RECORDER_HOME": str(config.home)}
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "recorder", *words], cwd=root, env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_link_lets_one_browser_in_once_within_ten_minutes_for_twelve_hours(config: Config, db: Connection) -> None:
    now = [T0]
    link = access.link(config.home, os.getpid(), T0 + access.LINK_MS)
    with TestClient(make_app(config, lambda: now[0]), base_url=BASE, follow_redirects=False) as client:
        for wrong in ("", "x", link + "0", "." + link, link.replace(str(T0 + access.LINK_MS), str(T0 * 2))):
            assert client.get("/login", params={"once": wrong}).json()["error"]["code"] == "link"
        asked = client.head("/login", params={"once": link})  # as a previewer does
        assert asked.status_code == 405 and "set-cookie" not in asked.headers
        entered = client.get("/login", params={"once": link})
        assert entered.status_code == 303 and entered.headers["location"] == "/"
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        assert client.get("/api/me").json()["kind"] == "person"
        again = client.get("/login", params={"once": link})
        assert (again.status_code, again.json()["error"]["code"]) == (401, "used")
        shown = client.get("/login", params={"once": link}, headers={"Accept": "text/html"})
        assert shown.status_code == 401 and "used before" in shown.text and '{"' not in shown.text
        now[0] += people.SESSION_MS
        assert client.get("/api/me").status_code == 200
        now[0] += 1
        assert client.get("/api/me").status_code == 401
        late = access.link(config.home, os.getpid(), now[0] + access.LINK_MS)
        now[0] += access.LINK_MS + 1
        assert client.get("/login", params={"once": late}).json()["error"]["code"] == "link"
        elsewhere = access.link(config.home, os.getpid() + 1, now[0] + access.LINK_MS)
        assert client.get("/login", params={"once": elsewhere}).json()["error"]["code"] == "link"


def test_a_new_token_lets_every_browser_and_every_open_link_out(client: TestClient, config: Config) -> None:
    enter(client, config)
    link = serve.login_url(config.home, serve.Running(os.getpid(), 7377))
    first = bearer(config)
    assert client.get("/api/me").status_code == 200
    access.rotate(config.home)
    assert client.get("/api/me").status_code == 401
    assert client.get(link).status_code == 401
    assert client.get("/api/me", headers=first).status_code == 401
    for name in ("token", "login.key"):
        assert (config.home / name).stat().st_mode & 0o777 == 0o600


def test_whoever_has_the_token_is_no_person_and_cannot_make_a_link(client: TestClient, config: Config) -> None:
    assert client.get("/", headers=bearer(config)).status_code == 403
    assert client.get("/login", params={"token": access.token(config.home)}).status_code == 401
    assert client.get("/login", params={"once": access.token(config.home)}).status_code == 401


@pytest.mark.parametrize("tool", ["memory_remember", "memory_list"])
def test_mcp_over_http_stands_in_the_scope_of_the_token(
    client: TestClient, db: Connection, ours: str, theirs: str, tool: str
) -> None:
    tell(db, theirs, "their", "Their build uses Bazel")
    given = {"key": "k", "value": "Our build uses make"} if tool == "memory_remember" else {}
    for rights, said in ((Rights.READ, "may read only"), (Rights.WRITE, f"project.{ours}/k (candidate)")):
        answer = client.post(
            "/mcp",
            headers=minted(db, rights, ours) | {"Accept": "application/json, text/event-stream"},
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": given}},
        )
        text = answer.json()["result"]["content"][0]["text"]
        assert said in text if tool == "memory_remember" else "Bazel" not in text
    assert client.get("/mcp", headers=minted(db, Rights.WRITE, ours)).status_code == 405


def test_a_person_changes_nothing_without_what_the_pages_carry(client: TestClient, config: Config) -> None:
    enter(client, config)
    body = {"namespace": "user", "key": "k", "value": "I drink tea"}
    assert client.post("/api/memory", json=body, headers={"Origin": BASE}).json()["error"]["code"] == "form"
    carried = {"X-Recorder-Form": form_token(client), "Origin": BASE}
    assert client.post("/api/memory", json=body, headers=carried).status_code == 201


def test_a_token_takes_another_homes_export_as_anybodys_word_into_an_empty_home_too(
    config: Config, own_home: Path, home: TestClient, db: Connection
) -> None:
    elsewhere = connect(own_home / "other" / "recorder.db")
    tell(elsewhere, None, "pref.tea", "The team drinks tea")
    exports.write(elsewhere, own_home / "export.json", project_id=None, now_ms=T0)
    elsewhere.close()
    answer = home.post("/api/memory/_import", json=json.loads((own_home / "export.json").read_text()))
    assert answer.status_code == 200 and answer.json()["own"] is False
    found = memories.find(db, "user", "pref.tea")
    assert found is not None and found.trust is Trust.CANDIDATE
