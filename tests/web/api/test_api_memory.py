"""Memories over HTTP: written, read, corrected, linked."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from recorder import gate
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope
from recorder.store.db import Connection
from recorder.store.tokens import Rights
from recorder.web import shapes
from tests.makers import T0
from tests.web.asking import minted

KEYS = ["command.test", "a/b", "a/history", "/", "a..b", "a b", "ключ", "100%", "a?b=c", "a#b", "_import", "stats"]


def put(client: TestClient, key: str, value: str, **more: object) -> dict[str, object]:
    answer = client.post("/api/memory", json={"namespace": "user", "key": key, "value": value, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()["memory"]  # type: ignore[no-any-return]


def at(key: str) -> str:
    return "/api/memory/user/" + "".join(f"%{byte:02X}" for byte in key.encode())


@pytest.mark.parametrize("key", KEYS)
def test_a_memory_is_written_read_changed_deleted_and_restored_whatever_its_key(home: TestClient, key: str) -> None:
    put(home, key, "I drink tea")
    read = home.get(at(key))
    assert read.json()["key"] == key and read.headers["etag"] == '"1"'
    changed = home.patch(at(key), json={"value": "I drink mate"}, headers={"If-Match": read.headers["etag"]})
    assert changed.status_code == 200 and changed.headers["etag"] == '"2"'
    assert home.get("/api/search", params={"q": "drink"}).json()["hits"][0]["text"] == "I drink mate"
    actions = [line["action"] for line in home.get(at(key) + "/history").json()["items"]]
    assert actions == ["created", "superseded"]
    assert [one["quote"] for one in home.get(at(key) + "/why").json()["evidence"]] == ["I drink mate"]
    assert home.delete(at(key)).json()["action"] == "deleted"
    assert home.get("/api/memory").json()["items"] == []
    assert home.post(at(key) + "/restore").json()["action"] == "restored"
    assert [one["key"] for one in home.get("/api/memory").json()["items"]] == [key]
    assert home.get(at(key) + "/refs").json()["wrote"][0]["who"] == "api: api:home"


UNSEEN = ["a\0b", "a\nb", "\u202eabc", "a\u200bb", ".", "..", " a", "a" * 201, "\x1f"]


@pytest.mark.parametrize("key", UNSEEN, ids=repr)
def test_a_key_that_cannot_be_seen_or_named_is_refused_and_not_mended_into_another(
    home: TestClient, person: TestClient, db: Connection, key: str
) -> None:
    for client in (home, person):
        answer = client.post("/api/memory", json={"namespace": "user", "key": key, "value": "I drink tea"})
        assert answer.status_code == 400, answer.text
    assert list(db.execute("select 1 from memories")) == []


def test_an_address_with_our_own_sign_for_a_slash_names_nothing(home: TestClient) -> None:
    put(home, "a/b", "I drink tea")
    assert home.get("/api/memory/user/a%2Fb").status_code == 200
    assert home.get("/api/memory/user/a%1Fb").status_code == 400


def test_what_is_written_is_kept_as_it_is_or_refused(home: TestClient) -> None:
    assert put(home, "k", "I drink tea", tags=["", " ", "x"])["tags"] == ["x"]
    for body in ({"value": "a\0b"}, {"value": "a", "tags": ["\0"]}):
        answer = home.post("/api/memory", json={"namespace": "user", "key": "n", **body})
        assert answer.status_code == 400 and "NUL" in answer.json()["error"]["message"]
    long = "user." + "x" * 200
    assert home.post("/api/memory", json={"namespace": long, "key": "n", "value": "a"}).status_code == 400
    itself = home.post(at("k") + "/relations", json={"relation": "x", "to_key": "k"})
    assert (itself.status_code, itself.json()["error"]["code"]) == (400, "relation")


def test_a_change_meant_for_another_version_is_409_with_what_stands_there(home: TestClient) -> None:
    put(home, "k", "I drink tea")
    for answer in (
        home.patch(at("k"), json={"value": "x y z"}, headers={"If-Match": '"7"'}),
        home.patch(at("k"), json={"value": "x y z", "expected_version": 7}),
        home.post("/api/memory", json={"namespace": "user", "key": "k", "value": "x y z", "expected_version": 0}),
        home.delete(at("k"), headers={"If-Match": '"7"'}),
        home.delete(at("k"), params={"expected_version": 7}),
    ):
        assert answer.status_code == 409 and answer.json()["error"]["code"] == "conflict"
        assert answer.json()["current"]["value"] == "I drink tea" and answer.json()["current"]["version"] == 1
    assert home.get(at("k")).json()["value"] == "I drink tea"
    assert home.delete(at("k"), headers={"If-Match": '"1"'}).status_code == 200
    for wrong in ("1x", 'W/"1"', "-1", '""', "9" * 30):
        assert home.delete(at("k"), headers={"If-Match": wrong}).status_code == 400


def test_labels_and_dates_change_by_themselves_and_the_words_stay(person: TestClient, home: TestClient) -> None:
    assert put(home, "k", "I drink tea", tags=["home"])["trust"] == "candidate"
    given = {"tags": ["kitchen"], "kind": "preference", "importance": 0.9, "valid_to": "2031-05", "expires": "30d"}
    assert home.patch(at("k"), json={**given, "expected_version": 7}).status_code == 409
    changed = home.patch(at("k"), json=given, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.json()["action"], changed.headers["etag"]) == (200, "labelled", '"2"')
    now = home.get(at("k")).json()
    assert {name: now[name] for name in ("value", "trust", "tags", "kind", "importance")} == {
        "value": "I drink tea",
        "trust": "candidate",
        "tags": ["kitchen"],
        "kind": "preference",
        "importance": 0.9,
    }
    assert now["valid_to_precision"] == "month" and now["expires_ms"] is not None
    ended = home.patch(at("k"), json={"valid_to": "unknown", "expires": "never"}).json()["memory"]
    assert (ended["valid_to_ms"], ended["valid_to_precision"], ended["expires_ms"]) == (None, "unknown", None)
    assert home.get("/api/search", params={"q": "drink tea"}).json()["hits"] == []
    assert home.patch(at("k"), json={"valid_to": "open"}).json()["memory"]["valid_to_precision"] is None
    assert home.get("/api/search", params={"q": "drink tea"}).json()["hits"][0]["text"] == "I drink tea"
    assert home.patch(at("k"), json={"value": "I drink tea", "tags": []}).json()["memory"]["tags"] == []
    assert home.patch(at("k"), json={"tags": []}).json()["action"] == "unchanged"
    assert [line["action"] for line in home.get(at("k") + "/history").json()["items"]] == ["created", *["labelled"] * 4]
    person.post(at("k") + "/approve")
    asked = home.patch(at("k"), json={"tags": ["mine"]})
    assert (asked.status_code, asked.json()["action"]) == (202, "finding")
    assert person.patch(at("k"), json={"tags": ["ours"]}).json()["memory"]["trust"] == "verified"
    for wrong in ({}, {"pinned": True, "tags": []}, {"valid_to": "soon"}, {"valid_from": "2031", "valid_to": "2030"}):
        assert home.patch(at("k"), json=wrong).status_code == 400, wrong
    assert person.patch(at("k"), json={"pinned": True, "expected_version": 1}).status_code == 409


def test_other_words_keep_what_is_left_out_an_expiry_too(person: TestClient, home: TestClient) -> None:
    put(home, "k", "I drink tea", tags=["home"], expires="30d")
    expires_ms = home.get(at("k")).json()["expires_ms"]
    said = home.patch(at("k"), json={"value": "I drink mate"}).json()["memory"]
    assert (said["tags"], said["expires_ms"]) == (["home"], expires_ms) and expires_ms is not None
    edited = person.post("/api/review", json={"id": f"m{said['id']}", "verb": "edit", "value": "Cocoa", "reason": "so"})
    assert edited.status_code == 200 and home.get(at("k")).json()["expires_ms"] == expires_ms
    assert home.patch(at("k"), json={"value": "Milk", "expires": "never"}).status_code == 202
    assert person.patch(at("k"), json={"value": "Milk", "expires": "never"}).json()["memory"]["expires_ms"] is None


def test_every_verb_is_bound_to_the_words_that_were_read(person: TestClient) -> None:
    put(person, "k", "I drink tea")
    read = person.get(at("k")).headers["x-recorder-digest"]
    changed = person.patch(at("k"), json={"value": "I drink mate"})
    assert changed.headers["x-recorder-digest"] != read
    for verb, more in (
        ("approve", {}),
        ("reject", {"reason": "no"}),
        ("revert", {"version": 1, "reason": "no"}),
        ("lift", {}),
        ("restore", {}),
        ("forget", {}),
        ("forget", {"dry_run": True}),
    ):
        answer = person.post(f"{at('k')}/{verb}", json={"expected_digest": read, **more})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict"), verb
        assert answer.json()["current"]["value"] == "I drink mate"
        late = person.post(f"{at('k')}/{verb}", json={"expected_version": 1, **more})
        assert late.status_code == 409, verb
    assert person.delete(at("k"), params={"expected_digest": read}).status_code == 409
    assert person.get(at("k")).json()["value"] == "I drink mate"
    now = changed.headers["x-recorder-digest"]
    assert person.post(at("k") + "/reject", json={"reason": "no", "expected_digest": now}).status_code == 200


def test_what_is_written_with_a_token_is_a_candidate_and_a_token_overrules_no_person(
    home: TestClient, db: Connection
) -> None:
    assert put(home, "k", "I drink tea")["trust"] == "candidate"
    said = Proposal("user", "rule", "Never deploy on Friday", MemoryKind.PREFERENCE, Origin.USER_SAID, "terminal")
    gate.tell(db, said, gate.Writer(Channel.PERSON, "terminal", Scope(None), T0))
    changed = home.patch(at("rule"), json={"value": "Always deploy on Friday"})
    assert changed.status_code == 202 and changed.json()["action"] == "finding"
    deleted = home.delete(at("rule"))
    assert deleted.status_code == 202 and deleted.json()["action"] == "finding"
    assert home.get(at("rule")).json()["value"] == "Never deploy on Friday"
    assert len([one for one in home.get("/api/review").json()["items"] if one["id"].startswith("f")]) == 2
    for verb, body in (
        ("approve", {}),
        ("reject", {"reason": "no"}),
        ("lift", {}),
        ("forget", {}),
        ("revert", {"version": 1, "reason": "no"}),
    ):
        refused = home.post(f"{at('rule')}/{verb}", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ceiling"), verb
    assert home.patch(at("rule"), json={"pinned": True}).json()["error"]["code"] == "ceiling"
    finding = next(one["id"] for one in home.get("/api/review").json()["items"] if one["id"].startswith("f"))
    decided = home.post("/api/review", json={"id": finding, "verb": "keep_new", "reason": "I say so"})
    assert (decided.status_code, decided.json()["error"]["code"]) == (403, "ceiling")


def test_a_person_approves_rejects_lifts_reverts_pins_and_forgets(person: TestClient) -> None:
    put(person, "k", "I drink tea")
    assert person.get(at("k")).json()["trust"] == "verified"
    assert person.patch(at("k"), json={"value": "I drink mate"}).json()["memory"]["trust"] == "verified"
    assert (
        person.post(at("k") + "/revert", json={"version": 1, "reason": "it was right"}).json()["action"] == "reverted"
    )
    assert person.patch(at("k"), json={"pinned": True}).json()["memory"]["pinned"] is True
    assert person.post(at("k") + "/reject", json={"reason": "I never said so"}).json()["action"] == "rejected"
    again = person.get("/api/search", params={"q": "drink tea"}).json()
    assert [hit for hit in again["hits"] if hit["type"] == "memory"] == []
    assert person.post(at("k") + "/lift").json()["memory"]["trust"] == "candidate"
    assert person.post(at("k") + "/approve", json={"expected_version": 1}).status_code == 409
    assert person.post(at("k") + "/approve").json()["memory"]["trust"] == "verified"
    planned = person.post(at("k") + "/forget", json={"dry_run": True}).json()
    assert planned["action"] == "preview" and planned["reached"]["memories"] == 1
    assert person.get(at("k")).status_code == 200
    assert person.post(at("k") + "/forget").json()["action"] == "forgotten"
    assert person.get(at("k")).status_code == 404 and "drink tea" not in person.get("/api/memory/export").text


def test_what_is_wrong_with_a_decision_is_told_and_changes_nothing(home: TestClient, person: TestClient) -> None:
    number = put(home, "k", "I drink tea")["id"]
    long = {"id": f"m{number}", "verb": "edit", "reason": "x", "value": "z" * 8_001}
    answer = person.post("/api/review", json=long)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "size")
    assert person.post(at("k") + "/reject", json={"reason": "  "}).status_code == 400
    assert person.post("/api/review", json={"id": f"m{number}", "verb": "reject", "reason": " "}).status_code == 400
    assert home.get(at("k")).json()["version"] == 1


def test_a_rejected_value_is_refused_from_a_token_in_every_form(home: TestClient, db: Connection) -> None:
    put(home, "k", "The queue runs on Redis")
    gate.reject(db, "user", "k", gate.Writer(Channel.PERSON, "terminal", Scope(None), T0), reason="it never did")
    again = home.post("/api/memory", json={"namespace": "user", "key": "other", "value": "the queue runs  on REDIS"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "tombstone")


def test_what_was_rejected_in_a_project_is_not_said_there_again_through_the_person(
    home: TestClient, person: TestClient, ours: str, theirs: str, db: Connection
) -> None:
    said = {"namespace": f"project.{ours}", "key": "fact.b", "value": "The wallaby deploys at noon"}
    assert home.post("/api/memory", json=said).status_code == 201
    reject = person.post(f"/api/memory/project.{ours}/fact.b/reject", json={"reason": "it does not"})
    assert reject.status_code == 200
    again = said | {"namespace": "user", "key": "fact.z"}
    assert home.post("/api/memory", json=again).json()["error"]["code"] == "tombstone"
    elsewhere = home.post("/api/memory", json=again, params={"project": theirs})
    assert elsewhere.status_code == 201, "what another project's says of the person is told there alone"
    asked = {"q": "wallaby deploys", "project": ours}
    assert home.get("/api/search", params=asked).json()["hits"] == []
    assert person.post("/api/memory", json=again).json()["memory"]["trust"] == "verified"


def test_memories_are_listed_a_page_at_a_time_each_once(home: TestClient) -> None:
    for number in range(7):
        put(home, f"k{number}", f"The number of cups is {number}", tags=["cups"] if number % 2 else [])
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = home.get("/api/memory", params={"limit": 3} | ({"cursor": cursor} if cursor else {})).json()
        seen += [one["key"] for one in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(seen) == [f"k{number}" for number in range(7)] and len(seen) == 7
    assert len(home.get("/api/memory", params={"tag": "cups"}).json()["items"]) == 3
    assert home.get("/api/memory", params={"namespace": "user.other"}).json()["items"] == []
    assert home.get("/api/memory/stats").json()["total"] == 7
    for wrong in ("x", "####", "ï", "OTk5"):
        assert home.get("/api/memory", params={"cursor": wrong}).status_code == 400


def test_answers_are_what_the_document_says_they_are(home: TestClient, person: TestClient) -> None:
    for key, value in (("k", "I drink tea"), ("n", "The kettle is green")):
        put(home, key, value)
    assert home.post(at("k") + "/relations", json={"relation": "needs", "to_key": "n"}).status_code == 201
    read, number = home.get(at("k")), home.get(at("n")).json()["id"]
    decision = {"id": f"m{number}", "verb": "approve", "reason": "so it is"}
    for model, answer in (
        (shapes.Found, home.get("/api/search", params={"q": "drink tea"})),
        (shapes.Found, home.get("/api/search", params={"q": "drink tea", "compact": True})),
        (shapes.Why, home.get(at("k") + "/why")),
        (shapes.Near, home.get(at("k") + "/neighbors")),
        (shapes.Used, home.get(at("k") + "/refs")),
        (shapes.Counts, home.get("/api/memory/stats")),
        (shapes.Told, home.patch(at("k"), json={"tags": ["x"]})),
        (shapes.Decided, person.post("/api/review", json=decision)),
        (shapes.Erased, person.post(at("k") + "/forget", json={"dry_run": True})),
        (shapes.Erased, person.post(at("k") + "/forget")),
    ):
        held = model.model_validate(answer.json())
        assert answer.json().keys() <= {field.alias or name for name, field in model.model_fields.items()}, held
    assert read.status_code == 200


def test_memories_are_linked_seen_from_each_other_and_unlinked(home: TestClient) -> None:
    put(home, "cause", "The disk was full")
    put(home, "effect", "The night build failed")
    made = home.post(at("effect") + "/relations", json={"relation": "explained by", "to_key": "cause"})
    assert made.status_code == 201
    near = home.get(at("cause") + "/neighbors", params={"depth": 2}).json()
    assert [one["relation"] for one in near["links"]] == ["explained by"]
    assert [one["key"] for one in near["memories"]] == ["effect"]
    link = made.json()["id"]
    assert home.delete(f"{at('effect')}/relations/{link + 1}").status_code == 404
    assert home.delete(f"{at('effect')}/relations/{link}").status_code == 200
    assert home.get(at("cause") + "/neighbors").json()["links"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"key": "k"},
        {"value": "v"},
        {"key": "", "value": "v"},
        {"key": "k", "value": ""},
        {"key": "k", "value": 7},
        {"key": ["k"], "value": "v"},
        {"key": "k", "value": "v", "kind": "other"},
        {"key": "k", "value": "v", "tags": "a,b"},
        {"key": "k", "value": "v", "importance": 7},
        {"key": "k", "value": "v", "valid_from": "yesterday"},
        {"key": "k", "value": "v", "expires": "soon"},
        {"key": "k", "value": "v", "expected_version": -1},
        {"key": "k", "value": "v", "trust": "verified"},
        {"key": "k", "value": "v", "channel": "person"},
        {"key": "k", "value": "v" * 20_001},
        {"key": "k", "value": "v " * 5_000},
    ],
    ids=lambda body: str(body)[:60],
)
def test_a_memory_that_cannot_be_one_is_400_and_says_why(home: TestClient, body: dict[str, object]) -> None:
    answer = home.post("/api/memory", json={"namespace": "user", **body})
    assert answer.status_code == 400 and answer.json()["error"]["message"]
    assert home.get("/api/memory").json()["items"] == []


def test_an_address_outside_the_scope_answers_like_one_that_does_not_exist(
    client: TestClient, db: Connection, ours: str, theirs: str
) -> None:
    writer = gate.Writer(Channel.PERSON, "terminal", Scope(theirs), T0)
    said = Proposal(
        f"project.{theirs}", "k", "Their build uses Bazel", MemoryKind.SEMANTIC, Origin.USER_SAID, "terminal"
    )
    gate.tell(db, said, writer)
    headers = minted(db, Rights.ADMIN, ours)
    for method, rest in (
        ("GET", ""),
        ("GET", "/history"),
        ("GET", "/why"),
        ("GET", "/refs"),
        ("GET", "/neighbors"),
        ("DELETE", ""),
        ("POST", "/restore"),
    ):
        there = client.request(method, f"/api/memory/project.{theirs}/k{rest}", headers=headers)
        nowhere = client.request(method, f"/api/memory/project.{theirs}/no{rest}", headers=headers)
        assert there.status_code == nowhere.status_code == 404, (method, rest)
        assert there.json()["error"]["message"].replace("/k ", "/no ") == nowhere.json()["error"]["message"]
    written = client.post(
        "/api/memory", headers=headers, json={"namespace": f"project.{theirs}", "key": "k", "value": "v"}
    )
    assert written.status_code == 404
    assert client.get("/api/memory", headers=headers, params={"project": theirs}).status_code == 404
    assert client.get("/api/search", headers=headers, params={"q": "Bazel"}).json()["hits"] == []
    assert client.get("/api/memory/export", headers=headers).text.count("Bazel") == 0


def test_secrets_are_taken_out_before_anything_is_kept(home: TestClient) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    put(home, "k", f"The token is {token} for now", tags=[token])
    assert token not in home.get(at("k")).text + home.get("/api/memory/export").text
