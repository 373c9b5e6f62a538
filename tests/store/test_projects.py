"""Bindings, and how a person mends them."""

from __future__ import annotations

import pytest

from recorder.capture import project
from recorder.errors import Conflict, NotFound
from recorder.models import Project
from recorder.store import projects
from recorder.store.db import Connection, transaction

NOW_MS = 1_700_000_000_000
APP = Project("app-1", "root:/srv/app", "/srv/app", "app")
LIB = Project("lib-2", "remote:example.com/team/lib", "/srv/lib", "lib")


@pytest.fixture
def bound(db: Connection) -> Connection:
    for one in (APP, LIB):
        projects.bind(db, one, NOW_MS)
    return db


def session(db: Connection, session_id: str, held: Project, cwd: str) -> None:
    db.execute(
        "insert into sessions (id, project_id, first_cwd, started_ms, last_ms) values (?, ?, ?, ?, ?)",
        (session_id, held.id, cwd, NOW_MS, NOW_MS),
    )


def event(db: Connection, key: str, held: Project, cwd: str) -> int:
    db.execute(
        "insert into events"
        " (key, kind, session_id, project_id, scope_id, at_ms, received_ms, cwd, body, codec, body_hash)"
        " values (?, 'prompt', 's', ?, ?, ?, ?, ?, '{}', 'json', '')",
        (key, held.id, projects.scope_id(db, held.id), NOW_MS, NOW_MS, cwd),
    )
    event_id = db.last_insert_rowid()
    db.execute(
        "insert into embeddings (owner, owner_id, window, scope_id, model, content_hash, vector)"
        " values ('event', ?, 0, ?, 'm', 'h', x'00')",
        (event_id, projects.scope_id(db, held.id)),
    )
    return event_id


def memory(db: Connection, held: Project, namespace: str, key: str) -> None:
    db.execute(
        "insert into memories (namespace, key, scope_id, project_id, home_project_id, created_ms)"
        " values (?, ?, ?, ?, ?, ?)",
        (namespace, key, projects.scope_id(db, held.id), held.id, held.id, NOW_MS),
    )


def rows(db: Connection, sql: str) -> list[tuple[object, ...]]:
    return list(db.execute(sql))


def test_a_bound_project_is_found_by_id_identity_and_root(bound: Connection) -> None:
    assert projects.get(bound, "app-1") == APP
    assert projects.by_identity(bound, LIB.identity) == LIB
    assert projects.by_root(bound, "/srv/lib") == LIB
    assert projects.by_root(bound, "/srv/lib/src") is None
    assert projects.get(bound, "none") is None


def test_a_bound_folder_stays_where_it_is(bound: Connection) -> None:
    projects.bind(bound, Project("other-3", "root:/srv/app#2", "/srv/app", "other"), NOW_MS)
    assert projects.by_root(bound, "/srv/app") == APP


def test_a_scope_has_one_number_and_the_users_is_the_first(bound: Connection) -> None:
    assert projects.scope_id(bound, "user") == 1
    assert projects.scope_id(bound, "app-1") == projects.scope_id(bound, "app-1") != projects.scope_id(bound, "lib-2")


def test_an_alias_of_a_folder_outranks_what_the_files_say(bound: Connection) -> None:
    projects.alias(bound, "/srv/lib/examples", APP.id, NOW_MS)
    found = project.resolve(bound, "/srv/lib/examples/one", now_ms=NOW_MS)
    assert found == APP
    projects.alias(bound, "remote:example.com/team/app", APP.id, NOW_MS)
    assert projects.by_identity(bound, "remote:example.com/team/app") == APP
    with pytest.raises(NotFound, match="projects list"):
        projects.alias(bound, "/srv/x", "none", NOW_MS)


def test_merging_moves_everything_and_the_old_id_leads_to_the_new(bound: Connection) -> None:
    session(bound, "s", LIB, "/srv/lib")
    event(bound, "k1", LIB, "/srv/lib")
    memory(bound, LIB, "project.lib-2", "command.test")
    memory(bound, LIB, "project.lib-2.notes", "n")
    memory(bound, APP, "project.app-1", "command.test")
    projects.merge(bound, LIB.id, APP.id)
    scope = projects.scope_id(bound, APP.id)
    assert projects.get(bound, LIB.id) == APP
    assert projects.by_root(bound, "/srv/lib") == projects.by_identity(bound, LIB.identity) == APP
    assert rows(bound, "select distinct project_id, scope_id from events") == [(APP.id, scope)]
    assert rows(bound, "select distinct scope_id from embeddings") == [(scope,)]
    assert rows(bound, "select distinct project_id, home_project_id, scope_id from memories") == [
        (APP.id, APP.id, scope)
    ]
    assert rows(bound, "select project_id from sessions") == [(APP.id,)]
    assert rows(bound, "select namespace, key from memories order by 1, 2") == [
        ("project.app-1", "command.test"),
        ("project.app-1", "command.test.2"),
        ("project.app-1.notes", "n"),
    ]
    assert [one["id"] for one in projects.listing(bound)] == [APP.id]
    assert project.resolve(bound, "/srv/lib/src", now_ms=NOW_MS) == APP


def test_a_project_is_not_merged_into_itself_nor_into_nothing(bound: Connection) -> None:
    with pytest.raises(Conflict):
        projects.merge(bound, APP.id, APP.id)
    with pytest.raises(NotFound):
        projects.merge(bound, APP.id, "none")
    projects.merge(bound, LIB.id, APP.id)
    with pytest.raises(Conflict):
        projects.merge(bound, LIB.id, APP.id)


def test_splitting_a_folder_takes_its_events_along_and_leaves_the_rest(bound: Connection) -> None:
    session(bound, "s", APP, "/srv/app/sub")
    kept, moved = event(bound, "k1", APP, "/srv/app/subway"), event(bound, "k2", APP, "/srv/app/sub/deep")
    sub = project.own("/srv/app/sub")
    projects.split(bound, "/srv/app/sub", sub, NOW_MS)
    assert rows(bound, "select id, project_id from events order by id") == [(kept, APP.id), (moved, sub.id)]
    assert rows(bound, "select scope_id from embeddings order by id") == [
        (projects.scope_id(bound, APP.id),),
        (projects.scope_id(bound, sub.id),),
    ]
    assert rows(bound, "select project_id from sessions") == [(sub.id,)]
    assert project.resolve(bound, "/srv/app/sub/deep", now_ms=NOW_MS) == sub
    assert project.resolve(bound, "/srv/app/subway", now_ms=NOW_MS) == APP
    with pytest.raises(Conflict):
        projects.split(bound, "/srv/app", project.own("/srv/app"), NOW_MS)


def test_forgetting_unbinds_and_keeps_what_was_recorded(bound: Connection) -> None:
    session(bound, "s", APP, "/srv/app")
    event(bound, "k1", APP, "/srv/app")
    assert projects.forget(bound, APP.id) is False
    assert projects.forget(bound, LIB.id) is True
    assert projects.roots(bound) == []
    assert projects.get(bound, APP.id) == APP
    assert projects.get(bound, LIB.id) is None
    assert len(rows(bound, "select 1 from events")) == 1


def test_mending_works_inside_a_transaction_of_the_caller_and_goes_back_with_it(bound: Connection) -> None:
    with pytest.raises(RuntimeError), transaction(bound):
        projects.merge(bound, LIB.id, APP.id)
        raise RuntimeError
    assert projects.get(bound, LIB.id) == LIB


def test_the_brief_of_a_project_can_be_switched_off(bound: Connection) -> None:
    assert projects.brief_on(bound, APP.id)
    projects.set_brief(bound, APP.id, False)
    assert not projects.brief_on(bound, APP.id)
    assert projects.brief_on(bound, LIB.id)
