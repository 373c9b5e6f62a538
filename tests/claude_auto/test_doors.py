"""The sync at the terminal, over HTTP, in status and with the doctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from recorder import doctor
from recorder.config import Config
from recorder.store.db import Connection
from recorder.web import access
from recorder.web.app import make_app
from tests.claude_auto.claude_home import FRIDAY, known_project, memory_folder, run, seen
from tests.makers import T0

ROOT = Path(__file__).resolve().parents[2]
ROUTE = "/api/memory/_sync_claude"


@pytest.fixture
def place(db: Connection, config: Config, own_home: Path) -> tuple[Path, str]:
    """(memory folder, project id): one fact, and an index of 238 lines."""
    folder, project_id = known_project(db, config, own_home)
    memory = memory_folder(config, folder)
    (memory / "release.md").write_text(FRIDAY)
    (memory / "MEMORY.md").write_text("".join(f"- Line {n} is about animal{n}\n" for n in range(1, 239)))
    return memory, project_id


def cli(config: Config, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {name: os.environ[name] for name in ("PATH", "HOME", "KF_RULE_CACHE_DIR")}
    return subprocess.run(
        [sys.executable, "-m", "recorder", *words], env=own | variables, cwd=ROOT, capture_output=True, text=True
    )


def client(config: Config) -> TestClient:
    return TestClient(make_app(config, lambda: T0 + 120_000), base_url="http://127.0.0.1:7377", follow_redirects=False)


def looked(db: Connection, config: Config, **variables: str) -> list[str]:
    found = doctor.check(
        db, config, dict(os.environ) | variables, interpreter=sys.executable, source_root=ROOT, now_ms=T0
    )
    return [check.text for check in found if check.name == "claude memory" and check.state == "note"]


def test_the_command_syncs_without_a_worker_and_says_what_claude_does_not_load(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    done = cli(config, "sync")
    assert done.returncode == 0, done.stderr
    assert "2 files: 239 memories created" in done.stdout
    assert f"{place[0] / 'MEMORY.md'}: 38 lines are beyond what Claude loads" in done.stderr
    again = json.loads(cli(config, "sync", "--json").stdout)
    assert (again["files"], again["created"], again["unchanged"], again["beyond_limit"]) == (2, 0, 239, 38)
    assert {"changed", "pruned", "restored", "findings", "problems", "at_ms"} <= set(again)
    assert len(seen(db, place[1])) == 239
    found = cli(config, "search", "animal238", "--project", str(Path(os.environ["HOME"]) / "project"))
    assert "Line 238 is about animal238" in found.stdout


def test_what_there_is_one_of_is_said_so(db: Connection, config: Config, place: tuple[Path, str]) -> None:
    (place[0] / "MEMORY.md").unlink()
    said = cli(config, "sync").stdout
    assert "1 file: 1 memory created" in said and "0 findings" in said
    (place[0] / "MEMORY.md").write_text("- One line\n" + "\n" * 198 + "- One more\n- The last one\n")
    assert "1 line is beyond" in cli(config, "sync").stderr


def test_the_command_says_what_waits_for_a_pause_to_end(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    assert cli(config, "pause").returncode == 0
    done = cli(config, "sync")
    assert "0 memories created" in done.stdout and "2 files wait until recording goes on" in done.stderr
    assert cli(config, "resume").returncode == 0
    assert "239 memories created" in cli(config, "sync", RECORDER_OFF="1").stdout


def test_only_a_person_syncs(db: Connection, config: Config, place: tuple[Path, str]) -> None:
    done = cli(config, "sync", CLAUDECODE="1")
    assert done.returncode == 1 and "only a person" in done.stderr
    assert seen(db, place[1]) == {}


def test_the_route_wants_the_token_and_syncs(db: Connection, config: Config, place: tuple[Path, str]) -> None:
    with client(config) as asking:
        assert asking.post(ROUTE).status_code == 401
        assert seen(db, place[1]) == {}
        bearer = {"Authorization": f"Bearer {access.token(config.home)}"}
        assert asking.post(ROUTE, headers=bearer | {"Origin": "https://evil.test"}).status_code == 403
        answer = asking.post(ROUTE, headers=bearer)
        assert answer.status_code == 200 and answer.json()["created"] == 239
        assert asking.post(ROUTE, headers=bearer).json()["created"] == 0
    assert len(seen(db, place[1])) == 239


def test_status_says_when_the_last_sync_was_and_what_it_did(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    def numbers() -> dict[str, Any]:
        return dict(doctor.status(db, config, T0)["claude_memory"])

    assert numbers()["last_sync_ms"] is None
    report = run(db, config)
    (place[0] / "release.md").unlink()
    (place[0] / "MEMORY.md").write_text("- Line 1 is about animal1 again\n- Line 2 is about animal2\n")
    report = run(db, config)
    assert (report.files, report.created, report.changed, report.pruned) == (1, 1, 0, 238)
    done = {"files": 1, "created": 1, "changed": 0, "pruned": 238, "beyond_limit": 0, "undecided": 0, "problems": 0}
    assert numbers() == {"last_sync_ms": report.at_ms, **done}
    assert "last sync" in cli(config, "status").stdout
    with client(config) as asking:
        told = asking.get("/api/stats", headers={"Authorization": f"Bearer {access.token(config.home)}"}).json()
    assert told["claude_memory"]["pruned"] == 238


def test_the_doctor_notes_lines_claude_does_not_load_and_files_left_out(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    assert looked(db, config) == []
    (place[0] / "huge.md").write_bytes(b"x" * (2 * 1024 * 1024))
    run(db, config)
    beyond, left_out = looked(db, config)
    assert str(place[0] / "MEMORY.md") in beyond and "38" in beyond
    assert str(place[0] / "huge.md") in left_out
    (told,) = looked(db, config, CLAUDECODE="1")
    assert str(place[0]) not in told
