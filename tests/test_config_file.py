"""`config.toml` changed in one place."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from recorder.config_file import set_value
from recorder.errors import ConfigError

CHANGED = [
    ("", '[embed]\nmodel = "b"\n'),
    ("[web]\nport = 1\n", '[web]\nport = 1\n\n[embed]\nmodel = "b"\n'),
    ("[web]\nport = 1", '[web]\nport = 1\n\n[embed]\nmodel = "b"\n'),
    ("[embed]\nmodel = 'a' # mine\nenabled = true\n", '[embed]\nmodel = "b" # mine\nenabled = true\n'),
    ('[embed]\nmodel = "a # \\" b"# c\n', '[embed]\nmodel = "b"# c\n'),
    ("[embed] # x\nenabled = true\n[web]\nport = 1\n", '[embed] # x\nmodel = "b"\nenabled = true\n[web]\nport = 1\n'),
    ("# embed\r\n[ embed ]\r\n  model = 5  # mine\r\n", '# embed\r\n[ embed ]\r\n  model = "b"  # mine\r\n'),
    ("[embed]", '[embed]\nmodel = "b"\n'),
    ("[other]\nmodel = 'a'\n[embed]\n", "[other]\nmodel = 'a'\n[embed]\nmodel = \"b\"\n"),
]


@pytest.mark.parametrize(("before", "after"), CHANGED)
def test_the_value_is_set_and_every_other_byte_stays(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    assert set_value(path, "embed", "model", "b")
    assert path.read_bytes().decode() == after
    assert not set_value(path, "embed", "model", "b")
    assert sorted(os.listdir(tmp_path)) == ["config.toml", "home"]  # the home of every test


@pytest.mark.parametrize(
    "text",
    [
        "embed = {model = 'a'}\n",
        "embed.model = 'a'\n",
        "[web]\nname = '''\n[embed]\nmodel = 'a'\n'''\n",
        "[embed]\nmodel = '''a\nb'''\n",
        "embed = 7\n",
    ],
)
def test_what_cannot_be_changed_safely_is_left_and_the_person_is_told_what_to_write(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match='embed.model = "b" into it by hand'):
        set_value(path, "embed", "model", "b")
    assert path.read_text() == text


def test_a_file_that_is_no_toml_is_left(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[embed\n")
    with pytest.raises(ConfigError, match="mend or remove"):
        set_value(path, "embed", "model", "b")
    assert path.read_text() == "[embed\n"


def test_a_linked_file_stays_a_link_and_its_mode_stays(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    kept.write_text("[web]\nport = 1\n")
    kept.chmod(0o640)
    (tmp_path / "config.toml").symlink_to(kept)
    assert set_value(tmp_path / "config.toml", "embed", "model", 'a "quoted" \\ name')
    assert (tmp_path / "config.toml").is_symlink() and kept.stat().st_mode & 0o777 == 0o640
    assert tomllib.loads(kept.read_text())["embed"]["model"] == 'a "quoted" \\ name'


def test_a_file_that_was_not_there_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    assert set_value(path, "embed", "model", "b")
    assert path.stat().st_mode & 0o777 == 0o600
