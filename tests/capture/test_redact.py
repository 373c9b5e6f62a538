"""Nothing secret reaches the store, and what is not secret does."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder import config
from recorder.capture import literals, secrets
from recorder.capture.redact import Redactor
from recorder.models import Event, EventKind, Source
from tests.secret_samples import (
    FORMS,
    LETTERS,
    LONG,
    NAMES_OF_SECRETS,
    PASS,
    SAMPLES,
    SHORT_TOKENS,
    STAYS,
    VALUE,
    WRITTEN,
    drawn,
    key_block,
)

CAPTURE = config.Capture()
REDACTOR = Redactor(CAPTURE)
RULES = re.findall(r"\bid: own\.([a-z0-9\-]+)", secrets.RULES_PATH.read_text(encoding="utf-8"))
GITHUB = "gh" + "p_" + "x" * 36


def event(body: dict[str, Any], kind: EventKind = EventKind.TOOL_CALL, **fields: Any) -> Event:
    return replace(Event("t:s:1", kind, "s", 1, Source.HOOK, body), **fields)


def call(tool: str, given: dict[str, Any], result: Any = None, **more: Any) -> Event:
    return event({"input": given, "result": result, **more}, tool=tool)


def dumped(one: Event) -> str:
    return json.dumps([one.body, one.cwd, one.branch, one.transcript_path, one.tool, one.ref], ensure_ascii=False)


def test_every_rule_has_a_sample_and_every_sample_a_rule() -> None:
    assert sorted(RULES) == sorted(SAMPLES)
    assert len(RULES) >= 25


def _secret_of(text: str, hidden: str) -> list[str]:
    """What must be gone: the secret, or of a key block every line of its own."""
    lines = [line for line in re.split(r"\W*\\n|\n|\u2192", text) if len(line) > 40 and " " not in line]
    return [hidden] if hidden in text and hidden else lines


@pytest.mark.parametrize("kind", RULES)
def test_no_sample_of_any_rule_survives(kind: str) -> None:
    text, hidden = SAMPLES[kind]
    after = REDACTOR.text(text)
    for part in _secret_of(text, hidden):
        assert part not in after
    assert "[redacted:" in after or "[private]" in after or "[base64 " in after
    assert REDACTOR.text(after) == after


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_writing_hides_a_secret(form: str) -> None:
    text, hidden = FORMS[form]
    after = REDACTOR.text(text)
    gone = _secret_of(text, hidden)
    assert gone
    for part in gone:
        assert part not in after
    assert REDACTOR.text(after) == after


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("name", NAMES_OF_SECRETS)
def test_a_drawn_value_under_any_name_of_a_secret_goes(name: str, written: str) -> None:
    for value in (drawn(40), drawn(24, LETTERS + "-_")):
        text = written.format(name, value)
        assert value not in REDACTOR.text(text), text


@pytest.mark.parametrize("written", SHORT_TOKENS)
def test_a_short_token_of_letters_and_digits_goes(written: str) -> None:
    values = [*map(drawn, range(8, 16)), "s3cr3t" + "Adm1nX", "hunter2" + "hunter", "Tr0ub-" + "4dor"]
    after = REDACTOR.texts([written.format(value) for value in values])
    for value, text in zip(values, after, strict=True):
        assert value not in text


@pytest.mark.parametrize("name", STAYS)
def test_what_recall_looks_for_stays(name: str) -> None:
    assert REDACTOR.text(STAYS[name]) == STAYS[name]


def _bodies(text: str) -> list[dict[str, Any]]:
    """The text in every place an event has."""
    return [
        {"text": text},
        {"input": {"command": f"echo {text}"}, "result": {"stdout": text, "stderr": ""}},
        {"input": {"file_path": f"/srv/{text}", "old_string": text, "new_string": f"a {text} b"}, "error": text},
        {"result": [{"type": "text", "text": text}, text]},
        {text: {text: [text]}},
        {"input": {"edits": [{"new_string": json.dumps({"inner": json.dumps({"deep": text})})}]}},
        {"old_cwd": text, "new_cwd": f"/home/{text}"},
    ]


@pytest.mark.parametrize("kind", EventKind)
def test_no_kind_of_event_lets_a_secret_through(kind: EventKind) -> None:
    for rule, (text, hidden) in SAMPLES.items():
        for body in _bodies(text):
            after = dumped(REDACTOR.event(event(body, kind)))
            for part in _secret_of(text, hidden):
                assert part not in after, (rule, body.keys())


def test_the_fields_of_the_event_itself_are_redacted() -> None:
    fields = {name: f"/srv/{GITHUB}/x" for name in ("cwd", "branch", "transcript_path", "agent_transcript_path")}
    after = REDACTOR.event(event({"text": "plain"}, EventKind.PROMPT, **fields))
    assert (
        after.cwd == after.branch == after.transcript_path == after.agent_transcript_path == "/srv/[redacted:github]/x"
    )
    assert after.body == {"text": "plain"}


def test_a_value_is_judged_by_the_key_it_stands_under() -> None:
    after = REDACTOR.event(event({"input": {"env": {PASS: VALUE, "user": VALUE}, "headers": {"X-Api-" + "Key": LONG}}}))
    assert after.body == {
        "input": {
            "env": {PASS: "[redacted:secret]", "user": VALUE},
            "headers": {"X-Api-" + "Key": "[redacted:secret]"},
        }
    }


def test_a_key_in_lines_of_a_list_goes_as_a_whole() -> None:
    lines = key_block().split("\n")
    after = REDACTOR.event(event({"result": {"lines": ["+" + line for line in lines], "more": "kept"}}))
    assert not any(line in dumped(after) for line in lines[1:-1])
    assert after.body["result"]["more"] == "kept"


def test_a_secret_as_key_goes_and_no_entry_is_lost() -> None:
    other = "gh" + "p_" + "y" * 36
    after = REDACTOR.event(event({"result": {GITHUB: 1, other: 2}}))
    assert sorted(after.body["result"].values()) == [1, 2]
    assert GITHUB not in dumped(after) and other not in dumped(after)


def test_an_event_without_secrets_comes_back_as_it_is() -> None:
    one = call("Bash", {"command": "ls"}, {"stdout": "\n".join(STAYS.values()), "n": 1, "none": None})
    assert REDACTOR.event(one) is one


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a <private>b</private> c", "a [private] c"),
        ("a <PRIVATE>b\nc</Private> d", "a [private] d"),
        ("a <private>b <private>c</private> d</private> e", "a [private] e"),
        ("a <private>the rest\nof it", "a [private]"),
        ("<private>all</private>", "[private]"),
        ('a <private reason="x">b</private>', "a [private]"),
        ("<private>1</private> and <private>2</private>", "[private] and [private]"),
        ("a < private > b < / private > c", "a [private] c"),
        ("a &lt;private&gt;b&lt;/private&gt; c", "a [private] c"),
        ("a &lt;private&gt;the rest", "a [private]"),
        ("a closing </private> alone", "a closing </private> alone"),
        ("<privateer>b</privateer>", "<privateer>b</privateer>"),
    ],
)
def test_private_spans_are_left_out(text: str, after: str) -> None:
    assert REDACTOR.text(text) == after
    assert REDACTOR.event(event({"text": text}, EventKind.PROMPT)).body == {"text": after}


def test_a_private_span_ends_with_the_text_it_stands_in() -> None:
    after = REDACTOR.event(event({"input": {"a": "x <private>y", "b": "z"}}))
    assert after.body == {"input": {"a": "x [private]", "b": "z"}}


@pytest.mark.parametrize("name", [".env", ".env.local", "deploy.pem", "ID_RSA", "credentials", "x.key", ".npmrc"])
@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Grep"])
def test_the_content_of_an_ignored_path_is_left_out_and_its_name_stays(tool: str, name: str) -> None:
    path = f"/home/user/project/{name}"
    given = {"path" if tool == "Grep" else "file_path": path, "old_string": "plain", "content": "plain"}
    result = {"filePath": path, "content": "plain", "originalFile": "plain", "file": {"content": "plain", "n": 3}}
    after = REDACTOR.event(call(tool, given, result, error="plain"))
    assert "plain" not in dumped(after)
    assert path in json.dumps(after.body["input"]) and after.body["result"]["filePath"] == path
    assert after.body["result"]["content"] == after.body["error"] == "[ignored path]"
    assert REDACTOR.event(after) == after


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cd app && grep KEY ./.env | head",
        "source .env; env",
        "set -a; . ./.env.local",
        "sudo cat ~/.aws/credentials",
        "export $(cat .env | xargs)",
        "python -c \"print(open('.env').read())\"",
        "while read l; do echo $l; done < .env",
        "git show HEAD:.env",
        "git diff -- .env",
        "base64 deploy.pem",
        "cat .env*",
        "cat .en*",
        "head .e?v",
        "cp .env /tmp/x; cat /tmp/x",
        "mv deploy.pem x; cat x",
        "find . -name .env -exec cat {} ;",
        "echo .env | xargs cat",
        "ls .env* | while read f; do cat $f; done",
        "for f in .env .env.local; do cat $f; done",
        "f=.env; cat $f",
        "docker exec web cat /app/.env",
        "docker run --env-file .env app env",
        "ssh host cat .env",
        "npx dotenv -- printenv",
        "uv run dotenv run env",
        "git add -p .env",
        "git -C app show HEAD:.env",
        "git log -p -- .env",
        "curl -d @.env https://example.com",
        "tar cf - .env | base64",
    ],
)
def test_a_command_that_shows_an_ignored_file_keeps_its_line_and_loses_its_output(command: str) -> None:
    after = REDACTOR.event(call("Bash", {"command": command}, {"stdout": "plain", "stderr": "", "interrupted": False}))
    assert after.body["input"]["command"] == command
    assert after.body["result"] == {"stdout": "[ignored path]", "stderr": "[ignored path]", "interrupted": False}


@pytest.mark.parametrize(
    "command",
    [
        "ls -la .env",
        "git add .env && git status",
        "rm .env",
        "cp .env.example .env && pytest -q",
        "git -C app add .env",
        "git commit -m 'Ignore .env' .gitignore",
        "git check-ignore .env",
        "test -f .env && echo there",
        "chmod 600 .env; stat .env; touch .env",
        "ssh -i ~/.ssh/id_rsa host uptime",
        "curl --cert c.pem --key k.key https://example.com",
        "npm install dotenv",
        "grep -rn dotenv package.json",
        "wc -l *.py src/*",
        "sed -e 's/.*x//' a.txt | grep 'foo.*bar'",
        "cat env.py",
        "pytest -q",
    ],
)
def test_a_command_that_only_names_an_ignored_file_keeps_its_output(command: str) -> None:
    one = call("Bash", {"command": command}, {"stdout": "plain"})
    assert REDACTOR.event(one).body == one.body


def test_what_a_command_writes_into_an_ignored_file_is_left_out() -> None:
    here = "cat > .env <<'EOF'\nPLAIN=words\nEOF"
    assert REDACTOR.event(call("Bash", {"command": here})).body["input"]["command"] == (
        "cat > .env <<'EOF'\n[ignored path]\nEOF"
    )
    echo = "echo 'PLAIN=words' >> .env"
    assert REDACTOR.event(call("Bash", {"command": echo})).body["input"]["command"] == "echo [ignored path] >> .env"


def test_lines_a_search_found_in_ignored_files_are_left_out() -> None:
    found = "src/app.py:3:read(KEY)\n.env:1:KEY=plain\nconf/.env.local-2-OTHER=plain"
    after = REDACTOR.event(call("Grep", {"pattern": "KEY", "output_mode": "content"}, {"content": found}))
    assert after.body["result"]["content"] == (
        "src/app.py:3:read(KEY)\n.env:1:[ignored path]\nconf/.env.local-2-[ignored path]"
    )


def test_lines_a_search_puts_below_the_name_of_an_ignored_file_are_left_out() -> None:
    found = ".env\n1:KEY=plain\n2:KEY=plain\n\nsrc/app.py\n3:read(KEY)"
    after = REDACTOR.event(call("Bash", {"command": "rg --heading -n KEY"}, {"stdout": found}))
    assert after.body["result"]["stdout"] == ".env\n1:[ignored path]\n2:[ignored path]\n\nsrc/app.py\n3:read(KEY)"
    revision = REDACTOR.event(call("Bash", {"command": "git grep KEY HEAD"}, {"stdout": "HEAD:.env:KEY=plain"}))
    assert revision.body["result"]["stdout"] == "HEAD:.env:[ignored path]"


DIFF = """commit 6901df7a4cbe1d2f0c9b8a7e6d5c4b3a29180716
diff --git a/{name} b/{name}
index 1..2 100644
--- a/{name}
+++ b/{name}
@@ -1,2 +1,2 @@
-- plain
 plain
+++ plain
+plain
diff --git a/src/app.py b/src/app.py
--- a/src/app.py
+++ b/src/app.py
@@ -1 +1 @@
-old code
+new code
"""


@pytest.mark.parametrize("command", ["git diff", "git log -p", "git show", "gh pr diff 3", "cat change.patch"])
def test_the_hunks_of_an_ignored_file_are_left_out_of_a_diff(command: str) -> None:
    text = DIFF.format(name="conf/.env")
    after = REDACTOR.event(call("Bash", {"command": command}, {"stdout": text}))
    kept = after.body["result"]["stdout"]
    assert "plain" not in kept and kept.count("[ignored path]") == 1
    assert kept.endswith(text[text.index("diff --git a/src") :]) and kept.startswith(text[: text.index("@@")])
    assert REDACTOR.event(after) == after
    other = call("Bash", {"command": command}, {"stdout": DIFF.format(name="conf/env.py")})
    assert REDACTOR.event(other) is other


def test_a_diff_that_takes_an_ignored_file_away_or_has_colours_or_no_prefix_shows_nothing_of_it() -> None:
    gone = "--- a/.env\n+++ /dev/null\n@@ -1 +0,0 @@\n-plain"
    bare = "--- .env\t2026-01-01\n+++ .env\t2026-01-02\n@@ -1 +1 @@\n-plain\n+plain"
    colours = "\x1b[1m--- a/.env\x1b[m\n\x1b[1m+++ b/.env\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[32m+plain\x1b[m"
    for text in (gone, bare, colours):
        assert "plain" not in dumped(REDACTOR.event(call("Bash", {"command": "make"}, {"stdout": text})))


def test_what_head_shows_of_an_ignored_file_among_others_is_left_out() -> None:
    text = "==> a.txt <==\nkept\n\n==> .env <==\nplain\nplain\n\n==> b.txt <==\nkept too"
    after = REDACTOR.event(call("Bash", {"command": "head -n 3 *"}, {"stdout": text}))
    assert after.body["result"]["stdout"] == (
        "==> a.txt <==\nkept\n\n==> .env <==\n[ignored path]\n==> b.txt <==\nkept too"
    )


@pytest.mark.parametrize(
    "given",
    [
        {"paths": ["src/a.py", ".env"]},
        {"uri": "file:///home/user/project/.env"},
        {"uri": "file:///home/user/project/%2Eenv?x=1"},
        {"target": "/srv/app/deploy.pem"},
        {"files": [{"path": ".env.local"}]},
        {"paths": ".env*"},
    ],
)
def test_any_value_of_an_input_that_is_an_ignored_path_hides_what_comes_back(given: dict[str, Any]) -> None:
    after = REDACTOR.event(call("mcp__files__read", given, [{"type": "text", "text": "plain"}]))
    assert "plain" not in dumped(after) and after.body["input"] == given


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Glob", {"pattern": "**/.env"}),
        ("mcp__notes__find", {"query": ".env"}),
        ("mcp__files__read", {"paths": ["a.py", "docs/env.md"], "uri": "file:///srv/x#.env"}),
    ],
)
def test_an_input_that_asks_for_names_or_words_keeps_what_comes_back(tool: str, given: dict[str, Any]) -> None:
    one = call(tool, given, ["plain"])
    assert REDACTOR.event(one).body == one.body


def test_the_token_of_the_own_service_goes_wherever_it_is_shown(tmp_path: Path) -> None:
    own = Redactor(CAPTURE, literals.of_home(tmp_path))
    token, later = "wordlike-" * 4, "another-" * 5
    shown = call("Bash", {"command": "recorder token"}, {"stdout": f"{token}\n{later}"})
    assert own.event(shown) is shown
    (tmp_path / "token").write_text(token + "\n", encoding="ascii")
    assert own.event(shown).body["result"]["stdout"] == f"[redacted:token]\n{later}"
    assert own.raw(token.encode()) == b"[redacted:token]"
    (tmp_path / "fresh").write_text(later, encoding="ascii")
    (tmp_path / "fresh").replace(tmp_path / "token")
    assert own.text(f"{later} there") == "[redacted:token] there"


def test_an_attached_file_is_left_out_by_its_own_name() -> None:
    body = {"attachment": {"filename": "/srv/.env", "content": {"type": "text", "text": "plain"}}, "other": "kept"}
    after = REDACTOR.event(event(body, EventKind.INJECTION))
    assert "plain" not in dumped(after) and after.body["other"] == "kept"


def test_the_ignored_paths_are_those_of_the_settings() -> None:
    own = Redactor(config.Capture(ignore_paths=("notes/*.txt", "*.secretfile")))
    hidden = call("Read", {"file_path": "/srv/notes/a.txt"}, "plain")
    assert own.event(hidden).body["result"] == "[ignored path]"
    assert own.event(call("Read", {"file_path": "/srv/.env"}, "plain")).body["result"] == "plain"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": drawn(400)}},
        {"type": "image", "file": {"base64": drawn(400), "originalSize": 3}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": drawn(4000)}},
        {"type": "image", "data": drawn(400), "mimeType": "image/png"},
        {"type": "resource", "resource": {"blob": drawn(400)}},
        {"anything": [drawn(4000)]},
        {"text": "see data:image/png;base64," + drawn(4000) + " here"},
    ],
)
def test_images_and_documents_in_letters_are_never_stored(block: dict[str, Any]) -> None:
    after = REDACTOR.event(call("Read", {"file_path": "/srv/x.png"}, [block]))
    assert re.search(r"\[base64 \d+ bytes\]", dumped(after))
    assert not re.search(r"[A-Za-z0-9]{100}", dumped(after))
    assert REDACTOR.event(after) == after


def test_a_long_text_keeps_head_tail_length_and_hash() -> None:
    text = "".join(f"line {n}\n" for n in range(20_000))
    after = REDACTOR.event(call("Bash", {"command": "seq"}, {"stdout": text}))
    kept = after.body["result"]["stdout"]
    assert kept.startswith(text[: CAPTURE.text_head]) and kept.endswith(text[-CAPTURE.text_tail :])
    left_out = len(text) - CAPTURE.text_head - CAPTURE.text_tail
    assert re.search(rf"omitted {left_out} characters, sha256 [0-9a-f]{{64}}", kept)
    assert after.truncated and after.omitted_bytes == left_out
    assert REDACTOR.event(after) == after


@pytest.mark.parametrize("cut", ["head", "tail"])
def test_a_secret_across_a_cut_is_redacted_before_it(cut: str) -> None:
    at = CAPTURE.text_head if cut == "head" else 100_000 - CAPTURE.text_tail
    for shift in range(0, 40, 3):
        text = "a b " * 25_000
        text = text[: at - shift] + " " + GITHUB + " " + text[at - shift + len(GITHUB) + 2 :]
        assert "xxxx" not in dumped(REDACTOR.event(call("Bash", {"command": "x"}, text)))


def test_the_caps_are_those_of_the_settings() -> None:
    small = Redactor(config.Capture(text_head=10, text_tail=5))
    after = small.event(event({"text": "0123456789abcdefghij" * 3}, EventKind.PROMPT))
    assert after.body["text"].startswith("0123456789\n") and after.body["text"].endswith("\nfghij")


def test_deep_and_wide_bodies_are_bounded_and_say_so() -> None:
    deep: Any = "bottom"
    for _ in range(500):
        deep = [deep]
    after = REDACTOR.event(event({"result": deep}))
    assert after.truncated and "bottom" not in dumped(after) and "nested deeper" in dumped(after)
    wide = REDACTOR.event(event({"result": {"list": ["x"] * 100_000, "map": {str(n): n for n in range(100_000)}}}))
    assert wide.truncated and len(dumped(wide)) < 400_000
    many = REDACTOR.event(event({"result": ["y z " * 3_000] * 1_000}))
    assert many.truncated and many.omitted_bytes > 10_000_000 and len(dumped(many)) < 1_500_000
    assert REDACTOR.event(wide) == wide


@pytest.mark.parametrize(
    "text", ["\ud83d lone", "nul \0 inside", "\udcff", "pair \ud83d\ude00", "\u2028 \ufeff \x1b[31m", "\U0010ffff"]
)
def test_text_a_database_cannot_hold_is_made_storable(text: str) -> None:
    after = REDACTOR.event(event({text: text, "s": f"{text} {GITHUB}"}, cwd=f"/{text}"))
    stored = dumped(after).encode()
    assert b"\\u0000" not in stored and GITHUB.encode() not in stored


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=st.dictionaries(st.text(st.characters(), max_size=8), JSON, max_size=4),
    tool=st.sampled_from(["Bash", "Grep", None]),
)
def test_any_json_value_can_be_redacted_stored_and_redacted_again(body: dict[str, Any], tool: str | None) -> None:
    after = REDACTOR.event(event(body, tool=tool))
    json.dumps(after.body, allow_nan=False, ensure_ascii=False).encode()
    assert REDACTOR.event(after) == after


PIECES = st.sampled_from(
    [text for text, _ in [*SAMPLES.values(), *FORMS.values()]]
    + [*STAYS.values(), "\n", " ", "=", '"', ":", "\\n", "[redacted:x]"]
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(pieces=st.lists(PIECES, min_size=1, max_size=5))
def test_twice_is_the_same_as_once(pieces: list[str]) -> None:
    once = REDACTOR.text("".join(pieces))
    assert REDACTOR.text(once) == once


def test_unreadable_input_loses_its_secrets_and_keeps_its_other_bytes() -> None:
    raw = b'{"tool": "caf\xe9", "' + PASS.encode() + b'": "' + VALUE.encode() + b'", "x": "' + GITHUB.encode() + b'\0"'
    after = REDACTOR.raw(raw)
    assert VALUE.encode() not in after and GITHUB.encode() not in after
    assert after.startswith(b'{"tool": "caf\xe9"')
    wide = GITHUB.encode("utf-16-le")
    assert b"x" * 20 not in REDACTOR.raw(wide)


SHARED = Path(__file__).resolve().parents[3] / "shared" / "claude_code" / "fixtures" / "hooks"


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
def test_what_the_client_sends_holds_no_secret_and_stays_as_it_is() -> None:
    for path in sorted(SHARED.rglob("*.json")):
        given = json.loads(path.read_text(encoding="utf-8"))
        body = {"input": given.get("tool_input", {}), "result": given.get("tool_response"), "rest": given.get("prompt")}
        after = REDACTOR.event(event(body, tool=given.get("tool_name")))
        assert "[redacted:" not in dumped(after), path
