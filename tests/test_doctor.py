"""What the doctor sees: each fault is named, with its remedy, and counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from recorder import doctor
from recorder.capture import spool
from recorder.config import Config
from recorder.models import Source
from recorder.store import charts, health, jobs
from recorder.store.db import Connection, transaction
from tests.hooks.running import FORMS, environ, run
from tests.makers import T0, bash, event_of, hook_input, project_folder, prompt, stop, take
from worker import held

ROOT = Path(__file__).resolve().parents[1]
MINUTE_MS = 60_000


def checks(db: Connection, found: Config, *, now_ms: int = T0, **variables: str) -> list[doctor.Check]:
    own = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], **variables}
    return doctor.check(db, found, own, interpreter=sys.executable, source_root=ROOT, now_ms=now_ms)


def said(found: list[doctor.Check], state: str) -> str:
    return "\n".join(f"{check.name}: {check.text}" for check in found if check.state == state)


def cli(found: Config, *words: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    own: Mapping[str, str] = {
        "HOME": str(found.home.parent),
        "PATH": os.environ["PATH"],
        "KF_RULE_CACHE_DIR": os.environ["KF_RULE_CACHE_DIR"],
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-m", "recorder", *words],
        cwd=cwd,
        env=own,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_malformed_inputs_of_the_real_hook_are_counted_with_their_reasons(db: Connection, config: Config) -> None:
    hook = next(form for form in FORMS if form.name == "sh")
    for given in (b"", b'{"a":'):
        assert run(hook.command(), given, environ(config.home)).silent
    held.drain_once(config)
    assert doctor.status(db, config, T0)["spool"]["malformed"] == 2
    assert "2 malformed hook inputs" in said(checks(db, config), "note")


def test_what_hooks_missed_is_healed_from_the_transcript_and_counted(
    db: Connection, config: Config, own_home: Path
) -> None:
    folder = str(project_folder(own_home))
    transcript = own_home / "s1.jsonl"
    common = {"sessionId": "s1", "cwd": folder, "version": "2.1.197", "userType": "external", "isSidechain": False}
    at = "2026-09-21T14:13:2{}.000Z"
    records: list[dict[str, object]] = []
    for n in range(5):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": f"echo {n}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": str(n), "is_error": False}
        stamp = {"timestamp": at.format(n), "promptId": "p1"}
        answer = {"role": "assistant", "id": f"msg_{n}", "content": [call]}
        records.append({**common, **stamp, "type": "assistant", "uuid": f"a{n}", "message": answer})
        records.append(
            {**common, **stamp, "type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": [result]}}
        )
    transcript.write_text("".join(json.dumps(record) + "\n" for record in records))
    spool.prepare(config.spool)
    for n in (0, 2, 4):
        given = bash(f"echo {n}", str(n), use=f"toolu_{n}", cwd=folder) | {"transcript_path": str(transcript)}
        (config.spool / "new" / f"{n}.json").write_text(json.dumps(given))
    (config.spool / "new" / "9.json").write_text(json.dumps(stop(cwd=folder) | {"transcript_path": str(transcript)}))
    held.drain_once(config)
    held.drain_once(config)
    calls = [use for (use,) in db.execute("select tool_use_id from events where kind = 'tool_call' order by 1")]
    assert calls == [f"toolu_{n}" for n in range(5)]
    assert "session s1: missed=2" in said(checks(db, config), "note")


def test_a_session_of_which_no_hook_spoke_is_named(db: Connection, config: Config, own_home: Path) -> None:
    folder = str(project_folder(own_home))
    with transaction(db):
        health.record_since(db, T0)
    take(db, config, [replace(event_of(bash("ls", cwd=folder)), source=Source.TRANSCRIPT)])
    assert "hooks silent in session s1" in said(checks(db, config), "bad")


def test_an_unknown_setting_is_bad(db: Connection, config: Config, tmp_path: Path) -> None:
    odd = config.model_copy(update={"warnings": ("/somewhere/config.toml: unknown key worker.pol_s",)})
    assert "unknown key worker.pol_s" in said(checks(db, odd), "bad")
    assert "unknown" not in said(checks(db, config), "bad")


def test_being_off_or_paused_is_said(db: Connection, config: Config) -> None:
    assert "nothing is captured" in said(checks(db, config, RECORDER_OFF="1"), "bad")
    (config.home / "paused").touch()
    os.utime(config.home / "paused", (2**31 - 1, 2**31 - 1))
    assert "recorder resume" in said(checks(db, config), "note")
    os.utime(config.home / "paused", (T0 / 1000 - 60, T0 / 1000 - 60))
    assert "recording is paused" not in said(checks(db, config), "note")


def test_a_look_that_cannot_be_taken_leaves_the_others(db: Connection, config: Config) -> None:
    config.spool.mkdir()
    (config.spool / "new").write_text("no folder")
    found = checks(db, config)
    assert {"spool", "jobs"} <= {check.name for check in found if "cannot be looked at" in check.text}
    assert {"settings", "worker", "store", "vectors"} <= {check.name for check in found if check.state != "bad"}


def test_a_home_that_is_open_to_others_is_bad(db: Connection, config: Config) -> None:
    assert "open to others" not in said(checks(db, config), "bad")
    config.home.chmod(0o755)
    assert "chmod 700" in said(checks(db, config), "bad")


def test_inputs_that_could_not_be_written_are_bad(db: Connection, config: Config) -> None:
    spool.prepare(config.spool)
    (config.spool / "lost").write_bytes(b"\n...")
    assert "3 hook inputs could not be written" in said(checks(db, config), "bad")
    assert doctor.status(db, config, T0)["spool"]["lost"] == 3


@pytest.mark.parametrize("minutes", [14, 16])
def test_jobs_or_inputs_that_wait_too_long_make_the_queue_stuck(db: Connection, config: Config, minutes: int) -> None:
    assert doctor.stuck(db, config, T0) is None
    spool.prepare(config.spool)
    waiting = config.spool / "new" / "a.json"
    waiting.write_text("{}")
    os.utime(waiting, (T0 / 1000, T0 / 1000))
    assert (doctor.stuck(db, config, T0 + minutes * MINUTE_MS) is not None) is (minutes > 15)
    waiting.unlink()
    with transaction(db):
        jobs.ask(db, "distil", "s\np", due_ms=T0, now_ms=T0)
    assert (doctor.stuck(db, config, T0 + minutes * MINUTE_MS) is not None) is (minutes > 15)


def test_a_turn_of_the_past_waits_since_it_was_asked_for(db: Connection, config: Config) -> None:
    with transaction(db):
        jobs.ask(db, "distil", "s\np", due_ms=T0 - 400 * 24 * 60 * MINUTE_MS, now_ms=T0)
    assert doctor.stuck(db, config, T0 + 14 * MINUTE_MS) is None
    assert doctor.stuck(db, config, T0 + 16 * MINUTE_MS) is not None
    (waiting,) = charts.queue(db)
    assert waiting["due_ms"] == T0


def test_a_job_that_was_done_long_ago_and_fails_now_is_not_yet_stuck(db: Connection, config: Config) -> None:
    def fail(now_ms: int) -> None:
        with transaction(db):
            job = jobs.claim(db, now_ms)
            assert job is not None
            jobs.fail(db, job, "why", now_ms)

    with transaction(db):
        jobs.ask(db, "close", "s", due_ms=T0, now_ms=T0)
        job = jobs.claim(db, T0)
        assert job is not None
        jobs.complete(db, job, "closed", T0)
    later = T0 + 60 * MINUTE_MS
    with transaction(db):
        jobs.ask(db, "close", "s", due_ms=later, now_ms=later)
    fail(later)
    assert doctor.stuck(db, config, later + MINUTE_MS) is None
    assert doctor.stuck(db, config, later + 16 * MINUTE_MS) is not None


def test_a_dead_job_is_named_with_its_error_and_what_to_do(db: Connection, config: Config) -> None:
    with transaction(db):
        jobs.ask(db, "distil", "s1\np1", due_ms=T0, now_ms=T0)
    db.execute("update jobs set state = 'dead', error = 'ValueError: odd', attempts = 6")
    told = said(checks(db, config), "bad")
    assert "distil of s1 is dead after 6 tries: ValueError: odd" in told and "--retry-dead" in told


def test_a_tampered_audit_is_bad(db: Connection, config: Config, own_home: Path) -> None:
    folder = str(project_folder(own_home))
    take(db, config, [event_of(prompt("Always run the tests with pytest -q", cwd=folder)), event_of(stop(cwd=folder))])
    held.drain_once(config)
    assert "audit" not in said(checks(db, config), "bad")
    db.execute("drop trigger audit_no_update")
    db.execute("update audit set actor = 'x' where id = 1")
    assert "row 1 of the audit" in said(checks(db, config), "bad")


def test_a_store_that_is_nearly_full_is_said(db: Connection, config: Config) -> None:
    assert doctor.size_warning(79.0, 100) is None
    assert "80 of 100 MB" in str(doctor.size_warning(80.0, 100))


def test_install_ends_with_an_event_of_its_own_that_the_doctor_reads_back(config: Config, own_home: Path) -> None:
    (own_home / ".claude").mkdir()
    installed = cli(config, "install", "--json")
    assert installed.returncode == 0, installed.stderr
    canary = json.loads(installed.stdout)["canary"]
    assert isinstance(canary, int)
    told = cli(config, "doctor")
    assert f"read back as event {canary}" in told.stdout
    assert told.returncode == 0, told.stdout
    assert "hooks and the MCP server are registered" in told.stdout
    status = json.loads(cli(config, "status", "--json").stdout)
    assert status["sessions"]["all"] == 0 and status["spool"]["pending"] == 0


def test_from_the_installation_until_it_is_taken_out_hooks_are_due(
    db: Connection, config: Config, own_home: Path
) -> None:
    (own_home / ".claude").mkdir()
    assert cli(config, "install", "--dry-run").returncode == 0
    assert health.recording_since(db) == {}
    for _ in range(2):
        assert cli(config, "install").returncode == 0
    ((where, first_ms),) = health.recording_since(db).items()
    assert where == health.EVERYWHERE
    assert health.since_ms({where: first_ms}, None) == first_ms
    assert cli(config, "uninstall").returncode == 0
    assert health.recording_since(db) == {}


def test_hooks_of_one_project_are_due_there_and_nowhere_else(db: Connection, config: Config, own_home: Path) -> None:
    folder = project_folder(own_home)
    assert cli(config, "install", "--scope", "project", cwd=folder).returncode == 0
    since = health.recording_since(db)
    assert health.since_ms(since, str(folder / "src")) is not None
    assert health.since_ms(since, f"{folder}-other") is health.since_ms(since, None) is None
    assert cli(config, "uninstall", cwd=folder).returncode == 0
    assert health.recording_since(db) == {}


def test_the_doctor_fails_where_something_is_bad_and_says_each(config: Config, own_home: Path) -> None:
    config.home.mkdir(mode=0o700)
    (config.home / "config.toml").write_text("[worker]\npol_s = 1\n")
    told = cli(config, "doctor", "--json")
    assert told.returncode == 1
    texts = [check["text"] for check in json.loads(told.stdout) if check["state"] == "bad"]
    assert any("config.toml: unknown key worker.pol_s" in text for text in texts)
    assert any("run `recorder install`" in text for text in texts)
    assert "warning: " in told.stderr


def test_the_canary_is_no_session_of_the_person(db: Connection, config: Config) -> None:
    take(db, config, [event_of(hook_input("RecorderCanary", session=health.CANARY_SESSION, note="x"))])
    assert health.session_count(db) == 0 and health.canary(db) is not None


def test_hooks_are_not_praised_where_none_was_ever_due(db: Connection, config: Config, own_home: Path) -> None:
    folder = str(project_folder(own_home))
    take(db, config, [replace(event_of(bash("ls", cwd=folder)), source=Source.BACKFILL)])
    assert "no session yet in which a hook was due" in said(checks(db, config), "note")
    take(db, config, [event_of(bash("ls", cwd=folder, session="s2", use="toolu_2"))])
    assert "missed nothing in the last 1 session that had them" in said(checks(db, config), "ok")


def test_what_was_recorded_in_a_folder_that_is_gone_is_counted_and_a_person_finds_it(
    db: Connection, config: Config, own_home: Path
) -> None:
    folder = str(project_folder(own_home))
    gone = str(own_home / "gone" / "cli")
    said = [event_of(prompt("here", cwd=folder)), event_of(prompt("lost words", prompt_id="p2", cwd=gone))]
    take(db, config, said)
    assert doctor.status(db, config, T0)["in_no_project"] == {"events": 1, "sessions": 1}
    assert "in no project events 1, sessions 1" in " ".join(cli(config, "status").stdout.split())
    found = json.loads(cli(config, "events", "--no-project", "--json").stdout)
    assert [one["body"]["text"] for one in found] == ["lost words"]
    assert cli(config, "events", "--no-project", CLAUDECODE="1").returncode == 1
