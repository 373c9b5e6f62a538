"""Path to project."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from recorder.capture import git, project
from recorder.models import Project
from recorder.store import projects
from recorder.store.db import Connection
from tests.hooks_project_cases import CASES, Case

NOW_MS = 1_700_000_000_000


def repository(root: Path, url: str | None = None, *, remote: str = "origin") -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    section = f'[remote "{remote}"]\n\turl = {url}\n' if url else ""
    (root / ".git" / "config").write_text(f"[core]\n\tbare = false\n{section}")
    return root


def worktree(main: Path, root: Path) -> Path:
    own = main / ".git" / "worktrees" / root.name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    root.mkdir(parents=True)
    (root / ".git").write_text(f"gitdir: {own}\n")
    return root


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def resolved(db: Connection, cwd: Path | str, **how: object) -> Project | None:
    return project.resolve(db, str(cwd), now_ms=NOW_MS, **how)  # type: ignore[arg-type]  # keywords as given


def id_of(db: Connection, cwd: Path | str, **how: object) -> str:
    found = resolved(db, cwd, **how)
    assert found is not None
    return found.id


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_longest_bound_root_holds_a_path_by_whole_segments(db: Connection, case: Case) -> None:
    for root, project_id in case.roots.items():
        projects.bind(db, Project(project_id, f"root:{root}", root, project_id), NOW_MS)
    found = resolved(db, case.cwd)
    assert (found.id if found else None) == case.expected


@pytest.mark.parametrize(
    "url",
    [
        "git@Example.com:team/app.git",
        "git@example.com:team/app",
        "ssh://git@example.com:22/team/app.git",
        "https://example.com/team/app",
        "https://user:word@EXAMPLE.com:8443/team/app.git/",
        "git://example.com/team/app.git",
        "git+ssh://git@example.com//team/app",
        '"https://example.com/team/app" ; a comment',
        "example.com:team/app.git # a comment",
    ],
)
def test_every_spelling_of_a_remote_is_one_project(db: Connection, tmp_path: Path, url: str) -> None:
    found = resolved(db, repository(tmp_path / "x", url))
    assert found is not None
    assert found.identity == "remote:example.com/team/app"
    assert found.name == "app"
    assert found.id.startswith("app-") and len(found.id) == len("app-") + 8


def test_two_clones_of_a_remote_share_and_the_same_last_name_does_not(db: Connection, tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "git@example.com:alpha/app.git")
    two = repository(tmp_path / "two", "https://example.com/alpha/app")
    other = repository(tmp_path / "three" / "app", "https://example.com/beta/app")
    assert id_of(db, folder(one / "src")) == id_of(db, two)
    assert id_of(db, other) != id_of(db, two)
    plain = [repository(tmp_path / side / "app") for side in ("alpha", "beta")]
    assert id_of(db, plain[0]) != id_of(db, plain[1])


def test_the_only_remote_stands_in_for_origin_and_two_others_for_none(db: Connection, tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "git@example.com:team/app.git", remote="upstream")
    found = resolved(db, one)
    assert found is not None and found.identity == "remote:example.com/team/app"
    two = repository(tmp_path / "two", "git@example.com:team/lib.git", remote="upstream")
    with (two / ".git" / "config").open("a") as file:
        file.write('[remote "fork"]\n\turl = git@example.com:me/lib.git\n')
    found = resolved(db, two)
    assert found is not None and found.identity == f"root:{two}"


def test_the_first_binding_of_a_root_sticks_and_a_later_remote_is_an_alias(db: Connection, tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    before = id_of(db, root)
    with (root / ".git" / "config").open("a") as file:
        file.write('[remote "origin"]\n\turl = git@example.com:team/app.git\n')
    assert id_of(db, root) == before
    assert id_of(db, repository(tmp_path / "clone", "git@example.com:team/app.git")) == before
    assert projects.listing(db)[0]["aliases"] == ["remote:example.com/team/app"]


def test_worktrees_share_a_project_unless_configured_apart(db: Connection, tmp_path: Path) -> None:
    main = repository(tmp_path / "app", "git@example.com:team/app.git")
    shared, apart = worktree(main, tmp_path / "wt1"), worktree(main, tmp_path / "wt2")
    assert id_of(db, shared) == id_of(db, main)
    assert id_of(db, apart, worktrees="separate") != id_of(db, main, worktrees="separate")


def test_worktrees_of_a_repository_without_remote_share_its_root(db: Connection, tmp_path: Path) -> None:
    main = repository(tmp_path / "app")
    linked = worktree(main, main / ".claude" / "worktrees" / "fix")
    found = resolved(db, linked)
    assert found is not None and found.identity == f"root:{main}"
    assert id_of(db, main) == found.id


def test_a_worktree_that_was_pruned_still_belongs_to_its_repository(db: Connection, tmp_path: Path) -> None:
    main = repository(tmp_path / "app", "git@example.com:team/app.git")
    (main / ".git" / "worktrees").mkdir()
    linked = folder(tmp_path / "wt")
    (linked / ".git").write_text(f"gitdir: {main}/.git/worktrees/gone\n")
    assert id_of(db, linked) == id_of(db, main)


def test_a_submodule_is_a_project_of_its_own(db: Connection, tmp_path: Path) -> None:
    main = repository(tmp_path / "app", "git@example.com:team/app.git")
    own = folder(main / ".git" / "modules" / "lib")
    (own / "config").write_text('[remote "origin"]\n\turl = git@example.com:team/lib.git\n')
    sub = folder(main / "lib")
    (sub / ".git").write_text("gitdir: ../.git/modules/lib\n")
    found = resolved(db, folder(sub / "src"))
    assert found is not None and found.identity == "remote:example.com/team/lib"


def test_a_clone_of_a_local_repository_belongs_to_what_it_was_cloned_from(db: Connection, tmp_path: Path) -> None:
    source = repository(tmp_path / "source", "git@example.com:team/app.git")
    assert id_of(db, repository(tmp_path / "copy", str(source))) == id_of(db, source)
    assert id_of(db, repository(tmp_path / "near", "../source")) == id_of(db, source)
    assert id_of(db, repository(tmp_path / "file", f"file://{source}/.git/..")) == id_of(db, source)
    lost = repository(tmp_path / "lost", "/srv/nowhere/app.git")
    found = resolved(db, lost)
    assert found is not None and found.identity == f"root:{lost}"


def test_what_git_itself_writes_is_read_the_same(db: Connection, tmp_path: Path) -> None:
    main = folder(tmp_path / "app")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*words: str) -> None:
        subprocess.run(["git", *words], cwd=main, env=environ, check=True, capture_output=True, timeout=30)

    run("init", "-q")
    run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
    run("remote", "add", "origin", "https://example.com/team/app.git")
    run("worktree", "add", "-q", str(tmp_path / "beside"))
    found = resolved(db, main)
    assert found is not None and found.identity == "remote:example.com/team/app"
    assert id_of(db, tmp_path / "beside") == found.id


def test_the_home_folder_and_the_top_are_no_project(db: Connection, own_home: Path) -> None:
    repository(own_home, "git@example.com:me/dotfiles.git")
    assert resolved(db, own_home, register=True) is None
    assert resolved(db, "/", register=True) is None
    assert resolved(db, folder(own_home / "notes")) is None


def test_a_plain_folder_is_a_project_once_a_session_starts_there(db: Connection, own_home: Path) -> None:
    notes = folder(own_home / "notes")
    assert resolved(db, notes) is None
    found = resolved(db, notes, register=True)
    assert found is not None and found.identity == f"path:{notes}"
    assert id_of(db, folder(notes / "deep")) == found.id
    assert id_of(db, folder(notes / "deeper"), register=True) == found.id


def test_a_folder_that_is_gone_belongs_to_the_project_the_session_began_in(db: Connection, tmp_path: Path) -> None:
    start = folder(tmp_path / "work")
    first = id_of(db, start, register=True)
    gone = start / "temporary" / "clone"
    assert id_of(db, gone, first_cwd=str(start)) == first
    elsewhere = tmp_path / "other" / "gone"
    assert resolved(db, elsewhere, first_cwd=str(start)) is None
    bound = repository(start / "inner")
    inner = id_of(db, bound)
    os.rename(bound, tmp_path / "away")
    assert id_of(db, bound / "src", first_cwd=str(start)) == inner


def test_a_deleted_folder_of_a_repository_still_belongs_to_it(db: Connection, tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    assert id_of(db, root / "removed" / "deep") == id_of(db, root)


def test_a_link_and_its_target_are_one_project(db: Connection, tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    (tmp_path / "link").symlink_to(root)
    assert id_of(db, tmp_path / "link" / "src") == id_of(db, f"{root}/")


@pytest.mark.parametrize(
    "cwd",
    ["", "relative/path", "/a\0b", "/" + "x" * 5000, "/" + "/".join("y" * 100 for _ in range(100)), "/\ud800/x", "~"],
)
def test_a_path_nobody_can_have_is_answered_and_not_raised(db: Connection, cwd: str) -> None:
    resolved(db, cwd)
    resolved(db, cwd, register=True, first_cwd=cwd)


def test_names_that_are_not_utf8_get_a_project(db: Connection, tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    try:
        os.mkdir(path)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    found = resolved(db, path, register=True)
    assert found is not None and id_of(db, path) == found.id


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"garbage", b"\xff\xfe\0", b"gitdir: /nowhere/at/all\n"])
def test_a_torn_git_file_leaves_the_folder_a_project_by_its_root(
    db: Connection, tmp_path: Path, content: bytes
) -> None:
    root = folder(tmp_path / "app")
    (root / ".git").write_bytes(content)
    found = resolved(db, root)
    assert found is not None and found.identity == f"root:{root}"


@pytest.mark.parametrize(
    "content", [b"", b"\xff[remote", b'[remote "origin"\nurl = x', b'[remote "origin"]\nurl', b"[" * 9000]
)
def test_a_torn_config_is_a_repository_without_remote(db: Connection, tmp_path: Path, content: bytes) -> None:
    root = repository(tmp_path / "app")
    (root / ".git" / "config").write_bytes(content)
    found = resolved(db, root)
    assert found is not None and found.identity == f"root:{root}"


def test_an_empty_git_folder_is_no_repository(db: Connection, tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    folder(outer / "inner" / ".git")
    assert id_of(db, outer / "inner") == id_of(db, outer)


def test_a_connection_that_cannot_write_gets_the_same_answer(db: Connection, tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    db.pragma("query_only", 1)
    before = id_of(db, root)
    assert projects.roots(db) == []
    db.pragma("query_only", 0)
    assert id_of(db, root) == before
    assert projects.roots(db) == [(str(root), before)]


def test_no_credential_of_a_remote_becomes_part_of_an_identity() -> None:
    assert git.normal("https://name:word@example.com/team/app.git?x=1#y") == "example.com/team/app"
    assert git.normal("/srv/app.git") is None
    assert git.normal("file:///srv/app.git") is None


def test_ids_read_well_whatever_the_name(db: Connection) -> None:
    assert project.project_id("Größe & Maß", "root:/x").startswith("groe-ma-") or project.project_id(
        "Größe & Maß", "root:/x"
    ).startswith("groe")
    assert project.project_id("日本", "root:/x").startswith("project-")
    assert project.project_id("app", "root:/x") != project.project_id("app", "root:/y")
