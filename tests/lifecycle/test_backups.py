"""A backup is the database of one moment, and a restored one still knows what was decided since."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from recorder import gate
from recorder.errors import FileRefused
from recorder.lifecycle import backup, purge, restoring
from recorder.lifecycle.restoring import Restored
from recorder.recall import rank
from recorder.store import audit, copies, denials, erase, events, findings, memories, sessions
from recorder.store.db import Connection, connect, connect_copy, migrations, transaction
from tests.lifecycle.homes import (
    DEPLOY,
    DROPPED,
    FALSE,
    LATER,
    QUEUE,
    SPACE_A,
    agent,
    forget_value,
    furnished,
    person,
    proposal,
    values,
)
from tests.memory_samples import NOW_MS, A, add_event, add_memory, opened
from tests.store.schemas import filled

DAY_MS = 86_400_000


def made(db: Connection, folder: Path, *, now_ms: int = LATER, made_by: str = "person") -> backup.Backup:
    return backup.make(db, folder, made_by=made_by, now_ms=now_ms)


def put_back(home: Path, chosen: backup.Backup, *, now_ms: int = LATER + DAY_MS) -> Restored:
    return restoring.restore(home / "recorder.db", backup.look(chosen.path), home / "backups", now_ms=now_ms)


def test_a_backup_is_whole_private_and_told_by_its_manifest(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    found = made(db, tmp_path / "copies")
    assert sorted(path.suffix for path in (tmp_path / "copies").iterdir()) == [".db", ".json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "copies").iterdir()} == {0o600}
    manifest = backup.look(found.path).manifest
    assert manifest.counts["memories"] == 7 and manifest.schema_version == migrations()[-1][0]
    copy = connect_copy(found.path)
    assert values(copy) == values(db)
    copy.close()
    assert sorted(path.suffix for path in (tmp_path / "copies").iterdir()) == [".db", ".json"]


def test_where_copies_were_put_is_known_by_their_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = furnished(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = made(db, Path("here"))
    assert copies.noted(db, "backup") == [str(tmp_path.resolve() / "here" / found.path.name)]


def test_a_backup_made_while_others_write_is_of_one_moment(tmp_path: Path) -> None:
    opened(tmp_path).close()
    stop = threading.Event()

    def write() -> None:
        mine = connect(tmp_path / "recorder.db")
        n = 0
        while not stop.is_set():
            with transaction(mine):  # two rows that are never apart
                for half in ("a", "b"):
                    mine.execute("insert into counters (name) values (?)", (f"{half}{n}",))
            n += 1
        mine.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        db = connect(tmp_path / "recorder.db")
        for n in range(5):
            copy = connect_copy(made(db, tmp_path / "copies", now_ms=LATER + n).path)
            halves = dict(copy.execute("select substr(name, 1, 1), count(*) from counters group by 1"))
            assert halves.get("a") == halves.get("b")
            copy.close()
        db.close()
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("harm", ["cut", "changed", "no manifest", "newer", "lies"])
def test_a_backup_that_is_not_what_was_made_is_refused(tmp_path: Path, harm: str) -> None:
    found = made(furnished(tmp_path), tmp_path / "copies")
    beside = found.path.with_suffix(".json")
    told = json.loads(beside.read_text())
    if harm == "cut":
        found.path.write_bytes(found.path.read_bytes()[:-4096])
    elif harm == "changed":
        raw = bytearray(found.path.read_bytes())
        raw[len(raw) // 2] ^= 255
        found.path.write_bytes(bytes(raw))
    elif harm == "no manifest":
        beside.unlink()
    elif harm == "newer":
        beside.write_text(json.dumps(told | {"schema_version": 999}))
    else:
        beside.write_text(json.dumps(told | {"sha256": 5}))
    with pytest.raises(FileRefused, match=str(found.path)):
        backup.look(found.path)


def test_no_backup_is_begun_where_the_disk_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = furnished(tmp_path)
    monkeypatch.setattr(backup, "SPARE_BYTES", 2**60)
    with pytest.raises(FileRefused, match="make room"):
        made(db, tmp_path / "copies")
    assert list((tmp_path / "copies").iterdir()) == []


def test_the_last_of_each_day_and_of_each_week_stays() -> None:
    monday = 1_790_000_000_000 // (7 * DAY_MS) * 7 * DAY_MS + 4 * DAY_MS
    times = [monday + day * DAY_MS + hour * 3_600_000 for day in range(60) for hour in (1, 9)]
    stay = sorted(backup.kept(times, 7, 4))
    days = [(at - monday) / DAY_MS for at in stay]
    # The last seven days at nine, and the Sundays before: 59 is a Thursday.
    assert [int(day) for day in days] == [41, 48, 53, 54, 55, 56, 57, 58, 59]
    assert all(at % DAY_MS == (monday + 9 * 3_600_000) % DAY_MS for at in stay)


def test_only_what_the_schedule_made_is_ever_removed(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    folder = tmp_path / "copies"
    own = made(db, folder, now_ms=NOW_MS)
    old = [made(db, folder, now_ms=NOW_MS + n * DAY_MS, made_by="schedule") for n in range(3)]
    (folder / "settings.json").write_text("{}")
    (folder / "recorder-20200101T000000000Z.json").write_text("{}")
    assert backup.prune(db, folder, 1, 0) == 2
    assert copies.noted(db, "backup") == [str(own.path), str(old[2].path)]
    left = {path.name for path in folder.iterdir()}
    assert left == {
        own.path.name,
        own.path.with_suffix(".json").name,
        old[2].path.name,
        old[2].path.with_suffix(".json").name,
        "settings.json",
        "recorder-20200101T000000000Z.json",
    }


def test_a_restored_backup_is_the_store_as_it_was_and_what_was_there_is_kept(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    before = values(db)
    found = made(db, tmp_path / "copies")
    add_memory(db, A, "learnt.since", "Learnt after the backup", at_ms=LATER + 1)
    result = put_back(tmp_path, found)
    assert values(db) == before, "a connection that was open sees it too"
    assert result.before is not None
    kept = connect_copy(Path(result.before))
    assert "Learnt after the backup" in [value for value, _, _ in values(kept).values()]
    kept.close()
    assert audit.verify(db).state == "pass" and result.audit == "whole"


def test_the_audit_of_what_was_done_since_is_kept(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    found = made(db, tmp_path / "copies")
    gate.delete(db, SPACE_A, "decision.deploy", person(now_ms=LATER + 1))
    before = list(db.execute("select id, digest from audit order by id"))
    put_back(tmp_path, found)
    after = list(db.execute("select id, digest from audit order by id"))
    assert after[: len(before)] == before and len(after) == len(before) + 1
    assert list(db.execute("select action from audit order by id desc limit 1")) == [("restored_backup",)]


def test_a_backup_of_another_home_leaves_a_gap_that_is_said(tmp_path: Path) -> None:
    other = furnished(tmp_path / "other")
    found = made(other, tmp_path / "copies")
    db = opened(tmp_path)
    add_memory(db, A, "fact.host", DROPPED)
    gate.reject(db, SPACE_A, "fact.host", person(now_ms=LATER + 1), reason="no")
    result = put_back(tmp_path, found)
    assert result.audit == "gap" and audit.verify(db).state == "pass"
    assert list(db.execute("select action from audit order by id desc limit 1")) == [("restored_backup_gap",)]
    # What was rejected here is refused among the memories of the other home too.
    assert gate.tell(db, proposal(DROPPED), agent(now_ms=LATER + 2 * DAY_MS)).action == "refused"


def test_a_reader_in_the_middle_of_something_sees_the_old_content_to_its_end(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    found = made(db, tmp_path / "copies")
    add_memory(db, A, "learnt.since", "Learnt after the backup", at_ms=LATER + 1)
    reader = connect(tmp_path / "recorder.db")
    reader.execute("begin")
    inode = (tmp_path / "recorder.db").stat().st_ino
    assert f"{SPACE_A}/learnt.since" in values(reader)
    put_back(tmp_path, found)
    assert f"{SPACE_A}/learnt.since" in values(reader)
    reader.execute("rollback")
    assert f"{SPACE_A}/learnt.since" not in values(reader)
    assert (tmp_path / "recorder.db").stat().st_ino == inode


def recalled(db: Connection, question: str) -> list[str]:
    found = rank.recall(db, question, A, k=20, vector=None, vector_status="off", now_ms=LATER + 2 * DAY_MS)
    return [hit.text for hit in found.hits]


def test_what_was_rejected_deleted_corrected_or_paused_since_stays_so(tmp_path: Path) -> None:
    db = opened(tmp_path)
    add_memory(db, A, "fact.cluster", FALSE)
    add_memory(db, A, "fact.drawn", "Cron jobs need batch/v1beta1")
    add_memory(db, A, "fact.host", DROPPED)
    add_memory(db, A, "decision.queue", "The queue is Kafka, for its log")
    add_memory(db, A, "decision.deploy", DEPLOY)
    gate.link(db, (SPACE_A, "fact.drawn"), (SPACE_A, "fact.cluster"), gate.DERIVED, person())
    found = made(db, tmp_path / "copies")
    gate.reject(db, SPACE_A, "fact.cluster", person(now_ms=LATER + 1), reason="it is 1.31")
    gate.delete(db, SPACE_A, "fact.host", person(now_ms=LATER + 2), reason="renamed")
    add_memory(db, A, "decision.queue", QUEUE, at_ms=LATER + 3)
    with transaction(db):
        sessions.pause(db, None, LATER + 4, LATER + 5)
        sessions.switch_off(db, "private", LATER + 4)
    now = values(db)
    result = put_back(tmp_path, found)
    assert values(db) == now and result.again["memories"] == 4
    assert recalled(db, "kubernetes cron staging host larch kafka") == [QUEUE] or set(
        recalled(db, "kubernetes cron staging host larch kafka redis helm")
    ) <= {QUEUE, DEPLOY}
    for value in (FALSE, "The queue is Kafka, for its log"):
        outcome = gate.tell(db, proposal(value), agent(now_ms=LATER + 2 * DAY_MS))
        assert outcome.action == "refused"
    assert sessions.paused(db) == [(None, LATER + 4, LATER + 5)]
    assert (off := sessions.get(db, "private")) is not None and off.off
    assert audit.verify(db).state == "pass"
    history = memories.find(db, SPACE_A, "fact.cluster")
    assert history is not None and memories.history(db, history.id)[-1]["action"] == "rejected"
    released = gate.lift(db, SPACE_A, "fact.cluster", person(now_ms=LATER + 3 * DAY_MS))
    assert released.also == 1


def test_what_was_forgotten_since_is_erased_from_what_comes_back(tmp_path: Path) -> None:
    db = opened(tmp_path)
    secret, twin = "Ada lives at nine Larch Street", "Ada likes her tea without milk"
    ids = [add_event(db, A, text) for text in (secret, twin)]
    add_memory(db, A, "ada.home", secret, cites=ids[:1])
    add_memory(db, A, "ada.tea", twin, cites=ids[1:])
    found = made(db, tmp_path / "copies")
    (event,) = events.get(db, ids[:1])
    home = memories.find(db, SPACE_A, "ada.home")
    assert home is not None
    with transaction(db):
        denials.deny(db, "event", [event.key], actor="terminal", reason=None, now_ms=LATER + 1)
        denials.deny_value(db, secret, actor="terminal", reason=None, now_ms=LATER + 1)
        erase.erase_memory(db, home.id, "person", LATER + 1)
    result = put_back(tmp_path, found)
    assert (result.again["memories_forgotten"], result.again["events_forgotten"]) == (1, 1)
    db.close()
    raw = b"".join(path.read_bytes() for path in tmp_path.glob("recorder.db*"))
    assert b"Larch Street" not in raw
    again = connect(tmp_path / "recorder.db")
    assert recalled(again, "Ada Larch Street tea") == [twin]
    assert [event.text for event in events.listing(again) if event.text] == [twin]


def test_a_value_forgotten_since_is_erased_wherever_the_backup_has_it(tmp_path: Path) -> None:
    db = opened(tmp_path)
    add_memory(db, A, "fact.host", DROPPED)
    add_memory(db, A, "decision.deploy", DEPLOY)
    found = made(db, tmp_path / "copies")
    forget_value(db, DROPPED, LATER + 1)
    assert put_back(tmp_path, found).again["values_forgotten"] == 1
    assert list(values(db)) == [f"{SPACE_A}/decision.deploy"]


def test_a_backup_of_an_older_schema_is_brought_forward(tmp_path: Path) -> None:
    found = made_old(filled(tmp_path / "old.db", 1), tmp_path / "copies" / "old.db")
    db = opened(tmp_path)
    put_back(tmp_path, found)
    assert list(db.execute("pragma user_version"))[0][0] == migrations()[-1][0]
    assert "user/preference.old" in values(db)


def made_old(db: Connection, path: Path) -> backup.Backup:
    """A backup as somebody with the code of that schema would have it."""
    path.parent.mkdir()
    copy = connect_copy(path)
    copies.copy(db, copy)
    copies.as_one_file(copy)
    copy.close()
    manifest = backup.Manifest(
        recorder_backup=1,
        file=path.name,
        sha256=backup.digest_of(path),
        size_bytes=path.stat().st_size,
        schema_version=1,
        counts={},
        created_ms=NOW_MS,
        version="0.0.1",
        made_by="person",
    )
    path.with_suffix(".json").write_text(manifest.model_dump_json())
    return backup.Backup(path, manifest)


def test_a_home_whose_database_is_no_database_any_more_is_restored(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    before = values(db)
    found = made(db, tmp_path / "copies")
    db.close()
    (tmp_path / "recorder.db").write_bytes(b"nothing of a database" * 1000)
    result = put_back(tmp_path, found)
    assert result.before is not None and b"nothing of a database" in Path(result.before).read_bytes()
    assert result.audit == "gap"
    again = connect(tmp_path / "recorder.db")
    assert values(again) == before and audit.verify(again).state == "pass"


@pytest.mark.parametrize("table", ["event_words_data", "memory_versions", "tombstones"])
def test_a_damaged_database_is_restored_and_kept_as_it_was(tmp_path: Path, table: str) -> None:
    db = opened(tmp_path)
    add_memory(db, A, "fact.host", DROPPED)
    found = made(db, tmp_path / "copies")
    gate.delete(db, SPACE_A, "fact.host", person(now_ms=LATER + 1))
    page = next(iter(db.execute("select rootpage from sqlite_schema where name = ?", (table,))))[0]
    db.close()
    with (tmp_path / "recorder.db").open("r+b") as file:
        file.seek((page - 1) * 8192)
        file.write(b"\xff" * 8192)
    result = put_back(tmp_path, found)
    assert result.before is not None and Path(result.before).exists()
    again = connect(tmp_path / "recorder.db")
    assert copies.damage(again) is None and audit.verify(again).state == "pass"
    # What can still be read of the decisions holds; a table that decides is a database that cannot be read.
    state = "deleted" if table == "event_words_data" else "active"
    assert values(again) == {f"{SPACE_A}/fact.host": (DROPPED, "verified", state)}


def test_a_resolved_finding_is_not_open_again(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    with transaction(db):
        number = findings.add(
            db, "conflict", memory_id=1, project_id=A.project_id, proposal={"value": "x"}, reason="y", now_ms=LATER
        )
    found = made(db, tmp_path / "copies")
    with transaction(db):
        findings.resolve(db, number, "keep old", LATER + 1)
    put_back(tmp_path, found)
    assert [one["state"] for one in findings.listing(db, None, state="resolved") if one["id"] == number] == ["resolved"]


def test_a_restore_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    found = made(db, tmp_path / "copies")
    add_memory(db, A, "learnt.since", "Learnt after the backup", at_ms=LATER + 1)
    now, rows = values(db), next(iter(db.execute("select count(*) from audit")))
    found.path.write_bytes(b"")
    with pytest.raises(FileRefused):
        put_back(tmp_path, found)
    assert (values(db), next(iter(db.execute("select count(*) from audit")))) == (now, rows)


def test_a_purged_event_that_holds_a_forgotten_value_does_not_come_back_with_a_backup(tmp_path: Path) -> None:
    db = opened(tmp_path)
    secret = "Ada lives at nine Larch Street"
    add_event(db, A, f"By the way, {secret.upper()}, behind the mill")
    add_event(db, A, "Ada likes her tea without milk")
    add_memory(db, A, "ada.home", secret)
    add_memory(db, A, "ada.tea", "Ada likes tea")
    add_memory(db, A, "ada.cup", "Ada likes cups")
    gate.link(db, (SPACE_A, "ada.tea"), (SPACE_A, "ada.cup"), secret, person())
    found = made(db, tmp_path / "copies")
    purge.purge(db, 0, actor="terminal", now_ms=LATER + DAY_MS)
    gate.forget(db, SPACE_A, "ada.home", person(now_ms=LATER + DAY_MS))
    result = put_back(tmp_path, found, now_ms=LATER + 2 * DAY_MS)
    assert result.again["events_forgotten"] >= 1
    assert "Larch" not in str(recalled(db, "Ada Larch Street mill tea"))
    db.close()
    raw = b"".join(path.read_bytes() for path in tmp_path.glob("recorder.db*"))
    assert b"larch street" not in raw.lower()
    assert b"without milk" in raw
