"""One browser a run, and a house for each test that wants one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from recorder.config import Config
from recorder.models import Hit, Memory, Scope
from recorder.recall import rank
from recorder.store.db import Connection, connect
from tests.web.pages import house

try:
    from playwright import sync_api as playwright
except ImportError:  # an extra of development; whoever runs the tests without it is told which are left out
    playwright = None

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()
SHOTS = Path(__file__).resolve().parents[3] / ".pytest_cache" / "screenshots"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, or the one that RECORDER_CHROMIUM names."""
    path = os.environ.get("RECORDER_CHROMIUM") or shutil.which("chromium")
    missing = "playwright" if playwright is None else "chromium" if path is None else None
    if missing is not None:
        told = f"no {missing} here: pip install playwright, apt-get install chromium (or name it in RECORDER_CHROMIUM)"
        assert os.environ.get("RECORDER_BROWSER_REQUIRED") != "1", told
        pytest.skip(told)
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@dataclass
class House:
    """A served home, the page of a person who came in, and what went wrong on it."""

    config: Config
    scope: Scope
    address: str
    browser: Any
    state: Any
    page: Any = None
    complaints: list[str] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)

    def open(self, *, width: int = 1280, scheme: str = "light", script: bool = True) -> Any:
        """One more page of the same person."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=script,
            storage_state=self.state,
            base_url=self.address,
        )
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(8_000)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"{page.url}: dialog {dialog.message}"))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and self.complaints.append(f"{page.url}: {said.text}"),
        )
        return page

    def db(self) -> Connection:
        return connect(self.config.db_path)

    def at(self, key: str) -> Memory:
        """The project's memory under a key, as the store has it now."""
        db = self.db()
        try:
            return house.at(db, self.scope, key)
        finally:
            db.close()

    def path(self, key: str, verb: str = "") -> str:
        return f"/memories/{self.at(key).id}" + (f"/{verb}" if verb else "")

    def recalled(self, question: str) -> set[str]:
        """The memories that Claude is told about a question."""
        return {hit.text for hit in self.hits(question) if hit.type == "memory"}

    def hits(self, question: str) -> tuple[Hit, ...]:
        db = self.db()
        try:
            return rank.recall(
                db, question, self.scope, k=40, vector=None, vector_status="not asked", now_ms=house.NOW_MS + 1
            ).hits
        finally:
            db.close()


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scope]:
    """(a store with something on every page, its project): made once, for the rules of redaction take seconds."""
    folder = tmp_path_factory.mktemp("furnished")
    (folder / "shop").mkdir()
    with pytest.MonkeyPatch.context() as patch:  # as for every test: no home but ours, rules compiled once a checkout
        patch.setenv("HOME", str(folder))
        patch.setenv("KF_RULE_CACHE_DIR", str(SHOTS.parent / "rules"))
        config = Config(home=folder / ".recorder")
        db = connect(config.db_path)
        scope = house.fill(db, config, folder / "shop")
        db.close()
    return config.db_path, scope


@pytest.fixture
def home(config: Config, furnished: tuple[Path, Scope], browser: Any) -> Iterator[House]:
    """A house of one's own; whatever a page complains about fails the test."""
    path, scope = furnished
    config.home.mkdir(mode=0o700)
    shutil.copy(path, config.db_path)
    with house.serving(config) as address:
        first = browser.new_context()
        first.new_page().goto(house.link(config, address))
        state = first.storage_state()
        first.close()
        served = House(config, scope, address, browser, state)
        served.page = served.open()
        yield served
        for context in served.contexts:
            context.close()
    assert served.complaints == []
