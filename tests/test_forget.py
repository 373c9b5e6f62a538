"""What is forgotten is gone to the last byte, and does not come back."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from recorder import forget, gate
from recorder.capture import reading, spool
from recorder.config import Config
from recorder.errors import GateRefused, NotFound
from recorder.lifecycle import export, imports, shape
from recorder.models import Channel, Event, Evidence, MemoryKind, Origin, PromptClass, Proposal, Scope, Source
from recorder.recall import rank
from recorder.store import audit, erase, events, findings, health, memories, sessions, texts, upkeep, vectors
from recorder.store import copies as copies_noted
from recorder.store.db import Connection, DatabaseError, checkpoint, connect, rewrite
from tests.makers import T0, add_filler, bash, event_of, hook_input, project_folder, prompt, stop, take
from worker import brief, held

SECRET = "Remember: the vault word is obelisk-ninetythree"
VALUE = "the vault word is obelisk-ninetythree"
TWIN = "Remember: the twin word is cenotaph-ninetyfour"
TWIN_VALUE = "the twin word is cenotaph-ninetyfour"
KEY = "fact.vault"
PARTS = (b"obelisk", b"vault word", b"fact.vault")


@pytest.fixture
def project(db: Connection, config: Config, own_home: Path) -> str:
    """Two prompts in two sessions, events 1 and 2, and a memory from each, verified by a person."""
    spool.prepare(config.spool)
    folder = str(project_folder(own_home))
    for n, said in ((1, SECRET), (2, TWIN)):
        told = event_of(prompt(said, session=f"s{n}", prompt_id=f"p{n}", cwd=folder), at_ms=T0 + n)
        take(db, config, [told], now_ms=T0 + n)
    db.execute("update events set class = ?", (PromptClass.TYPED.value,))
    found = str(next(iter(db.execute("select project_id from events where id = 1")))[0])
    for proposal in (given(found), given(found, TWIN_VALUE, key="fact.twin", event=2, quote=TWIN)):
        assert gate.propose(db, proposal, writer(found)).action == "created"
    return found


def writer(project: str, channel: Channel = Channel.PERSON, now_ms: int = T0 + 10) -> gate.Writer:
    return gate.Writer(channel, "test", Scope(project), now_ms)


def given(
    project: str, value: str = VALUE, *, key: str = KEY, event: int = 1, quote: str = SECRET, **more: object
) -> Proposal:
    fields = {
        "namespace": f"project.{project}",
        "key": key,
        "value": value,
        "kind": MemoryKind.SEMANTIC,
        "origin": Origin.USER_SAID,
        "source": "test",
        "evidence": (Evidence(event, quote),),
        "occurred_ms": T0,
    }
    return Proposal(**(fields | more))


def everywhere(db: Connection, config: Config, project: str, key: str = KEY, reason: str | None = None) -> str:
    writes = writer(project, now_ms=T0 + 100)
    planned = gate.plan(db, f"project.{project}", key, writes)
    done, _ = forget.everywhere(db, config, planned, writes, reason=reason)
    brief.write_all(db, config, T0 + 100)
    return done.state


def traces(home: Path, parts: Sequence[bytes] = PARTS) -> list[str]:
    """The files below the home that hold a part of what was forgotten."""
    found = [path for path in sorted(home.rglob("*")) if path.is_file()]
    return [path.name for path in found if any(part in path.read_bytes() for part in parts)]


def recalled(db: Connection, project: str, asked: str = "vault twin word obelisk cenotaph") -> list[str]:
    found = rank.recall(db, asked, Scope(project), k=20, vector=None, vector_status="off", now_ms=T0 + 5000)
    return [hit.text for hit in found.hits]


def test_no_byte_of_what_is_forgotten_is_left_in_the_home_and_its_twin_stands(
    db: Connection, config: Config, project: str
) -> None:
    told = [
        event_of(bash("cat notes", f"notes: {VALUE} end", use="toolu_9", session="s3", prompt_id="p3"), at_ms=T0 + 5),
        event_of(stop(session="s3", prompt_id="p3", last_assistant_message=f"I read that {VALUE}."), at_ms=T0 + 6),
    ]
    take(db, config, told, now_ms=T0 + 6)
    gate.propose(db, given(project, "the vault word is obelisk-ninetytwo"), writer(project, now_ms=T0 + 11))
    gate.propose(db, given(project), writer(project, now_ms=T0 + 12))
    held_by = memories.find(db, f"project.{project}", KEY)
    assert held_by is not None
    memories.note_ref(db, held_by.id, "shown", "test", "s3", T0)
    gate.delete(db, f"project.{project}", KEY, writer(project), reason=f"no longer is it so that {VALUE}")
    gate.restore(db, f"project.{project}", KEY, writer(project), reason="it is")
    gate.propose(db, given(project, "the vault word is obelisk-ninetyone"), writer(project, Channel.AGENT))
    vectors.store(db, "memory", held_by.version_id, "m", [("h", b"\x01" * 384)])
    brief.write_all(db, config, T0)
    for name in ("new", "tmp", "bad"):
        (config.spool / name / "1.json").write_text(json.dumps(prompt(f"again: {VALUE}", session="s9")))
    (config.spool / "bad" / "1.json.reason").write_text("torn")
    config.logs_dir.mkdir()
    (config.logs_dir / "worker.log").write_text(f"before\nit failed at {VALUE!r}\nafter\n")
    assert len(traces(config.home)) >= 6

    assert everywhere(db, config, project, reason=f"private: {VALUE}") == "done"

    assert traces(config.home) == []
    assert (config.logs_dir / "worker.log").read_text().splitlines()[::2] == ["before", "after"]
    assert list((config.spool / "bad").iterdir()) == []
    assert recalled(db, project) == [TWIN_VALUE]
    assert [row[0] for row in db.execute("select kind from events order by id")] == ["prompt"]
    assert list(db.execute("select count(*) from embeddings")) == [(0,)]
    assert audit.verify(db).state == "pass"
    assert health.integrity(db) is None
    for table in ("event_words", "event_trigrams"):
        db.execute(f"insert into {table} ({table}, rank) values ('integrity-check', 1)")


def test_an_estimate_says_that_it_is_one_and_what_it_left_out_is_forgotten_all_the_same(
    db: Connection, config: Config, project: str
) -> None:
    hidden = bash(
        "cat notes", "x" * 3_000 + f" notes: {VALUE} " + "y" * 3_000, use="toolu_9", session="s3", prompt_id="p3"
    )
    take(db, config, [event_of(hidden, at_ms=T0 + 5)], now_ms=T0 + 6)
    asked = (db, f"project.{project}", KEY, writer(project))
    assert not gate.plan(*asked, at_once=True).estimate, "all was looked at"
    add_filler(db, gate.AT_ONCE_EVENTS)
    exact, at_once = gate.plan(*asked), gate.plan(*asked, at_once=True)
    assert at_once.estimate and not exact.estimate
    assert gate.reached(exact)["events"] == 2 and gate.reached(at_once)["events"] == 1
    gate.carry_out(db, at_once, writer(project))
    assert list(db.execute("select id from events where id <= 3")) == [(2,)]


def test_of_a_forgotten_memory_the_history_says_who_and_when_and_nothing_of_what_it_said(
    db: Connection, config: Config, project: str
) -> None:
    gate.propose(db, given(project, "another vault word"), writer(project, Channel.AGENT))
    gate.approve(db, f"project.{project}", KEY, writer(project))
    gate.delete(db, f"project.{project}", KEY, writer(project, Channel.AGENT), reason="I think so")
    assert findings.open_count(db) == 2
    found = memories.find(db, f"project.{project}", KEY)
    assert found is not None
    everywhere(db, config, project, reason="it is private")
    lines = memories.history(db, found.id)
    assert [(line["action"], line["actor"], line["reason"], line["value"]) for line in lines] == [
        ("created", "test", None, None),
        ("forgotten", "test", "it is private", None),
    ]
    assert findings.open_count(db) == 0
    assert memories.find(db, f"project.{project}", KEY) is None
    assert memories.listing(db, Scope(project), deleted=True) == []
    assert list(db.execute("select action from audit order by id desc limit 1")) == [("forgotten",)]


def test_an_open_reader_keeps_it_pending_and_the_worker_finishes(
    db: Connection, config: Config, project: str, own_home: Path
) -> None:
    reader = connect(config.db_path)
    reader.execute("begin")
    assert len(list(reader.execute("select count(*) from events"))) == 1
    assert everywhere(db, config, project) == "pending"
    assert recalled(db, project) == [TWIN_VALUE]
    assert traces(config.home) != []
    reader.execute("rollback")
    reader.close()
    held.drain_once(config)
    assert [one.state for one in [erase.get(db, 1)] if one] == ["done"]
    assert traces(config.home) == []


def test_what_a_crash_left_half_done_is_hidden_and_finishes_by_itself(
    db: Connection, config: Config, project: str
) -> None:
    db.execute("create trigger crash before delete on events begin select raise(abort, 'the machine stops'); end")
    with pytest.raises(DatabaseError, match="the machine stops"):
        everywhere(db, config, project)
    assert recalled(db, project) == [TWIN_VALUE]
    assert erase.pending(db) == [1]
    db.execute("drop trigger crash")
    assert gate.finish_forgets(db, T0 + 200) == 1
    assert traces(config.home) == []
    assert gate.finish_forgets(db, T0 + 300) == 0


def test_forgetting_a_source_takes_what_stands_on_it_alone_and_leaves_its_sibling(
    db: Connection, config: Config, project: str, own_home: Path
) -> None:
    again = event_of(
        prompt(SECRET, session="s4", prompt_id="p4", cwd=str(own_home / "project")), at_ms=T0 + 50, name="again.json"
    )
    take(db, config, [again], now_ms=T0 + 50)
    sibling = events.id_of_key(db, again.key)
    assert sibling is not None
    gate.propose(db, given(project, event=sibling), writer(project, Channel.OBSERVED, T0 + 51))
    for event in (1, sibling):
        gate.propose(db, given(project, SECRET, key="fact.said", event=event), writer(project))
    gate.propose(db, given(project, "the vault is grey", key="fact.grey"), writer(project))
    done = gate.forget_events(db, [1], writer(project, now_ms=T0 + 60))
    assert (done.state, done.reached["events"], done.reached["memories"]) == ("done", 1, 1)
    stands = memories.find(db, f"project.{project}", KEY)
    assert stands is not None and stands.value == VALUE
    assert [(event.id, quote) for event, quote in memories.evidence(db, stands.version_id)] == [(sibling, SECRET)]
    assert memories.find(db, f"project.{project}", "fact.grey") is None
    assert {text for text in recalled(db, project, "vault grey word")} == {VALUE, SECRET, TWIN_VALUE}
    assert traces(config.home, [b"vault is grey", b"fact.grey"]) == []


def test_the_last_words_of_a_forgotten_answer_go_with_it(db: Connection, config: Config, project: str) -> None:
    told = [
        event_of(stop(session="s5", prompt_id="p5", last_assistant_message="the magpie sits on the lantern")),
        replace(
            event_of(prompt("the magpie sits on the lantern", session="s5", prompt_id="p5")),
            key="a:s5:m1:0123456789abcdef",
        ),
    ]
    take(db, config, told)
    answer = events.id_of_key(db, "a:s5:m1:0123456789abcdef")
    assert answer is not None
    assert gate.forget_events(db, [answer], writer(project)).reached["events"] == 2
    assert traces(config.home, [b"magpie"]) == []


def test_a_brief_that_showed_what_stood_on_a_forgotten_event_goes_with_it(
    db: Connection, config: Config, project: str
) -> None:
    shown = {"text": f"<memory>\n- {VALUE} [semantic]\n</memory>", "source": "startup"}
    take(db, config, [event_of(hook_input("RecorderInjection", session=name, **shown)) for name in ("s5", "s6")])
    assert gate.forget_events(db, [1], writer(project)).reached["events.injection"] == 2
    assert traces(config.home) == []


def copies(project: str, own_home: Path) -> dict[str, Event]:
    """What brings the forgotten prompt again, by the way it comes."""
    folder = str(own_home / "project")
    hook = event_of(prompt(SECRET, session="s1", prompt_id="p1", cwd=folder), at_ms=T0 + 1)
    fork = event_of(prompt(SECRET, session="s8", prompt_id="p1", cwd=folder), at_ms=T0 + 1)
    other = event_of(prompt(VALUE.upper(), session="s7", prompt_id="p7", cwd=folder), at_ms=T0 + 3)
    return {
        "hook": hook,
        "transcript": replace(hook, source=Source.TRANSCRIPT, ref="/t.jsonl:0", uuid="u1"),
        "backfill": replace(hook, source=Source.BACKFILL, ref="/t.jsonl:0", uuid="u1"),
        "a fork": replace(fork, source=Source.BACKFILL, ref="/u.jsonl:0", uuid="u2"),
        "the same record": replace(fork, source=Source.BACKFILL, ref="/u.jsonl:0", uuid="record", key="u:s8:record"),
        "the value alone": replace(other, source=Source.BACKFILL, ref="/v.jsonl:0", uuid="u3"),
    }


@pytest.mark.parametrize("way", ["hook", "transcript", "backfill", "a fork", "the same record", "the value alone"])
def test_a_forgotten_event_is_left_out_whoever_brings_it(
    db: Connection, config: Config, project: str, own_home: Path, way: str
) -> None:
    seen = copies(project, own_home)["transcript"]
    take(db, config, [replace(seen, uuid="record")])
    everywhere(db, config, project)
    taken = take(db, config, [copies(project, own_home)[way]], now_ms=T0 + 500)
    assert (taken.new, taken.seen, dict(taken.left_out)) == (0, 0, {"forgotten": 1})
    assert traces(config.home, [b"obelisk"]) == []


def test_another_call_of_the_same_name_is_taken_in(db: Connection, config: Config, project: str) -> None:
    told = [event_of(bash("cat notes", VALUE, use="toolu_1", session="s5")), event_of(bash("ls", "x", session="s6"))]
    take(db, config, told[:1])
    everywhere(db, config, project)
    assert take(db, config, told[1:]).new == 1


def test_the_value_is_refused_until_a_person_says_it_again(
    db: Connection, config: Config, project: str, own_home: Path
) -> None:
    everywhere(db, config, project)
    for channel in (Channel.OBSERVED, Channel.AGENT, Channel.IMPORT, Channel.CLAUDE_AUTO):
        again = given(project, VALUE.upper(), key="other.key", event=2, quote=TWIN)
        outcome = gate.propose(db, again, writer(project, channel, T0 + 200))
        assert (outcome.action, outcome.reason.split(":")[0]) == ("refused", "forgotten")
    typed = event_of(prompt(VALUE, session="s6", prompt_id="p6", cwd=str(own_home / "project")), at_ms=T0 + 300)
    assert take(db, config, [typed], now_ms=T0 + 300).new == 1
    db.execute("update events set class = 'typed'")
    event = events.id_of_key(db, typed.key)
    assert event is not None
    said = given(project, event=event, quote=VALUE, explicit=True, occurred_ms=T0 + 300)
    assert gate.propose(db, said, writer(project, Channel.USER_SAID, T0 + 400)).action == "created"


def test_every_memory_that_says_the_same_goes_in_every_scope_and_what_is_drawn_from_it_is_hidden(
    db: Connection, config: Config, project: str
) -> None:
    space = f"project.{project}"
    elsewhere = replace(writer("other-1"), channel=Channel.IMPORT)
    copied = {
        "copy": f"{VALUE.title()}.",
        "alike": VALUE.replace("e", "\u0435"),  # Cyrillic
        "wordier": f"Note that {VALUE}, they say",
        "own": "dogs bark",
    }
    for key, value in copied.items():
        told = Proposal(
            "project.other-1", key, value, MemoryKind.SEMANTIC, Origin.IMPORT, "import", explicit=True, occurred_ms=T0
        )
        assert gate.tell(db, told, elsewhere).action == "created"
    gate.propose(db, given(project, "words are kept in vaults", key="drawn", event=2, quote=TWIN), writer(project))
    gate.link(db, (space, "drawn"), (space, KEY), gate.DERIVED, writer(project))
    planned = gate.plan(db, space, KEY, writer(project))
    assert sorted(one.key for one in planned.memories) == ["alike", "copy", KEY, "wordier"]
    assert [one.key for one in planned.derived] == ["drawn"]
    everywhere(db, config, project)
    assert [row.key for row in memories.listing(db, Scope("other-1"))] == ["own"]
    drawn = memories.find(db, space, "drawn")
    assert drawn is not None and drawn.state == "suppressed"
    assert traces(config.home, [b"belisk", b"wordier", "vault word is obеlisk".encode()[-9:]]) == []


@pytest.mark.parametrize("verb", ["delete", "reject"])
def test_a_memory_that_was_deleted_or_rejected_is_forgotten_too_and_twice_is_once(
    db: Connection, config: Config, project: str, verb: str
) -> None:
    where = (f"project.{project}", KEY)
    {"delete": gate.delete, "reject": gate.reject}[verb](db, *where, writer(project), reason=f"{VALUE}: no")
    assert gate.forget(db, *where, writer(project, now_ms=T0 + 20)).state == "done"
    rows = audit.verify(db).rows
    assert gate.forget(db, *where, writer(project, now_ms=T0 + 30)).reached["memories"] == 1
    assert audit.verify(db).rows == rows
    assert traces(config.home) == []
    with pytest.raises(NotFound):
        gate.forget(db, where[0], "fact.unknown", writer(project))


def test_the_place_of_a_forgotten_memory_is_free(db: Connection, config: Config, project: str) -> None:
    everywhere(db, config, project)
    other = given(project, "the vault is open", event=2, quote=TWIN)
    assert gate.propose(db, other, writer(project, Channel.AGENT)).action == "created"
    assert gate.forget(db, f"project.{project}", KEY, writer(project)).state == "done"


def test_a_short_value_is_refused_where_it_stood_and_nowhere_else(db: Connection, config: Config, project: str) -> None:
    gate.propose(db, given(project, "8080", key="port.web", event=2, quote="word"), writer(project))
    gate.forget(db, f"project.{project}", "port.web", writer(project))
    assert events.count(db) == 1  # the source is gone, and nothing else that may hold the number
    for key, action in (("port.web", "refused"), ("port.api", "created")):
        told = given(project, "8080", key=key, event=1, quote="word")
        assert gate.propose(db, told, writer(project, Channel.AGENT)).action == action


@pytest.mark.parametrize("channel", [one for one in Channel if one is not Channel.PERSON])
def test_only_a_person_forgets(db: Connection, project: str, channel: Channel) -> None:
    with pytest.raises(GateRefused):
        gate.forget(db, f"project.{project}", KEY, writer(project, channel))
    with pytest.raises(GateRefused):
        gate.forget_events(db, [1], writer(project, channel))
    assert len(recalled(db, project)) == 2


def test_what_is_not_ours_to_change_is_named(db: Connection, config: Config, project: str, own_home: Path) -> None:
    transcript = own_home / "t.jsonl"
    transcript.write_text(SECRET)
    take(db, config, [replace(copies(project, own_home)["transcript"], ref=f"{transcript}:0")])
    planned = gate.plan(db, f"project.{project}", KEY, writer(project))
    left = forget.unreached(db, config, planned)
    assert left[0] == f"Claude Code's transcript {transcript}"
    everywhere(db, config, project)
    assert transcript.read_text() == SECRET


def test_exports_in_the_home_lose_the_words_and_others_are_named(
    db: Connection, config: Config, project: str, own_home: Path
) -> None:
    written = {"export": own_home / "mine.json", "backup": own_home / "old.db"}
    inside = config.home / "exports" / "1.json"
    inside.parent.mkdir()
    for path in (*written.values(), inside):
        path.write_text(json.dumps({"said": SECRET, "other": "stays"}))
    for what, path in (*written.items(), ("export", inside)):
        copies_noted.note(db, path, what, T0)
    everywhere(db, config, project)
    done = erase.get(db, 1)
    assert done is not None
    assert all(any(str(path) in line for line in done.unreached) for path in written.values())
    assert not any(str(inside) in line for line in done.unreached)
    assert json.loads(inside.read_text())["other"] == "stays" and traces(config.home) == []


def test_a_call_that_waited_for_its_result_is_forgotten_and_does_not_wait_again(
    db: Connection, config: Config, project: str
) -> None:
    call = replace(
        event_of(bash(f"echo '{VALUE}'", use="toolu_7", session="s7")), source=Source.TRANSCRIPT, ref="/t.jsonl:0"
    )
    events.keep_open_calls(db, "/t.jsonl", [call])
    everywhere(db, config, project)
    assert events.open_calls(db, "/t.jsonl") == {} and traces(config.home) == []
    assert take(db, config, [call]).left_out == {"forgotten": 1}


def test_a_copy_of_a_transcript_does_not_bring_a_waiting_call_again(
    db: Connection, config: Config, project: str, own_home: Path
) -> None:
    call = {"type": "tool_use", "id": "toolu_8", "name": "Bash", "input": {"command": f"echo '{VALUE}'"}}
    record = {
        "uuid": "u8",
        "timestamp": "2026-09-21T14:13:20.000Z",
        "sessionId": "s8",
        "type": "assistant",
        "message": {"role": "assistant", "id": "m8", "content": [call]},
    }
    reader = reading.Reader(db, T0, lambda event: event, config)
    first, copy = own_home / "s8.jsonl", own_home / "copy.jsonl"
    for path in (first, copy):
        path.write_text(json.dumps(record) + "\n")
    reading.catch_up(reader, first)
    assert list(events.open_calls(db, str(first))) == ["toolu_8"]
    everywhere(db, config, project)
    reading.catch_up(reader, copy)
    assert (events.open_calls(db, str(first)), events.open_calls(db, str(copy))) == ({}, {})


def test_what_a_reader_and_a_session_remember_is_forgotten_too(db: Connection, config: Config, project: str) -> None:
    sessions.entitle(db, "s1", f"On how {VALUE}")
    sessions.keep_reading(db, sessions.Reading("/t.jsonl", "s1", 1, 9, "", {"queue": [[1, SECRET]], "cwd": "/x"}), T0)
    everywhere(db, config, project)
    read = sessions.reading(db, "/t.jsonl")
    assert read is not None and dict(read.state) == {"queue": [[1, ""]], "cwd": "/x"}
    assert traces(config.home) == []


def test_rows_that_moved_when_a_page_was_split_leave_nothing_behind(
    db: Connection, config: Config, project: str
) -> None:
    chance = random.Random(0)
    order = list(range(160))
    chance.shuffle(order)
    ids = [take_plain(db, config, n) for n in order]
    pairs = list(zip(ids, order, strict=True))
    chance.shuffle(pairs)
    for event, n in pairs:
        found = memories.find(db, f"project.{project}", KEY if n % 2 else "fact.twin")
        assert found is not None
        quote = (VALUE if n % 2 else "granite") + f" {n}" * chance.randint(5, 300)
        memories.add_evidence(db, found.version_id, [(event, quote, "s5")])
    assert everywhere(db, config, project) == "done"
    assert traces(config.home) == []


def take_plain(db: Connection, config: Config, n: int) -> int:
    told = event_of(prompt(f"plain words {n}", session="s5", prompt_id=f"q{n}"), at_ms=T0 + n)
    take(db, config, [told])
    return events.id_of_key(db, told.key) or 0


@pytest.mark.parametrize("room", ["deep in the body", "in the excerpt alone"])
def test_a_text_is_found_in_the_body_and_where_that_is_gone_in_the_excerpt(
    db: Connection, config: Config, project: str, room: str
) -> None:
    output = f"{'lorem ipsum ' * 600}{VALUE}{' dolor' * 600}" if room == "deep in the body" else VALUE
    take(db, config, [event_of(bash("cat notes", output, use="toolu_9", session="s3"))])
    if room == "in the excerpt alone":
        assert upkeep.bound_size(db, 0) == 1
    planned = gate.plan(db, f"project.{project}", KEY, writer(project))
    assert planned.event_kinds == {"prompt": 1, "tool_call": 1}


def test_what_becomes_of_words_in_it_is_said_of_every_column_that_may_hold_text(db: Connection) -> None:
    assert texts.columns(db) == set(texts.treated())


def test_private_words_leave_every_column_and_what_things_are_found_by_is_named(
    db: Connection, config: Config, project: str
) -> None:
    twin = memories.find(db, f"project.{project}", "fact.twin")
    assert twin is not None
    gate.propose(db, given(project, "granite is grey", key="fact.third", event=2, quote="word"), writer(project))
    space = f"project.{project}"
    gate.link(db, (space, "fact.twin"), (space, "fact.third"), VALUE.replace("-", " "), writer(project))
    gate.link(db, (space, "fact.twin"), (space, "fact.third"), "knows", writer(project))
    memories.note_ref(db, twin.id, "shown", "test", "s2", T0)
    runs = "insert into runs (name, started_ms, asked) values ('a run', 1, '{\"a\": [\"b\", 1]}')"
    job = "insert into jobs (kind, subject, due_ms, created_ms) values ('a', 'b', 1, 1)"
    counter = "insert into counters (name, note) values ('told', 'x')"
    report = "insert into claude_syncs (id, report) values (1, '{\"problems\": []}')"
    cursor = "insert into cursors (path, session_id, offset, prefix_hash, read_ms) values ('/t', 's2', 0, '', 1)"
    for sql in (runs, job, counter, report, cursor):
        db.execute(sql)
    db.execute("update relations set relation = ? where relation like '%obelisk%'", (VALUE,))
    filled = 0
    for (table, column), how in texts.treated().items():
        text = json.dumps({"said": [VALUE, 1]}) if how == "json" else VALUE
        if how in ("null", "mark", "json") and table != "forgets":
            db.execute(f"update {table} set {column} = ?", (text,))
            filled += db.changes() > 0
    assert filled >= 19
    db.execute("insert into files (event_id, path, action) values (2, ?, 'read')", (VALUE,))
    db.execute("update events set cwd = ? where id = 2", (VALUE,))
    everywhere(db, config, project)
    done = erase.get(db, 1)
    assert done is not None and any("events.cwd of the database" in line for line in done.unreached)
    db.execute("update events set cwd = null where id = 2")
    assert rewrite(db) and checkpoint(db)
    assert traces(config.home) == []
    assert [row[0] for row in db.execute("select relation from relations")] == ["knows"]
    assert json.loads(next(iter(db.execute("select asked from runs")))[0]) == {"said": ["", 1]}


REPLY = f"Understood. I noted: {VALUE.upper()}, and I will use it. The magpie sits on the lantern."


def retellings(own_home: Path) -> dict[str, Event]:
    """How the same conversation, or another one, brings the words again inside its own."""
    hook = event_of(stop(session="s1", prompt_id="p1", last_assistant_message=REPLY), at_ms=T0 + 500)
    record = replace(hook, source=Source.TRANSCRIPT, ref="/t.jsonl:9", uuid="u9", key="a:s1:m9:0123456789abcdef")
    past = replace(hook, session_id="s9", source=Source.BACKFILL, ref="/u.jsonl:9", uuid="u8", key="a:s9:m9:01")
    call = event_of(
        bash("cat notes", "\n  notes:\n  **the vault\n  word** is `obelisk-ninetythree`\nmagpie\n", use="t9")
    )
    return {"a later Stop": hook, "an unread record": record, "a backfill": past, "a result": call}


@pytest.mark.parametrize("way", ["a later Stop", "an unread record", "a backfill", "a result"])
def test_forgotten_words_inside_other_words_are_blanked_when_they_are_told_again(
    db: Connection, config: Config, project: str, own_home: Path, way: str
) -> None:
    everywhere(db, config, project)
    told = retellings(own_home)[way]
    assert take(db, config, [told], now_ms=T0 + 600).new == 1
    event_id = events.id_of_key(db, told.key)
    (stored,) = events.get(db, [event_id or 0])
    assert "[forgotten]" in json.dumps(stored.body) and "magpie" in json.dumps(stored.body)
    assert traces(config.home, [b"obelisk", b"OBELISK"]) == []


def test_words_that_only_share_some_with_what_is_forgotten_stay(db: Connection, config: Config, project: str) -> None:
    everywhere(db, config, project)
    near = "The vault word is obelisk, ninetythree of them; the vault is word; obelisk-ninetythree is it"
    told = event_of(stop(session="s1", prompt_id="p1", last_assistant_message=near), at_ms=T0 + 500)
    take(db, config, [told], now_ms=T0 + 600)
    (stored,) = events.get(db, [events.id_of_key(db, told.key) or 0])
    assert stored.body["text"] == "[forgotten] of them; the vault is word; obelisk-ninetythree is it"


def test_a_prompt_typed_after_the_forgetting_stands_and_one_from_the_future_does_not(
    db: Connection, config: Config, project: str
) -> None:
    everywhere(db, config, project)
    typed = [
        event_of(prompt(f"Now it is so that {VALUE}!", session=f"s{n}", prompt_id=f"p{n}"), at_ms=at_ms)
        for n, at_ms in ((6, T0 + 300), (7, T0 + 50), (8, T0 + 3_600_000))
    ]
    take(db, config, typed, now_ms=T0 + 400)
    found = [events.get(db, [events.id_of_key(db, one.key) or 0])[0].body["text"] for one in typed]
    assert [VALUE in text for text in found] == [True, False, False]


@pytest.mark.parametrize(
    "value", ["Клавдия живёт на улице Лиственниц 9", "密码是蓝色的方尖碑九十三号房间", "AKIA-obelisk-93-x"]
)
def test_what_is_forgotten_is_known_again_in_other_scripts(
    db: Connection, config: Config, project: str, value: str
) -> None:
    gate.propose(db, given(project, value, key="fact.script", event=2, quote="word"), writer(project))
    everywhere(db, config, project, key="fact.script")
    told = event_of(stop(session="s5", prompt_id="p5", last_assistant_message=f"So: „{value.upper()}“, right."))
    take(db, config, [told], now_ms=T0 + 600)
    (stored,) = events.get(db, [events.id_of_key(db, told.key) or 0])
    assert stored.body["text"] == "So: „[forgotten]“, right."


def test_a_longer_value_that_holds_forgotten_words_is_refused_until_a_person_says_it(
    db: Connection, config: Config, project: str
) -> None:
    everywhere(db, config, project)
    longer = given(project, f"As I recall, {VALUE}, they say", key="other.key", event=2, quote="word")
    assert gate.propose(db, longer, writer(project, Channel.AGENT, T0 + 200)).reason.startswith("forgotten")
    assert gate.propose(db, longer, writer(project, now_ms=T0 + 300)).action == "created"
    told = event_of(stop(session="s1", prompt_id="p1", last_assistant_message=REPLY), at_ms=T0 + 500)
    take(db, config, [told], now_ms=T0 + 600)
    assert events.get(db, [events.id_of_key(db, told.key) or 0])[0].body["text"] == REPLY


def test_an_export_of_this_home_loses_the_whole_memory_and_its_seal(
    db: Connection, config: Config, project: str, own_home: Path
) -> None:
    space = f"project.{project}"
    gate.propose(db, given(project, "zq81", key="port.vault", event=1, quote="word"), writer(project))
    gate.link(db, (space, KEY), (space, "fact.twin"), "explains", writer(project))
    (config.home / "exports").mkdir()
    path = config.home / "exports" / "1.json"
    export.write(db, path, project_id=None, now_ms=T0 + 20)
    everywhere(db, config, project)
    read = shape.read(path.read_bytes(), path.name)
    assert [entry.key for entry in read.content.memories] == ["fact.twin"]
    assert not read.intact and read.content.relations == []
    assert traces(config.home, [*PARTS, b"xxxx", b"zq81", b"port.vault"]) == []
    elsewhere = connect(own_home / "elsewhere" / "recorder.db")
    summary = imports.take(elsewhere, read, skip=False, actor="terminal", now_ms=T0 + 30)
    assert (summary.own, summary.counts) == (False, {"created": 1})
    elsewhere.close()


def test_a_record_that_dates_itself_ahead_of_our_clock_lifts_nothing(
    db: Connection, config: Config, project: str, own_home: Path
) -> None:
    folder = str(own_home / "project")
    gate.reject(db, f"project.{project}", KEY, writer(project, now_ms=T0 + 100), reason="no")
    told = {
        "seen before": (T0 + 200, T0 + 50),
        "ahead": (T0 + 3_600_000, T0 + 300),
        "typed since": (T0 + 200, T0 + 300),
    }
    done = {}
    for n, (name, (at_ms, received_ms)) in enumerate(told.items()):
        typed = event_of(prompt(VALUE, session=f"t{n}", prompt_id=f"t{n}", cwd=folder), at_ms=at_ms)
        take(db, config, [replace(typed, klass=PromptClass.TYPED)], now_ms=received_ms)
        event = events.id_of_key(db, typed.key) or 0
        said = given(project, key="other.key", event=event, quote=VALUE, explicit=True, occurred_ms=at_ms)
        done[name] = gate.propose(db, said, writer(project, Channel.USER_SAID, T0 + 400)).action
    assert done == {"seen before": "refused", "ahead": "refused", "typed since": "created"}


MARKED = {
    "backticks": "Hint: the vault word is `obelisk-ninetythree`",
    "bold": "Hint: the **vault** word is __obelisk__-ninetythree",
    "italic": "Hint: _the vault word is obelisk-ninetythree_.",
    "curly quotes": "Hint: the “vault word” is ‘obelisk-ninetythree’",
    "look-alikes": "Hint: the vаult wоrd is оbelisk-ninеtythree",
    "zero width": "Hint: the vau\u200blt word is obe\u200dlisk-ninety\u00adthree",
    "another case": "Hint: THE VAULT WORD IS OBELISK-NINETYTHREE",
    "white space": "Hint: the vault\n\tword  is obelisk - ninetythree",
    "low lines": "Hint: the_vault_word_is_obelisk_ninetythree",
    "full width": "Hint: the vault word is ｏｂｅｌｉｓｋ-ninetythree",
}


@pytest.mark.parametrize("marks", MARKED)
def test_what_says_it_in_other_marks_goes_too_and_the_preview_counts_it(
    db: Connection, config: Config, project: str, marks: str
) -> None:
    said = MARKED[marks]
    reply = event_of(stop(session="s1", prompt_id="p1", last_assistant_message=f"Noted. {said}"), at_ms=T0 + 5)
    alone = event_of(stop(session="s4", prompt_id="p4", last_assistant_message=said), at_ms=T0 + 6)
    take(db, config, [reply, alone], now_ms=T0 + 6)
    gate.propose(db, given(project, said, key="a.hint", event=2, quote="word"), writer(project))
    gate.propose(db, given(project, said, key="fact.twin", event=2, quote="word"), writer(project, Channel.AGENT))
    assert [one["kind"] for one in findings.listing(db, None)] == ["conflict"]
    (config.spool / "new" / "1.json").write_text(json.dumps(prompt(said, session="s9")))
    config.logs_dir.mkdir()
    (config.logs_dir / "worker.log").write_text(f"before {said} after\n")
    planned = gate.plan(db, f"project.{project}", KEY, writer(project))
    assert {name: gate.reached(planned)[name] for name in ("memories", "events")} == {"memories": 2, "events": 3}

    assert everywhere(db, config, project) == "done"

    assert recalled(db, project) == [TWIN_VALUE]
    assert findings.listing(db, None) == []
    assert list((config.spool / "new").iterdir()) == []
    done = erase.get(db, 1)
    assert done is not None and not [line for line in done.unreached if "database" in line]
    assert traces(config.home, [part.encode() for part in said.split() if len(part) > 9]) == []


def test_a_mark_inside_a_word_hides_a_value_no_better(db: Connection, config: Config, project: str) -> None:
    told = given(project, "the vault word is obe**lisk**-ninety`three`", key="a.hint", event=2, quote="word")
    gate.propose(db, told, writer(project))
    everywhere(db, config, project)
    assert recalled(db, project) == [TWIN_VALUE]
    assert gate.propose(db, told, writer(project, Channel.AGENT, T0 + 200)).reason.startswith("forgotten")


def test_what_is_taken_for_the_same_is_refused_afterwards_and_the_other_way_round(
    db: Connection, config: Config, project: str
) -> None:
    everywhere(db, config, project)
    for said in MARKED.values():
        told = given(project, said, key="a.hint", event=2, quote="word")
        assert gate.propose(db, told, writer(project, Channel.AGENT, T0 + 200)).reason.startswith("forgotten"), said


@pytest.mark.parametrize("value", ["main", "-----------  main  -----------"])
def test_a_value_of_one_short_word_takes_nothing_else_with_it(
    db: Connection, config: Config, project: str, value: str
) -> None:
    gate.propose(db, given(project, value, key="branch.name", event=2, quote="word"), writer(project))
    told = given(project, "the main tower has `main` doors", key="a.tower", event=1, quote="word")
    gate.propose(db, told, writer(project))
    take(db, config, [event_of(prompt("main is where we merge", session="s6", prompt_id="p6"))], now_ms=T0 + 6)
    everywhere(db, config, project, key="branch.name")
    assert list(db.execute("select id from events order by id")) == [(1,), (3,)], "the source alone is gone"
    assert "the main tower has `main` doors" in recalled(db, project, "main tower")
    again = given(project, "the main tower has two doors", key="b.tower", event=1, quote="word")
    assert gate.propose(db, again, writer(project, Channel.AGENT, T0 + 200)).action == "created"
