"""Session JSONL → events: framing, pairing, who wrote a prompt, and every record accounted for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.capture import excerpt, transcript, wire
from recorder.capture.transcript import Cursor
from recorder.errors import TranscriptError
from recorder.models import Event, EventKind, PromptClass
from tests.capture.transcript_lines import (
    FIXTURES,
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
    the_event,
    typed,
    use,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


# Framing


def test_two_records_glued_on_one_line_are_both_taken(path: Path) -> None:
    glued = lines(typed("first"))[:-1] + lines(typed("second", 2))
    chunk = read_all(path, glued)
    assert [event.body["text"] for event in chunk.events] == ["first", "second"]
    assert len({event.ref for event in chunk.events}) == 2
    assert (chunk.lines, chunk.seen) == (1, 2)


CUT_AFTER = [b'"text": "hal', b'"name": "Bash", "input": {"command": "echo 1"}}', b'"type": "assistant"']


@pytest.mark.parametrize("last_words", CUT_AFTER)
def test_a_record_cut_off_costs_itself_and_not_the_next_on_its_line(path: Path, last_words: bytes) -> None:
    whole = lines(answer(use(), text("half of a text"), n=1))
    torn = whole[: whole.index(last_words) + len(last_words)]
    chunk = read_all(path, torn + lines(typed("still here", 2), typed("and this", 3)))
    assert [event.body.get("text") for event in chunk.events] == ["still here", "and this"]
    assert chunk.skipped == {"torn": 1}
    assert len(chunk.problems) == 1 and str(path) in chunk.problems[0]


def test_a_pretty_printed_file_is_one_problem_and_not_one_a_line(path: Path) -> None:
    chunk = read_all(path, json.dumps([typed(str(n)) for n in range(50)], indent=2).encode() + b"\n")
    assert chunk.events == [] and len(chunk.problems) == 1


ODD = [
    (b"\n  \n", "blank"),
    (b"\x00" * 300 + b"\n", "blank"),
    (b"null\n[1, 2]\n7\n", "not_a_record"),
    (b"\xff\xfe broken\n", "torn"),
    (b"[" * 50_000 + b"\n", "torn"),
]


@pytest.mark.parametrize(("odd", "rule"), ODD, ids=[rule + str(n) for n, (_, rule) in enumerate(ODD)])
def test_an_odd_line_never_costs_the_records_beside_it(path: Path, odd: bytes, rule: str) -> None:
    chunk = read_all(path, lines(typed("before")) + odd + lines(typed("after", 2)))
    assert [event.body["text"] for event in chunk.events] == ["before", "after"]
    assert set(chunk.skipped) == {rule}


def test_nul_left_by_a_power_cut_before_a_record_does_not_hide_it(path: Path) -> None:
    assert read_all(path, b"\x00" * 512 + lines(typed("found"))).events[0].body["text"] == "found"


@pytest.mark.parametrize("raw", [rb"a \ud83d b", b"a \xff b"])
def test_broken_characters_become_replacement_characters(path: Path, raw: bytes) -> None:
    content = lines(typed("MARK")).replace(b"MARK", raw)
    assert read_all(path, content).events[0].body["text"] == "a \ufffd b"


def test_crlf_and_a_byte_order_mark_are_no_obstacle(path: Path) -> None:
    content = b"\xef\xbb\xbf" + lines(typed("a"), typed("b", 2)).replace(b"\n", b"\r\n")
    assert [event.body["text"] for event in read_all(path, content).events] == ["a", "b"]


def test_a_line_of_30_mb_is_read_whole(path: Path) -> None:
    chunk = read_all(path, lines(answer(use()), result(content="x" * 30_000_000), typed("after")))
    assert [len(str(event.body.get("result", ""))) for event in chunk.events] == [30_000_000, 0]


def test_a_line_beyond_all_measure_is_left_out_by_name_when_it_has_ended(path: Path) -> None:
    before, after = lines(typed("before")), lines(typed("after", 2))
    path.write_bytes(before)
    with path.open("ab") as file:
        file.truncate(len(before) + transcript.LONGEST_LINE + 10)
    growing = read_on(path, Cursor(), {})
    assert growing.cursor.offset == len(before)
    with path.open("ab") as file:
        file.write(b"\n" + after)
    rest = read_on(path, growing.cursor, growing.open_calls)
    assert [event.body["text"] for event in growing.events + rest.events] == ["before", "after"]
    assert rest.skipped == {"oversize": 1} and str(path) in rest.problems[0]


def test_an_unterminated_line_is_never_passed(path: Path) -> None:
    path.write_bytes(lines(typed("whole")) + lines(typed("growing", 2))[:-1])
    first = read_on(path, Cursor(), {})
    assert [event.body["text"] for event in first.events] == ["whole"]
    assert first.cursor.offset == len(lines(typed("whole")))


def test_a_whole_last_line_without_its_end_is_taken_from_a_file_nobody_writes_any_more(path: Path) -> None:
    content = lines(typed("whole")) + lines(typed("last", 2))[:-1]
    assert [event.body["text"] for event in read_all(path, content, final=True).events] == ["whole", "last"]
    torn = read_all(path, content[:-5], final=True)
    assert [event.body["text"] for event in torn.events] == ["whole"]
    assert torn.cursor.offset == len(lines(typed("whole"))) and torn.skipped == {"unfinished": 1}


def test_a_file_that_shrank_is_read_from_its_start(path: Path) -> None:
    before = read_all(path, lines(typed("a"), typed("b", 2)))
    path.write_bytes(lines(typed("c", 3)))
    again = transcript.read(path, before.cursor, open_calls={})
    assert [event.body["text"] for event in again.events] == ["c"]
    assert "shrank" in again.problems[0]


def test_a_transcript_that_does_not_exist_yet_is_empty_and_a_folder_is_an_error(tmp_path: Path) -> None:
    assert transcript.read(tmp_path / "none.jsonl", Cursor(), open_calls={}).at_end
    with pytest.raises(TranscriptError, match="is not a file"):
        transcript.read(tmp_path, Cursor(), open_calls={})


TALK = [
    typed("please run it ✓"),
    answer(text("Running."), use(1), n=2),
    record("queue-operation", 3, operation="enqueue", content="and hurry"),
    result(1, "fine"),
    record("queue-operation", 4, operation="remove"),
    answer({"type": "thinking", "thinking": ""}, n=5),
    answer(use(2), n=6),
    answer(use(3), n=7),
    result(3, "c"),
    result(2, "b", is_error=True),
    said("<bash-input>ls</bash-input>", 8, promptId="prompt-1"),
    answer(text("Done."), n=9),
]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(cuts=st.lists(st.integers(0, len(lines(*TALK))), max_size=8), limit=st.sampled_from([1, 400, 1 << 20]))
def test_a_file_read_while_it_grows_gives_every_event_once_and_in_order(
    path: Path, cuts: list[int], limit: int
) -> None:
    content = lines(*TALK)
    at_once = read_all(path, content).events
    cursor, calls, found = Cursor(), dict[str, Event](), list[Event]()
    for cut in [*sorted(cuts), len(content)]:
        path.write_bytes(content[:cut])
        chunk = read_on(path, cursor, calls, limit_bytes=limit)
        cursor, calls = chunk.cursor, chunk.open_calls
        found += chunk.events
    assert found == at_once
    assert calls == {} and len(found) == 8


def test_the_last_record_is_lost_or_doubled_at_no_byte_of_its_growth(path: Path) -> None:
    before, last = lines(typed("before")), lines(typed("naïve ✓", 2))
    for cut in range(len(last) + 1):
        path.write_bytes(before + last[:cut])
        first = read_on(path, Cursor(), {})
        path.write_bytes(before + last)
        second = read_on(path, first.cursor, first.open_calls)
        assert [e.body["text"] for e in first.events + second.events] == ["before", "naïve ✓"], cut


# Tool calls


def test_a_call_is_one_event_made_when_its_result_comes(path: Path) -> None:
    chunk = read_all(path, lines(typed("go"), answer(use(), n=2)))
    assert [event.kind for event in chunk.events] == [EventKind.PROMPT]
    assert chunk.open_calls["toolu_1"].body["input"] == {"command": "echo 1"}
    with path.open("ab") as file:
        file.write(lines(result(1, "out", {"stdout": "out", "stderr": ""})))
    (call,) = read_on(path, chunk.cursor, chunk.open_calls).events
    assert (call.tool, call.ok, call.tool_use_id, call.prompt_id) == ("Bash", True, "toolu_1", "prompt-1")
    assert call.body["input"] == {"command": "echo 1"}
    assert call.body["result"] == {"stdout": "out", "stderr": ""}
    assert (call.uuid, call.body["use_uuid"]) == ("uuid-user-31", "uuid-assistant-2")


REFUSAL = "The user doesn't want to proceed with this tool use. The tool use was rejected."
FAILURES = [
    (
        result(1, "Exit code 3\nno such file", "Error: Exit code 3\nno such file", is_error=True),
        "Exit code 3\nno such file",
    ),
    (result(1, REFUSAL, "User rejected tool use", is_error=True), REFUSAL),
    (result(1, "<tool_use_error>String not found</tool_use_error>", is_error=True), "String not found"),
    (result(1, "<tool_use_error>No such tool available: X</tool_use_error>"), "No such tool available: X"),
    (result(1, "no file", "Error: no file"), "no file"),
    (result(1, [text("deliberate")], is_error=True), "deliberate"),
    (result(1, None, is_error=True), "failed without a message"),
]


@pytest.mark.parametrize(("failed", "error"), FAILURES, ids=[error[:20] for _, error in FAILURES])
def test_a_call_that_failed_or_was_refused_is_marked_with_the_reason(path: Path, failed: Line, error: str) -> None:
    call = the_event(path, answer(use()), failed)
    assert (call.kind, call.ok, call.body["error"]) == (EventKind.TOOL_CALL, False, error)
    assert "result" not in call.body


def test_the_shapes_of_results_are_kept_and_plain_text_blocks_become_text(path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    records = [
        answer(use(1), use(2), use(3)),
        result(1, [text("a"), text("b")]),
        result(2, [image]),
        result(3, "s", ["x"]),
    ]
    assert [event.body["result"] for event in read_all(path, lines(*records)).events] == ["a\nb", [image], ["x"]]


def test_two_results_in_one_record_are_two_events_with_their_own_text(path: Path) -> None:
    both = said([*result(1, "one")["message"]["content"], *result(2, "two")["message"]["content"]], toolUseResult="?")
    events = read_all(path, lines(answer(use(1), use(2)), both)).events
    assert [event.body["result"] for event in events] == ["one", "two"]
    assert len({event.uuid for event in events}) == len({event.ref for event in events}) == 2


def test_a_result_without_its_use_is_kept(path: Path) -> None:
    call = the_event(path, result(9, "slice"))
    assert (call.key, call.tool, call.ok, call.body) == (f"t:{SESSION}:toolu_9", None, True, {"result": "slice"})


def test_what_the_user_said_beside_a_refusal_is_not_lost(path: Path) -> None:
    refused = result(1, REFUSAL, is_error=True)
    refused["message"]["content"].append(text("[Request interrupted by user for tool use]"))
    events = read_all(path, lines(answer(use()), refused)).events
    assert [(event.kind, event.ok) for event in events] == [(EventKind.TOOL_CALL, False), (EventKind.OTHER, None)]
    assert events[1].body["type"] == "interruption"


# Assistant


def test_one_response_over_several_records_gives_each_text_once(path: Path) -> None:
    first, again = answer(text("One."), n=1), {**answer(text("One."), n=1), "uuid": "another"}
    events = read_all(path, lines(first, answer(use(), n=1), again, answer(text("Two."), n=1))).events
    assert [event.body["text"] for event in events] == ["One.", "One.", "Two."]
    assert len({event.key for event in events}) == 2
    assert {event.message_id for event in events} == {"msg-1"}


def test_thinking_is_left_out_and_an_unknown_block_is_kept(path: Path) -> None:
    chunk = read_all(
        path, lines(answer({"type": "thinking", "thinking": "hm"}), answer({"type": "novel", "x": 1}, n=2))
    )
    assert [event.body for event in chunk.events] == [{"type": "block", "block": {"type": "novel", "x": 1}}]
    assert chunk.skipped == {"thinking": 1}


def test_an_api_error_is_no_answer_and_the_hook_names_it_alike(path: Path) -> None:
    records = [typed("go"), answer(text("API Error: 529"), n=2, isApiErrorMessage=True, error="server_error")]
    error = read_all(path, lines(*records)).events[-1]
    assert (error.kind, error.body["text"], error.body["error"]) == (
        EventKind.API_ERROR,
        "API Error: 529",
        "server_error",
    )
    stop = {
        "hook_event_name": "StopFailure",
        "session_id": SESSION,
        "prompt_id": "prompt-1",
        "error": "server_error",
        "last_assistant_message": "API Error: 529",
    }
    seen = wire.parse(json.dumps(stop).encode(), name="1.json", received_ms=1)
    assert seen is not None and seen.key == error.key


def test_garbage_for_a_message_is_left_out_by_name(path: Path) -> None:
    spread = record("assistant", message={"0": "e", "1": "v", "content": []})
    chunk = read_all(path, lines(spread, record("assistant", 2, message="text"), record("user", 3, message=None)))
    assert chunk.events == [] and chunk.skipped == {"empty": 3}


# Prompts

REMINDER = "<system-reminder>be nice</system-reminder>"
COMMAND = (
    "<command-message>mycmd</command-message>\n<command-name>/mycmd</command-name>\n<command-args>a b</command-args>"
)
PROMPTS = [
    (typed("fix it"), PromptClass.TYPED, "fix it"),
    (typed("fix it\n" + REMINDER), PromptClass.TYPED, "fix it"),
    (typed(f"what is {REMINDER} for?"), PromptClass.TYPED, f"what is {REMINDER} for?"),
    (typed("/tmp is full"), PromptClass.TYPED, "/tmp is full"),
    (typed("Unknown skill: foo, why?"), PromptClass.TYPED, "Unknown skill: foo, why?"),
    (said("old client, typed"), PromptClass.TYPED, "old client, typed"),
    (said("from the editor", entrypoint="claude-vscode"), PromptClass.TYPED, "from the editor"),
    (said("by a program", entrypoint="sdk-ts"), PromptClass.SDK, "by a program"),
    (said("by -p", promptSource="sdk", entrypoint="sdk-cli"), PromptClass.SDK, "by -p"),
    (said("who?", promptSource="telepathy"), None, "who?"),
    (said("who?", entrypoint="toaster"), None, "who?"),
    (said("waited", promptSource="queued", origin={"kind": "human"}), PromptClass.QUEUED, "waited"),
    (said("stopped", promptSource="system"), PromptClass.INJECTED, "stopped"),
    (said("done", promptSource="system", origin={"kind": "task-notification"}), PromptClass.TASK_NOTIFICATION, "done"),
    (said("peer says", origin={"kind": "peer"}), PromptClass.INJECTED, "peer says"),
    (said(COMMAND), PromptClass.SLASH, "/mycmd a b"),
    (said("<command-name>/clear</command-name>\n<command-args></command-args>"), PromptClass.SLASH, "/clear"),
    (said("<bash-input>make test</bash-input>"), PromptClass.BASH, "make test"),
    (
        said("<task-notification>done</task-notification>"),
        PromptClass.TASK_NOTIFICATION,
        "<task-notification>done</task-notification>",
    ),
    (said('<teammate-message teammate_id="w">hi'), PromptClass.TEAMMATE, '<teammate-message teammate_id="w">hi'),
    (
        said('Another Claude session sent a message:\n<teammate-message a="b">hi'),
        PromptClass.TEAMMATE,
        'Another Claude session sent a message:\n<teammate-message a="b">hi',
    ),
    (said("Implement the following plan:\n\n# P"), PromptClass.PLAN, "Implement the following plan:\n\n# P"),
    (said("do it", planContent="# P"), PromptClass.PLAN, "do it"),
    (
        said([text("Base directory for this skill: /x")], isMeta=True),
        PromptClass.INJECTED,
        "Base directory for this skill: /x",
    ),
    (said([text("<ide_opened_file>a.py</ide_opened_file>"), text("explain")]), PromptClass.TYPED, "explain"),
    (said("<ide_selection>x</ide_selection>explain"), PromptClass.TYPED, "explain"),
    (said([text(REMINDER), text("explain")]), PromptClass.TYPED, "explain"),
    (said("<user-memory-input>use tabs</user-memory-input>"), PromptClass.TYPED, "use tabs"),
    (said("subagent, do", isSidechain=True, agentId="a1"), PromptClass.INJECTED, "subagent, do"),
]


@pytest.mark.parametrize(("line", "klass", "words"), PROMPTS, ids=[f"{n}" for n in range(len(PROMPTS))])
def test_a_prompt_is_known_by_who_wrote_it_and_holds_what_was_written(
    path: Path, line: Line, klass: PromptClass | None, words: str
) -> None:
    event = the_event(path, line)
    assert (event.kind, event.klass, event.body["text"]) == (EventKind.PROMPT, klass, words)


NO_PROMPTS = [
    (said("<local-command-caveat>Caveat: The messages below…</local-command-caveat>", isMeta=True), "caveat"),
    (said("Caveat: The messages below were generated by the user"), "caveat"),
    (said("<local-command-stdout>Bye!</local-command-stdout>"), "local_output"),
    (said("Operation stopped by hook: no"), "hook_output"),
    (said("Stop hook feedback:\n- fix", isMeta=True), "hook_output"),
    (said("SessionStart:startup hook success: use pytest", isMeta=True), "hook_output"),
    (said("Unknown skill: foo"), "command_error"),
    (said(REMINDER), "reminder"),
    (said([text("Continue from where you left off.")], isMeta=True), "continued"),
    (said(""), "empty"),
    (
        record("attachment", attachment={"type": "hook_success", "hookEvent": "SessionStart", "stdout": "brief"}),
        "hook_output",
    ),
    (record("attachment", attachment={"type": "skill_listing", "content": "- x"}), "attachment"),
    (record("progress", data={"type": "bash_progress"}), "progress"),
    (record("last-prompt", lastPrompt="again"), "last_prompt"),
    (record("file-history-snapshot", snapshot={}), "snapshot"),
    (record("system", subtype="stop_hook_summary", hookInfos=[{"command": "capture.sh"}]), "hook_output"),
    (record("assistant", message={"model": "<synthetic>", "content": [text("No response requested.")]}), "synthetic"),
]


@pytest.mark.parametrize(("line", "rule"), NO_PROMPTS, ids=[f"{n}-{rule}" for n, (_, rule) in enumerate(NO_PROMPTS)])
def test_what_nobody_said_is_left_out_by_a_named_rule(path: Path, line: Line, rule: str) -> None:
    chunk = read_all(path, lines(line))
    assert chunk.events == [] and chunk.skipped == {rule: 1}


def test_an_image_alone_is_a_prompt(path: Path) -> None:
    event = the_event(path, said([{"type": "image", "source": {}}]))
    assert (event.klass, event.body) == (PromptClass.TYPED, {"text": "", "images": 1})


def test_a_compaction_summary_is_a_summary_and_a_title_is_told_once(path: Path) -> None:
    title = {"type": "ai-title", "aiTitle": "Parser work", "sessionId": SESSION}
    records = [title, said("This session is being continued…", isCompactSummary=True), title]
    chunk = read_all(path, lines(*records))
    assert [event.kind for event in chunk.events] == [EventKind.TITLE, EventKind.SUMMARY]
    assert chunk.skipped == {"title_again": 1}
    assert chunk.events[0].at_ms == chunk.events[1].at_ms


def test_an_unknown_record_type_is_kept_whole(path: Path) -> None:
    event = the_event(
        path, {"type": "atis-latch", "sessionId": SESSION, "atis": "x", "timestamp": "2026-05-01T10:00:00Z"}
    )
    assert (event.kind, event.body) == (EventKind.OTHER, {"type": "atis-latch", "atis": "x"})


def test_a_file_that_an_at_path_brought_in_is_a_file_read(path: Path) -> None:
    content = {"type": "text", "file": {"filePath": "/p/app.py", "content": "x = 1"}}
    event = the_event(
        path, record("attachment", attachment={"type": "file", "filename": "/p/app.py", "content": content})
    )
    assert event.kind is EventKind.OTHER
    assert excerpt.files(event) == [("/p/app.py", "read")]
    assert excerpt.excerpt(event) == "@/p/app.py … x = 1"


# Prompts typed while Claude works


def test_a_prompt_taken_into_the_running_turn_is_one_event_with_or_without_its_attachment(path: Path) -> None:
    alone = read_all(path, lines(typed("go"), queue("enqueue", 1, "use tabs"), queue("remove", 2))).events
    both = read_all(
        path, lines(typed("go"), queue("enqueue", 1, "use tabs"), absorbed("use tabs", 1), queue("remove", 2))
    ).events
    assert [event.klass for event in alone] == [PromptClass.TYPED, PromptClass.QUEUED]
    assert {event.key for event in alone} == {event.key for event in both}
    assert alone[1].prompt_id == "prompt-1"


@pytest.mark.parametrize("first", ["remove", "attachment"])
def test_an_attachment_that_tells_another_millisecond_is_the_same_prompt(path: Path, first: str) -> None:
    attachment = absorbed("use tabs", 1)
    attachment["attachment"]["timestamp"] = "2026-05-01T10:01:00.984Z"
    rest = [queue("remove", 2), attachment] if first == "remove" else [attachment, queue("remove", 2)]
    events = read_all(path, lines(typed("go"), queue("enqueue", 1, "use tabs"), *rest)).events
    assert len({event.key for event in events}) == 2


def test_the_same_words_queued_twice_are_two_prompts(path: Path) -> None:
    records = [queue("enqueue", 1, "again"), queue("enqueue", 2, "again"), queue("remove", 3), queue("remove", 4)]
    assert len({event.key for event in read_all(path, lines(*records)).events}) == 2


def test_a_queued_prompt_that_got_its_own_turn_or_was_taken_back_is_not_told_twice(path: Path) -> None:
    records = [
        queue("enqueue", 1, "later"),
        queue("dequeue", 2),
        typed("later"),
        queue("enqueue", 3, "never mind"),
        queue("popAll", 4, "never mind"),
        queue("remove", 5),
    ]
    assert [event.body["text"] for event in read_all(path, lines(*records)).events] == ["later"]


# Keys, sessions, agents


def test_hook_and_transcript_name_prompts_and_calls_alike(path: Path) -> None:
    common = {"session_id": SESSION, "prompt_id": "prompt-1", "cwd": "/home/user/project"}
    prompt = {**common, "hook_event_name": "UserPromptSubmit", "prompt": "go"}
    done = {
        **common,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "echo 1"},
        "tool_response": {"stdout": "out"},
        "tool_use_id": "toolu_1",
    }
    hooks = [wire.parse(json.dumps(fields).encode(), name="1", received_ms=1) for fields in (prompt, done)]
    events = read_all(path, lines(typed("go"), answer(use(), n=2), result(1, "out", {"stdout": "out"}))).events
    assert [event.key for event in hooks if event] == [event.key for event in events]
    assert [event.body["input"] for event in (hooks[1], events[1]) if event] == [{"command": "echo 1"}] * 2
    assert [event.body["result"] for event in (hooks[1], events[1]) if event] == [{"stdout": "out"}] * 2


def test_several_texts_under_one_prompt_id_have_keys_of_their_own(path: Path) -> None:
    records = [
        typed("go"),
        said([text("expanded")], 2, promptId="prompt-1", isMeta=True),
        said("<bash-input>ls</bash-input>", 3, promptId="prompt-1"),
        said("<bash-input>ls</bash-input>", 4, promptId="prompt-1"),
        said("second text", 5, promptId="prompt-1"),
    ]
    events = read_all(path, lines(*records), limit_bytes=1).events
    assert len({event.key for event in events}) == 5
    assert {event.prompt_id for event in events} == {"prompt-1"}


def test_before_prompt_ids_a_turn_is_named_by_the_record_that_opened_it(path: Path) -> None:
    records = [said("go", 1), answer(text("Yes."), n=2), said([text("skill body")], 3, isMeta=True), said("more", 4)]
    events = read_all(path, lines(*records)).events
    assert [event.prompt_id for event in events] == ["uuid-user-1", "uuid-user-1", "uuid-user-1", "uuid-user-4"]


def test_a_subagents_file_belongs_to_its_parents_session(tmp_path: Path) -> None:
    path = tmp_path / SESSION / "subagents" / "agent-a17.jsonl"
    records = [
        said("do this", isSidechain=True, promptId="prompt-1", agentId="a17"),
        answer(use(), n=2, isSidechain=True, agentId="a17"),
        result(1, "out"),
        {"type": "atis-latch", "atis": "x"},
    ]
    events = read_all(path, lines(*records)).events
    assert {event.session_id for event in events} == {SESSION}
    assert {event.agent_id for event in events} == {"a17"}
    assert events[0].key == f"u:{SESSION}:uuid-user-1"


def test_an_agent_inlined_by_an_old_client_is_not_the_main_thread(path: Path) -> None:
    records = [said("mine"), said("the model's", 2, isSidechain=True), answer(text("Yes."), n=3, isSidechain=True)]
    events = read_all(path, lines(*records)).events
    assert [event.agent_id is None for event in events] == [True, False, False]
    assert events[2].prompt_id == "uuid-user-1"


def test_place_branch_and_session_are_those_of_each_record(path: Path) -> None:
    other = typed("b", 2, cwd="/home/user/other", gitBranch="fix", sessionId="older")
    events = read_all(path, lines(typed("a"), other)).events
    assert [(e.cwd, e.branch, e.session_id) for e in events] == [
        ("/home/user/project", "main", SESSION),
        ("/home/user/other", "fix", "older"),
    ]


@pytest.mark.parametrize("when", ["[trimmed]", 17, None, "9999999-01-01", ""])
def test_a_time_that_is_none_is_the_last_known_one(path: Path, when: Any) -> None:
    events = read_all(path, lines(typed("a"), typed("b", 2) | {"timestamp": when})).events
    assert events[0].at_ms == events[1].at_ms == 1_777_629_601_000


# The real client's files


CORPUS = sorted((SHARED / "corpus" / "transcripts").rglob("*.jsonl")) + sorted(FIXTURES.glob("transcripts/**/*.jsonl"))


@pytest.mark.skipif(not CORPUS, reason="needs ../shared")
def test_every_record_of_the_corpus_is_taken_or_left_out_by_name() -> None:
    kinds: Counter[EventKind] = Counter()
    for path in CORPUS:
        chunk = read_on(path, Cursor(), {}, final=True)
        assert chunk.seen == chunk.taken + sum(chunk.skipped.values()), path
        assert chunk.lines == len(path.read_bytes().splitlines()), path
        assert len({event.ref for event in chunk.events}) == len(chunk.events), path
        json.dumps([event.body for event in chunk.events], ensure_ascii=False).encode()
        kinds.update(event.kind for event in chunk.events)
    assert min(kinds[kind] for kind in (EventKind.PROMPT, EventKind.TOOL_CALL, EventKind.ASSISTANT)) > 200


@pytest.mark.skipif(not CORPUS, reason="needs ../shared")
def test_every_prompt_and_call_that_the_real_clients_hooks_saw_has_the_same_key_in_its_transcript() -> None:
    in_transcripts = {
        event.key: event
        for path in FIXTURES.glob("transcripts/**/*.jsonl")
        for event in read_on(path, Cursor(), {}, final=True).events
    }
    sessions = {event.session_id for event in in_transcripts.values()}
    missing, compared = [], 0
    for name in ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "StopFailure"):
        for path in sorted((FIXTURES / "hooks" / name).glob("*.json")):
            event = wire.parse(path.read_bytes(), name=path.name, received_ms=1)
            assert event is not None
            if event.session_id in sessions:
                compared += 1
                missing += [] if event.key in in_transcripts else [(path.name, event.key)]
    assert missing == []
    assert compared > 60
