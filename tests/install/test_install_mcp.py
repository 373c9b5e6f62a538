"""Into .claude.json, which the client rewrites all the time, and out again."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from install_person import ROOT, Person

from recorder.errors import SettingsError
from recorder.install import files

CLIENT = '{\n  "userID": "0",\n  "projects": {\n    "/x": {\n      "allowedTools": []\n    }\n  },\n  "n": 1\n}'


def server(person: Person) -> object:
    return json.loads(person.claude_json.read_bytes()).get("mcpServers", {}).get("recorder")


def test_the_server_goes_in_and_exactly_it_comes_out(person: Person) -> None:
    person.claude_json.write_text(CLIENT)
    person.install()
    entry = {"type": "stdio", "command": sys.executable, "args": ["-I", "-m", "mcp_server"], "env": {}}
    assert server(person) == entry
    person.uninstall()
    assert person.claude_json.read_text() == CLIENT


def test_what_the_client_wrote_meanwhile_stays(person: Person) -> None:
    person.claude_json.write_text(CLIENT)
    person.install()
    written = json.loads(person.claude_json.read_bytes()) | {"numStartups": 7}
    person.claude_json.write_text(json.dumps(written, indent=2))
    person.uninstall()
    assert json.loads(person.claude_json.read_bytes()) == json.loads(CLIENT) | {"numStartups": 7}


def test_other_servers_and_an_empty_list_of_them_stay(person: Person) -> None:
    for servers in ({}, {"other": {"command": "x"}}):
        person.claude_json.write_text(json.dumps({"mcpServers": servers, "z": 1}, indent=2))
        before = person.claude_json.read_bytes()
        person.install()
        assert server(person)
        person.uninstall()
        assert person.claude_json.read_bytes() == before


def test_a_home_of_its_own_is_told_to_the_server(person: Person) -> None:
    person.environ["RECORDER_HOME"] = str(person.home / "rec")
    person.install()
    assert server(person)["env"] == {"RECORDER_HOME": str(person.home / "rec")}  # type: ignore[index]


def test_an_entry_of_another_version_is_replaced_in_its_place(person: Person) -> None:
    old = {"command": "/gone/bin/python3", "args": ["-I", "-m", "mcp_server"]}
    person.claude_json.write_text(json.dumps({"mcpServers": {"recorder": old, "z": {"command": "z"}}}, indent=2))
    person.install()
    assert list(json.loads(person.claude_json.read_bytes())["mcpServers"]) == ["recorder", "z"]
    assert server(person)["command"] == sys.executable  # type: ignore[index]


def test_somebody_elses_server_of_our_name_stays_and_is_said(person: Person) -> None:
    person.claude_json.write_text('{"mcpServers": {"recorder": {"command": "obs"}}}')
    report = person.install()
    assert len(report.warnings) == 1 and "another MCP server" in report.warnings[0]
    person.uninstall()
    assert server(person) == {"command": "obs"}


def test_our_program_put_there_by_hand_is_ours(person: Person) -> None:
    bin_dir = person.root / "venv" / "bin"
    bin_dir.mkdir(parents=True)
    for name in ("recorder", "recorder-mcp"):
        (bin_dir / name).touch()
    person.claude_json.write_text(json.dumps({"mcpServers": {"recorder": {"command": str(bin_dir / "recorder-mcp")}}}))
    assert person.install().warnings == ()
    assert server(person)["command"] == sys.executable  # type: ignore[index]


@pytest.mark.parametrize(
    "foreign",
    [
        {"command": "/opt/flight-recorder-mcp", "args": []},
        {"command": "/opt/recorder-mcp", "args": []},
        {"command": "recorder-mcp"},
        {"command": "npx", "args": ["-y", "recorder-mcp"]},
        {"command": "/usr/bin/python3", "args": ["-m", "mcp_server"]},
        {"command": "/usr/bin/python3", "args": ["server.py", "mcp_server"]},
        {"command": ["/usr/bin/python3"], "args": ["-I", "-m", "mcp_server"]},
        {"type": "http", "url": "http://localhost:1/recorder-mcp"},
        "recorder-mcp",
    ],
    ids=str,
)
def test_what_only_looks_like_ours_stays(person: Person, foreign: object) -> None:
    person.claude_json.write_text(json.dumps({"mcpServers": {"recorder": foreign}}))
    before = person.claude_json.read_bytes()
    assert "another MCP server" in " ".join(person.install().warnings)
    person.uninstall()
    assert person.claude_json.read_bytes() == before


def test_project_scope_writes_the_local_files_of_the_project_alone(person: Person) -> None:
    project = person.root / "code" / "app"
    (project / ".git").mkdir(parents=True)
    (project / "sub").mkdir()
    person.claude_json.write_text(CLIENT)
    person.install(scope="project", project_dir=project / "sub")
    assert person.ours(project / ".claude" / "settings.local.json")
    written = json.loads(person.claude_json.read_bytes())
    assert list(written["projects"][str(project)]["mcpServers"]) == ["recorder"] and "mcpServers" not in written
    assert not person.settings.exists()
    person.uninstall()
    assert (
        person.claude_json.read_text() == CLIENT
        and [p.name for p in project.iterdir()] == ["sub", ".git"]
        or (not (project / ".claude").exists())
    )


def test_a_worktree_is_filed_under_the_checkout_it_came_from(person: Person) -> None:
    git = ["git", "-c", "user.email=a@b", "-c", "user.name=a", "-c", "init.defaultBranch=main"]
    main, tree = person.root / "main", person.root / "tree"
    subprocess.run([*git, "init", "-q", str(main)], check=True)
    subprocess.run([*git, "-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "-C", str(main), "worktree", "add", "-q", str(tree)], check=True, capture_output=True)
    person.install(scope="project", project_dir=tree)
    assert list(json.loads(person.claude_json.read_bytes())["projects"]) == [str(main)]
    assert (tree / ".claude" / "settings.local.json").exists() and not (main / ".claude").exists()


def test_user_and_project_entries_of_one_file_come_out_together(person: Person) -> None:
    project = person.root / "app"
    project.mkdir()
    person.claude_json.write_text(CLIENT)
    person.install()
    person.install(scope="project", project_dir=project)
    person.uninstall()
    assert person.claude_json.read_text() == CLIENT


def test_a_write_of_the_client_in_between_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "claude" / "state.json"
    path.parent.mkdir()
    path.write_bytes(b"1")
    seen = []

    def change(old: bytes | None) -> bytes:
        seen.append(old)
        if len(seen) == 1:
            path.write_bytes(b"2")  # the client, after we read
        return (old or b"") + b" ours"

    files.edit(path, change)
    assert seen == [b"1", b"2"] and path.read_bytes() == b"2 ours"
    assert [p.name for p in path.parent.iterdir()] == ["state.json"]


def test_a_file_that_never_stands_still_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    turns = iter(range(1000))

    def change(old: bytes | None) -> bytes:
        path.write_bytes(str(next(turns)).encode())
        return b"ours"

    with pytest.raises(SettingsError, match="keeps changing"):
        files.edit(path, change)
    assert path.read_bytes() != b"ours"


def test_the_clients_lock_is_waited_for(person: Person) -> None:
    person.claude_json.write_text(CLIENT)
    lock = person.home / ".claude.json.lock"
    lock.mkdir()
    work = threading.Thread(target=person.install)
    work.start()
    while not person.ours() if person.settings.exists() else True:  # settings.json comes first
        work.join(0.01)
    assert server(person) is None and work.is_alive()
    lock.rmdir()
    work.join(20)
    assert server(person) and not lock.exists()


def test_a_client_that_rewrites_the_file_under_its_lock_loses_nothing_and_neither_do_we(person: Person) -> None:
    person.claude_json.write_text('{"n": 0}')
    client = textwrap.dedent(f"""
        import json, os, sys
        from pathlib import Path
        path, lock = Path({str(person.claude_json)!r}), Path({str(person.claude_json)!r} + ".lock")
        n = 0
        print("ready", flush=True)
        while n < 300:
            try:
                lock.mkdir()
            except FileExistsError:
                continue
            n += 1
            written = json.loads(path.read_text()) | {{"n": n}}
            draft = path.with_name("draft")
            draft.write_text(json.dumps(written, indent=2))
            os.replace(draft, path)
            lock.rmdir()
    """)
    with subprocess.Popen([sys.executable, "-c", client], stdout=subprocess.PIPE, cwd=ROOT) as running:
        assert running.stdout is not None and running.stdout.readline() == b"ready\n"
        for _ in range(5):
            person.install()
            person.uninstall()
        person.install()
        assert running.wait(60) == 0
    assert json.loads(person.claude_json.read_bytes())["n"] == 300 and server(person)
