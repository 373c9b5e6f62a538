"""Into settings.json and out again."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from install_person import NOW_MS, ROOT, Person

from recorder.errors import SettingsError

SHARED = ROOT.parent / "shared"
CORPUS = SHARED / "corpus" / "settings"
REFUSED = {"corrupt_torn.json", "jsonc_comments_trailing-comma.json"}

EVENTS = {
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

THREE_FOREIGN = """{
  "permissions": {"allow": ["Bash(ls:*)", "Write"], "deny": []},
  "hooks": {
    "PostToolUse": [
      {"matcher": "Write|Edit", "hooks": [{"type": "command", "command": "npx prettier --write ."}]}
    ],
    "Stop": [
      {
        "matcher": "",
        "hooks": [
          {
            "type": "command",
            "command": "say done"
          }
        ]
      }
    ],
    "PreToolUse": [{"hooks": [{"type": "command", "command": "/opt/x/hooks/capture.sh", "args": [], "timeout": 30}]}]
  },
  "env": {"FOO": "1e3", "n": 1.50}
}
"""

CASES = {
    "empty object": b"{}",
    "empty object and newline": b"{}\n",
    "spread empty object": b"{\n}\n",
    "white space": b"\n",
    "nothing": b"",
    "two spaces": THREE_FOREIGN.encode(),
    "four spaces": b'{\n    "model": "opus",\n    "hooks": {\n        "Stop": []\n    }\n}\n',
    "tabs": b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}\n',
    "crlf": THREE_FOREIGN.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + THREE_FOREIGN.encode(),
    "no final newline": b'{\n  "hooks": {}\n}',
    "one line": b'{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    "one wide line": b'{"model": "opus", "permissions": {"allow": ["a", "b"]}}',
    "unicode": '{\n  "env": {"NAME": "Zoë ✓ \\u00e9 \\ud83d 日本"}\n}\n'.encode(),
    "odd spaces": b'\n {  "model"  :"opus" ,\n\n   "x":[ 1 , 2 ]  }  \n\n',
}


def corpus() -> list[Path]:
    return sorted(CORPUS.glob("*.json")) if CORPUS.exists() else []


@pytest.mark.parametrize("raw", CASES.values(), ids=CASES.keys())
def test_install_then_uninstall_leaves_the_same_bytes(person: Person, raw: bytes) -> None:
    person.settings.write_bytes(raw)
    person.install()
    assert {event for event, _ in person.ours()} == EVENTS
    person.uninstall()
    assert person.settings.read_bytes() == raw


@pytest.mark.parametrize("raw", CASES.values(), ids=CASES.keys())
def test_without_its_backup_uninstall_still_takes_out_what_install_put_in(person: Person, raw: bytes) -> None:
    person.settings.write_bytes(raw)
    person.install()
    for copy in (person.recorder / "backups" / "settings").iterdir():
        copy.unlink()
    person.uninstall()
    left = person.settings.read_bytes()
    assert json.loads(left.decode("utf-8-sig")) == json.loads(raw.decode("utf-8-sig").strip() or "{}")
    if json.loads(left.decode("utf-8-sig")).keys() - {"hooks"}:
        assert left == raw  # with a neighbour to stand behind, even the white space is as it was


@pytest.mark.parametrize("raw", CASES.values(), ids=CASES.keys())
def test_a_second_install_changes_no_byte_anywhere(person: Person, raw: bytes) -> None:
    person.settings.write_bytes(raw)
    person.install()
    first = person.everything()
    report = person.install(now_ms=NOW_MS + 5000)
    assert person.everything() == first
    assert [change.what for change in report.changes] == ["unchanged", "unchanged"] and report.hooks == ()


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared")
@pytest.mark.parametrize("path", [p for p in corpus() if p.name not in REFUSED], ids=lambda p: p.name)
def test_real_settings_files_keep_all_they_hold_and_come_back_byte_for_byte(person: Person, path: Path) -> None:
    raw = path.read_bytes()
    person.settings.write_bytes(raw)
    person.install()
    person.install()
    ours = person.ours()
    assert {event for event, _ in ours} == EVENTS and len(ours) == len(EVENTS) + 1
    before = json.loads(raw)
    after = json.loads(person.settings.read_bytes())
    assert list(after)[: len(before)] == list(before)
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    person.uninstall()
    assert person.settings.read_bytes() == raw


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared")
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_real_files_that_are_not_json_are_refused(person: Person, name: str) -> None:
    person.settings.write_bytes((CORPUS / name).read_bytes())
    before = person.everything()
    with pytest.raises(SettingsError, match="settings.json, line"):
        person.install()
    assert person.everything() == before


def test_indentation_and_line_ends_of_the_file_are_used_for_our_entries(person: Person) -> None:
    person.settings.write_bytes(CASES["tabs"].replace(b"\n", b"\r\n"))
    person.install()
    raw = person.settings.read_bytes()
    assert b'\r\n\t\t"SessionStart": [\r\n\t\t\t{\r\n\t\t\t\t"hooks": [\r\n' in raw
    assert raw.count(b"\n") == raw.count(b"\r\n") and b"  " not in raw.replace(b"; do [", b"")


def test_entries_are_exec_form_with_absolute_paths_in_the_home_and_timeouts_in_seconds(person: Person) -> None:
    person.install()
    for event, hook in person.ours():
        assert hook["type"] == "command" and os.path.isabs(hook["command"]) and isinstance(hook["args"], list)
        assert 1 <= hook["timeout"] <= 10 and "shell" not in hook and "async" not in hook
        assert "shims" not in json.dumps(hook) and str(ROOT / "hooks") not in json.dumps(hook)
        assert any(word.startswith(str(person.recorder / "hooks")) for word in hook["args"])
        if "capture.sh" in json.dumps(hook):
            assert ("wake" in hook["args"]) == (event in {"SessionStart", "UserPromptSubmit"})
    assert sum("brief.py" in json.dumps(hook) for _, hook in person.ours()) == 1


def test_three_foreign_hooks_stay_also_one_that_has_the_name_of_ours(person: Person) -> None:
    person.settings.write_text(THREE_FOREIGN)
    foreign = person.hooks()
    person.install()
    person.install()
    assert [pair for pair in person.hooks() if pair not in person.ours()] == foreign


def test_a_file_that_was_not_there_is_removed_again_with_its_folder(person: Person) -> None:
    person.claude.rmdir()
    assert [change.what for change in person.install().changes] == ["created", "created"]
    assert stat.S_IMODE(person.settings.stat().st_mode) == 0o600
    person.uninstall()
    assert not person.claude.exists() and not person.claude_json.exists()


def test_a_file_we_made_stays_when_the_person_put_something_into_it(person: Person) -> None:
    person.install()
    written = json.loads(person.settings.read_bytes()) | {"model": "opus"}
    person.settings.write_text(json.dumps(written, indent=2))
    person.install()
    person.uninstall()
    assert json.loads(person.settings.read_bytes()) == {"model": "opus"}


def test_after_an_edit_exactly_our_entries_go_and_the_edit_stays(person: Person) -> None:
    person.settings.write_text(THREE_FOREIGN)
    person.install()
    person.settings.write_text(person.settings.read_text().replace("say done", "say  all done"))
    assert person.uninstall().changes[0].what == "taken out"
    assert person.settings.read_text() == THREE_FOREIGN.replace("say done", "say  all done")


def test_an_edit_that_adds_hooks_beside_ours_keeps_them(person: Person) -> None:
    person.settings.write_text('{\n  "model": "opus"\n}\n')
    person.install()
    written = json.loads(person.settings.read_bytes())
    mine = {"type": "command", "command": "mine"}
    written["hooks"]["Stop"][0]["hooks"].insert(0, mine)
    written["hooks"]["Stop"].append({"hooks": [mine]})
    person.settings.write_text(json.dumps(written, indent=2))
    person.uninstall()
    left = json.loads(person.settings.read_bytes())
    assert left == {"model": "opus", "hooks": {"Stop": [{"hooks": [mine]}, {"hooks": [mine]}]}}


def test_an_older_install_at_another_home_and_of_another_version_is_replaced(person: Person) -> None:
    person.environ["RECORDER_HOME"] = str(person.home / "old")
    person.install()
    written = json.loads(person.settings.read_bytes())
    written["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 9
    written["hooks"]["Notification"] = written["hooks"]["Stop"]
    person.settings.write_text(json.dumps(written, indent=2))
    del person.environ["RECORDER_HOME"]
    person.install()
    assert {event for event, _ in person.hooks()} == EVENTS and person.hooks() == person.ours()
    person.uninstall()
    assert json.loads(person.settings.read_bytes()) == {}


def test_a_symlink_stays_and_what_it_points_at_is_written(person: Person) -> None:
    real = person.home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text(THREE_FOREIGN)
    real.chmod(0o640)
    person.settings.symlink_to(real)
    person.install()
    assert person.settings.is_symlink() and len(person.ours(real)) == len(EVENTS) + 1
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    person.uninstall()
    assert person.settings.is_symlink() and real.read_text() == THREE_FOREIGN


def test_the_file_as_it_was_is_backed_up_for_its_owner_alone(person: Person) -> None:
    person.settings.write_text(THREE_FOREIGN)
    change = person.install().changes[0]
    assert change.backup is not None and change.backup.read_text() == THREE_FOREIGN
    assert stat.S_IMODE(change.backup.stat().st_mode) == 0o600
    assert change.backup.parent == person.recorder / "backups" / "settings"


REFUSALS = {
    "comment": ('{\n  // mine\n  "model": "opus"\n}', "line 2"),
    "trailing comma": ('{\n  "model": "opus",\n}', "line 3"),
    "torn": ('{\n  "hooks": {"Stop": [', "line 2"),
    "duplicate key": ('{\n  "env": {\n    "A": 1,\n    "A": 2\n  }\n}', "line 4: the key 'A' stands twice"),
    "a list": ("[]", "list, not an object"),
    "NaN": ('{"a": NaN}', "NaN"),
    "hooks is a list": ('{"hooks": []}', "'hooks' is"),
    "an event is an object": ('{"hooks": {"Stop": {}}}', "'hooks.Stop'"),
    "nested without end": ('{"a": ' + "[" * 50_000 + "]" * 50_000 + "}", "not JSON that can be read"),
}


@pytest.mark.parametrize(("text", "says"), REFUSALS.values(), ids=REFUSALS.keys())
@pytest.mark.parametrize("name", ["settings.json", "../.claude.json"])
def test_what_cannot_be_merged_is_named_and_nothing_is_touched_anywhere(
    person: Person, text: str, says: str, name: str
) -> None:
    if "hooks" in says and name != "settings.json":
        return  # those are shapes of hooks
    person.settings.write_text(THREE_FOREIGN)
    (person.claude / name).write_text(text)
    before = person.everything()
    with pytest.raises(SettingsError, match=says) as caught:
        person.install()
    assert os.path.basename(name) in str(caught.value) and "nothing was changed" in str(caught.value)
    assert person.everything() == before and not person.recorder.exists()


def test_bytes_that_are_not_utf_8_are_refused(person: Person) -> None:
    person.settings.write_bytes('{"a": "é"}'.encode("latin-1"))
    with pytest.raises(SettingsError, match="not UTF-8"):
        person.install()


def test_a_read_only_file_is_left_alone(person: Person) -> None:
    person.settings.write_text("{}")
    person.settings.chmod(0o444)
    with pytest.raises(SettingsError, match="read-only"):
        person.install()
    assert person.settings.read_text() == "{}" and not person.recorder.exists()


def entry(**fields: object) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": "x", **fields}]}


# Each was put beside valid entries and run in Claude Code 2.1.197: no hook of the file ran.
INVALID = {
    "[0].hooks[0].type": entry(type="commando"),
    "[0].hooks[0].timeout is 0": entry(timeout=0),
    "[0].hooks[0].timeout is -1": entry(timeout=-1),
    "[0].hooks[0].timeout is null": entry(timeout=None),
    '[0].hooks[0].timeout is "abc"': entry(timeout="abc"),
    "[0].hooks[0].command is 1": entry(command=1),
    "[0].hooks[0].args": entry(args="x"),
    "[0].hooks[0].if": entry(**{"if": 1}),
    "[0].hooks[0].async": entry(**{"async": "x"}),
    "[0].hooks[0].shell": entry(shell="fish"),
    "[0].hooks[0].command is missing": {"hooks": [{"type": "command"}]},
    "[0].hooks[0].url is missing": {"hooks": [{"type": "http"}]},
    "[0].hooks[0].prompt is missing": {"hooks": [{"type": "prompt"}]},
    "[0].hooks[0] is not an object": {"hooks": ["x"]},
    "[0].matcher is 3": {"matcher": 3, "hooks": []},
    "[0].matcher is null": {"matcher": None, "hooks": []},
    "[0] has no inner list": {"type": "command", "command": "x"},
}


@pytest.mark.parametrize(("says", "group"), INVALID.items(), ids=INVALID.keys())
def test_an_entry_that_disables_the_whole_file_is_named_and_not_edited(
    person: Person, says: str, group: object
) -> None:
    person.settings.write_text(json.dumps({"hooks": {"Notification": [group]}}))
    report = person.install()
    assert len(report.warnings) == 1
    assert f"settings.json: hooks.Notification{says}" in report.warnings[0] and "whole file" in report.warnings[0]
    assert json.loads(person.settings.read_bytes())["hooks"]["Notification"] == [group]


def test_shapes_that_the_client_passes_by_are_kept_and_no_reason_to_refuse(person: Person) -> None:
    person.settings.write_text('{"hooks": {"Bash": {}, "Notification": 3, "Odd": [{"hooks": []}]}}')
    assert person.install().warnings == () and {event for event, _ in person.ours()} == EVENTS
    person.uninstall()
    assert person.settings.read_text() == '{"hooks": {"Bash": {}, "Notification": 3, "Odd": [{"hooks": []}]}}'


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared")
def test_real_settings_of_the_wrong_shape_are_named(person: Person) -> None:
    person.settings.write_bytes((CORPUS / "user_trailofbits_wrong-shape.json").read_bytes())
    warnings = person.install().warnings
    assert [w.split(": ")[1].split(" ")[0] for w in warnings] == ["hooks.Bash[0]", "hooks.Bash[1]"]
    assert "knows no such event" in warnings[0]


@pytest.mark.parametrize("where", ["user", "project", "local", "managed"])
def test_hooks_switched_off_anywhere_is_said(person: Person, where: str) -> None:
    project = person.root / "project"
    (project / ".claude").mkdir(parents=True)
    path = {
        "user": person.settings,
        "project": project / ".claude" / "settings.json",
        "local": project / ".claude" / "settings.local.json",
        "managed": person.root / "managed.json",
    }[where]
    path.write_text('{"disableAllHooks": true}')
    for warnings in (person.install(project_dir=project).warnings, person.status(project_dir=project).warnings):
        assert len(warnings) == 1 and str(path) in warnings[0] and "disableAllHooks" in warnings[0]


def test_an_enabled_plugin_of_ours_is_said(person: Person) -> None:
    person.settings.write_text('{"enabledPlugins": {"recorder@market": true, "other@recorder": true}}')
    assert [w for w in person.install().warnings if "recorder@market" in w] == list(person.install().warnings)
    person.settings.write_text('{"enabledPlugins": {"recorder@market": false}}')
    assert person.install().warnings == ()


def test_a_dry_run_says_what_would_be_done_and_does_nothing(person: Person) -> None:
    person.settings.write_text(THREE_FOREIGN)
    before = person.everything()
    report = person.install(dry_run=True)
    assert [change.what for change in report.changes] == ["merged", "created"]
    assert report.dry_run and "capture.sh" in report.hooks
    assert person.everything() == before and not person.recorder.exists()


def test_every_config_dir_given_gets_entries_and_loses_them(person: Person) -> None:
    work = person.home / ".claude-work"
    work.mkdir()
    person.install(config_dirs=[work])
    assert len(person.ours(work / "settings.json")) == len(person.ours()) == len(EVENTS) + 1
    assert (work / ".claude.json").exists()
    person.uninstall()
    assert list(work.iterdir()) == [] and not person.settings.exists()


def test_claude_config_dir_is_honoured(person: Person) -> None:
    elsewhere = person.home / "elsewhere"
    person.environ["CLAUDE_CONFIG_DIR"] = str(elsewhere)
    person.install()
    assert {path.name for path in elsewhere.iterdir()} == {"settings.json", ".claude.json"}
    assert not person.settings.exists() and not person.claude_json.exists()
    person.uninstall()
    assert not elsewhere.exists()


def test_a_full_disk_in_the_middle_leaves_the_old_file(person: Person) -> None:
    person.settings.write_text(json.dumps({"pad": "x" * 200_000}))
    before = person.settings.read_bytes()
    # Files of this process may not grow beyond 150 kB: the hooks fit, the settings do not.
    script = f"""
        import resource, signal, sys
        from pathlib import Path
        from recorder import install
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
        try:
            install.install({person.environ!r}, interpreter=sys.executable, source_root=Path({str(ROOT)!r}), now_ms=0)
        except install.SettingsError as error:
            print(error)
    """
    code = textwrap.dedent(script).replace("install.SettingsError", "SettingsError")
    code = "from recorder.errors import SettingsError\n" + code
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True, timeout=60
    )
    assert "cannot be written" in done.stdout
    assert person.settings.read_bytes() == before
    assert [path.name for path in person.claude.iterdir()] == ["settings.json"]
    person.install()
    assert {event for event, _ in person.ours()} == EVENTS


def test_uninstall_refuses_before_the_first_change_when_a_file_with_ours_is_torn(person: Person) -> None:
    person.install()
    torn = person.settings.read_text()[:-20]
    person.settings.write_text(torn)
    before = person.everything()
    with pytest.raises(SettingsError, match="settings.json"):
        person.uninstall()
    assert person.everything() == before


def test_uninstall_passes_by_a_torn_file_that_never_was_ours(person: Person) -> None:
    person.install()
    person.settings.write_text('{"model": ')
    report = person.uninstall()
    assert len(report.warnings) == 1 and "settings.json" in report.warnings[0]
    assert not person.claude_json.exists()


def test_uninstall_without_install_does_nothing(person: Person) -> None:
    person.settings.write_text(THREE_FOREIGN)
    assert person.uninstall().changes == () and person.settings.read_text() == THREE_FOREIGN


def test_status_knows_what_is_there_and_what_is_missing(person: Person) -> None:
    assert not person.status().complete
    person.install()
    assert person.status().complete
    written = json.loads(person.settings.read_bytes())
    del written["hooks"]["Stop"]
    person.settings.write_text(json.dumps(written))
    status = person.status()
    assert not status.complete and status.places[0].missing == ("Stop",)
    person.install()
    (person.recorder / "hooks" / "capture.sh").write_text("old")
    assert person.status().stale_hooks == ("capture.sh",) and not person.status().complete
    person.uninstall()
    assert not any(place.present for place in person.status().places)
