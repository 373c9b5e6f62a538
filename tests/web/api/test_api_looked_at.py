"""What was looked at is what is decided about: to the letter, and as it is wished for now."""

from __future__ import annotations

import html
import re

import pytest
from starlette.testclient import TestClient

from recorder.store.db import Connection
from recorder.store.tokens import Rights
from tests.web.api.test_api_memory import at, put
from tests.web.asking import form_token, minted


def card(page: str, name: str) -> dict[str, str]:
    """What the form of one card on the review carries."""
    form = page[page.index(f'action="/review/{name}"') :].partition("</form>")[0]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))


def waiting(client: TestClient, kind: str) -> list[dict[str, object]]:
    return [one for one in client.get("/api/review").json()["items"] if one["kind"] == kind]


def test_a_command_that_changed_by_one_letters_case_is_not_the_one_that_was_looked_at(
    home: TestClient, person: TestClient
) -> None:
    number = put(home, "command.br", "clean up with git branch -d old")["id"]
    seen = card(person.get("/review").text, f"m{number}")
    read = person.get(at("command.br")).headers["x-recorder-digest"]
    home.patch(at("command.br"), json={"value": "something quite else here"})
    home.patch(at("command.br"), json={"value": "clean up with git branch -D old"})

    pressed = person.post(f"/review/m{number}", data={**seen, "verb": "approve", "reason": "yes"})
    assert pressed.status_code == 409 and "says something else by now" in pressed.text
    assert person.post(at("command.br") + "/approve", json={"expected_digest": read}).status_code == 409
    decision = {"id": f"m{number}", "verb": "approve", "reason": "yes", "expected_digest": read}
    assert person.post("/api/review", json=decision).status_code == 409
    assert home.get(at("command.br")).json()["trust"] == "candidate"

    again = card(pressed.text, f"m{number}")
    assert person.post(f"/review/m{number}", data={**again, "verb": "approve", "reason": "yes"}).status_code == 303
    assert home.get(at("command.br")).json()["trust"] == "verified"


def test_a_conflict_is_not_settled_where_what_stands_changed_by_one_letters_case(
    home: TestClient, person: TestClient
) -> None:
    put(person, "command.br", "clean up with git branch -d old")
    home.patch(at("command.br"), json={"value": "never clean up"})
    (finding,) = waiting(person, "conflict")
    read = finding["old"]["digest"]  # type: ignore[index]
    person.patch(at("command.br"), json={"value": "clean up with git branch -D old"})
    decision = {"id": finding["id"], "verb": "keep_old", "reason": "yes", "expected_digest": read}
    assert person.post("/api/review", json=decision).status_code == 409


def test_words_are_written_only_over_the_words_that_were_read(home: TestClient, person: TestClient) -> None:
    put(person, "k", "I drink tea")
    read = person.get(at("k")).headers["x-recorder-digest"]
    person.patch(at("k"), json={"value": "I drink TEA", "expected_digest": read})
    for body in ({"value": "I drink mate"}, {"tags": ["x"]}, {"pinned": True}):
        assert person.patch(at("k"), json={**body, "expected_digest": read}).status_code == 409, body
    over = {"namespace": "user", "key": "k", "value": "I drink mate", "expected_digest": read}
    assert person.post("/api/memory", json=over).status_code == 409
    assert person.get(at("k")).json()["value"] == "I drink TEA"


def test_a_wish_for_dates_that_would_hold_at_no_time_is_not_granted(home: TestClient, person: TestClient) -> None:
    put(person, "k", "The shop is closed")
    assert home.patch(at("k"), json={"valid_to": "2021"}).status_code == 202
    assert person.patch(at("k"), json={"valid_from": "2022"}).status_code == 200
    (wish,) = waiting(person, "label_proposal")
    granted = person.post("/api/review", json={"id": wish["id"], "verb": "keep_new", "reason": "ok"})
    assert (granted.status_code, granted.json()["error"]["code"]) == (400, "interval")
    assert person.get(at("k")).json()["valid_to_ms"] is None and waiting(person, "label_proposal") == [wish]


def test_a_wish_says_who_wishes_it_and_what_it_would_change_now(home: TestClient, person: TestClient) -> None:
    put(person, "k", "The boat is red", tags=["y"])
    assert home.patch(at("k"), json={"tags": ["z"]}).status_code == 202
    (wish,) = waiting(person, "label_proposal")
    assert (wish["by"], wish["reason"]) == ("api api:home", "tags: y → z")
    assert "Wished by <b>api api:home</b>" in person.get("/review").text
    person.patch(at("k"), json={"tags": ["q"]})
    (wish,) = waiting(person, "label_proposal")
    assert wish["reason"] == "now tags: q → z; when it was wished: tags: y → z"
    person.patch(at("k"), json={"tags": ["z"]})
    assert waiting(person, "label_proposal") == []


def test_a_wish_goes_with_the_words_it_was_about_and_may_come_again_about_others(
    home: TestClient, person: TestClient
) -> None:
    put(person, "k", "The boat is red")
    for words in ("The boat is blue now", "The boat is green now"):
        assert home.patch(at("k"), json={"tags": ["z"]}).status_code == 202
        assert home.delete(at("k")).status_code == 202
        assert len(waiting(person, "label_proposal")) == len(waiting(person, "delete_proposal")) == 1
        person.patch(at("k"), json={"value": words})
        assert waiting(person, "label_proposal") == waiting(person, "delete_proposal") == []


def test_what_is_proposed_about_a_persons_memory_is_told_in_the_project_it_came_from_alone(
    person: TestClient, client: TestClient, db: Connection, ours: str, theirs: str
) -> None:
    put(person, "k", "I like walnut")
    a, b = minted(db, Rights.WRITE, ours), minted(db, Rights.READ, theirs)
    new = {"namespace": "user", "key": "k", "value": "I like ALPHA"}
    assert client.post("/api/memory", json=new, headers=a).status_code == 202
    assert client.patch(at("k"), json={"tags": ["ALPHA"]}, headers=a).status_code == 202
    assert client.delete(at("k"), params={"reason": "ALPHA"}, headers=a).status_code == 202
    said = client.get("/api/review", headers=a).text
    assert said.count("ALPHA") >= 3 and len(client.get("/api/review", headers=a).json()["items"]) == 3
    assert client.get("/api/review", headers=b).json()["items"] == []
    assert len(person.get("/api/review").json()["items"]) == 3
    assert len(person.get("/api/review", params={"project": ours}).json()["items"]) == 3
    for finding in person.get("/api/review").json()["items"]:
        done = person.post("/api/review", json={"id": finding["id"], "verb": "keep_old", "reason": "no"})
        assert done.status_code == 200, done.text


def test_what_is_proposed_outside_every_project_is_told_in_none(
    home: TestClient, person: TestClient, client: TestClient, db: Connection, ours: str
) -> None:
    put(person, "k", "I like walnut")
    assert home.patch(at("k"), json={"value": "I like BETA"}).status_code == 202
    assert client.get("/api/review", headers=minted(db, Rights.READ, ours)).json()["items"] == []
    assert len(home.get("/api/review").json()["items"]) == len(person.get("/api/review").json()["items"]) == 1


def test_who_decides_under_a_filter_and_on_a_later_page_goes_on_there(home: TestClient, person: TestClient) -> None:
    for n in range(32):
        put(home, f"fact.n{n:02}", f"The number of box {n} is {n * 7}")
    for words in ("red", "blue"):
        person.post("/api/memory", json={"namespace": "user", "key": "boat", "value": f"The boat is {words}"})
        for tags in (["x"], ["y"]):
            assert home.patch(at("boat"), json={"tags": tags}).status_code == 202
    page = person.get("/review?kind=candidates&skip=30").text
    assert "32 waiting" in page and page.count("data-card") == 2
    assert "1 waiting" in person.get("/review?kind=wishes").text and "33 waiting" in person.get("/review").text
    for name in re.findall(r'action="/review/(m\d+)"', page):
        done = person.post(f"/review/{name}", data={**card(page, name), "verb": "approve", "reason": "yes"})
        assert "kind=candidates" in done.headers["location"] and "skip=30" in done.headers["location"]
    last = person.get(done.headers["location"]).text
    assert last.count("data-card") == 30 and "30 waiting" in last


def test_a_finding_is_decided_at_the_version_and_of_both_sides_that_were_looked_at(
    home: TestClient, person: TestClient
) -> None:
    put(person, "k", "The boat is red")
    home.patch(at("k"), json={"value": "The boat is green"})
    (finding,) = waiting(person, "conflict")
    decision = {"id": finding["id"], "verb": "keep_old", "reason": "yes"}
    old, new = finding["old"], finding["new"]
    assert isinstance(old, dict) and isinstance(new, dict)
    for wrong in ({"expected_version": 99}, {"expected_digest": "x"}, {"expected_new_digest": old["digest"]}):
        assert person.post("/api/review", json={**decision, **wrong}).status_code == 409, wrong
    right = {"expected_version": 1, "expected_digest": old["digest"], "expected_new_digest": new["digest"]}
    assert person.post("/api/review", json={**decision, **right}).status_code == 200


LOOKS = [
    {"value": "The gate is open"},
    {"value": "The GATE is shut", "valid_from": "", "valid_to": ""},
    {"value": "The gate is shut", "valid_to": "", "tags": "x, y"},
    {"value": "The gate is open", "valid_from": "2024", "importance": "0.2"},
]


@pytest.mark.parametrize("change", LOOKS, ids=str)
def test_what_a_look_shows_is_what_saving_makes(person: TestClient, change: dict[str, str]) -> None:
    number = put(person, "k", "The gate is shut", valid_from="2020", valid_to="2030", tags=["x"])["id"]
    page = f"/memories/{number}/edit"
    before = person.get(at("k")).json()
    form = {"value": before["value"], "kind": "semantic", "tags": "x", "importance": "0.5", "expires": ""}
    form |= {"valid_from": "2020", "valid_to": "2030", "version": "1", "form_token": form_token(person), **change}
    looked = person.post(page, data={**form, "look": "yes"})
    assert looked.status_code == 200 and person.get(at("k")).json()["version"] == 1
    shown = html.unescape(looked.text.partition("What it would change")[2].partition("<form")[0])
    assert person.post(page, data=form).status_code == 303
    after = person.get(at("k")).json()
    assert ("until: 2030" in shown) == (after["valid_to_ms"] != before["valid_to_ms"]), shown
    assert ("holds from: 2020" in shown) == (after["valid_from_ms"] != before["valid_from_ms"]), shown
    assert ("tags: x" in shown) == (after["tags"] != before["tags"]), shown
    assert ("The words stay" in shown) == (after["value"] == before["value"]), shown


def test_a_look_says_what_saving_would_refuse_and_changes_nothing(person: TestClient) -> None:
    number = put(person, "k", "The gate is shut")["id"]
    page = f"/memories/{number}/edit"
    form = {"value": "The gate is shut", "kind": "semantic", "tags": "", "importance": "0.5", "version": "1"}
    form |= {"form_token": form_token(person), "look": "yes"}
    assert "Nothing: it is so already." in person.post(page, data=form).text
    for wrong, status in (
        ({"value": " "}, 400),
        ({"value": "z" * 9_000}, 400),
        ({"valid_from": "2025", "valid_to": "2020"}, 400),
        ({"version": "7", "value": "The gate is open"}, 409),
    ):
        assert person.post(page, data={**form, **wrong}).status_code == status, wrong
    person.post(at("k") + "/reject", json={"reason": "no"})
    version = person.get(at("k") + "/history").json()["items"][-1]["version"]
    again = person.post(page, data={**form, "version": str(version)})
    assert "to save them lifts that" in again.text and person.get(at("k")).json()["trust"] == "rejected"


def test_a_date_is_opened_beside_the_same_words_by_a_person_too(person: TestClient) -> None:
    put(person, "k", "The gate is shut", valid_from="2020", valid_to="2030")
    answer = person.patch(at("k"), json={"value": "The gate is shut", "valid_to": "open"})
    assert answer.status_code == 200, answer.text
    now = person.get(at("k")).json()
    assert now["valid_to_ms"] is None and now["valid_from_ms"] is not None
    person.patch(at("k"), json={"value": "The gate is shut", "valid_from": "open", "expires": "30d"})
    assert person.get(at("k")).json()["expires_ms"] is not None
    person.patch(at("k"), json={"value": "The gate is shut", "expires": "never"})
    now = person.get(at("k")).json()
    assert now["valid_from_ms"] is None and now["expires_ms"] is None
