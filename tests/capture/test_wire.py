"""Hook input → events, for every event of the client and for everything that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.capture import wire
from recorder.errors import HookInputError
from recorder.models import Event, EventKind, PromptClass, Source

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
PAYLOADS = sorted((SHARED / "claude_code" / "fixtures" / "hooks").glob("*/*.json"))

COMMON = {
    "session_id": "5e55",
    "transcript_path": "/home/user/.claude/projects/-home-user-project/5e55.jsonl",
    "cwd": "/home/user/project",
    "prompt_id": "9f0e",
}
BASH = {"tool_name": "Bash", "tool_input": {"command": "make test"}, "tool_use_id": "toolu_1"}


def parse(fields: dict[str, Any] | bytes, name: str = "1-2-3.json") -> Event:
    raw = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    event = wire.parse(raw, name=name, received_ms=1_700_000_000_000)
    assert event is not None
    return event


def hook(event_name: str, **fields: Any) -> dict[str, Any]:
    return {**COMMON, "hook_event_name": event_name, **fields}


KINDS = [
    (hook("UserPromptSubmit", prompt="hi"), EventKind.PROMPT, {"text": "hi"}),
    (
        hook("PostToolUse", **BASH, tool_response={"stdout": "ok"}),
        EventKind.TOOL_CALL,
        {"input": {"command": "make test"}, "result": {"stdout": "ok"}},
    ),
    (
        hook("PostToolUseFailure", **BASH, error="Exit code 2", is_interrupt=False),
        EventKind.TOOL_CALL,
        {"input": {"command": "make test"}, "error": "Exit code 2", "is_interrupt": False},
    ),
    (
        hook("Stop", last_assistant_message="Done.", background_tasks=[{"id": "b1"}]),
        EventKind.TURN_END,
        {"text": "Done.", "background_tasks": [{"id": "b1"}]},
    ),
    (
        hook("StopFailure", error="server_error", last_assistant_message="API Error: 529"),
        EventKind.API_ERROR,
        {"text": "API Error: 529", "error": "server_error"},
    ),
    (
        hook(
            "SubagentStop", agent_id="a1", agent_type="", agent_transcript_path="/nowhere", last_assistant_message="s"
        ),
        EventKind.SUBAGENT_END,
        {"text": "s", "agent_type": ""},
    ),
    (hook("SessionStart", source="resume"), EventKind.SESSION_START, {"source": "resume"}),
    (hook("SessionEnd", reason="clear"), EventKind.SESSION_END, {"reason": "clear"}),
    (hook("CwdChanged", old_cwd="/a", new_cwd="/b"), EventKind.CWD_CHANGED, {"old_cwd": "/a", "new_cwd": "/b"}),
    (
        hook("RecorderInjection", text="brief", project_id="p-1"),
        EventKind.INJECTION,
        {"text": "brief", "project_id": "p-1"},
    ),
    (
        hook("NotInventedYet", tomorrow={"x": 1}),
        EventKind.OTHER,
        {"hook_event_name": "NotInventedYet", "tomorrow": {"x": 1}},
    ),
]


@pytest.mark.parametrize(("fields", "kind", "body"), KINDS, ids=[f["hook_event_name"] for f, _, _ in KINDS])
def test_a_hook_input_becomes_its_kind_with_its_columns_filled(
    fields: dict[str, Any], kind: EventKind, body: dict[str, Any]
) -> None:
    event = parse(fields)
    assert (event.kind, event.body) == (kind, body)
    assert (event.session_id, event.cwd, event.prompt_id) == ("5e55", "/home/user/project", "9f0e")
    assert (event.source, event.ref, event.at_ms) == (Source.HOOK, "1-2-3.json", 1_700_000_000_000)


@pytest.mark.skipif(not PAYLOADS, reason="needs ../shared")
@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_payload_of_the_real_client_is_taken_in(path: Path) -> None:
    given = json.loads(path.read_bytes())
    event = parse(path.read_bytes())
    assert event.session_id == given["session_id"]
    assert event.kind is not EventKind.OTHER or event.body["hook_event_name"] == path.parent.name
    assert (event.kind is EventKind.TOOL_CALL) == path.parent.name.startswith("PostToolUse")


REFUSED = [
    (b"", "is empty"),
    (b" \n\x00"[:2], "is empty"),
    (b'{"a":', "is not JSON"),
    (b'{"session_id": "x", "pro', "is not JSON"),
    (b"hello", "is not JSON"),
    (b"null", "not an object"),
    (b"[1, 2]", "not an object"),
    (b'"text"', "not an object"),
    (b"{} {}", "more than one JSON value"),
    (b"[" * 100_000, "is not JSON"),
    (b'{"prompt":' + b"[" * 400 + b"]" * 400 + b"}", "nested too deeply"),
    (b"\xff\xfe\x00", "is not JSON"),
]


@pytest.mark.parametrize(("raw", "reason"), REFUSED)
def test_what_is_no_object_is_refused_with_the_reason_and_the_file_but_not_the_content(raw: bytes, reason: str) -> None:
    with pytest.raises(HookInputError, match=reason) as refused:
        parse(raw)
    assert "1-2-3.json" in str(refused.value)
    assert "hello" not in str(refused.value)


TAKEN = [
    (rb'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a \ud83d b"}', "a \ufffd b"),
    (b'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a \xff b"}', "a \ufffd b"),
    (rb'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a \u0000\u001b b"}', "a \x00\x1b b"),
    (b'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a \x00 b"}', "a \x00 b"),
    (b'\xef\xbb\xbf{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a b"}', "a b"),
    (rb'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a","n":' + b"9" * 9000 + b"}", "a"),
    (rb'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a","n":NaN}', "a"),
    (rb'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"\ud83d\udea7"}', "\U0001f6a7"),
]


@pytest.mark.parametrize(("raw", "text"), TAKEN, ids=range(len(TAKEN)))
def test_odd_bytes_inside_an_object_are_taken_in_as_text_a_database_can_hold(raw: bytes, text: str) -> None:
    event = parse(raw)
    assert event.body["text"] == text
    json.dumps(event.body, ensure_ascii=False, allow_nan=False).encode()


def test_an_input_of_20_mb_is_taken_in_whole() -> None:
    event = parse(hook("PostToolUse", **BASH, tool_response="x" * 20_000_000))
    assert len(event.body["result"]) == 20_000_000


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
FIELDS = sorted({field for fields, _, _ in KINDS for field in fields} - {"hook_event_name"})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([fields["hook_event_name"] for fields, _, _ in KINDS]),
    st.dictionaries(st.sampled_from(FIELDS), ANY, max_size=5),
)
def test_fields_missing_or_of_wrong_types_never_lose_the_input(event_name: str, fields: dict[str, Any]) -> None:
    event = parse({**fields, "hook_event_name": event_name})
    assert event.session_id
    stored = {**event.body, "session_id": event.session_id, "cwd": event.cwd, "prompt_id": event.prompt_id}
    for field in ("session_id", "cwd", "prompt_id"):
        value = fields.get(field)
        assert value in (None, "") or stored[field] == value or event.body[field] == value


def test_an_object_without_a_session_is_kept_under_unknown() -> None:
    event = parse({"session_id": 7, "hook_event_name": ["x"]})
    assert (event.kind, event.session_id) == (EventKind.OTHER, "unknown")
    assert event.body == {"session_id": 7, "hook_event_name": ["x"]}


CLASSES = [
    ("run the tests", None),
    ("/review the parser", PromptClass.SLASH),
    ("/etc/hosts is wrong", None),
    ("<task-notification>\n<task-id>b1</task-id>", PromptClass.TASK_NOTIFICATION),
    ("why does it print <task-notification>?", None),
]


@pytest.mark.parametrize(("text", "klass"), CLASSES)
def test_a_prompt_has_a_class_only_where_its_start_says_so(text: str, klass: PromptClass | None) -> None:
    assert parse(hook("UserPromptSubmit", prompt=text)).klass is klass


def test_keys_name_the_call_and_the_prompt_and_else_the_spool_file() -> None:
    call = hook("PostToolUse", **BASH, tool_response="x")
    assert parse(call, "1.json").key == parse(call, "2.json").key == "t:5e55:toolu_1"
    assert parse(hook("UserPromptSubmit", prompt="hi")).key == "p:5e55:9f0e:prompt"
    assert parse(hook("SessionStart", source="startup"), "3.json").key == "h:3.json"
    assert parse(hook("Stop"), "4.json").key == "s:5e55:4.json"
