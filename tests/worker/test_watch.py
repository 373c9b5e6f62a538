from __future__ import annotations

import threading
from pathlib import Path

from worker.watch import Watch


def test_a_file_that_a_hook_moves_in_from_beside_wakes_at_once(tmp_path: Path) -> None:
    for name in ("tmp", "new"):
        (tmp_path / name).mkdir()
    draft = tmp_path / "tmp" / "a.json"
    draft.write_text("{}")
    woken = threading.Event()
    watch = Watch(tmp_path / "new", woken.set)
    assert watch.start()
    try:
        draft.rename(tmp_path / "new" / "a.json")
        assert woken.wait(20)
    finally:
        watch.stop()
