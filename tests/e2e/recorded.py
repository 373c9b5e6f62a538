"""The recorder on somebody's machine, used as its person does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder.models import Memory, Scope, StoredEvent, Trust
from recorder.store import db, events, jobs, memories, sessions
from tests.e2e.client import Machine, records, wait_for


@dataclass(frozen=True)
class Recorder:
    """What is installed on the machine."""

    machine: Machine

    @property
    def home(self) -> Path:
        return self.machine.home / ".recorder"

    def run(self, *arguments: str) -> str:
        """What `recorder …` prints, run at the person's terminal in the project.

        Raises: AssertionError with its words when it fails.
        """
        command = [str(Path(sys.executable).with_name("recorder")), *arguments]
        done = subprocess.run(
            command, cwd=self.machine.project, env=self.machine.env(), capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"recorder {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def woken(self) -> int:
        """How many events stand in the store once a worker, woken by the hooks alone, has taken some in.

        Raises: TimeoutError with the words of its start when none does.
        """
        database, log = self.home / "recorder.db", self.home / "logs" / "wake.log"
        try:
            wait_for(database.exists, "worker woken by the hooks")
            return int(wait_for(lambda: len(self.events()), "event taken in by it"))
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {log.read_text() if log.exists() else 'never started'}") from error

    def settle(self) -> None:
        """Take in all there is, until no turn waits to be distilled."""

        def settled() -> bool:
            self.run("drain")
            with self.store() as connection:
                distil = jobs.counts(connection).get("distil", {})
            return not distil.get("queued") and not distil.get("running")

        wait_for(settled, "every turn distilled")

    @contextmanager
    def store(self) -> Iterator[db.Connection]:
        connection = db.connect_readonly(self.home / "recorder.db")
        try:
            yield connection
        finally:
            connection.close()

    def events(self) -> list[StoredEvent]:
        """Everything stored, session by session."""
        with self.store() as connection:
            known = sessions.listing(connection, limit=1_000)
            return [event for each in known for event in events.of_session(connection, each.id)]

    def memories(self) -> dict[str, Memory]:
        """What stands in the project's scope and the person's own, by key."""
        with self.store() as connection:
            projects = {each.project_id for each in sessions.listing(connection, limit=1_000) if each.project_id}
            (project_id,) = projects
            found = memories.listing(connection, Scope(project_id), limit=1_000, offset=0)
            return {memory.key: memory for memory in found}

    def quotes(self, memory: Memory) -> list[tuple[StoredEvent, str]]:
        """The evidence of a memory: events and what is quoted of each."""
        with self.store() as connection:
            return list(memories.evidence(connection, memory.version_id))

    def about(self, word: str, trust: Trust | None = None) -> list[Memory]:
        """The memories whose value holds the word."""
        return [m for m in self.memories().values() if word in m.value and trust in (None, m.trust)]


def tool_results(machine: Machine) -> list[dict[str, Any]]:
    """Every tool result block in every transcript, copies in forks included."""
    found = []
    for path in machine.transcripts():
        for record in records(path):
            content = (record.get("message") or {}).get("content")
            found += [b for b in content if b.get("type") == "tool_result"] if isinstance(content, list) else []
    return found


def said(event: StoredEvent) -> str:
    """All the words of an event's body, for a quote to stand in."""
    return "\n".join(strings(event.body))


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def hook_records(machine: Machine) -> list[dict[str, Any]]:
    """Whatever hooks left in the transcripts, copies in forks included."""
    return [
        record["attachment"]
        for path in machine.transcripts()
        for record in records(path)
        if str((record.get("attachment") or {}).get("type", "")).startswith(("hook_", "async_hook"))
    ]
