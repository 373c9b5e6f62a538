"""Large tool output that lies in a file beside the transcript."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.capture.transcript import Cursor
from recorder.config import Config
from recorder.models import Event
from recorder.store import events
from recorder.store.db import Connection
from tests.capture.transcript_lines import FIXTURES, SESSION, Line, answer, lines, read_all, read_on, result, use
from tests.makers import T0

OTHER = "0a0b0c0d-0000-4000-8000-000000000002"
TEXT = "".join(f"line {n} of the output\n" for n in range(8_000))


def preview(name: str = "toolu_1.txt", folder: str = "/home/dev/.claude/projects/p/s/tool-results/") -> str:
    saved = f"Output too large (90.8KB). Full output saved to: {folder}{name}"
    return f"<persisted-output>\n{saved}\n\nPreview (first 2KB):\nline 0 of the output\n</persisted-output>"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "slug" / f"{SESSION}.jsonl"


def results_of(path: Path, session: str = SESSION) -> Path:
    folder = path.parent / session / "tool-results"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def called(path: Path, content: str = "", structured: Any = None, **block: Any) -> Event:
    rows = lines(answer(use()), result(1, content or preview(), structured, **block))
    (event,) = read_all(path, rows).events
    return event


def mark(text: str, name: str = "toolu_1.txt") -> Line:
    raw = text.encode()
    return {"file": name, "size_bytes": len(raw), "sha256": sha256(raw).hexdigest()}


def test_a_preview_is_replaced_by_the_whole_output_which_says_where_it_came_from(path: Path) -> None:
    (results_of(path) / "toolu_1.txt").write_text(TEXT)
    event = called(path)
    assert event.body["result"] == TEXT
    assert event.body["persisted"] == mark(TEXT)
    assert (event.ok, event.truncated) == (True, False)


def test_a_path_of_another_system_counts_by_its_last_part(path: Path) -> None:
    (results_of(path) / "toolu_1.txt").write_text(TEXT)
    assert called(path, preview(folder="C:\\Users\\dev\\.claude\\")).body["result"] == TEXT


def test_an_mcp_result_that_was_saved_is_read_and_is_no_error(path: Path) -> None:
    said = "Error: result (76,487 characters across 4 lines) exceeds maximum allowed tokens. Output has been saved to "
    said += "/home/dev/.claude/projects/p/s/tool-results/mcp-x-y-1700000000000.txt.\nFormat: Plain text"
    (results_of(path) / "mcp-x-y-1700000000000.txt").write_text(TEXT)
    event = called(path, said, said)
    assert (event.ok, event.body["result"]) == (True, TEXT)


def test_a_structured_result_that_stops_at_30_000_characters_is_completed(path: Path) -> None:
    (results_of(path) / "b1.txt").write_text(TEXT)
    structured = {"stdout": TEXT[:30_000], "stderr": "", "persistedOutputPath": "/x/b1.txt", "persistedOutputSize": 9}
    event = called(path, preview("b1.txt"), structured)
    assert event.body["result"]["stdout"] == TEXT
    assert (event.body["result"]["stderr"], event.body["persisted"]) == ("", mark(TEXT, "b1.txt"))


def test_a_structured_result_that_is_whole_stays(path: Path) -> None:
    (results_of(path) / "toolu_1.txt").write_text(TEXT * 2)
    event = called(path, preview(), {"stdout": TEXT})
    assert event.body["result"] == {"stdout": TEXT} and "persisted" not in event.body


def test_a_failed_calls_output_is_its_error(path: Path) -> None:
    (results_of(path) / "toolu_1.txt").write_text(TEXT)
    event = called(path, is_error=True)
    assert (event.ok, event.body["error"]) == (False, TEXT) and "result" not in event.body


def test_what_a_result_says_in_the_middle_names_no_file(path: Path) -> None:
    (results_of(path) / "toolu_1.txt").write_text(TEXT)
    said = f"cat notes.md\n{preview()}"
    assert called(path, said).body["result"] == said


@pytest.mark.parametrize(
    "place",
    [
        f"{SESSION}/subagents/agent-a1.jsonl",
        f"{SESSION}/subagents/workflows/wf_1/agent-a1.jsonl",
        "agent-ab12cd34.jsonl",
    ],
)
def test_an_agents_output_lies_in_its_parents_folder(path: Path, place: str) -> None:
    (results_of(path) / "toolu_1.txt").write_text(TEXT)
    assert called(path.parent / place).body["result"] == TEXT


def outside(path: Path) -> str:
    (path.parent / "secret.txt").write_text(TEXT)
    return "../../secret.txt"


def of_another_session(path: Path) -> str:
    (results_of(path, OTHER) / "toolu_1.txt").write_text(TEXT)
    return "toolu_1.txt"


def linked(path: Path) -> str:
    (path.parent / "secret.txt").write_text(TEXT)
    (results_of(path) / "toolu_1.txt").symlink_to(path.parent / "secret.txt")
    return "toolu_1.txt"


def linked_folder(path: Path) -> str:
    (results_of(path, OTHER) / "toolu_1.txt").write_text(TEXT)
    (path.parent / SESSION).mkdir()
    (path.parent / SESSION / "tool-results").symlink_to(path.parent / OTHER / "tool-results")
    return "toolu_1.txt"


def linked_session(path: Path) -> str:
    (results_of(path, OTHER) / "toolu_1.txt").write_text(TEXT)
    (path.parent / SESSION).symlink_to(path.parent / OTHER)
    return "toolu_1.txt"


def pipe(path: Path) -> str:
    os.mkfifo(results_of(path) / "toolu_1.txt")
    return "toolu_1.txt"


def folder(path: Path) -> str:
    (results_of(path) / "toolu_1.txt").mkdir()
    return "toolu_1.txt"


def nothing(path: Path) -> str:
    return "toolu_1.txt"


def dots(path: Path) -> str:
    return ".."


def unnameable(path: Path) -> str:
    results_of(path)
    return "a\x00b" + "x" * 2_000


@pytest.mark.parametrize(
    "lay",
    [outside, of_another_session, linked, linked_folder, linked_session, pipe, folder, nothing, dots, unnameable],
)
def test_only_a_regular_file_right_inside_the_sessions_own_folder_is_read(path: Path, lay: Any) -> None:
    path.parent.mkdir(parents=True)
    said = preview(lay(path))
    assert called(path, said).body == {"input": {"command": "echo 1"}, "use_uuid": "uuid-assistant-1", "result": said}


def test_of_a_very_large_file_both_ends_are_read_by_whole_lines_and_the_rest_is_counted(path: Path) -> None:
    text = TEXT * 40
    (results_of(path) / "toolu_1.txt").write_text(text)
    event = called(path)
    head, _, rest = event.body["result"].partition("\n…[")
    tail = rest.partition("]…\n")[2]
    assert len(head) > 60_000 and text.startswith(head + "\n")
    assert len(tail) > 60_000 and text.endswith("\n" + tail)
    assert event.body["persisted"] == mark(text)
    assert event.truncated and event.omitted_bytes == len(text) - len(head) - len(tail)


def test_what_is_stored_is_redacted_and_capped_like_any_result(path: Path, db: Connection, config: Config) -> None:
    secret = "ghp_" + "0a1B2c3D4e5F" * 3
    text = f"{TEXT}token {secret}\n"
    (results_of(path) / "toolu_1.txt").write_text(text)
    path.write_bytes(lines(answer(use()), result(1, preview())))
    reading.catch_up(reading.Reader(db, T0, Redactor(config.capture).event, config), path)
    (event,) = events.get(db, [1])
    assert secret not in json.dumps(event.body)
    assert event.body["persisted"] == mark(text)
    shown = event.body["result"]
    assert shown.startswith(TEXT[:12_000]) and len(shown) < 17_000
    assert event.truncated and abs(event.omitted_bytes - (len(text) - 16 * 1024)) < 200


MEASURE = """
import resource, sys
from pathlib import Path
from recorder.capture import transcript
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cursor, calls = transcript.Cursor(), {}
while True:
    chunk = transcript.read(Path(sys.argv[1]), cursor, open_calls=calls)
    cursor, calls = chunk.cursor, chunk.open_calls
    if chunk.at_end:
        break
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def grown_mb(path: Path) -> int:
    """How much memory a process of its own takes to read the file."""
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform == "darwin", reason="ru_maxrss is in bytes there")
def test_memory_is_that_of_one_line_and_not_of_the_file(path: Path) -> None:
    with (results_of(path) / "toolu_1.txt").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    row = lines(answer(use()), result(1, "x" * 22_000_000))
    with path.open("wb") as file:
        for n in range(6):
            file.write(row + lines(answer(use(2)), result(2, preview())))
            file.write(lines(*(answer(use(m), n=n) for m in range(3, 60))))
    # A line of 22 MB is held as bytes, as its JSON and as the event that goes on: the file has six of them.
    assert grown_mb(path) < 5 * 22


@pytest.mark.skipif(not FIXTURES.exists(), reason="needs ../shared")
def test_the_real_clients_large_output_is_read_whole() -> None:
    (path,) = FIXTURES.glob("transcripts/large/*/*.jsonl")
    (stored,) = path.with_suffix("").glob("tool-results/*.txt")
    found = [event for event in read_on(path, Cursor(), {}).events if "persisted" in event.body]
    assert [event.body["result"]["stdout"] for event in found] == [stored.read_text()]
