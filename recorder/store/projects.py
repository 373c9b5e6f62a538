"""What paths are bound to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recorder.errors import Conflict, NotFound
from recorder.models import Project
from recorder.store import tombstones, vectors
from recorder.store.db import Connection, together

_COLUMNS = "id, identity, root, name"
_PREFIXES = ("remote:", "root:", "path:")
_HOPS = 16


def scope_id(db: Connection, name: str) -> int:
    """The number of a scope, `user` or a project's id; made when it is missing."""
    row = db.execute("select id from scopes where name = ?", (name,)).fetchone()
    if row is None:
        db.execute("insert into scopes (name) values (?) on conflict (name) do nothing", (name,))
        row = db.execute("select id from scopes where name = ?", (name,)).fetchone()
    assert row is not None
    return int(row[0])


def get(db: Connection, project_id: str) -> Project | None:
    """The project, or what it was merged into."""
    for _ in range(_HOPS):
        row = db.execute(f"select {_COLUMNS}, merged_into from projects where id = ?", (project_id,)).fetchone()
        if row is None:
            return None
        if row[4] is None:
            return Project(*row[:4])
        project_id = row[4]
    return None


def by_identity(db: Connection, identity: str) -> Project | None:
    """The project made from this identity, or that has it as an alias."""
    row = db.execute(
        "select project_id from project_aliases where identity = ?1"
        " union all select id from projects where identity = ?1 limit 1",
        (identity,),
    ).fetchone()
    return get(db, row[0]) if row else None


def by_root(db: Connection, root: str) -> Project | None:
    """The project a folder is bound to, exactly this folder."""
    row = db.execute("select project_id from project_roots where root = ?", (root,)).fetchone()
    return get(db, row[0]) if row else None


def roots(db: Connection) -> list[tuple[str, str]]:
    """(folder, project id) of every binding, in order of the folders."""
    return [(root, project_id) for root, project_id, _ in bindings(db)]


def bindings(db: Connection) -> list[tuple[str, str, bool]]:
    """(folder, project id, whether a person said so) of every binding, in order of the folders."""
    return [
        (root, project_id, bool(pinned))
        for root, project_id, pinned in db.execute("select root, project_id, pinned from project_roots order by root")
    ]


def bind(db: Connection, project: Project, now_ms: int) -> None:
    """Bind the project's root to it, and know the project from now on. A folder that is bound stays as it is."""
    with together(db):
        db.execute(
            "insert into projects (id, identity, name, root, created_ms) values (?, ?, ?, ?, ?) on conflict do nothing",
            (project.id, project.identity, project.name, project.root, now_ms),
        )
        db.execute(
            "insert into project_roots (root, project_id, bound_ms) values (?, ?, ?) on conflict (root) do nothing",
            (project.root, project.id, now_ms),
        )


def know(db: Connection, project: Project, aliases: Iterable[str], created_ms: int) -> None:
    """Know a project of which no folder is here. Runs inside the caller's transaction."""
    db.execute(
        "insert into projects (id, identity, name, root, created_ms) values (?, ?, ?, ?, ?)",
        (project.id, project.identity, project.name, project.root, created_ms),
    )
    for identity in aliases:
        add_identity(db, identity, project.id)


def ids(db: Connection) -> list[str]:
    """Every project there is or was."""
    return [row[0] for row in db.execute("select id from projects order by id")]


def bind_root(db: Connection, root: str, project_id: str, now_ms: int) -> None:
    """Bind one more folder to a known project. A folder that is bound stays as it is."""
    with together(db):
        db.execute(
            "insert into project_roots (root, project_id, bound_ms) values (?, ?, ?) on conflict (root) do nothing",
            (root, project_id, now_ms),
        )


def add_identity(db: Connection, identity: str, project_id: str) -> None:
    """Let the project be known by one more identity, unless that is somebody's already."""
    with together(db):
        if by_identity(db, identity) is None:
            db.execute("insert into project_aliases (identity, project_id) values (?, ?)", (identity, project_id))


def copy(db: Connection, into: Connection) -> None:
    """What paths are bound to, in another database too, which knows nothing of it yet."""
    for table, columns in (
        ("projects", "id, identity, name, root, created_ms, merged_into"),
        ("project_roots", "root, project_id, bound_ms, pinned"),
        ("project_aliases", "identity, project_id"),
    ):
        marks = ", ".join("?" * len(columns.split(", ")))
        rows = db.execute(f"select {columns} from {table}")
        into.executemany(f"insert into {table} ({columns}) values ({marks})", rows)


def listing(db: Connection) -> list[dict[str, Any]]:
    """Every project that was not merged away, with its folders and aliases, by name."""
    found = {
        row[0]: {
            "id": row[0],
            "identity": row[1],
            "root": row[2],
            "name": row[3],
            "created_ms": row[4],
            "brief": bool(row[5]),
            "roots": [],
            "aliases": [],
        }
        for row in db.execute(
            f"select {_COLUMNS}, created_ms, brief from projects where merged_into is null order by name, id"
        )
    }
    for root, project_id in roots(db):
        found[project_id]["roots"].append(root)
    for identity, project_id in db.execute("select identity, project_id from project_aliases order by identity"):
        found[project_id]["aliases"].append(identity)
    return list(found.values())


def brief_on(db: Connection, project_id: str) -> bool:
    """Is the project's brief to be shown?"""
    row = db.execute("select brief from projects where id = ?", (project_id,)).fetchone()
    return row is not None and bool(row[0])


def set_brief(db: Connection, project_id: str, on: bool) -> None:
    """Show the project's brief at the start of a session, or do not."""
    db.execute("update projects set brief = ? where id = ?", (int(on), _known(db, project_id).id))


def alias(db: Connection, place: str, project_id: str, now_ms: int) -> None:
    """Bind a folder (real path) or an identity (`remote:…`, `root:…`, `path:…`) to the project, whatever it was before.

    What was recorded there stays where it is. Raises: NotFound for an unknown project.
    """
    project = _known(db, project_id)
    with together(db):
        if place.startswith(_PREFIXES):
            db.execute(
                "insert into project_aliases (identity, project_id) values (?, ?)"
                " on conflict (identity) do update set project_id = excluded.project_id",
                (place, project.id),
            )
            return
        db.execute(
            "insert into project_roots (root, project_id, bound_ms, pinned) values (?, ?, ?, 1)"
            " on conflict (root) do update set project_id = excluded.project_id, pinned = 1",
            (place, project.id, now_ms),
        )


def merge(db: Connection, project_id: str, into_id: str) -> None:
    """Everything of one project becomes the other's, in one transaction: folders, identities, events, memories.

    A memory whose key the other has too keeps its value under `<key>.2`.
    Raises: NotFound for an unknown project, Conflict when both are the same.
    """
    gone, kept = _known(db, project_id), _known(db, into_id)
    if gone.id == kept.id:
        raise Conflict(f"{project_id} and {into_id} are one project already: nothing to merge")
    with together(db):
        ids = {"gone": gone.id, "kept": kept.id, "scope": scope_id(db, gone.id), "new_scope": scope_id(db, kept.id)}
        db.execute("update project_roots set project_id = :kept where project_id = :gone", ids)
        db.execute("update project_aliases set project_id = :kept where project_id = :gone", ids)
        db.execute("update projects set merged_into = :kept where id = :gone or merged_into = :gone", ids)
        for table in ("sessions", "events", "memories", "findings", "pauses"):
            db.execute(f"update {table} set project_id = :kept where project_id = :gone", ids)
        db.execute("update memories set home_project_id = :kept where home_project_id = :gone", ids)
        db.execute("update tombstones set scope = :kept where scope = :gone", ids)
        _readdress(db, f"project.{gone.id}", f"project.{kept.id}")
        for table in ("events", "memories"):
            db.execute(f"update {table} set scope_id = :new_scope where scope_id = :scope", ids)
        rescope_vectors(db)


def split(db: Connection, root: str, project: Project, now_ms: int) -> None:
    """Bind a folder (real path) to a project of its own; events and sessions of that folder go with it.

    Memories stay with the project they were made in; what was rejected there is refused here too.

    Raises: Conflict when the folder is that project's already.
    """
    around = [
        (folder, held) for folder, held in roots(db) if root == folder or root.startswith(folder.rstrip("/") + "/")
    ]
    held_id = max(around, key=lambda binding: len(binding[0]), default=("", None))[1]
    if by_identity(db, project.identity) is not None:
        raise Conflict(f"{root} is {project.identity} already: nothing to split off")
    with together(db):
        bind(db, project, now_ms)
        alias(db, root, project.id, now_ms)
        if held_id is None:
            return
        tombstones.copy(db, held_id, project.id)
        ids = {"old": held_id, "new": project.id, "new_scope": scope_id(db, project.id), "root": root}
        inside = "(cwd = :root or substr(cwd, 1, length(:root) + 1) = :root || '/')"
        db.execute(
            f"update events set project_id = :new, scope_id = :new_scope where project_id = :old and {inside}", ids
        )
        db.execute(
            f"update sessions set project_id = :new where project_id = :old and {inside.replace('cwd', 'first_cwd')}",
            ids,
        )
        rescope_vectors(db)


def forget(db: Connection, project_id: str) -> bool:
    """Unbind every folder and alias; what was recorded stays. True when nothing was recorded and the project is gone.

    The next session there binds anew: to this project by its identity, where that still holds something.
    Raises: NotFound for an unknown project.
    """
    project = _known(db, project_id)
    with together(db):
        db.execute("delete from project_roots where project_id = ?", (project.id,))
        db.execute("delete from project_aliases where project_id = ?", (project.id,))
        for query in (
            "select 1 from events where project_id = ? limit 1",
            "select 1 from memories where ? in (project_id, home_project_id) limit 1",
            "select 1 from sessions where project_id = ? limit 1",
            "select 1 from projects where merged_into = ? limit 1",
        ):
            if db.execute(query, (project.id,)).fetchone():
                return False
        db.execute("delete from projects where id = ?", (project.id,))
        return True


def _known(db: Connection, project_id: str) -> Project:
    project = get(db, project_id)
    if project is None:
        raise NotFound(f"There is no project {project_id!r}: `recorder projects list` names them")
    return project


def _readdress(db: Connection, old: str, new: str) -> None:
    rows = list(
        db.execute(
            "select id, namespace, key from memories"
            " where namespace = ?1 or substr(namespace, 1, length(?1) + 1) = ?1 || '.'",
            (old,),
        )
    )
    for memory_id, namespace, key in rows:
        target = new + namespace[len(old) :]
        free, number = key, 1
        while db.execute("select 1 from memories where namespace = ? and key = ?", (target, free)).fetchone():
            number += 1
            free = f"{key}.{number}"
        db.execute("update memories set namespace = ?, key = ? where id = ?", (target, free, memory_id))


def rescope_vectors(db: Connection, memory_id: int | None = None) -> None:
    """Let vectors follow what they belong to: all, or those of one memory."""
    now = "coalesce(e.scope_id, m.scope_id)"
    of = "b.owner = 'memory' and b.owner_id in (select id from memory_versions where memory_id = ?1)"
    moved = list(
        db.execute(
            f"select b.id, {now} from embeddings b"
            " left join events e on b.owner = 'event' and e.id = b.owner_id"
            " left join memory_versions v on b.owner = 'memory' and v.id = b.owner_id"
            " left join memories m on m.id = v.memory_id"
            f" where b.scope_id is not {now}" + (f" and {of}" if memory_id is not None else ""),
            () if memory_id is None else (memory_id,),
        )
    )
    vectors.move(db, moved)
