"""Cutting a session into turns, and what holds for every turn."""

from __future__ import annotations

import json

from distil_samples import broke, call, distilled, edited, event, failed, ran, said, told
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.capture.blocks import without_blocks
from recorder.models import Channel, EventKind, MemoryKind, PromptClass, StoredEvent
from worker.distil.proposed import Found, proposed, strings
from worker.distil.turns import turns


def shape(events: list[StoredEvent]) -> list[list[int]]:
    return [[event.id for event in turn] for turn in turns(events)]


def test_a_prompt_id_holds_a_turn_together_even_when_events_come_late() -> None:
    a, b = said("one", prompt_id="p1"), ran("ls", prompt_id="p1")
    c, late = said("two", prompt_id="p2"), ran("ls", prompt_id="p1")
    assert shape([a, b, c, late]) == [[a.id, b.id, late.id], [c.id]]


def test_without_prompt_ids_each_prompt_opens_a_turn() -> None:
    events = [
        said("one", prompt_id=None),
        ran("ls", prompt_id=None),
        said("two", prompt_id=None),
        told("x", prompt_id=None),
    ]
    assert shape(events) == [[events[0].id, events[1].id], [events[2].id, events[3].id]]


def test_queued_and_injected_prompts_and_those_of_subagents_stay_inside_the_turn() -> None:
    events = [
        said("one", prompt_id=None),
        said("more", PromptClass.QUEUED, prompt_id=None),
        said("note", PromptClass.TASK_NOTIFICATION, prompt_id=None),
        said("do it", prompt_id=None, agent_id="a1"),
    ]
    assert shape(events) == [[event.id for event in events]]


def test_what_comes_before_the_first_prompt_is_a_turn_of_its_own_and_nothing_is_lost() -> None:
    start = event(EventKind.SESSION_START, {"source": "startup"}, prompt_id=None)
    events = [start, said("one", prompt_id="p1"), told("x", prompt_id=None)]
    assert shape(events) == [[start.id], [events[1].id, events[2].id]]


TEXT = st.text(max_size=120) | st.sampled_from(
    [
        "Never commit directly to main.",
        "Use pnpm, not npm.",
        "```\nx",
        "<a>b</a>",
        "# T",
        "- Always use tabs instead of spaces",
        '"Q"="A"',
        "Exit code 1\nG004 must be lazy",
        "I changed it because of that, so that it works now",
        "npm test && make lint",
        "a" * 3000,
        "\ud800",
        "\x00",
        "мы always use это",
        "Remember that ```",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def _event(
    kind: EventKind,
    klass: PromptClass | None,
    text: str,
    given_input: object,
    result: object,
    ok: bool | None,
    tool: str | None,
) -> StoredEvent:
    if kind is EventKind.TOOL_CALL:
        inputs = {"command": text, "x": given_input} if isinstance(given_input, str) else given_input
        return event(kind, {"input": inputs, "error" if ok is False else "result": result}, ok=ok, tool=tool)
    return event(kind, {"text": text}, klass=klass)


EVENTS = st.lists(
    st.builds(
        _event,
        st.sampled_from([EventKind.PROMPT, EventKind.TOOL_CALL, EventKind.ASSISTANT, EventKind.OTHER]),
        st.sampled_from([None, *PromptClass]),
        TEXT,
        JSON,
        JSON,
        st.sampled_from([None, True, False]),
        st.sampled_from([None, "Bash", "Edit", "AskUserQuestion", "Write", "mcp__x__y"]),
    ),
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(EVENTS, EVENTS)
def test_any_turn_is_survived_and_every_quote_stands_in_its_event(
    turn: list[StoredEvent], before: list[StoredEvent]
) -> None:
    found = distilled(*turn, before=tuple(before))
    bodies = {event.id: list(strings(dict(event.body))) for event in turn}
    for one in found:
        assert one.proposal.evidence
        assert all(any(e.quote in text for text in bodies[e.event_id]) for e in one.proposal.evidence)
    places = [(one.proposal.namespace, one.proposal.key, one.proposal.evidence[0].event_id) for one in found]
    assert len(set(places)) == len(places)
    assert found == distilled(*turn, before=tuple(before))


def test_twice_is_the_same_and_another_day_has_the_same_keys() -> None:
    def turn(shift: int) -> list[StoredEvent]:
        return [
            said("Use pnpm, not npm. Never commit directly to main.", at_ms=shift, prompt_id=f"p{shift}"),
            broke("pytest", "pytest: command not found", at_ms=shift + 1),
            ran("uv run pytest", "1 passed", at_ms=shift + 2),
        ]

    one, other = distilled(*turn(1)), distilled(*turn(10**12))
    assert [p.proposal.key for p in one] == [p.proposal.key for p in other]
    assert [p.proposal.value for p in one] == [p.proposal.value for p in other]
    assert not any(str(10**12) in json.dumps([p.proposal.key, p.proposal.value]) for p in other)


def test_a_turn_of_strange_shapes_is_survived() -> None:
    strange = [
        call("Bash", {"command": 3}),
        call("AskUserQuestion", {"questions": "x"}, {"answers": []}),
        failed("Bash", {}, ""),
        event(EventKind.PROMPT, {"text": None}),
        event(EventKind.TOOL_CALL, {"input": None}, tool="Bash"),
        edited("a", "", ""),
    ]
    assert distilled(*strange) == []


def test_a_quote_that_does_not_stand_in_the_event_is_dropped() -> None:
    prompt = said("Never commit directly to main.")

    def found(quote: str) -> Found:
        return Found("always", "rule.x", "A rule.", MemoryKind.PREFERENCE, Channel.USER_SAID, ((prompt, quote),))

    assert proposed(found("commit directly"), "shop-0a1b2c3d") is not None
    assert proposed(found("commit  directly"), "shop-0a1b2c3d") is None
    assert proposed(found("Never commit directly to main!"), "shop-0a1b2c3d") is None
    assert proposed(found(" "), "shop-0a1b2c3d") is None


def test_a_prompt_made_of_open_tags_is_read_in_one_pass() -> None:
    assert without_blocks("a <b>c</b> d\n<x> e") == "a \n\n d\n<x> e"
    assert without_blocks("a <system-reminder>b") == "a \n\n"
    assert without_blocks("<a>" * 100_000).count("<a>") == 100_000
