"""What a filter costs, and whether it leaves less than was asked for: python -m benchmarks.recall_filters --rows N"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.recall_speed import NOW_MS, Writer, fill
from recorder.models import Scope
from recorder.recall import rank
from recorder.store import db as store
from recorder.store.only import EVERYTHING, Only

SHARES = [f"project-{n}" for n in range(4)]
FILTERS = {
    "none": EVERYTHING,
    "kind, a third of all": Only(kinds=("tool_call",)),
    "since, a half": Only(since_ms=0),
    "failed, one of 500": Only(failed=True),
    "rare tool, one of 5,000": Only(tool="Weaver"),
    "branch, one of 5,000": Only(branch="feature/loom"),
    "session, 200 rows": Only(session_id="s7"),
    "file, one of 5,000": Only(file="lib/loom.py"),
    "file, a common folder": Only(file="src"),
    "trust": Only(trusts=("verified",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    writer, dice = Writer(11), random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorder.db"
        db = store.connect(path)
        fill(db, asked.rows, SHARES, writer)
        with store.transaction(db):
            db.execute("update events set tool = 'Bash', ok = (id % 500 <> 0) where kind = 'tool_call'")
            db.execute(
                "update events set tool = 'Weaver', branch = 'feature/loom', narrow = 'make lib/loom.py'"
                " where id % 5000 = 0"
            )
        filters = FILTERS | {"since, a half": Only(since_ms=NOW_MS - asked.rows // 2)}
        questions = [(writer.question(), vector) for vector in writer.vectors(asked.rounds)]
        times: dict[tuple[str, str], list[float]] = {}
        fewest: dict[tuple[str, str], int] = {}
        for question, vector in questions:
            for name, only in dice.sample(list(filters.items()), len(filters)):
                for how, text, meaning in (("asked", question, vector), ("listed", "", None)):
                    db = store.connect(path)
                    begun = time.perf_counter()
                    answer = rank.recall(
                        *(db, text, Scope(SHARES[0])),
                        k=10,
                        vector=meaning,
                        vector_status="ok" if meaning else "off",
                        now_ms=NOW_MS,
                        only=only,
                    )
                    times.setdefault((name, how), []).append((time.perf_counter() - begun) * 1000)
                    hits = len(answer.hits) or len(answer.misses)
                    fewest[name, how] = min(fewest.get((name, how), 10), hits)
                    db.close()
        print(f"{asked.rows:,} rows, {len(questions)} rounds interleaved, load {os.getloadavg()[0]:.1f}")
        print("| filter | with a question, ms (median, worst) | listed, ms | fewest asked | fewest listed |")
        print("|---|---|---|---|---|")
        for name in filters:
            told = [
                f"{statistics.median(times[name, how]):.0f}, {max(times[name, how]):.0f}" for how in ("asked", "listed")
            ]
            print(f"| {name} | {told[0]} | {told[1]} | {fewest[name, 'asked']} | {fewest[name, 'listed']} |")


if __name__ == "__main__":
    main()
