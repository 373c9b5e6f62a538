"""The 65 pitfalls of the format, by their numbers in its description: what must come out of each.

61 are the reader's. 62 to 64 are memory files, 65 is settings: claude_auto and install test them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.capture.transcript import Chunk, Cursor
from recorder.models import Event, EventKind
from tests.capture.transcript_lines import (
    SESSION,
    SHARED,
    Line,
    absorbed,
    answer,
    lines,
    queue,
    read_all,
    read_on,
    record,
    result,
    said,
    text,
    typed,
    use,
)

MAIN = f"{SESSION}.jsonl"
AGENTS = f"{SESSION}/subagents"


def tell(event: Event) -> str:
    """An event in one line: who or what, then the words."""
    body = event.body
    if event.kind is EventKind.TOOL_CALL:
        came = body.get("error", body.get("result"))
        what = f"{event.tool} {'ok' if event.ok else 'failed'}: {came if isinstance(came, str) else json.dumps(came)}"
    elif event.kind is EventKind.PROMPT:
        what = f"{event.klass or 'unknown'}: {body['text']}" + (
            f" +{body['images']} images" if "images" in body else ""
        )
    elif event.kind is EventKind.OTHER:
        what = f"other: {body.get('type')}"
    else:
        what = f"{event.kind}: {body.get('text', '')}"
    return what + (" (agent)" if event.agent_id else "")


@dataclass(frozen=True)
class Pitfall:
    """What a file holds, and what must come out: the events told in order, and what is left out by which rule."""

    number: int | str
    name: str
    content: bytes | list[Line]
    told: list[str]
    left_out: dict[str, int] = field(default_factory=dict)
    place: str = MAIN
    problems: int = 0
    open_calls: int = 0

    @property
    def raw(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else lines(*self.content)


def image(**more: Any) -> Line:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}, **more}


def side(line: Line, agent: str, **more: Any) -> Line:
    return line | {"isSidechain": True, "agentId": agent} | more


def without(line: Line, *names: str) -> Line:
    return {name: value for name, value in line.items() if name not in names}


def attached(n: int, **fields: Any) -> Line:
    return record("attachment", n, attachment={"type": "queued_command", **fields})


GO, MORE = lines(typed("go")), lines(typed("more", 2))
NOTICE = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"
COMMAND = (
    "<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n<command-args>now</command-args>"
)
REMINDER = "<system-reminder>be brief</system-reminder>"
BTW = (
    "<system-reminder>This is a side question from the user. You must answer this question directly in a single"
    " response.\n\nSimply answer the question with the information you have.</system-reminder>\n\nwhich port is it?"
)
SUMMARISE = "Your task is to create a detailed summary of the conversation so far, paying close attention"
PERSISTED = (
    "<persisted-output>\nOutput too large (90.8KB). Full output saved to: /gone/tool-results/x.txt\n\nPreview:\n1"
)
SAVED = "Error: result (76,487 characters) exceeds maximum allowed tokens. Output has been saved to /gone/x.txt."
SPREAD = {str(n): letter for n, letter in enumerate("event: message_start")} | {"content": []}
PLAN = "Implement the following plan:\n\n" + "# Plan\n" * 4000

PITFALLS = [
    Pitfall(1, "two records on one line", GO[:-1] + MORE, ["typed: go", "typed: more"]),
    Pitfall(2, "torn last line", GO + MORE[:-20], ["typed: go"], {"unfinished": 1}),
    Pitfall(
        3,
        "invalid lines and odd JSON values",
        GO + b'\n{"half\nnull\n[1,2]\n"text"\n42\n' + MORE,
        ["typed: go", "typed: more"],
        {"blank": 1, "torn": 1, "not_a_record": 4},
        problems=1,
    ),
    Pitfall(
        4,
        "pretty-printed JSON",
        json.dumps(typed("go"), indent=2).encode() + b"\n",
        [],
        {"torn": 17, "not_a_record": 14},
        problems=1,
    ),
    Pitfall(5, "no final newline", GO + MORE[:-1], ["typed: go", "typed: more"]),
    Pitfall(6, "a line of 1.5 MB", [typed("x" * 1_500_000)], ["typed: " + "x" * 1_500_000]),
    Pitfall(
        7,
        "prompt only in queue-operation",
        [typed("go"), queue("enqueue", 1, "use tabs"), queue("remove", 2)],
        ["typed: go", "queued: use tabs"],
        {"queue_operation": 1},
    ),
    Pitfall(
        8,
        "prompt only in queued_command, which carries notifications too",
        [
            typed("go"),
            absorbed("use tabs", 1),
            attached(3, prompt=NOTICE, commandMode="prompt"),
            attached(4, prompt="x", commandMode="task-notification"),
            attached(5, prompt=[text("in"), text("blocks")]),
        ],
        [
            "typed: go",
            "queued: use tabs",
            f"task_notification: {NOTICE}",
            "task_notification: x",
            "queued: in\nblocks",
        ],
    ),
    Pitfall(
        9,
        "popAll takes back what waits",
        [queue("enqueue", 1, "no"), queue("popAll", 2, "no"), typed("yes"), queue("remove", 3)],
        ["typed: yes"],
        {"queue_operation": 3},
    ),
    Pitfall(10, "hook stop notice", [said("Operation stopped by hook: no")], [], {"hook_output": 1}),
    Pitfall(
        11,
        "command errors",
        [said("Unknown skill: foo", promptId="p"), said("Unknown slash command: foo", 2)],
        [],
        {"command_error": 2},
    ),
    Pitfall(
        12,
        "task notifications, four forms",
        [
            said(NOTICE, permissionMode="default"),
            said("<agent-notification>\n<agent-id>a</agent-id>", 2),
            said('{"task_id":"b1","status":"done"}', 3),
            said("finished", 4, origin={"kind": "task-notification"}),
        ],
        [
            f"task_notification: {NOTICE}",
            "task_notification: <agent-notification>\n<agent-id>a</agent-id>",
            'task_notification: {"task_id":"b1","status":"done"}',
            "task_notification: finished",
        ],
    ),
    Pitfall(
        13,
        "plan hand-off, 28 KB, first record of a session",
        [said(PLAN, planContent="# Plan"), said(PLAN, 2), typed("go", 3)],
        [f"plan: {PLAN}", f"plan: {PLAN}", "typed: go"],
    ),
    Pitfall(
        14,
        "slash command triad",
        [said(COMMAND), said([text("Deploy what is there.")], 2, isMeta=True)],
        ["slash: /deploy now", "injected: Deploy what is there."],
    ),
    Pitfall(
        15,
        "local command: caveat, wrapper, output",
        [
            said("Caveat: The messages below were generated by the user", isMeta=True),
            said("<command-name>/cost</command-name>\n<command-args></command-args>", 2),
            said("<local-command-stdout>$1</local-command-stdout>", 3),
            said("<local-command-caveat>Caveat</local-command-caveat>", 4),
            record("system", 5, subtype="local_command", content="<command-name>/mcp</command-name>"),
            record("system", 6, subtype="local_command", content="<local-command-stdout>ok</local-command-stdout>"),
        ],
        ["slash: /cost", "slash: /mcp"],
        {"caveat": 2, "local_output": 2},
    ),
    Pitfall(
        16,
        "bash-input",
        [said("<bash-input>make</bash-input>"), said("<bash-stdout>done</bash-stdout><bash-stderr></bash-stderr>", 2)],
        ["bash: make", "other: bash_output"],
    ),
    Pitfall(
        17,
        "IDE context before the typed text",
        [said([text("<ide_opened_file>a.py is open</ide_opened_file>"), text("explain it")])],
        ["typed: explain it"],
    ),
    Pitfall(
        18,
        "interruptions",
        [
            said([text("[Request interrupted by user]")]),
            said([text("[Request interrupted by user for tool use]")], 2),
        ],
        ["other: interruption", "other: interruption"],
    ),
    Pitfall(19, "hook feedback", [said("Stop hook feedback:\n- fix", isMeta=True)], [], {"hook_output": 1}),
    Pitfall(
        20,
        "compaction summary",
        [
            record("system", 1, subtype="compact_boundary", parentUuid=None, logicalParentUuid="uuid-user-1"),
            said("This session is being continued from a previous conversation", 2, isCompactSummary=True),
            typed("This session is being continued from a previous conversation, is it?", 3),
        ],
        [
            "other: system",
            "summary: This session is being continued from a previous conversation",
            "typed: This session is being continued from a previous conversation, is it?",
        ],
    ),
    Pitfall(
        21, "teammate message", [said('<teammate-message from="w">hi')], ['teammate: <teammate-message from="w">hi']
    ),
    Pitfall(
        22,
        "last-prompt copies the prompt",
        [typed("go"), {"type": "last-prompt", "lastPrompt": "go", "sessionId": SESSION}]
        + [{"type": "last-prompt", "leafUuid": "u", "sessionId": SESSION}],
        ["typed: go"],
        {"last_prompt": 2},
    ),
    Pitfall(
        23,
        "warm-up of an agent, and what hangs on it",
        [
            side(said("Warmup", 1, parentUuid=None), "a17"),
            side(answer(text("I am ready."), use(), n=2, parentUuid="uuid-user-1"), "a17"),
            side(result() | {"parentUuid": "uuid-assistant-2"}, "a17"),
            side(said("Warmup", 5, parentUuid="elsewhere"), "a17"),
        ],
        ["injected: Warmup (agent)"],
        {"warmup": 3},
        place=f"{AGENTS}/agent-a17.jsonl",
    ),
    Pitfall(
        23,
        "warm-up inlined in the parent's file",
        [
            typed("Warmup", parentUuid=None),
            said("Warmup", 2, isSidechain=True, parentUuid=None),
            answer(text("Ready."), n=3, isSidechain=True, parentUuid="uuid-user-2"),
            answer(text("Yes."), n=4, parentUuid="uuid-user-1"),
        ],
        ["typed: Warmup", "assistant: Yes."],
        {"warmup": 2},
    ),
    Pitfall(24, "prompt of an image alone", [said([image()])], ["typed:  +1 images"]),
    Pitfall(
        24,
        "prompt of an image alone that was typed while Claude worked",
        [
            queue("enqueue", 1) | {"content": [image()]},
            queue("remove", 2),
            queue("enqueue", 3) | {"content": [text("like this"), image()]},
            queue("remove", 4, "like this"),
            attached(5, prompt=[image(), image()]),
            queue("enqueue", 6) | {"content": [image()]},
            queue("dequeue", 7),
            said([image()], 8),
            queue("enqueue", 9) | {"content": [image()]},
            queue("popAll", 10),
            queue("enqueue", 11) | {"content": [image()]},
        ],
        [
            "queued:  +1 images",
            "queued: like this +1 images",
            "queued:  +2 images",
            "typed:  +1 images",
            "queued:  +1 images",
        ],
        {"queue_operation": 7},
    ),
    Pitfall(
        25,
        "several records a response, usage partial in the first",
        [
            answer({"type": "thinking", "thinking": "hm"}, n=1),
            answer(text("Looking."), n=2) | {"message": {"id": "msg-1", "content": [text("Looking.")]}},
            answer(use(), n=3) | {"message": {"id": "msg-1", "content": [use()], "usage": {"output_tokens": 9}}},
            result(),
        ],
        ["assistant: Looking.", "Bash ok: out"],
        {"thinking": 1},
    ),
    Pitfall(
        26,
        "results between the records of one response",
        [answer(use(1), n=1), result(1), answer(use(2), n=2), answer(text("Both."), n=1, uuid="late"), result(2)],
        ["Bash ok: out", "assistant: Both.", "Bash ok: out"],
    ),
    Pitfall(
        28,
        "empty thinking with a signature, twice",
        [answer({"type": "thinking", "thinking": "", "signature": "s"}, n=n) for n in (1, 2)]
        + [answer({"type": "redacted_thinking", "data": "x"}, n=3)],
        [],
        {"thinking": 3},
    ),
    Pitfall(
        29,
        "synthetic API error",
        [
            answer(text("API Error: 500"), n=1, isApiErrorMessage=True, error="server_error"),
            record("system", 2, subtype="api_error", error={"status": 529}, retryAttempt=1),
            record("assistant", 3, message={"model": "<synthetic>", "content": [text("No response requested.")]}),
        ],
        ["api_error: API Error: 500", "api_error: "],
        {"synthetic": 1},
    ),
    Pitfall(30, "message is a char-indexed dict", [record("assistant", message=SPREAD)], [], {"empty": 1}),
    Pitfall(
        31,
        "toolUseResult is a dict, a list, a text",
        [
            answer(use(1), use(2), use(3), use(4)),
            result(1, "o", {"stdout": "o"}),
            result(2, [text("o")], [text("o")]),
            result(3, "Error: no", "Error: no"),
            result(4, "o", "o"),
        ],
        [
            'Bash ok: {"stdout": "o"}',
            'Bash ok: [{"type": "text", "text": "o"}]',
            "Bash failed: Error: no",
            "Bash ok: o",
        ],
    ),
    Pitfall(
        32,
        "persisted output whose file is gone leaves the preview",
        [answer(use()), result(1, PERSISTED)],
        [f"Bash ok: {PERSISTED}"],
    ),
    Pitfall(
        33,
        "full stdout though the model saw 2 KB",
        [answer(use()), result(1, PERSISTED, {"stdout": "1\n" * 9_000})],
        ["Bash ok: " + json.dumps({"stdout": "1\n" * 9_000})],
    ),
    Pitfall(34, "tool use without a result", [answer(use(1), use(2)), result(2)], ["Bash ok: out"], open_calls=1),
    Pitfall(35, "result without a use", [result(9)], ["None ok: out"]),
    Pitfall(
        36,
        "base64 in a result, twice",
        [answer(use(tool="Read")), result(1, [image()], {"file": {"base64": "iVBORw0K"}, "type": "image"})],
        ['Read ok: {"file": {"base64": "iVBORw0K"}, "type": "image"}'],
    ),
    Pitfall(
        37,
        "acompact: a copy, then the summary",
        [
            side(typed("go"), "acompact-f00", promptId="other"),
            side(answer(text("Going."), n=2), "acompact-f00"),
            side(said(SUMMARISE, 3), "acompact-f00"),
            side(answer(text("<summary>All of it</summary>"), n=4), "acompact-f00"),
        ],
        ["assistant: Going.", f"injected: {SUMMARISE} (agent)", "summary: <summary>All of it</summary> (agent)"],
        {"copy": 1},
        place=f"{AGENTS}/agent-acompact-f00.jsonl",
    ),
    Pitfall(
        38,
        "aside_question: a copy, then a person's question and the answer",
        [
            side(typed("go"), "aside_question-f00", promptId="other"),
            side(answer(use(), n=2), "aside_question-f00"),
            side(result(), "aside_question-f00"),
            side(said(BTW, 3), "aside_question-f00"),
            side(answer(text("8080."), n=4), "aside_question-f00"),
        ],
        ["Bash ok: out", "queued: which port is it? (agent)", "assistant: 8080. (agent)"],
        {"copy": 1},
        place=f"{AGENTS}/agent-aside_question-f00.jsonl",
    ),
    Pitfall(
        39,
        "agent_progress repeats an agent's messages",
        [record("progress", data={"type": "agent_progress", "message": typed("do it")})],
        [],
        {"progress": 1},
    ),
    Pitfall(
        40,
        "sidechains inlined",
        [typed("go"), said("look there", 2, isSidechain=True), answer(text("Seen."), n=3, isSidechain=True)],
        ["typed: go", "injected: look there (agent)", "assistant: Seen. (agent)"],
    ),
    Pitfall(
        41,
        "flat agent file with the parent's session",
        [side(said("look there"), "ab12cd34")],
        ["injected: look there (agent)"],
        place="agent-ab12cd34.jsonl",
    ),
    Pitfall(
        42,
        "workflow agent and its journal",
        [{"type": "started", "key": "k", "agentId": "g2"}, side(said("step"), "g2"), {"type": "result", "key": "k"}],
        ["injected: step (agent)"],
        {"journal": 2},
        place=f"{AGENTS}/workflows/wf_1/agent-g2.jsonl",
    ),
    Pitfall(
        43,
        "two sessions in one file",
        [typed("old", 1, sessionId="older"), typed("new", 2)],
        ["typed: old", "typed: new"],
    ),
    Pitfall(46, "one uuid twice in a file", [typed("go"), typed("go")], ["typed: go", "typed: go"]),
    Pitfall(
        47,
        "chain through what is dropped, to parents that are not there, and in a circle",
        [
            record("progress", 1, parentUuid="never-written", data={}),
            typed("a", 2, parentUuid="uuid-progress-1"),
            typed("b", 3, parentUuid="uuid-user-4"),
            typed("c", 4, parentUuid="uuid-user-3"),
            typed("d", 5, parentUuid="uuid-user-5"),
            typed("e", 6, parentUuid=17),
        ],
        ["typed: a", "typed: b", "typed: c", "typed: d", "typed: e"],
        {"progress": 1},
    ),
    Pitfall(
        48,
        "the result hangs from a record that comes later",
        [answer(use(), n=1), result() | {"parentUuid": "uuid-assistant-9"}, answer(text("Late."), n=9)],
        ["Bash ok: out", "assistant: Late."],
    ),
    Pitfall(
        49,
        "timestamps go back",
        [typed("first", 50), typed("second", 10), typed("third", 30)],
        ["typed: first", "typed: second", "typed: third"],
    ),
    Pitfall(
        50,
        "records without uuid, time, session",
        [
            {"type": "summary", "summary": "Parser", "leafUuid": "elsewhere"},
            without(typed("go"), "uuid", "timestamp", "sessionId", "cwd", "promptId"),
        ],
        ["title: Parser", "typed: go"],
    ),
    Pitfall(
        51,
        "file without messages",
        [{"type": "teleported-from", "remoteSessionId": "r", "branch": "b", "messageCount": 3}],
        ["other: teleported-from"],
    ),
    Pitfall(51, "file of no bytes", b"", []),
    Pitfall(54, "CJK without spaces", [typed("データベースを直して")], ["typed: データベースを直して"]),
    Pitfall(
        55,
        "U+FFFD and ANSI are the output's own",
        [answer(use()), result(1, "\ufffd \x1b[31mred\x1b[0m")],
        ["Bash ok: \ufffd \x1b[31mred\x1b[0m"],
    ),
    Pitfall(56, "escapes inside escapes stay", [typed(r'{"a": "\ud83d\udea7"}')], [r'typed: {"a": "\ud83d\udea7"}']),
    Pitfall(
        57,
        "unknown types, subtypes, attachments and blocks",
        [
            {"type": "atis-latch", "atis": "x", "sessionId": SESSION},
            {"type": "frame-link", "path": "/p", "frameUrl": "u", "sessionId": SESSION},
            {"type": "fork-context-ref", "agentId": "a1", "parentSessionId": "p", "parentLastUuid": "u"},
            {"type": {"odd": 1}, "sessionId": SESSION},
            record("system", 1, subtype="brand_new", content="x"),
            record("attachment", 2, attachment={"type": "brand_new", "content": "x"}),
            record("attachment", 3, attachment="no object"),
            answer({"type": "server_tool_use", "id": "s1", "name": "web_search"}, {"type": ["odd"]}, n=4),
            said([text("look"), {"type": "brand_new", "url": "u"}], 5),
        ],
        [
            "other: atis-latch",
            "other: frame-link",
            "other: fork-context-ref (agent)",
            "other: {'odd': 1}",
            "other: system",
            "other: brand_new",
            "other: attachment",
            "other: block",
            "other: block",
            "typed: look",
            "other: block",
        ],
    ),
    Pitfall(
        58,
        "a version that never was, keys nobody knows, other shapes of known types",
        [
            typed("go", version="9.9.9", brandNew={"deep": [1]}),
            typed("more", 2, version=3),
            {"type": "custom-title", "renamed": "x", "sessionId": SESSION},
        ],
        ["typed: go", "typed: more", "other: custom-title"],
    ),
    Pitfall(
        59,
        "microcompact",
        [answer(use(1)), result(1), record("system", 2, subtype="microcompact_boundary", content="cleared")],
        ["Bash ok: out", "other: system"],
    ),
    Pitfall(
        60,
        "slice that starts in mid-session",
        [result(7), answer(text("So."), n=2, parentUuid="before"), queue("remove", 3, "use tabs"), typed("go", 4)],
        ["None ok: out", "assistant: So.", "queued: use tabs", "typed: go"],
    ),
    Pitfall(
        61,
        "system record without a subtype",
        [record("system", content="Running PostToolUse:Edit… [lint] completed", level="info")],
        ["other: system"],
    ),
    Pitfall(
        "B2",
        "remove says the words and why; nothing is told twice",
        [
            queue("enqueue", 1, "use tabs"),
            absorbed("use tabs", 1),
            queue("remove", 2, "use tabs") | {"reason": "absorbed_mid_turn"},
            queue("enqueue", 3),
            queue("remove", 4, "and spaces") | {"reason": "absorbed_mid_turn"},
            queue("enqueue", 5, "own turn"),
            queue("dequeue", 6),
            typed("own turn", 7),
        ],
        ["queued: use tabs", "queued: use tabs", "queued: and spaces", "typed: own turn"],
        {"queue_operation": 4},
    ),
    Pitfall(
        "B2",
        "what waited when the session was killed was typed all the same",
        [
            queue("enqueue", 1, "never taken"),
            queue("enqueue", 2, NOTICE),
            queue("enqueue", 3, "sent without a dequeue"),
            typed("sent without a dequeue", 4),
        ],
        ["typed: sent without a dequeue", "queued: never taken"],
        {"queue_operation": 3},
    ),
    Pitfall(
        "B2",
        "a removed prompt whose own record came first",
        [queue("enqueue", 1, "use tabs"), typed("use tabs"), queue("remove", 2)],
        ["typed: use tabs"],
        {"queue_operation": 2},
    ),
    Pitfall(
        "B3",
        "a record cut in a text, the next one in the same line, and NULs",
        MORE[: MORE.index(b"more") + 2] + GO + b"\x00" * 400 + MORE,
        ["typed: go", "typed: more"],
        {"torn": 1},
        problems=1,
    ),
    Pitfall("B4", "a line of NULs", GO + b"\x00" * 700 + b"\n" + MORE, ["typed: go", "typed: more"], {"blank": 1}),
    Pitfall(
        "B5",
        "a stub of a killed writer, then whole lines",
        GO + b'{"parentUuid":"x","isSide' + MORE + GO,
        ["typed: go", "typed: more", "typed: go"],
        {"torn": 1},
        problems=1,
    ),
    Pitfall(
        "B7",
        "lone surrogates, escaped, in words and in names",
        lines(typed("MARK", odd="MARK")).replace(b"MARK", rb"a \ud83d b").replace(b'"odd"', rb'"o\udc00"'),
        ["typed: a \ufffd b"],
    ),
    Pitfall("B7", "bytes that are not UTF-8", GO.replace(b"go", b"g\xff\xc3o"), ["typed: g\ufffd\ufffdo"]),
    Pitfall("B8", "BOM and CRLF", b"\xef\xbb\xbf" + GO.replace(b"\n", b"\r\n") + MORE, ["typed: go", "typed: more"]),
    Pitfall(
        "B22",
        "times that are none",
        [typed("a", timestamp="[trimmed]"), typed("b", 2, timestamp=[]), typed("c", 3, timestamp="9" * 400)],
        ["typed: a", "typed: b", "typed: c"],
    ),
    Pitfall(
        "B25",
        "the history written again for every message",
        [typed("one"), typed("one"), typed("two", 2)],
        ["typed: one", "typed: one", "typed: two"],
    ),
    Pitfall(
        "§4",
        "channel and user-memory-input",
        [said('<channel source="x">hi'), said("<user-memory-input>use tabs</user-memory-input>", 2)],
        ['teammate: <channel source="x">hi', "typed: use tabs"],
    ),
    Pitfall(
        "§4",
        "tags are quoted in the middle, reminders hang at the end",
        [
            typed(f"why does it say <command-name> and {REMINDER} here?"),
            typed(f"fix it\n{REMINDER}\n{REMINDER}", 2),
            said(REMINDER, 3),
        ],
        [f"typed: why does it say <command-name> and {REMINDER} here?", "typed: fix it"],
        {"reminder": 1},
    ),
    Pitfall(
        "§6",
        "an MCP result that was saved begins with Error and is none",
        [
            answer(use(tool="mcp__x__y")),
            result(1, SAVED, SAVED),
        ],
        [
            f"mcp__x__y ok: {SAVED}",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize("pitfall", PITFALLS, ids=[f"{p.number}-{p.name.replace(' ', '-')[:40]}" for p in PITFALLS])
def test_what_a_pitfall_must_come_to(pitfall: Pitfall, tmp_path: Path) -> None:
    chunk = read_all(tmp_path / pitfall.place, pitfall.raw, final=True)
    assert [tell(event) for event in chunk.events] == pitfall.told
    assert chunk.skipped == pitfall.left_out
    assert (len(chunk.problems), len(chunk.open_calls)) == (pitfall.problems, pitfall.open_calls)
    by_line = read_on(tmp_path / pitfall.place, Cursor(), {}, final=True, limit_bytes=1)
    assert ([tell(event) for event in by_line.events], by_line.skipped) == (pitfall.told, pitfall.left_out)


def test_every_pitfall_of_a_reader_is_in_the_table() -> None:
    # 27, 44, 45, 52 and 53 are below and in the tests of copies: they are about keys and columns.
    assert {p.number for p in PITFALLS if isinstance(p.number, int)} | {27, 44, 45, 52, 53} == set(range(1, 62))


def test_27_a_response_logged_again_under_a_new_uuid_is_the_same_event(tmp_path: Path) -> None:
    again = [answer(text("Done."), n=1), answer(text("Done."), n=1, uuid="later"), answer(text("More."), n=1, uuid="x")]
    events = read_all(tmp_path / MAIN, lines(*again)).events
    assert len({event.key for event in events}) == 2


def test_46_and_b25_a_record_written_twice_is_the_same_event(tmp_path: Path) -> None:
    twice = [typed("go"), answer(use(), text("Yes."), n=2), result()]
    events = read_all(tmp_path / MAIN, lines(*twice, *twice)).events
    assert len(events) == 6 and len({event.uuid for event in events}) == 3


def test_b2_words_in_the_queue_and_its_attachment_are_one_event(tmp_path: Path) -> None:
    plain = absorbed("use tabs", 2)
    del plain["attachment"]["timestamp"]  # some clients do not say when
    for order in ([plain, queue("remove", 3)], [queue("remove", 3, "use tabs"), plain]):
        events = read_all(tmp_path / MAIN, lines(queue("enqueue", 1, "use tabs"), *order)).events
        assert len({event.key for event in events}) == 1, order


def test_b2_the_same_words_twice_of_which_one_got_its_own_turn_are_two_prompts(tmp_path: Path) -> None:
    both = [queue("enqueue", 1, "go on"), queue("enqueue", 2, "go on"), queue("dequeue", 3), typed("go on")]
    events = read_all(tmp_path / MAIN, lines(*both, queue("remove", 4)), limit_bytes=1).events
    assert [tell(event) for event in events] == ["typed: go on", "queued: go on"]


def test_43_52_53_session_place_and_branch_are_each_records_own(tmp_path: Path) -> None:
    windows = typed("b", 2, cwd="C:\\Users\\dev\\app", gitBranch="", sessionId="other")
    events = read_all(tmp_path / MAIN, lines(typed("a", gitBranch="HEAD"), windows)).events
    assert [(e.session_id, e.cwd, e.branch) for e in events] == [
        (SESSION, "/home/user/project", "HEAD"),
        ("other", "C:\\Users\\dev\\app", "HEAD"),
    ]


def test_57_what_is_unknown_is_kept_whole(tmp_path: Path) -> None:
    block, attachment = {"type": "brand_new", "deep": [{"a": 1}]}, {"type": "brand_new", "content": ["x"]}
    rows = [answer(block, n=1), said([block], 2), record("attachment", 3, attachment=attachment)]
    events = read_all(tmp_path / MAIN, lines(*rows)).events
    assert [event.body for event in events] == [{"type": "block", "block": block}] * 2 + [attachment]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KINDS = "user assistant system attachment queue-operation summary ai-title progress custom-title novel".split()
NAMES = (
    "uuid parentUuid sessionId timestamp cwd isSidechain agentId promptId promptSource origin isMeta subtype content"
    " operation toolUseResult message attachment isCompactSummary entrypoint planContent summary leafUuid error"
).split()
BLOCK_NAMES = (
    "type text id name input tool_use_id content is_error thinking source prompt commandMode timestamp".split()
)
BLOCK = st.dictionaries(
    st.sampled_from(BLOCK_NAMES),
    st.sampled_from(["text", "tool_use", "tool_result", "image", "queued_command", "prompt"]) | VALUES,
    max_size=5,
)
MESSAGE = st.dictionaries(st.sampled_from(["content", "id", "model"]), st.lists(BLOCK, max_size=3) | VALUES, max_size=3)
RECORD = st.builds(
    lambda kind, fields, message, block: {"type": kind, **fields, "message": message, "attachment": block},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    MESSAGE | VALUES,
    BLOCK | VALUES,
)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(RECORD, max_size=4))
def test_no_json_object_is_fatal_and_each_is_accounted_for(rows: list[Line], tmp_path: Path) -> None:
    chunk = read_all(tmp_path / MAIN, lines(*rows), final=True)
    assert chunk.seen == len(rows)
    json.dumps([event.body for event in chunk.events])


# The same on real files


def kinds(chunk: Chunk) -> Counter[str]:
    names = [f"{e.klass or 'unknown'}" if e.kind is EventKind.PROMPT else f"{e.kind}" for e in chunk.events]
    return Counter(f"{name} of an agent" if e.agent_id else name for name, e in zip(names, chunk.events, strict=True))


def digest(words: object) -> str:
    return sha256(str(words).encode()).hexdigest()[:12]


def at_line(chunk: Chunk, path: Path, number: int) -> list[Event]:
    """The events of the records that stand on one line of the file."""
    before = path.read_bytes().split(b"\n")[:number]
    start, end = sum(len(line) + 1 for line in before[:-1]), sum(len(line) + 1 for line in before)
    return [event for event in chunk.events if start <= int(event.ref.rpartition(":")[2].partition(".")[0]) < end]


def glued(chunk: Chunk, path: Path) -> bool:
    return [event.kind for event in at_line(chunk, path, 172)] == [EventKind.ASSISTANT, EventKind.TITLE]


def absorbed_words(chunk: Chunk, path: Path) -> bool:
    queued = [digest(event.body["text"]) for event in chunk.events if event.klass == "queued"]
    return queued == sorted(set(queued), key=queued.index) and len(queued) == 3


def full_stdout(chunk: Chunk, path: Path) -> bool:
    (call,) = at_line(chunk, path, 19)
    return len(call.body["result"]["stdout"]) == 408_804 and "persisted" not in call.body


def plan_only(chunk: Chunk, path: Path) -> bool:
    return tell(chunk.events[0]).startswith("plan: Implement the following plan:")


def places(chunk: Chunk, path: Path) -> bool:
    return len({e.cwd for e in chunk.events}) == 2 and {e.branch for e in chunk.events} > {"master"}


def ansi(chunk: Chunk, path: Path) -> bool:
    return sum("\\u001b[" in json.dumps(event.body) for event in chunk.events) == 26


def own_escapes(chunk: Chunk, path: Path) -> bool:
    return sum("\\\\ud83d" in json.dumps(event.body) for event in chunk.events) == 2


def drifted(chunk: Chunk, path: Path) -> bool:
    return {"tool_use", "tool_result"} <= {str(e.body.get("type")) for e in chunk.events if e.kind is EventKind.OTHER}


def unknown_types(chunk: Chunk, path: Path) -> bool:
    return {"atis-latch", "frame-link", "relocated", "bridge-session"} <= {
        str(e.body.get("type")) for e in chunk.events if e.kind is EventKind.OTHER
    }


def two_images(chunk: Chunk, path: Path) -> bool:
    return chunk.events[0].body["images"] == 2 and len(path.read_bytes().split(b"\n")[0]) > 850_000


def one_key_less(chunk: Chunk, path: Path) -> bool:
    return len(chunk.events) - len({event.key for event in chunk.events}) == 1


def anything(chunk: Chunk, path: Path) -> bool:
    return True


ERA = "entireio+cli"
LOG = "handgemacht-ai+claude-code-log"
BURN = "AgentWorkforce+burn"
TREES = f"{LOG}/real_projects/-experiments-worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl"
SOUND = f"{LOG}/real_projects/-Users-dev-workspace-JSSoundRecorder/agent-3430b97e.jsonl"
EVOLVE = "MemPalace+mempalace/.evolve/trajectories/claude-transcript_3de77ea9-3685-4e06-8d85-29c7b6592474.jsonl"
WARM = f"{LOG}/real_projects/-Users-dev-workspace-claude-code-log-sample/agent-41be4aa9.jsonl"
FIRST = f"{LOG}/real_projects/-Users-dev-workspace-claude-code-log-sample/71c9afe9-d9cc-4583-86b3-e62ba682b83a.jsonl"

Check = Callable[[Chunk, Path], bool]
IN_CORPUS: list[tuple[int, str, dict[str, int], dict[str, int], Check]] = [
    (1, f"{ERA}/63/590d292e96/0/full.jsonl", {"typed": 8, "tool_call": 78, "title": 2}, {}, glued),
    (2, "thedotmack+claude-mem/tests/fixtures/claude-code-session.jsonl", {"typed": 4}, {"unfinished": 1}, anything),
    (3, f"{LOG}/edge_cases.jsonl", {"typed": 4, "slash": 1, "tool_call": 1}, {"not_a_record": 3}, anything),
    (6, f"{LOG}/debug_image_message.jsonl", {"typed": 1}, {}, two_images),
    (9, f"{ERA}/63/bd3f9b02f2/1/full.jsonl", {"queued": 3, "typed": 4}, {"queue_operation": 5}, absorbed_words),
    (10, f"{ERA}/06/5525832015/0/full.jsonl", {"typed": 11, "slash": 2, "queued": 1}, {"hook_output": 13}, anything),
    (12, f"{BURN}/task-notification.jsonl", {"typed": 2, "task_notification": 2}, {}, anything),
    (13, f"{ERA}/bc/c28959f548/0/full.jsonl", {"plan": 1, "tool_call": 7}, {"progress": 15}, plan_only),
    (14, f"{BURN}/slash-command-triad.jsonl", {"typed": 1, "slash": 2}, {"caveat": 2, "local_output": 2}, anything),
    (16, f"{ERA}/70/33bba9319c/2/full.jsonl", {"bash": 1, "slash": 2, "typed": 6, "other": 1}, {}, anything),
    (17, f"{ERA}/c9/883595c929/0/full.jsonl", {"typed": 1}, {"thinking": 2}, anything),
    (19, EVOLVE, {"typed": 1, "tool_call": 12}, {"hook_output": 7, "last_prompt": 4}, anything),
    (20, f"{BURN}/compact-boundary.jsonl", {"typed": 2, "other": 1}, {}, anything),
    (21, f"{LOG}/teammates/ef000000-0000-4000-8000-000000000001.jsonl", {"teammate": 2, "typed": 1}, {}, anything),
    (22, EVOLVE, {"typed": 1}, {"last_prompt": 4}, anything),
    (23, WARM, {}, {"warmup": 2}, anything),
    (33, f"{ERA}/12/74eaa17eb8/0/full.jsonl", {"tool_call": 80, "queued": 1}, {"progress": 388}, full_stdout),
    (35, f"{ERA}/17/55e38d324c/0/full.jsonl", {"tool_call": 24, "plan": 1}, {}, anything),
    (39, f"{ERA}/ea/59bf8d9e0b/0/full.jsonl", {"typed": 1, "assistant": 1}, {"progress": 30}, anything),
    (40, f"{LOG}/sidechain.jsonl", {"injected of an agent": 1, "assistant of an agent": 3}, {}, anything),
    (41, SOUND, {"assistant of an agent": 1}, {}, anything),
    (
        42,
        f"{LOG}/workflow_basic/11110000-0000-4000-8000-000000000001/subagents/workflows/wf_demo01/agent-ag000002.jsonl",
        {"injected of an agent": 1, "assistant of an agent": 2},
        {},
        anything,
    ),
    (46, f"{ERA}/63/590d292e96/0/full.jsonl", {"assistant": 18}, {}, one_key_less),
    (47, f"{ERA}/ea/59bf8d9e0b/2/full.jsonl", {"tool_call": 23, "plan": 1, "typed": 1}, {"progress": 44}, anything),
    (48, TREES, {"typed": 2, "tool_call": 40, "slash": 1}, {"mode": 8, "last_prompt": 7}, anything),
    (
        50,
        "d-kimuson+claude-code-viewer/projects/sample-project/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl",
        {"title": 1, "typed": 1, "tool_call of an agent": 156},
        {},
        anything,
    ),
    (52, TREES, {"typed": 2}, {}, places),
    (55, "obra+episodic-memory/test/fixtures/large-conversation.jsonl", {"typed": 21, "tool_call": 152}, {}, ansi),
    (56, "dagster-io+erk/.erk/session/51678fc2-973a-406b-9080-f728b7317ca9.jsonl", {"slash": 1}, {}, own_escapes),
    (57, "jazzyalex+agent-sessions/small.jsonl", {"api_error": 4}, {"attachment": 29}, unknown_types),
    (58, "jazzyalex+agent-sessions/schema_drift.jsonl", {"typed": 1, "task_notification": 1}, {}, drifted),
    (59, f"{ERA}/76/62d755ef9f/2/full.jsonl", {"typed": 9, "tool_call": 60, "summary": 1}, {}, anything),
    (60, f"{ERA}/17/55e38d324c/0/full.jsonl", {"tool_call": 24, "assistant": 20}, {}, anything),
    (61, FIRST, {"typed": 1, "bash": 1, "slash": 1, "other": 3}, {"caveat": 1}, anything),
]


@pytest.mark.parametrize(
    ("number", "name", "counts", "left_out", "check"), IN_CORPUS, ids=[f"{row[0]}" for row in IN_CORPUS]
)
def test_what_a_pitfall_of_the_corpus_must_come_to(
    number: int, name: str, counts: dict[str, int], left_out: dict[str, int], check: Check
) -> None:
    path = SHARED / "corpus" / "transcripts" / name
    if not path.exists():
        pytest.skip(f"needs ../shared: {name}")
    chunk = read_on(path, Cursor(), {}, final=True)
    found = kinds(chunk)
    assert {name: found[name] for name in counts} == counts
    assert {rule: chunk.skipped[rule] for rule in left_out} == left_out
    assert check(chunk, path)
