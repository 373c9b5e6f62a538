"""`recorder` on the person's PATH: linked, refreshed, taken away, and never in place of another's."""

from __future__ import annotations

from pathlib import Path

import pytest
from install_person import Person

from recorder import install


@pytest.fixture
def program(person: Person) -> Path:
    """Our program, for a person with `~/.local/bin` on the PATH and not on the disk."""
    person.environ["PATH"] = f"{person.home}/.local/bin:/usr/bin:/bin"
    person.install()
    return make(person.root / "checkout")


def make(checkout: Path) -> Path:
    found = checkout / ".venv" / "bin" / "recorder"
    found.parent.mkdir(parents=True)
    found.write_text("#!/bin/sh\n")
    return found


def name(person: Person) -> Path:
    return person.home / ".local" / "bin" / "recorder"


def test_the_link_is_made_once_and_goes_with_its_folders(person: Person, program: Path) -> None:
    made = install.link(person.environ, program)
    assert made is not None and made.path == name(person) and name(person).readlink() == program
    assert install.link(person.environ, program) is None
    report = person.uninstall()
    assert "removed" in [change.what for change in report.changes if change.path == name(person)]
    assert not (person.home / ".local").exists() and not (person.recorder / "command.json").exists()


def test_folders_that_were_there_or_are_in_use_stay(person: Person, program: Path) -> None:
    name(person).parent.mkdir(parents=True)
    install.link(person.environ, program)
    person.uninstall()
    assert list(name(person).parent.iterdir()) == []


def test_a_link_to_an_earlier_checkout_of_ours_follows(person: Person, program: Path) -> None:
    install.link(person.environ, program)
    moved = make(person.root / "moved")
    program.unlink()
    assert install.link(person.environ, moved) is not None and name(person).readlink() == moved
    person.uninstall()
    assert not (person.home / ".local").exists()


@pytest.mark.parametrize("kind", ["file", "link", "same link"])
def test_what_is_somebody_elses_stays_under_that_name(person: Person, program: Path, kind: str) -> None:
    name(person).parent.mkdir(parents=True)
    if kind == "file":
        name(person).write_text("theirs")
    else:
        name(person).symlink_to(program if kind == "same link" else "/opt/other/recorder")
    assert install.link(person.environ, program) is None
    person.uninstall()
    assert name(person).is_symlink() or name(person).read_text() == "theirs"


def test_a_link_that_somebody_turned_elsewhere_is_theirs(person: Person, program: Path) -> None:
    install.link(person.environ, program)
    name(person).unlink()
    name(person).symlink_to("/opt/other/recorder")
    assert install.link(person.environ, make(person.root / "moved")) is None
    person.uninstall()
    assert str(name(person).readlink()) == "/opt/other/recorder"


@pytest.mark.parametrize("path", ["/usr/bin:/bin", "", ".local/bin"])
def test_nothing_is_linked_where_the_folder_is_not_on_the_path(person: Person, program: Path, path: str) -> None:
    person.environ["PATH"] = path
    assert install.link(person.environ, program) is None
    assert not (person.home / ".local").exists()


def test_a_program_that_is_not_there_is_not_linked(person: Person, program: Path) -> None:
    assert install.link(person.environ, program.with_name("gone")) is None


def test_a_record_that_cannot_be_read_makes_nothing_ours(person: Person, program: Path) -> None:
    install.link(person.environ, program)
    (person.recorder / "command.json").write_text("[")
    assert install.link(person.environ, make(person.root / "moved")) is None
    person.uninstall()
    assert name(person).readlink() == program
