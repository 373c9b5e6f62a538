"""A store with something on every page, served to a browser."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from recorder import gate
from recorder.config import Config
from recorder.gate import conflicts
from recorder.models import Channel, Memory, MemoryKind, Project, Scope
from recorder.store import health, jobs, memories, projects, sessions
from recorder.store.db import Connection, transaction
from recorder.web import serve
from recorder.web.app import make_app
from tests.makers import T0, bash, event_of, hook_input, prompt, stop, take
from tests.memory_samples import add_memory

NOW_MS = T0 + 3_600_000
SECRET = "AKIA" + "ABCDEFGH234567YZ"


def fill(db: Connection, config: Config, folder: Path) -> Scope:
    """One session with a failure, a subagent, a redaction and an edit; memories of every kind and trust."""
    project = Project("shop-1a2b3c4d", f"root:{folder}", str(folder), "shop")
    other = Project("blog-5e6f7a8b", f"root:{folder}-2", f"{folder}-2", "blog")
    with transaction(db):
        projects.bind(db, project, T0)
        projects.bind(db, other, T0)
        health.record_since(db, T0 - 1)
    cwd = str(folder)
    path = f"{folder}/src/parser.py"
    write = {"file_path": path, "old_string": "a", "new_string": "b"}
    given = [
        hook_input("SessionStart", cwd=cwd, source="startup"),
        prompt("Always run the tests with uv run pytest -q. Then mend the failing parser test.", cwd=cwd),
        bash("uv run pytest -q", "12 passed in 0.4s\n" * 40, cwd=cwd),
        hook_input(
            "PostToolUseFailure",
            cwd=cwd,
            tool_name="Bash",
            tool_use_id="toolu_2",
            tool_input={"command": "uv run ruff check ."},
            error="Exit code 1\nE501 Line too long",
            prompt_id="p1",
        ),
        hook_input(
            "PostToolUse",
            cwd=cwd,
            tool_name="Edit",
            tool_use_id="toolu_3",
            tool_input=write,
            tool_response={"filePath": path},
            prompt_id="p1",
            duration_ms=3,
        ),
        bash("grep -rn parser src", "src/parser.py:1: def parse", use="toolu_4", cwd=cwd, agent_id="agent-7"),
        bash(f"export AWS_ACCESS_KEY_ID={SECRET}", "", use="toolu_5", cwd=cwd),
        stop(cwd=cwd),
        prompt("Deploy it to staging, please.", prompt_id="p2", cwd=cwd),
        stop(prompt_id="p2", cwd=cwd, last_assistant_message="It is on staging."),
    ]
    events = [event_of(fields, at_ms=T0 + n * 1_000) for n, fields in enumerate(given)]
    take(db, config, events)
    with transaction(db):
        sessions.entitle(db, "s1", "Mend the parser test")
    scope = Scope(project.id)
    (cited,) = [row[0] for row in db.execute("select id from events where kind = 'prompt' and prompt_id = 'p1'")]
    add_memory(
        db, scope, "command.test", "Run the tests with uv run pytest -q", kind=MemoryKind.PROCEDURAL, tags=("tests",)
    )
    add_memory(
        db,
        scope,
        "rule.tests",
        "Always run the tests with uv run pytest -q. Then mend the failing parser test.",
        cites=[cited],
        channel=Channel.USER_SAID,
    )
    add_memory(
        db, scope, "preference.answers", "Answer in short sentences", namespace="user", kind=MemoryKind.PREFERENCE
    )
    add_memory(db, scope, "fact.queue", "We queue jobs in SQLite for the workers", channel=Channel.AGENT)
    add_memory(db, scope, "fact.cache", "Caching is enabled in staging", channel=Channel.AGENT)
    add_memory(db, scope, "note.cache", "Caching is disabled in staging", channel=Channel.AGENT, at_ms=NOW_MS - 5_000)
    add_memory(db, scope, "style.one", "Format the code with ruff before a commit")
    add_memory(db, scope, "style.two", "Format code with ruff before commits")
    add_memory(db, Scope(other.id), "fact.site", "The site is built with Jinja")
    person = gate.Writer(Channel.PERSON, "terminal", scope, NOW_MS - 2_000)
    gate.link(
        db,
        (f"project.{scope.project_id}", "rule.tests"),
        (f"project.{scope.project_id}", "command.test"),
        "refines",
        person,
    )
    conflicts.sweep(db, NOW_MS - 1_000)
    agent = gate.Writer(Channel.AGENT, "task:s1", scope, NOW_MS - 900)
    gate.delete(db, f"project.{scope.project_id}", "command.test", agent, reason="it looks unused")
    jobs.ask(db, "distil", "s1 p1", due_ms=NOW_MS - 60_000, now_ms=NOW_MS - 60_000)
    with transaction(db):
        memories.note_ref(db, at(db, scope, "rule.tests").id, "shown", "brief", "s1", NOW_MS - 500)
    return scope


def at(db: Connection, scope: Scope, key: str) -> Memory:
    """The project's memory under a key, as it stands."""
    found = memories.find(db, f"project.{scope.project_id}", key)
    assert found is not None, key
    return found


@contextmanager
def serving(config: Config) -> Iterator[str]:
    """The address of the service over a home, for as long as it is looked at."""
    listener = socket.socket()
    listener.bind((serve.HOST, 0))
    listener.listen()
    app = make_app(config, lambda: NOW_MS)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://{serve.HOST}:{listener.getsockname()[1]}"
    finally:
        app.state.stopping.set()
        server.should_exit = True
        thread.join(timeout=10)


def link(config: Config, address: str) -> str:
    """The address that lets a browser in once."""
    return serve.login_url(config.home, serve.Running(os.getpid(), int(address.rpartition(":")[2])))
