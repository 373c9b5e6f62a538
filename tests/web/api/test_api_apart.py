"""What the reader of one project is told of a memory that another project brought about the person."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recorder import gate
from recorder.config import Config
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope
from recorder.store import memories
from recorder.store.db import Connection
from recorder.store.tokens import Rights
from tests.makers import T0, event_of, prompt, take
from tests.web.asking import minted

KEY = "preference.indentation"


@pytest.fixture
def number(db: Connection, config: Config, own_home: Path, ours: str, theirs: str) -> int:
    """The id of a memory a task of the other project wrote, and a person approved."""
    take(db, config, [event_of(prompt("tabs", session="s-theirs", cwd=str(own_home / "elsewhere")))])
    task = gate.Writer(Channel.AGENT, "task:s-theirs", Scope(theirs), T0)
    said = Proposal(
        "user", KEY, "I prefer tabs", MemoryKind.PREFERENCE, Origin.ASSISTANT_SAID, "task:s-theirs", explicit=True
    )
    assert gate.tell(db, said, task, session_id="s-theirs").action == "created"
    person = gate.Writer(Channel.PERSON, "terminal", Scope(theirs), T0 + 1)
    why = f"better than project.{theirs}/style.spaces"
    assert gate.approve(db, "user", KEY, person, reason=why).action == "approved"
    memory = memories.find(db, "user", KEY)
    assert memory is not None
    memories.note_ref(db, memory.id, "read", "task:s-theirs", "s-theirs", T0 + 2)
    return memory.id


def test_no_answer_about_a_memory_names_the_other_project_or_a_session_of_it(
    client: TestClient, db: Connection, ours: str, theirs: str, number: int
) -> None:
    headers = minted(db, Rights.READ, ours)
    own = minted(db, Rights.READ, theirs)
    one = f"/api/memory/user/{KEY}"
    for path in (
        *("/api/memory", one, f"{one}/why", f"{one}/history", f"{one}/refs", f"{one}/neighbors"),
        *(f"/api/hits?id=m{number}", f"/api/hits/m{number}/why", f"/api/hits/m{number}/timeline"),
        *("/api/search?q=tabs", "/api/search?kind=preference", "/api/review", "/api/audit", "/api/stats"),
    ):
        answer = client.get(path, headers=headers)
        assert theirs not in answer.text and "s-theirs" not in answer.text, path
    mine = client.get(f"{one}/history", headers=own).json()["items"]
    assert [line["actor"] for line in mine] == ["task:s-theirs", "terminal"]
    assert mine[1]["reason"] == f"better than project.{theirs}/style.spaces"
    assert client.get(one, headers=own).json()["source"] == "task:s-theirs"
    assert client.get(one, headers=own).json()["home_project_id"] == theirs


def test_a_write_that_changes_nothing_does_not_name_the_other_project_either(
    client: TestClient, db: Connection, ours: str, theirs: str, number: int
) -> None:
    headers = minted(db, Rights.WRITE, ours)
    said = {"namespace": "user", "key": KEY, "value": "I prefer spaces"}
    for answer in (
        client.post("/api/memory", json=said, headers=headers),
        client.post("/api/memory", json=said | {"expected_version": 1}, headers=headers),
        client.delete(f"/api/memory/user/{KEY}", headers=headers),
    ):
        assert theirs not in answer.text and "s-theirs" not in answer.text, answer.text
