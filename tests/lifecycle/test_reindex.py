"""Every index can be lost: the rows bring it back."""

from __future__ import annotations

import random

import pytest

from recorder import cli
from recorder.config import Config
from recorder.recall import rank
from recorder.store import indexes, vectors
from recorder.store.db import Connection, connect, has_vec
from tests.built_model import MODELS, needs_model
from tests.memory_samples import NOW_MS, A, add_event, add_memory, opened
from worker.index import Model, fill

ANIMALS = ("heron", "otter", "lynx", "pelican", "marten", "bittern", "newt", "stoat", "plover", "dunlin")
DOES = ("feeds at dawn", "sleeps by the weir")
QUESTIONS = [f"which {animal} {does}" for animal in ANIMALS for does in DOES]


@pytest.fixture
def db(config: Config) -> Connection:
    found = opened(config.home)
    if not has_vec(found):
        pytest.skip("needs sqlite-vec")
    for n, animal in enumerate(ANIMALS):
        for does in DOES:
            add_event(found, A, f"the {animal} {does}, seen {n} times", narrow=f"src/{animal}.py")
        add_memory(found, A, f"fact.{animal}", f"A {animal} is counted every spring")
    return found


def lose_every_index(db: Connection) -> None:
    for name in (*indexes.EVENT_TABLES, *indexes.MEMORY_TABLES, "vec_items"):
        db.execute(f"drop table if exists {name}")


def reindex(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECORDER_HOME", str(config.home))
    monkeypatch.setattr("sys.argv", ["recorder", "reindex"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0


def nearest(db: Connection, question: bytes) -> list[tuple[str, int]]:
    return [(near.owner, near.owner_id) for near in vectors.search(db, A, question, 5)[:5]]


def found(db: Connection, question: str, vector: bytes | None = None) -> list[str]:
    status = "ok" if vector else "off"
    told = rank.recall(db, question, A, k=5, vector=vector, vector_status=status, now_ms=NOW_MS + 1)
    return [hit.id for hit in told.hits]


def test_words_paths_and_vectors_answer_as_before(
    db: Connection, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    vectors.adopt(db, "m")
    for due in vectors.due(db, 1000) or []:
        vectors.store(db, due.owner, due.owner_id, "m", [("h", chance.randbytes(vectors.DIMENSION))])
    for (event_id,) in list(db.execute("select id from events where excerpt <> ''")):
        vectors.store(db, "event", event_id, "m", [("h", chance.randbytes(vectors.DIMENSION))])
    asked = [chance.randbytes(vectors.DIMENSION) for _ in QUESTIONS]
    before = [(nearest(db, one), found(db, text)) for one, text in zip(asked, QUESTIONS, strict=True)]
    assert all(len(near) == 5 and hits for near, hits in before)
    lose_every_index(db)
    db.close()
    reindex(config, monkeypatch)
    again = connect(config.db_path)
    assert [(nearest(again, one), found(again, text)) for one, text in zip(asked, QUESTIONS, strict=True)] == before
    assert found(again, "src/heron.py") != []


def test_vectors_that_are_gone_are_asked_for_again(
    db: Connection, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = vectors.waiting(db)
    db.execute("delete from embed_queue; delete from embeddings")
    reindex(config, monkeypatch)
    assert vectors.waiting(db) >= waiting > 0


@needs_model
def test_after_every_vector_is_made_anew_twenty_questions_have_the_same_five_answers(
    db: Connection, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model(MODELS)
    try:
        vectors.requeue_missing(db)
        while fill(db, model, 50):
            pass
        asked = model.embed(QUESTIONS, 60.0)
        before = [nearest(db, one) for one in asked]
        assert all(len(near) == 5 for near in before)
        lose_every_index(db)
        db.execute("delete from embeddings")
        reindex(config, monkeypatch)
        while fill(db, model, 50):
            pass
        assert [nearest(db, one) for one in asked] == before
    finally:
        model.close()
