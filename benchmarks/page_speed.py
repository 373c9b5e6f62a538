"""How long the pages and the lists of the API take over a large store.

    python -m benchmarks.page_speed STORE.db [--rounds 10]

STORE.db is one that `benchmarks/recall_speed.py --keep FOLDER` left; a copy of it is asked, in this process, without a
network: once each to warm up, then round after round, so that every address meets the same noise. Prints a table.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from starlette.testclient import TestClient

from recorder.config import Config
from recorder.store.db import connect
from recorder.web import access
from recorder.web.app import make_app

BASE = "http://127.0.0.1:7377"


def paths(home: Config) -> list[str]:
    """The addresses that are asked: pages of a project and of everything, and the lists of the API."""
    db = connect(home.db_path)
    (project,) = next(iter(db.execute("select project_id from sessions group by 1 order by count(*) desc limit 1")))
    (session,) = next(iter(db.execute("select session_id from events order by id desc limit 1")))
    (event,) = next(iter(db.execute("select max(id) from events")))
    (memory,) = next(iter(db.execute("select max(id) from memories")))
    (last_ms,) = next(iter(db.execute("select max(last_ms) from sessions")))
    db.close()
    end = time.strftime("%Y-%m-%d", time.gmtime(last_ms / 1000))
    pages = ["/", "/sessions", f"/sessions/{session}", f"/events/{event}", "/memories", f"/memories/{memory}"]
    pages += ["/memories?q=cache", f"/memories/{memory}/forget", "/review", f"/timeline?end={end}"]
    pages += [f"/charts?end={end}", "/lifecycle", "/settings", "/audit"]
    lists = ["/api/memory", "/api/memory/stats", "/api/sessions", "/api/events", "/api/prompts", "/api/tool-calls"]
    lists += ["/api/files", "/api/stats", "/api/review", "/api/health", "/api/search?q=cache"]
    return [*pages, *(f"{one}{'&' if '?' in one else '?'}project={project}" for one in lists if "health" not in one)]


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Config(home=Path(folder) / ".recorder")
        home.home.mkdir(mode=0o700)
        shutil.copyfile(given.store, home.db_path)
        asked = paths(home)
        took: dict[str, list[float]] = {path: [] for path in asked}
        with TestClient(make_app(home, lambda: time.time_ns() // 1_000_000), base_url=BASE) as client:
            until_ms = time.time_ns() // 1_000_000 + 60_000
            client.get("/login", params={"once": access.link(home.home, os.getpid(), until_ms)})
            client.get("/project", params={"id": "*", "back": "/audit"})
            for number in range(given.rounds + 1):
                for path in asked:
                    began = time.perf_counter()
                    answer = client.get(path)
                    if number:
                        took[path].append((time.perf_counter() - began) * 1000)
                    assert answer.status_code == 200, (path, answer.status_code, answer.text[:200])
    print(f"{given.store.name}, {given.rounds} rounds, load {os.getloadavg()[0]:.1f}\n")
    print("| address | p50 ms | slowest ms |\n|---|---|---|")
    for path, times in took.items():
        name = path.partition("&project")[0].partition("?project")[0]
        print(f"| `{name}` | {statistics.median(times):.0f} | {max(times):.0f} |")


if __name__ == "__main__":
    main()
