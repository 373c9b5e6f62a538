"""The entries that make the client run our hooks."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import client
from tests.hooks.running import HOOKS, environ, hook_input, needs_network_namespace, new_files, offline, run

ROOT = HOOKS.parent
ENTRIES: dict[str, list[dict[str, Any]]] = json.loads((HOOKS / "hooks.json").read_text())["hooks"]
ALL = [(event, hook) for event, groups in ENTRIES.items() for group in groups for hook in group["hooks"]]

CAPTURED = {
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
    "CwdChanged",
}

# Their hooks change what the client does, shows or sends: contract of client 2.1.197.
NEVER = {
    "WorktreeCreate",
    "PermissionRequest",
    "MessageDisplay",
    "PreCompact",
    "PostCompact",
    "PreToolUse",
    "Elicitation",
    "ElicitationResult",
}


def words(hook: dict[str, Any]) -> str:
    return " ".join([hook["command"], *hook["args"]])


def test_capture_stands_once_on_every_event_that_tells_a_session() -> None:
    assert [event for event, hook in ALL if "hooks/capture.sh" in words(hook)] == list(ENTRIES)
    assert set(ENTRIES) == CAPTURED
    assert not NEVER & set(ENTRIES)


@pytest.mark.parametrize(("event", "hook"), ALL, ids=[f"{event}-{n}" for n, (event, _) in enumerate(ALL)])
def test_an_entry_is_synchronous_bounded_and_needs_no_shell_of_the_client(event: str, hook: dict[str, Any]) -> None:
    assert hook["type"] == "command"
    assert isinstance(hook["timeout"], int) and 1 <= hook["timeout"] <= 10  # seconds
    assert isinstance(hook["args"], list) and all(isinstance(word, str) for word in hook["args"])
    assert os.path.isabs(hook["command"])
    assert set(hook) == {"type", "command", "args", "timeout"}  # no shell, async, if or statusMessage


def test_groups_match_everything() -> None:
    assert all(set(group) == {"hooks"} for groups in ENTRIES.values() for group in groups)


def test_only_the_start_of_a_session_and_a_prompt_wake_the_worker() -> None:
    waking = {event for event, hook in ALL if hook["args"][-1] == "wake"}
    assert waking == {"SessionStart", "UserPromptSubmit"}


def test_only_the_start_of_a_session_speaks() -> None:
    assert [event for event, hook in ALL if "hooks/brief.py" in words(hook)] == ["SessionStart"]


@pytest.mark.parametrize(("event", "hook"), ALL, ids=[f"{event}-{n}" for n, (event, _) in enumerate(ALL)])
def test_an_entry_runs_as_it_stands_there_and_is_silent(event: str, hook: dict[str, Any], tmp_path: Path) -> None:
    argv = [word.replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT)) for word in (hook["command"], *hook["args"])]
    home = tmp_path / "recorder"
    assert run(argv, hook_input(event, source="startup"), environ(home)).silent
    assert len(new_files(home)) == (1 if "capture.sh" in words(hook) else 0)


@pytest.mark.parametrize("name", ["capture.py", "brief.py"])
def test_a_hook_needs_the_bare_standard_library_and_no_second_program(name: str) -> None:
    tree = ast.parse((HOOKS / name).read_text())
    imports = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imports <= {"os", "sys", "json", "time"}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


def test_the_shell_hook_is_plain_posix() -> None:
    assert subprocess.run(["/bin/sh", "-n", str(HOOKS / "capture.sh")], timeout=20).returncode == 0
    text = (HOOKS / "capture.sh").read_text()
    assert text.startswith("#!/bin/sh\n") and "\r" not in text
    assert not re.search(r"\[\[|\blocal\b|<<<|<\(|\bsource\b|/dev/stdin\b(?! cannot)", text)


def test_the_plugin_names_what_it_ships_and_one_version() -> None:
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)
    assert version is not None
    assert plugin["version"] == market["plugins"][0]["version"] == version[1]
    assert list(plugin["mcpServers"]) == ["recorder"]


def test_opening_this_repository_starts_no_server_of_ours() -> None:
    assert not (ROOT / ".mcp.json").exists()


@pytest.fixture(scope="session")
def binary() -> Path:
    """The pinned client; asked for before a test has a home of its own, so that it is fetched once."""
    try:
        return client.fetch(os.environ)
    except client.ClientMissing as error:
        if os.environ.get("RECORDER_E2E_REQUIRED"):
            pytest.fail(str(error))
        pytest.skip(f"THE REAL CLIENT IS NOT DRIVEN HERE: {error}")


@pytest.mark.e2e
@needs_network_namespace
def test_the_client_finds_nothing_to_say_about_the_plugin(binary: Path, tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    for path in (ROOT, ROOT / ".claude-plugin" / "plugin.json"):
        done = subprocess.run(
            [*offline(), str(binary), "plugin", "validate", "--strict", str(path)],
            env={**env, "DISABLE_AUTOUPDATER": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
