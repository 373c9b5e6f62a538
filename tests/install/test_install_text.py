"""Any JSON, through our hands and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from install_person import Person

from recorder.errors import SettingsError
from recorder.install import text as json_text

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=12
)
HOOKS = st.dictionaries(
    st.sampled_from(["Stop", "PreToolUse", "SessionStart", "Odd"]), st.lists(VALUES, max_size=2), max_size=3
)
SETTINGS = st.builds(
    lambda rest, hooks: rest | hooks,
    st.dictionaries(st.text().filter(lambda key: key != "hooks"), VALUES, max_size=4),
    st.just({}) | HOOKS.map(lambda hooks: {"hooks": hooks}),
)


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> bytes:
    """A JSON text in one of the ways people and programs write it."""
    text = json.dumps(
        draw(values),
        indent=draw(st.sampled_from([None, "\t", 1, 2, 4, 0])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([None, (",", ":"), (", ", " : ")])),
    )
    text += draw(st.sampled_from(["", "\n", "\n\n", "  "]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode("utf-8", "surrogatepass")


@bounds(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(written(SETTINGS))
def test_install_then_uninstall_gives_any_settings_back_byte_for_byte(person: Person, raw: bytes) -> None:
    person.settings.write_bytes(raw)
    person.install()
    installed = person.settings.read_bytes()
    before, after = (json.loads(text.decode("utf-8-sig")) for text in (raw, installed))
    assert {**after, "hooks": None} == {**before, "hooks": None} and len(person.ours()) == 10
    person.install()
    assert person.settings.read_bytes() == installed
    person.uninstall()
    assert person.settings.read_bytes() == raw


@bounds(max_examples=120, deadline=None)
@given(written(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4)))
def test_what_is_inserted_and_removed_again_leaves_no_trace(raw: bytes) -> None:
    text = json_text.decode(raw, "x")[1]
    root = json_text.parse(text, "x")
    if "ours" in root.keys:
        return
    longer = json_text.insert(text, root, "ours", {"a": [1, {"b": "c"}]})
    with_ours = json_text.parse(longer, "x")
    assert with_ours.value == {**json.loads(text), "ours": {"a": [1, {"b": "c"}]}}
    assert json_text.remove(longer, with_ours, len(with_ours.children) - 1) == text


@pytest.mark.parametrize("at", [0, 1, 2])
def test_any_child_can_go_and_the_rest_keeps_its_form(at: int) -> None:
    text = '{\n  "a": 1,\n  "b": [ ],\n  "c": {}\n}\n'
    lines = text.splitlines(keepends=True)
    root = json_text.parse(text, "x")
    left = json_text.remove(text, root, at)
    del lines[1 + at]
    assert left == "".join(lines).replace("[ ],\n}", "[ ]\n}")


@given(st.text())
def test_a_text_is_read_as_json_reads_it_or_refused(text: str) -> None:
    try:
        expected = json.loads(text) if text.strip(" \t\r\n") else {}
    except ValueError:
        expected = None
    if isinstance(expected, dict):
        assert json_text.parse(text, "x").value == expected
    else:
        with pytest.raises(SettingsError, match="^x"):
            json_text.parse(text, "x")
