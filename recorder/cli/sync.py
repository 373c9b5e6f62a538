"""The command that takes Claude's own memory files in."""

from __future__ import annotations

from rich.text import Text

from recorder import claude_auto, redaction
from recorder.cli.frame import Json, app, desk, err, only_a_person, out, plain, print_json
from recorder.errors import RecorderError


@app.command()
def sync(as_json: Json = False) -> None:
    """Take Claude's own memory files in now; the worker does by itself as they change."""
    only_a_person("syncs the memory of every project")
    with desk() as here:
        report = claude_auto.sync(here.db, here.config, here.now_ms, redaction.by_worker(here.config.home))
    if report is None:
        raise RecorderError("another sync of this home did not end within a minute: try again")
    if as_json:
        print_json(report.as_json())
        return
    for problem in report.problems:
        err.print(Text(f"warning: {plain(problem)}"))
    for path, lines in report.beyond_files.items():
        err.print(Text(f"warning: {plain(path)}: {lines} lines are beyond what Claude loads; recall has them"))
    out.print(
        f"{report.files} files: {report.created} memories created, {report.changed} changed,"
        f" {report.unchanged} unchanged, {report.pruned} pruned, {report.restored} restored, {report.findings} findings"
    )
