"""The words of an event that search looks at."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.capture import excerpt
from recorder.models import Event, EventKind, Source


def event(kind: EventKind, body: dict[str, Any], **more: Any) -> Event:
    return Event(key="k", kind=kind, session_id="s", at_ms=1, source=Source.HOOK, body=body, **more)


def call(tool: str, given: Any, result: Any = None, *, error: str | None = None) -> Event:
    body = {"input": given, "result": result} if error is None else {"input": given, "error": error}
    return event(EventKind.TOOL_CALL, body, tool=tool, ok=error is None)


CALLS = [
    (
        call("Bash", {"command": "pytest -q"}, {"stdout": "3 passed", "stderr": ""}),
        "Bash: pytest -q … 3 passed",
        "pytest -q",
        [],
    ),
    (
        call("Bash", {"command": "make"}, error="Exit code 2\nmake: *** No rule\nmain.c: error: no type"),
        "Bash: make … Exit code 2\nmake: *** No rule\nmain.c: error: no type",
        "make\nmain.c: error: no type",
        [],
    ),
    (
        call("Read", {"file_path": "/p/a.py"}, {"type": "text", "file": {"filePath": "/p/a.py", "content": "x = 1"}}),
        "Read: /p/a.py … x = 1",
        "/p/a.py",
        [("/p/a.py", "read")],
    ),
    (
        call("Edit", {"file_path": "/p/a.py", "old_string": "1", "new_string": "2"}, {"originalFile": "x = 1"}),
        "Edit: /p/a.py\nold_string: 1\nnew_string: 2",
        "/p/a.py",
        [("/p/a.py", "write")],
    ),
    (
        call("Write", {"file_path": "/p/a.py", "content": "x"}, error="denied"),
        "Write: /p/a.py\ncontent: x … denied",
        "/p/a.py\ndenied",
        [],
    ),
    (
        call("mcp__x__echo", {"text": "hi"}, [{"type": "text", "text": "echo: hi"}]),
        "mcp__x__echo: text: hi … echo: hi",
        "",
        [],
    ),
]


@pytest.mark.parametrize(("given", "words", "narrow", "files"), CALLS, ids=[f"{n}" for n in range(len(CALLS))])
def test_a_call_reads_as_tool_input_and_result(
    given: Event, words: str, narrow: str, files: list[tuple[str, str]]
) -> None:
    assert excerpt.excerpt(given) == words
    assert excerpt.narrow(given) == narrow
    assert excerpt.files(given) == files


def test_a_long_text_keeps_head_and_tail() -> None:
    text = "FIRST " + "x" * 9000 + " LAST"
    words = excerpt.excerpt(event(EventKind.PROMPT, {"text": text}))
    assert len(words) == 2000
    assert words.startswith("FIRST") and words.endswith("LAST")


def test_a_long_result_leaves_the_input_and_its_own_end_readable() -> None:
    words = excerpt.excerpt(call("Bash", {"command": "seq 1 99999"}, {"stdout": "1\n" * 50_000 + "THE END"}))
    assert len(words) <= 2000
    assert words.startswith("Bash: seq 1 99999 … ") and words.endswith("THE END")


def test_prose_gives_its_paths_identifiers_and_flags_to_the_narrow_table() -> None:
    text = "Please rename parse_line in src/reader.py to ParseLine and keep `--no-cache`, thanks"
    assert excerpt.narrow(event(EventKind.PROMPT, {"text": text})).split("\n") == [
        "parse_line",
        "src/reader.py",
        "ParseLine",
        "--no-cache",
    ]


@pytest.mark.parametrize("tool", ["mcp__recorder__memory_search", "mcp__plugin_recorder_recorder__memory_get"])
def test_our_own_results_leave_only_the_ids_that_were_shown(tool: str) -> None:
    own = call(tool, {"query": "test command"}, [{"type": "text", "text": "m12 [verified] run pytest\ne7 prompt\nm12"}])
    kept = excerpt.own(own)
    assert kept.body == {"input": {"query": "test command"}, "ids": ["m12", "e7"]}
    assert excerpt.excerpt(kept) == excerpt.narrow(kept) == ""


def test_what_the_brief_said_is_in_no_index() -> None:
    shown = event(EventKind.INJECTION, {"text": "use pytest"})
    assert excerpt.excerpt(shown) == excerpt.narrow(shown) == ""


def test_other_tools_keep_their_results() -> None:
    theirs = call("mcp__recorder2__x", {}, "text")
    assert excerpt.own(theirs) is theirs


def test_a_nul_never_reaches_the_index() -> None:
    seen = call("Bash", {"command": "printf a\x00b"}, {"stdout": "a\x00b"})
    assert excerpt.excerpt(seen) == "Bash: printf a\ufffdb … a\ufffdb"
    assert excerpt.narrow(seen) == "printf a\ufffdb"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["file", "content", "stdout"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(EventKind)), st.dictionaries(st.sampled_from(["text", "input", "result", "error"]), ANY))
def test_any_body_gives_bounded_words_without_nul(kind: EventKind, body: dict[str, Any]) -> None:
    seen = event(kind, body, tool="Read", ok=True)
    words, narrow = excerpt.excerpt(seen), excerpt.narrow(seen)
    assert len(words) <= 2000 and len(narrow) <= 400
    assert "\x00" not in words + narrow
    assert all(path and action == "read" for path, action in excerpt.files(seen))
