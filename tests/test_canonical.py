"""Values that read alike are one, and values that say different things are two."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.canonical import canonical, shape

V = "We deploy with helm from the main-branch"


@pytest.mark.parametrize(
    "form",
    [
        f'"{V}"',
        f"'{V}'",
        f"\u201c{V}\u201d",
        f"\u00ab{V}\u00bb",
        f'"{V}',
        f"- {V}",
        f"* {V}",
        f"- [x] {V}",
        f"1. {V}",
        f"2) {V}",
        f"> {V}",
        f"> - {V}",
        f"# {V}",
        f"### {V}",
        f"*{V}*",
        f"_{V}_",
        f"__{V}__",
        f"**{V}**",
        f"***{V}***",
        f"~~{V}~~",
        f"`{V}`",
        f"({V})",
        f"[{V}]",
        f'("{V}.")',
        f"{V}?",
        f"{V};",
        f"{V},",
        f"{V} .",
        f"{V} ?!",
        f"IMPORTANT: {V}",
        f"Note: {V}",
        f"- **IMPORTANT**: {V}!",
        json.dumps(V),
        json.dumps([V]),
        json.dumps({"value": V}),
        json.dumps({"memory": [{"text": f"{V}."}]}),
        V.replace("e", "e\u0301"),
        V.replace("e", "\u00e9"),
        V.replace("h", "h\u0336"),
        V.replace(" ", "\u2800"),
        V.replace(" ", "\u3164"),
        V.replace(" ", "\u00a0"),
        V.replace("-", "\u2011"),
        V.replace("-", "\u2013"),
        V.replace("-", "\u2212"),
        V.replace("m", "m\U000e0101"),
        V.replace("o", "\u043e\u0301"),
    ],
)
def test_another_form_of_a_value_is_the_same_value(form: str) -> None:
    assert canonical(form) == canonical(V)
    assert canonical(V) in {canonical(form), shape(form)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("мой ключ", "мои ключ"),
        ("がくせい", "かくせい"),
        ("हिन्दी", "हनद"),
        ("*.py", ".py"),
        ('{"lint": "ruff"}', '{"test": "ruff"}'),
        ('["a", "b"]', '["a"]'),
        ("-q", "q is -q"),
        ("version 1.2", "version 12"),
        ("(a) b (c)", "a) b (c"),
    ],
)
def test_what_says_something_else_stays_another_value(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("nothing", ["?", "...", "[]", '""', "- ", "()"])
def test_what_is_form_alone_is_not_nothing(nothing: str) -> None:
    assert canonical(nothing) != canonical("")


PLAIN = st.lists(st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1), min_size=1, max_size=6).map(" ".join)


@given(PLAIN, PLAIN)
def test_two_values_whose_letters_or_digits_differ_are_two(one: str, other: str) -> None:
    said = [" ".join(text.split()) for text in (one, other)]
    leads = ("remember", "please")
    if said[0] != said[1] and not any(text.startswith(leads) for text in said):
        assert canonical(one) != canonical(other)


@given(PLAIN)
def test_the_form_of_a_form_is_itself(value: str) -> None:
    assert canonical(canonical(value)) == canonical(value)
