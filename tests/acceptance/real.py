"""The recorder behind its own doors: spawned hook, spawned memory server, command line, transcripts, memory files."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from recorder import config as settings
from recorder.capture.project import resolve
from recorder.lifecycle import purge
from recorder.models import Scope
from recorder.store import hits, search
from recorder.store.db import Connection, connect, transaction
from recorder.web.app import make_app
from tests.acceptance.doors import Answer, Fact, Written
from tests.cli.terminal import Said, Terminal
from tests.makers import project_folder
from tests.test_mcp_server import Place, serving
from worker import held
from worker.loop import Loop

ROOT = Path(__file__).resolve().parents[2]
DAY_MS = 86_400_000


class Real:
    """One home, two projects, and Claude's folder beside them."""

    writers: Sequence[str] = ("person", "mcp", "agent", "api", "import", "sync", "distil", "backfill")
    readers: Sequence[str] = ("cli", "mcp", "http", "list", "brief", "export", "timeline", "why")
    arms: Sequence[str] = ("words", "trigram")

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self.monkeypatch, self.capsys = home, monkeypatch, capsys
        self.folders = {name: project_folder(home, f"project-{name}") for name in ("a", "b")}
        self.numbers = itertools.count(1)
        self.config = settings.load(os.environ)
        for name in ("a", "b"):
            self._run(name, "remember", "project", "fact.of-its-own", f"Project {name} is one of two")

    # What comes in

    def capture(self, project: str, *texts: str) -> None:
        self._session(project, [self._prompt(text, "typed") for text in texts])

    def observe(self, project: str, command: str, sessions: int) -> None:
        for _ in range(sessions):
            self._session(project, [{"command": command}])

    def write(self, door: str, project: str, fact: Fact) -> Written:
        wrote = {
            "person": self._by_command,
            "agent": self._by_command,
            "mcp": self._by_server,
            "api": self._by_http,
            "import": self._by_import,
            "sync": self._by_sync,
            "distil": self._by_program,
            "backfill": self._by_program,
        }[door]
        return wrote(door, project, fact)

    def _by_command(self, door: str, project: str, fact: Fact) -> Written:
        said = self._run(
            project, "remember", fact.namespace, fact.key, fact.value, "--json", agent=door == "agent", ok=False
        )
        return self._written(said.json)

    def _written(self, told: dict[str, Any]) -> Written:
        memory = told["memory"] or {}
        accepted = told["action"] in ("created", "superseded", "corroborated", "unchanged")
        return Written(accepted, memory.get("trust", ""), memory.get("source", ""), told["reason"])

    def _by_server(self, door: str, project: str, fact: Fact) -> Written:
        with serving(self._place, self.folders[project]) as server:
            told = server.call("memory_remember", key=fact.key, value=fact.value, **dict(fact.claims))
        stands = self._stands(project, fact.key)
        source = stands["source"] if stands else ""
        return Written(not told.error, stands["trust"] if stands else "", source, told.text)

    def _by_http(self, door: str, project: str, fact: Fact) -> Written:
        body = {"namespace": fact.namespace, "key": fact.key, "value": fact.value}
        with self._service() as client:
            told = client.post("/api/memory", json={**body, **fact.claims}, headers=self._token(project))
            if told.status_code == 400 and fact.claims:  # a field that is none of its own is refused whole
                told = client.post("/api/memory", json=body, headers=self._token(project))
        said = told.json()
        if "error" in said:
            return Written(False, reason=f"{said['error']['code']}: {said['error']['message']}")
        return self._written(said)

    def _by_import(self, door: str, project: str, fact: Fact) -> Written:
        """What somebody else's recorder exported of the same project."""
        other = self.home / f"other-{next(self.numbers)}"
        file = other / "export.json"
        self.monkeypatch.setenv("RECORDER_HOME", str(other))
        self._run(project, "remember", fact.namespace, fact.key, fact.value)
        self._run(project, "export", str(file), "--project", str(self.folders[project]))
        self.monkeypatch.delenv("RECORDER_HOME")
        told = self._run(project, "import", str(file), "--json").json
        return Written(bool(told["counts"].get("created")), reason=str(told["reasons"]))

    def _by_sync(self, door: str, project: str, fact: Fact) -> Written:
        folder = self._claude(project) / "memory"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{fact.key}.md").write_text(f"---\nname: {fact.key}\ntype: project\n---\n{fact.value}\n")
        told = self._run(project, "sync", "--json").json
        return Written(bool(told["created"]), reason=str(told))

    def _by_program(self, door: str, project: str, fact: Fact) -> Written:
        """A program's prompt, which is nobody's typed word."""
        before = self._count("select count(*) from memories")
        self._session(project, [self._prompt(f"Remember: {fact.value}", "sdk")], hooks=door == "distil")
        return Written(self._count("select count(*) from memories") > before)

    # What is asked

    def search(self, project: str, question: str, *, arm: str | None = None, k: int = 10) -> Answer:
        if arm is None:
            found = self._run(project, "search", question, "--limit", str(k), "--json").json["hits"]
            texts = [f"memory: {hit['text']}" if hit["type"] == "memory" else hit["text"] for hit in found]
            return Answer(tuple(texts))
        db = self._db()
        try:
            scope, now_ms = self._scope(db, project), time.time_ns() // 1_000_000
            rows = getattr(search, arm)(db, scope, question, k, now_ms=now_ms)
            shown = hits.of_memories(db, scope, [r.id for r in rows if r.type == "memory"], now_ms=now_ms)
            seen = hits.of_events(db, scope, [r.id for r in rows if r.type == "event"], now_ms=now_ms)
            return Answer(tuple(hit.text for hit in (*shown.values(), *seen.values())))
        finally:
            db.close()

    def read(self, reader: str, project: str, words: str) -> Answer:
        return getattr(self, f"_read_{reader}")(project, words)  # type: ignore[no-any-return]

    def _read_cli(self, project: str, words: str) -> Answer:
        return self.search(project, words)

    def _read_mcp(self, project: str, words: str) -> Answer:
        with serving(self._place, self.folders[project]) as server:
            return Answer((), server.call("memory_search", query=words).text)

    def _read_http(self, project: str, words: str) -> Answer:
        with self._service() as client:
            return Answer((), client.get("/api/search", params={"q": words}, headers=self._token(project)).text)

    def _read_list(self, project: str, words: str) -> Answer:
        return Answer(tuple(row["value"] for row in self._run(project, "list", "--json").json))

    def _read_keys(self, project: str, words: str) -> Answer:
        rows = self._run(project, "list", "--json").json
        return Answer(tuple(row["key"] for row in rows if words in row["value"]))

    def _read_brief(self, project: str, words: str) -> Answer:
        self._drain()
        told = subprocess.run(
            [sys.executable, "-I", "-S", str(ROOT / "hooks" / "brief.py")],
            input=json.dumps({"session_id": "brief", "cwd": str(self.folders[project]), "source": "startup"}).encode(),
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
            cwd=self.folders[project],
            capture_output=True,
            timeout=30,
            check=True,
        )
        return Answer((), told.stdout.decode())

    def _read_export(self, project: str, words: str) -> Answer:
        return Answer((), self.export(project))

    def _read_timeline(self, project: str, words: str) -> Answer:
        """Around an event of the first project, whoever asks."""
        with serving(self._place, self.folders[project]) as server:
            return Answer((), server.call("memory_timeline", id=self._event_of_a(words)).text)

    def _read_why(self, project: str, words: str) -> Answer:
        """Of a memory of the first project, whoever asks."""
        db = self._db()
        found = [
            f"m{row[0]}"
            for row in db.execute(
                "select m.id from memories m join memory_versions v on v.id = m.version_id"
                " where v.value like ? and m.deleted_ms is null order by m.id",
                (f"%{words}%",),
            )
        ]
        db.close()
        with serving(self._place, self.folders[project]) as server:
            return Answer((), server.call("memory_why", id=found[0] if found else "m0").text)

    def address(self, project: str, namespace: str, key: str) -> str:
        db = self._db()
        other = self._scope(db, "b").project_id or ""
        db.close()
        named = namespace.replace("{b}", f"project.{other}").replace("{B}", f"project.{other}".upper())
        with serving(self._place, self.folders[project]) as server:
            return server.call("memory_recall", key=key, namespace=named).text

    def believed(self, project: str, key: str, *, steps_ago: int = 0) -> tuple[str, str] | None:
        if steps_ago == 0:
            stands = self._stands(project, key)
            return (stands["value"], stands["trust"]) if stands else None
        lines = [line for line in self._run(project, "history", "project", key, "--json").json if line["value"]]
        line = lines[-1 - steps_ago]
        return line["value"], line["trust"]

    def evidence(self, project: str, key: str) -> list[tuple[str, bool]]:
        stands = self._stands(project, key)
        assert stands is not None
        told = self._run(project, "why", stands["namespace"], key, "--json").json
        db = self._db()
        living = {row[0] for row in db.execute("select id from events")}
        db.close()
        return [(cited["quote"], cited["event_id"] in living) for cited in told["evidence"]]

    # What a person corrects

    def edit(self, project: str, key: str, value: str) -> None:
        self._run(project, "remember", "project", key, value)

    def reject(self, project: str, key: str) -> None:
        self._run(project, "reject", "project", key, "--reason", "it is not so")

    def forget(self, project: str, key: str) -> None:
        self._run(project, "forget", "project", key, "--yes", "--reason", "private")

    def forget_event(self, project: str, words: str) -> None:
        self._run(project, "forget", "--event", self._event_of_a(words), "--yes", "--reason", "private")

    # What goes on by itself

    def again(self) -> None:
        db = self._db()
        with transaction(db):
            db.execute("update jobs set state = 'queued', due_ms = 0, attempts = 0 where kind = 'distil'")
            db.execute("delete from cursors")
        db.close()
        self._drain()
        self._run("a", "backfill", "--commit")
        self._run("a", "sync")
        self._drain()

    def rebuild(self) -> None:
        self._run("a", "reindex")

    def restart(self) -> None:
        environ = {**os.environ, "HOME": str(self.home)}
        subprocess.run(
            [sys.executable, "-m", "recorder", "drain"],
            env=environ,
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=120,
        )

    def pass_time(self, days: int) -> None:
        later_ms = time.time_ns() // 1_000_000 + days * DAY_MS
        db = self._db()
        made = held.make_loop(self.config)
        Loop(self.config, lambda: later_ms, made.redactor, made.model).everything(db)
        purge.purge(db, 30, actor="test", now_ms=later_ms)
        db.close()

    def export(self, project: str) -> str:
        file = self.home / f"export-{next(self.numbers)}.json"
        self._run(project, "export", str(file), "--project", str(self.folders[project]))
        text = file.read_text()
        file.unlink()
        return text

    def import_(self, project: str, exported: str) -> None:
        """What was exported of one project, taken in as another's where that is meant."""
        db = self._db()
        ids = {name: self._scope(db, name).project_id or "" for name in self.folders}
        db.close()
        for name, folder in self.folders.items():
            exported = exported.replace(ids[name], ids[project]).replace(str(folder), str(self.folders[project]))
        file = self.home / f"import-{next(self.numbers)}.json"
        file.write_text(exported)
        self._run(project, "import", str(file))
        file.unlink()

    def backup(self) -> str:
        return str(self._run("a", "backup", "--json").json["path"])

    def restore(self, backup: str) -> None:
        self._run("a", "restore-backup", backup)

    def places(self, words: str) -> list[str]:
        ours = self.config.home
        files = [path for path in ours.rglob("*") if path.is_file() and ours / "backups" not in path.parents]
        return [str(path.relative_to(ours)) for path in files if words.encode() in path.read_bytes()]

    def refusals(self) -> int:
        return self._count("select count(*) from audit where action = 'refused'")

    def rows(self, project: str, words: str) -> int:
        db = self._db()
        scope = self._scope(db, project)
        found = db.execute(
            "select count(distinct m.id) from memories m join memory_versions v on v.memory_id = m.id"
            " where m.project_id = ? and instr(v.value, ?) > 0",
            (scope.project_id, words),
        )
        count = int(next(iter(found))[0])
        db.close()
        return count

    # Inside

    @property
    def _place(self) -> Place:
        return Place(self.config.home, self.folders["a"], self.folders["b"])

    def _service(self) -> TestClient:
        app = make_app(self.config, lambda: time.time_ns() // 1_000_000)
        return TestClient(app, base_url="http://127.0.0.1:7377")

    def _token(self, project: str) -> dict[str, str]:
        """The headers of who holds a token of the project, minted as a person does."""
        told = self._run(project, "token", "--project", str(self.folders[project]), "--rights", "write")
        return {"Authorization": f"Bearer {told.out.strip()}"}

    def _db(self) -> Connection:
        return connect(self.config.db_path)

    def _count(self, sql: str) -> int:
        db = self._db()
        found = int(next(iter(db.execute(sql)))[0])
        db.close()
        return found

    def _scope(self, db: Connection, project: str) -> Scope:
        found = resolve(db, str(self.folders[project]), now_ms=time.time_ns() // 1_000_000)
        return Scope(found.id if found else None)

    def _stands(self, project: str, key: str) -> dict[str, Any] | None:
        rows = self._run(project, "list", "--limit", "200", "--json").json
        return next((row for row in rows if row["key"] == key), None)

    def _event_of_a(self, words: str) -> str:
        db = self._db()
        found = list(db.execute("select id from events where instr(excerpt, ?) > 0 order by id", (words,)))
        db.close()
        return f"e{found[0][0]}" if found else "e0"

    def _run(self, project: str, *words: str, agent: bool = False, ok: bool = True) -> Said:
        self.monkeypatch.chdir(self.folders[project])
        if agent:
            self.monkeypatch.setenv("CLAUDECODE", "1")
        said = Terminal(self.config.home, self.folders[project], self.monkeypatch, self.capsys).run(*words)
        self.monkeypatch.delenv("CLAUDECODE", raising=False)
        assert said.code == 0 or not ok, said
        return said

    def _drain(self) -> None:
        self._run("a", "drain")

    def _claude(self, project: str) -> Path:
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.folders[project]))
        return self.home / ".claude" / "projects" / slug

    def _prompt(self, text: str, source: str) -> dict[str, str]:
        return {"prompt": text, "source": source}

    def _session(self, project: str, turns: list[dict[str, str]], *, hooks: bool = True) -> None:
        """A session as client 2.1.197 leaves it: hook inputs through the real hook, and a transcript."""
        n = next(self.numbers)
        session = f"{n:08d}-1111-4222-8333-944455566677"
        cwd = str(self.folders[project])
        path = self._claude(project) / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        common = {"session_id": session, "transcript_path": str(path), "cwd": cwd}
        inputs: list[dict[str, Any]] = [common | {"hook_event_name": "SessionStart", "source": "startup"}]
        lines: list[dict[str, Any]] = []
        for m, turn in enumerate(turns):
            at = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
            prompt_id = f"p-{n}-{m}"
            base = {"sessionId": session, "cwd": cwd, "timestamp": at, "promptId": prompt_id, "isSidechain": False}
            if "prompt" in turn:
                inputs.append(
                    common | {"hook_event_name": "UserPromptSubmit", "prompt": turn["prompt"], "prompt_id": prompt_id}
                )
                message = {"role": "user", "content": turn["prompt"]}
                lines.append(
                    base | {"type": "user", "uuid": f"u-{n}-{m}", "promptSource": turn["source"], "message": message}
                )
            else:
                inputs.append(
                    common
                    | {
                        "hook_event_name": "PostToolUse",
                        "tool_name": "Bash",
                        "tool_use_id": f"toolu_{n}_{m}",
                        "tool_input": {"command": turn["command"]},
                        "tool_response": {"stdout": "ok", "stderr": "", "interrupted": False},
                        "prompt_id": prompt_id,
                    }
                )
            inputs.append(
                common | {"hook_event_name": "Stop", "last_assistant_message": "Done.", "prompt_id": prompt_id}
            )
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        if hooks:
            for fields in [*inputs, common | {"hook_event_name": "SessionEnd", "reason": "other"}]:
                told = subprocess.run(
                    ["/bin/sh", str(ROOT / "hooks" / "capture.sh")],
                    input=json.dumps(fields).encode(),
                    env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
                    capture_output=True,
                    timeout=30,
                )
                assert (told.returncode, told.stdout, told.stderr) == (0, b"", b"")
        else:
            self._run(project, "backfill", "--commit")
        self._drain()
