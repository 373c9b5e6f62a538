"""Recall over HTTP: filters, pages, rows, and what goes on from an id."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from recorder.models import Scope
from recorder.recall import fence
from recorder.store.db import Connection
from tests.memory_samples import NOW_MS, add_event, add_failed_call, add_memory


@pytest.fixture
def known(db: Connection, ours: str, theirs: str) -> dict[str, str]:
    """A failed call of ours with a memory that stands on it, a long one, and a call of theirs."""
    scope = Scope(ours)
    failed = add_failed_call(db, scope, "Bash: make lib/loom.py … error: no yarn")
    said = add_event(db, scope, "then fetch the yarn for the loom", session="loom", at_ms=NOW_MS + 1000)
    long = add_event(db, scope, "loom " + "語" * 900, session="long", at_ms=NOW_MS - 90 * 86_400_000)
    memory = add_memory(db, scope, "fix.loom", "Fetch yarn before the loom.", cites=[failed])
    other = add_event(db, Scope(theirs), "theirs in lib/loom.py", session="theirs", narrow="lib/loom.py", ok=False)
    made = {"failed": failed, "said": said, "long": long, "other": other}
    return {name: f"e{n}" for name, n in made.items()} | {"memory": f"m{memory.id}"}


def found(home: TestClient, project: str, **params: Any) -> list[str]:
    answer = home.get("/api/search", params={"project": project, **params})
    assert answer.status_code == 200, answer.text
    return [hit["id"] for hit in answer.json()["hits"]]


def test_filters_narrow_a_question_and_list_without_one(home: TestClient, ours: str, known: dict[str, str]) -> None:
    concerned = {known["failed"], known["memory"]}
    for given in (
        {"tool": "bash", "failed": True},
        {"file": "lib/loom.py"},
        {"branch": "feature/loom"},
        {"session": "loom", "failed": True, "since": "2026-09-21", "until": "2026-09-21"},
    ):
        assert set(found(home, ours, **given)) == concerned, given
        assert found(home, ours, q="loom yarn", **given) == [known["memory"]], given
    assert found(home, ours, session="loom", trust="verified") == [known["memory"]]
    assert found(home, ours, session="loom", kind=["prompt", "semantic"], order="newest") == [
        known["said"],
        known["memory"],
    ]
    assert found(home, ours, until="2026-07") == [known["long"]]
    pages = [id for at in range(0, 8, 2) for id in found(home, ours, order="oldest", limit=2, offset=at)]
    assert pages[0] == known["long"] and len(set(pages)) == len(pages) == 4


def test_rows_are_compact_and_misses_stand_apart(home: TestClient, ours: str, known: dict[str, str]) -> None:
    answer = home.get("/api/search", params={"project": ours, "q": "loom", "compact": True}).json()
    assert answer["rows"] and "hits" not in answer and "text" not in answer
    assert all(fence.tokens(row) <= 60 for row in answer["rows"])
    asked = "which certificate authority signs the firmware of the yarn routers in Lisbon?"
    answer = home.get("/api/search", params={"project": ours, "q": asked}).json()
    assert answer["hits"] == answer["rows"] == [] and 0 < len(answer["misses"]) <= 3


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"q": "  "},
        {"q": "x", "since": "soon"},
        {"q": "x", "until": "unknown"},
        {"q": "x", "kind": "nonsense"},
        {"q": "x", "trust": "disputed"},
        {"q": "x", "order": "best"},
        {"q": "x", "offset": -1},
        {"q": "x", "failed": "perhaps"},
        {"q": "x", "file": ""},
    ],
    ids=str,
)
def test_a_bad_parameter_is_named_with_400(home: TestClient, params: dict[str, Any]) -> None:
    answer = home.get("/api/search", params=params)
    assert answer.status_code == 400
    wrong = [name for name in params if name != "q"] or ["q"]
    assert wrong[0] in answer.json()["error"]["message"]


def test_ids_of_both_sorts_are_read_on(home: TestClient, ours: str, known: dict[str, str]) -> None:
    here = {"project": ours}
    read = home.get("/api/hits", params={**here, "id": [known["long"], known["memory"], "e999999"]}).json()
    assert [hit["id"] for hit in read["hits"]] == [known["long"], known["memory"]]
    assert len(read["hits"][0]["text"]) > 900 and read["text"].startswith("<recorder-memory ")
    for id in (known["failed"], known["memory"]):
        around = home.get(f"/api/hits/{id}/timeline", params=here).json()
        assert [hit["id"] for hit in around["hits"]] == [known["failed"], known["said"]]
        assert all(fence.tokens(row) <= 60 for row in around["rows"])
    assert home.get(f"/api/hits/{known['memory']}/why", params=here).json()["evidence"][0]["quote"]
    of_event = home.get(f"/api/hits/{known['failed']}/why", params=here).json()
    assert of_event["sources"] == ["hook"] and of_event["memories"][0]["id"] == known["memory"]


def test_nothing_reaches_into_another_project(home: TestClient, ours: str, known: dict[str, str]) -> None:
    here = {"project": ours}
    theirs, unknown = (
        home.get("/api/search", params={**here, "session": session}).json() for session in ("theirs", "nobody")
    )
    assert theirs == unknown and theirs["hits"] == []
    for address in ("/api/hits?id={}&project={}", "/api/hits/{}/timeline?project={}", "/api/hits/{}/why?project={}"):
        answers = [home.get(address.format(id, ours)) for id in (known["other"], "e999999", "nothing")]
        assert {answer.status_code for answer in answers} == {404}, address
        assert len({answer.text.replace(known["other"], "e999999") for answer in answers[:2]}) == 1


def test_the_page_of_memories_narrows_as_the_search_does(person: TestClient, ours: str, known: dict[str, str]) -> None:
    assert person.get("/memories", params={"q": "loom yarn"}).text.count("data-item") >= 2
    narrowed = person.get("/memories", params={"q": "loom yarn", "tool": "Bash", "failed": "yes", "order": "newest"})
    assert narrowed.text.count(" data-item") == 1 and "fix.loom" in narrowed.text
    assert 'name="tool" value="Bash"' in narrowed.text and "checked" in narrowed.text
    assert person.get("/memories", params={"q": "loom", "since": "soon"}).status_code == 400
