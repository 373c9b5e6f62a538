from __future__ import annotations

from pathlib import Path

import pytest

from recorder.store import events, search
from recorder.store.db import Connection, checkpoint
from tests.memory_samples import NOW_MS, A, add_event, opened

STAYS, GOES = "quokkafied", "zyzzyvating"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recorder.db"


def found(db: Connection, word: str) -> list[tuple[str, int]]:
    by_words = [("words", row.id) for row in search.words(db, A, word, 9, now_ms=NOW_MS)]
    return by_words + [("trigram", row.id) for row in search.trigram(db, A, word, 9, now_ms=NOW_MS)]


def on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))


@pytest.mark.parametrize(
    "change", ["delete from events where id = ?", "update events set excerpt = '', narrow = '' where id = ?"]
)
def test_the_words_of_an_event_that_went_stand_on_no_byte_of_the_disk(path: Path, change: str) -> None:
    db = opened(path.parent)
    stays = add_event(db, A, f"it {STAYS}", narrow=f"{STAYS}.py")
    goes = add_event(db, A, f"it {GOES}", narrow=f"{GOES}.py")
    assert found(db, STAYS) == [("words", stays), ("trigram", stays)]
    assert found(db, GOES) == [("words", goes), ("trigram", goes)]
    db.execute("pragma foreign_keys = off; update events set body = x''")
    db.execute(change, (goes,))
    assert checkpoint(db)
    assert (len(found(db, STAYS)), found(db, GOES)) == (2, [])
    db.close()
    assert STAYS[:6].encode() in on_disk(path)
    assert GOES[:6].encode() not in on_disk(path)


def test_indexing_again_what_comes_after_an_event_leaves_that_event_once(path: Path) -> None:
    db = opened(path.parent)
    first = add_event(db, A, "the first quokka", narrow="quokka.py")
    second = add_event(db, A, "the second quokka", narrow="quokka.py")
    assert events.last_id(db) == second
    assert sorted(found(db, "quokka")) == sorted((arm, row) for arm in ("words", "trigram") for row in (first, second))


def test_a_body_comes_back_as_it_was_beside_any_excerpt() -> None:
    body = {"text": "the parser fails \x01 ü " * 200, "n": [1, None, {"deep": "ü"}]}
    for excerpt in ("", "the parser fails … ü", body["text"][:2000]):
        assert isinstance(excerpt, str)
        packed, codec, _ = events.encode(body, excerpt)
        assert events.decode(packed, codec, excerpt) == body
        assert len(packed) < 300
