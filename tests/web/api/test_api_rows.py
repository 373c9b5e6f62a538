"""Lists answer what the document says, of a store with something in every one."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from recorder.config import Config
from recorder.store.db import Connection
from recorder.web import rows, shapes
from tests.web.pages import house


def test_every_list_answers_the_rows_that_the_document_describes(
    person: TestClient, db: Connection, config: Config, own_home: Path
) -> None:
    scope = house.fill(db, config, own_home)
    memory, event = house.at(db, scope, "rule.tests"), person.get("/api/prompts").json()["items"][0]
    for path, model in (
        ("/api/projects", rows.Projects),
        ("/api/sessions", rows.Sessions),
        ("/api/events", rows.Events),
        ("/api/prompts", rows.Events),
        ("/api/tool-calls", rows.Events),
        ("/api/files", rows.Files),
        ("/api/jobs", rows.Jobs),
        ("/api/review", rows.Waiting),
        (f"/api/memory/project.{scope.project_id}/rule.tests/history", rows.History),
    ):
        answer = person.get(path)
        found = model.model_validate(answer.json())
        assert found.items, path  # type: ignore[attr-defined]
        back = found.model_dump(mode="json", by_alias=True)
        assert back["items"] == answer.json()["items"], path
    for path, one in (
        ("/api/sessions/s1", rows.OneSession),
        (f"/api/hits?id=m{memory.id}&id=e{event['id']}", rows.Read),
        (f"/api/hits/e{event['id']}/timeline", rows.Around),
        (f"/api/hits/e{event['id']}/why", rows.WhyEvent),
        (f"/api/hits/m{memory.id}/why", shapes.Why),
    ):
        answer = person.get(path + ("&" if "?" in path else "?") + f"project={scope.project_id}")
        assert answer.status_code == 200, answer.text
        assert one.model_validate(answer.json()).model_dump(mode="json", by_alias=True) == answer.json(), path
