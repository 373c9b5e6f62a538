"""Many processes write through the gate at once, and read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from recorder.store import audit, memories
from recorder.store import db as store
from tests.memory_samples import A, opened

ROOT = Path(__file__).resolve().parent.parent
WRITERS, READERS = 8, 4
WRITES = int(os.environ.get("RECORDER_TEST_WRITES", "40"))
"""Of each writer; 200 take half a minute where a sync takes 4 ms."""

WRITER = """
import sys
from pathlib import Path
from recorder import gate
from recorder.errors import Conflict
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope
from recorder.store import db as store, memories

home, project, me, writes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
db = store.connect(home / "recorder.db")
space = f"project.{project}"
writer = gate.Writer(Channel.PERSON, f"w{me}", Scope(project), 1_790_000_000_000 + me, redact=list)


def say(key, value, version=None):
    made = Proposal(space, key, value, MemoryKind.SEMANTIC, Origin.USER_SAID, "test", explicit=True)
    return gate.tell(db, made, writer, expected_version=version)


for n in range(writes):
    if n % 2:
        assert say(f"own.{me}.{n}", f"value {me} {n} of its own").action == "created"
        continue
    while True:  # a counter that everybody raises, each from what stands there
        there = memories.find(db, space, "shared")
        try:
            say("shared", str(int(there.value) + 1), there.version)
            break
        except Conflict:
            continue
db.close()
"""
READER = """
import sys
from pathlib import Path
from recorder.models import Scope
from recorder.recall import rank
from recorder.store import db as store

db = store.connect(Path(sys.argv[1]) / "recorder.db")
seen = 0
while not (Path(sys.argv[1]) / "done").exists():
    found = rank.recall(
        db, "value of its own", Scope(sys.argv[2]), k=10, vector=None, vector_status="off", now_ms=1_790_000_100_000
    )
    assert set(found.arms.values()) <= {"ok", "off"}, found.arms
    seen += 1
assert seen
db.close()
"""


def test_no_update_is_lost_and_the_history_is_one_line_when_many_processes_write_and_read(tmp_path: Path) -> None:
    db = opened(tmp_path)
    space = f"project.{A.project_id}"
    assert A.project_id is not None
    first = run(WRITER.split("for n in")[0] + 'say("shared", "0")\n', tmp_path, A.project_id, "0", "0")
    assert first.communicate(timeout=60) and first.returncode == 0
    readers = [run(READER, tmp_path, A.project_id) for _ in range(READERS)]
    writers = [run(WRITER, tmp_path, A.project_id, str(n), str(WRITES)) for n in range(WRITERS)]
    told = [one.communicate(timeout=240) for one in writers]
    (tmp_path / "done").touch()
    told += [one.communicate(timeout=60) for one in readers]
    assert [one.returncode for one in (*writers, *readers)] == [0] * (WRITERS + READERS), told

    raised = WRITERS * ((WRITES + 1) // 2)
    shared = memories.find(db, space, "shared")
    assert shared is not None and (shared.value, shared.version) == (str(raised), raised + 1)
    own = [key for (key,) in db.execute("select key from memories where key like 'own.%'")]
    assert len(own) == len(set(own)) == WRITERS * (WRITES // 2)
    lines = memories.history(db, shared.id)
    assert [line["version"] for line in lines] == list(range(1, raised + 2))
    assert [line["value"] for line in lines] == [str(n) for n in range(raised + 1)]
    open_versions = db.execute(
        "select count(*) from memory_versions where version > 0 and retired_ms is null group by memory_id"
    )
    assert {count for (count,) in open_versions} == {1}
    verdict = audit.verify(db)
    # Every raise throws a value out, so that each is two rows: what a person replaced is refused from then on.
    assert verdict.state == "pass" and verdict.rows >= WRITERS * WRITES
    db.close()
    # A connection as old as the first row sees FTS5's structure of then: SQLite 3.54 takes that for damage.
    fresh = store.connect(tmp_path / "recorder.db")
    assert next(iter(fresh.execute("pragma integrity_check")))[0] == "ok"
    fresh.close()


def run(code: str, home: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(home), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
