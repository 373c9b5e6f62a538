"""Whose memory a folder is: the project that gives it its name, never a guess."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from recorder import claude_auto
from recorder.config import Config
from recorder.models import Scope
from recorder.store import memories, projects, vectors
from recorder.store.db import Connection, has_vec
from tests.claude_auto.claude_home import asked, begin, counts, known_project, memory_folder, run, seen, session_in
from tests.makers import project_folder


def said_by(session: str, text: str) -> str:
    return f"---\ntype: project\noriginSessionId: {session}\n---\n{text}\n"


# Of 2.1.197; the last one's number is what Java's String.hashCode gives, in base 36.
@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/home/user/project", "-home-user-project"),
        ("/home/user/my.project_2", "-home-user-my-project-2"),
        ("/home/üser/語/𝄞", "-home--ser-----"),
        ("/" + "a" * 199, "-" + "a" * 199),
    ],
)
def test_a_path_gets_the_name_the_client_gives_it(path: str, slug: str) -> None:
    assert claude_auto.slug(path) == slug


def test_a_long_path_is_cut_and_told_apart_by_its_hash() -> None:
    paths = ["/" + "a" * 250 + end for end in "xy"]
    slugs = [claude_auto.slug(path) for path in paths]
    assert all(slug.startswith("-" + "a" * 199 + "-") and len(slug) <= 208 for slug in slugs) and slugs[0] != slugs[1]


def test_a_memory_in_a_folder_with_a_long_name_is_recalled(db: Connection, config: Config, own_home: Path) -> None:
    folder, project_id = known_project(db, config, own_home, "/".join(["deep" * 30] * 2))
    (memory_folder(config, folder) / "fact.md").write_text("Fact.")
    assert run(db, config).problems == []
    assert seen(db, project_id)["fact"].value == "Fact."


def test_worktrees_share_the_memory_of_their_repository(db: Connection, config: Config, own_home: Path) -> None:
    main = project_folder(own_home, "main")
    linked = own_home / "linked"
    (main / ".git" / "worktrees" / "linked").mkdir(parents=True)
    (main / ".git" / "worktrees" / "linked" / "commondir").write_text("../..\n")
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {main / '.git' / 'worktrees' / 'linked'}\n")
    project_id = begin(db, config, linked, "in-linked")  # the main checkout was never worked in
    (memory_folder(config, main) / "fact.md").write_text("Fact.")
    run(db, config)
    assert set(seen(db, project_id)) == {"fact"}


def test_where_two_projects_have_one_name_the_session_decides(db: Connection, config: Config, own_home: Path) -> None:
    one, one_id = known_project(db, config, own_home, "a-b")
    other = project_folder(own_home, "a/b")
    other_id = begin(db, config, other, session_in("a/b"))
    assert one_id != other_id
    folder = memory_folder(config, one)
    assert folder == memory_folder(config, other)
    (folder / "of_one.md").write_text(said_by(session_in("a-b"), "Fact of one."))
    (folder / "of_other.md").write_text(said_by(session_in("a/b"), "Fact of the other."))
    (folder / "of_nobody.md").write_text(said_by("unheard-of", "Fact of nobody."))
    assert counts(run(db, config)) == {"created": 3}
    assert (set(seen(db, one_id)), set(seen(db, other_id))) == ({"of_one"}, {"of_other"})
    (folder / "of_nobody.md").unlink()
    assert counts(run(db, config)) == {"unchanged": 2, "pruned": 1}, "what only a person sees is pruned too"
    (folder / "of_nobody.md").write_text(said_by("unheard-of", "Fact of nobody."))
    assert counts(run(db, config)) == {"unchanged": 2, "restored": 1}


def test_what_nobody_knows_the_project_of_is_a_persons_alone_until_it_is_known(
    db: Connection, config: Config, own_home: Path
) -> None:
    folder = project_folder(own_home, "later")
    path = memory_folder(config, folder) / "fact.md"
    path.write_text("A fact about the till.")
    _, other = known_project(db, config, own_home, "other")
    run(db, config)
    namespace = f"claude.{path.parent.parent.name}"
    memory = memories.find(db, namespace, "fact")
    assert memory is not None and memory.project_id is None
    for project_id in (None, other):
        assert not memories.visible(db, memory, Scope(project_id))
    ((statement, _),) = memories.evidence(db, memory.version_id)
    (scope,) = next(iter(db.execute("select scope_id from events where id = ?", (statement.id,))))
    assert scope is None
    if has_vec(db):
        vectors.store(db, "memory", memory.version_id, "m", [("h", bytes(384))])

    project_id = begin(db, config, folder, "in-later")
    assert counts(run(db, config)) == {"unchanged": 1}
    memory = memories.find(db, namespace, "fact")
    assert memory is not None and memory.project_id == project_id and set(seen(db, project_id)) == {"fact"}
    ((statement, _),) = memories.evidence(db, memory.version_id)
    assert statement.project_id == project_id
    assert memories.history(db, memory.id)[-1]["action"] == "given"
    wanted = projects.scope_id(db, project_id)
    assert all(row[0] == wanted for row in db.execute("select scope_id from embeddings where owner = 'memory'"))
    path.write_text("Another fact about the till.")
    assert counts(run(db, config)) == {"changed": 1}


def test_a_transcript_beside_the_memory_says_where_the_project_is(
    db: Connection, config: Config, own_home: Path
) -> None:
    folder = project_folder(own_home, "past")
    memory = memory_folder(config, folder)
    (memory / "fact.md").write_text("Fact.")
    lines = [{"type": "summary", "summary": "x"}, {"type": "user", "cwd": str(folder)}]
    (memory.parent / "s.jsonl").write_text("torn {\n" + "\n".join(map(json.dumps, lines)) + "\n")
    run(db, config)
    found = projects.by_root(db, str(folder.resolve()))
    assert found is not None and set(seen(db, found.id)) == {"fact"}


def test_a_session_whose_transcript_lies_beside_the_memory_says_it_too(
    db: Connection, config: Config, own_home: Path
) -> None:
    folder = project_folder(own_home, "repo")
    moved = own_home / "moved"
    memory = memory_folder(config, moved)
    (memory / "fact.md").write_text("Fact.")
    project_id = begin(db, config, folder, "in-repo", transcript=str(memory.parent / "in-repo.jsonl"))
    run(db, config)
    assert set(seen(db, project_id)) == {"fact"}


def test_a_merged_project_keeps_its_memories_and_gets_new_ones(db: Connection, config: Config, own_home: Path) -> None:
    folder, gone = known_project(db, config, own_home, "gone")
    _, kept = known_project(db, config, own_home, "kept")
    memory = memory_folder(config, folder)
    (memory / "fact.md").write_text("Fact.")
    run(db, config)
    projects.merge(db, gone, kept)
    (memory / "fact.md").write_text("Changed fact.")
    (memory / "more.md").write_text("More.")
    assert counts(run(db, config)) == {"created": 1, "changed": 1}
    assert {key: m.value for key, m in seen(db, kept).items()} == {"fact": "Changed fact.", "more": "More."}
    assert asked(db) == []


def test_a_config_folder_that_moved_takes_its_memories_along(db: Connection, config: Config, own_home: Path) -> None:
    folder, project_id = known_project(db, config, own_home)
    memory = memory_folder(config, folder)
    (memory / "fact.md").write_text("Fact.")
    run(db, config)
    moved = own_home / ".config-claude"
    shutil.move(config.claude_dirs[0], moved)
    elsewhere = config.model_copy(update={"claude_dirs": (moved,)})
    assert counts(run(db, elsewhere)) == {"unchanged": 1}
    assert len(memories.listing(db, Scope(project_id))) == 1
