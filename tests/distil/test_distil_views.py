"""Summaries, files worked on and titles: views over events."""

from __future__ import annotations

from distil_samples import CWD, T0, broke, call, edited, event, failed, ran, said, told

from recorder.models import EventKind, PromptClass
from recorder.recall import views


def test_a_title_is_the_first_sentence_a_person_wrote() -> None:
    turn = [
        said("<system-reminder>Never mind me.</system-reminder>", PromptClass.INJECTED),
        said("<ide_opened_file>x.py</ide_opened_file>\n\nMake the queue survive a crash. It loses jobs today.\nMore."),
        said("and quickly", PromptClass.QUEUED),
    ]
    assert views.title(turn) == "Make the queue survive a crash."


def test_a_long_title_ends_at_a_word_and_says_so() -> None:
    title = views.title([said("word " * 60)])
    assert len(title) <= 80 and title.endswith("word…")


def test_a_turn_in_which_no_person_spoke_has_no_title() -> None:
    assert views.title([told("hello"), said("x", PromptClass.TASK_NOTIFICATION), said("y", agent_id="a1")]) == ""
    assert views.title([]) == ""


def test_files_come_from_tool_payloads_and_from_nowhere_else() -> None:
    events = [
        said("please change ghost.py"),
        call("Read", {"file_path": f"{CWD}/real.py"}),
        edited("real.py", "a", "b"),
        call("Write", {"file_path": "/etc/other.conf", "content": "x"}),
        failed("Edit", {"file_path": f"{CWD}/broken.py"}, "no"),
        told("I changed phantom.py and real.py."),
    ]
    assert views.files(events) == (views.Touched("real.py", 1, 1), views.Touched("/etc/other.conf", 0, 1))


def test_a_summary_says_what_was_asked_done_and_what_failed() -> None:
    found = views.summary(
        [
            said("Fix the login. It is slow."),
            broke("npm test", "TypeError: user is undefined\n  at login.js:3"),
            edited("login.js", "a", "b"),
            ran("npm test", "ok"),
            ran("npm test", "ok"),
            told("Fixed: the user was loaded too late.\n\nTests pass."),
        ]
    )
    assert (found.title, found.prompts) == ("Fix the login.", ("Fix the login.",))
    assert found.commands == ("npm test",)
    assert found.failures == ("npm test: TypeError: user is undefined",)
    assert [file.path for file in found.files] == ["login.js"]
    assert found.outcome == "Fixed: the user was loaded too late. Tests pass."
    assert found.from_ms is not None and found.to_ms is not None and T0 < found.from_ms < found.to_ms


def test_the_clients_own_title_names_the_session() -> None:
    found = views.summary([said("hello there"), event(EventKind.TITLE, {"text": "Fix login"})])
    assert found.title == "Fix login"


def test_long_lists_are_cut_and_the_rest_is_counted() -> None:
    found = views.summary([ran(f"make step{n}", "ok") for n in range(25)])
    assert len(found.commands) == 20 and found.more == {"commands": 5}


def test_an_empty_session_has_an_empty_summary() -> None:
    found = views.summary([])
    assert (found.title, found.prompts, found.files, found.outcome, found.from_ms) == ("", (), (), "", None)
