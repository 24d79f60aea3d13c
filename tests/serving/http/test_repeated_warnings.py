"""Warnings that are logged once: `fathom.serving.http.repeated_warnings`."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.serving.http.conftest import open_client

from fathom.config import parse_settings
from fathom.serving.http import source_schedule, workspaces
from fathom.serving.http.app import create_app

TRIES_S = 1.0
"""The seconds for which the server tries again, 20 times as long as it rests between two tries."""


@pytest.fixture(autouse=True)
def _short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "WATCH_S", TRIES_S / 20)
    monkeypatch.setattr(source_schedule, "LOOK_S", TRIES_S / 20)


def wait_for(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_fault_that_stays_is_logged_once_and_another_one_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    files = [tmp_path / "index" / name for name in ("jobs.db", "sources.db")]
    for file in files:
        file.mkdir(parents=True)  # a file that cannot be opened

    def list_lines(words: str) -> list[str]:
        return [line for line in caplog.messages if words in line]

    with open_client(create_app(settings)):
        wait_for(lambda: bool(list_lines("open jobs of workspace")))
        wait_for(lambda: bool(list_lines("sources of workspace")))
        time.sleep(TRIES_S)
        assert len(list_lines("open jobs of workspace")) == 1
        assert len(list_lines("sources of workspace")) == 1
        for file in files:
            file.rmdir()
            file.write_bytes(b"no database" * 1000)
        wait_for(lambda: len(list_lines("open jobs of workspace")) == 2)
        wait_for(lambda: len(list_lines("sources of workspace")) == 2)
        time.sleep(TRIES_S)
        assert len(list_lines("of workspace")) == 4


def test_a_fault_that_returns_is_logged_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = parse_settings({"index.directory": str(tmp_path / "index"), "offline": True})
    jobs = tmp_path / "index" / "jobs.db"
    jobs.mkdir(parents=True)
    with open_client(create_app(settings)):
        wait_for(lambda: len(caplog.messages) == 1)
        jobs.rmdir()
        time.sleep(TRIES_S)
        jobs.mkdir()
        wait_for(lambda: len(caplog.messages) == 2)
        assert len(set(caplog.messages)) == 1
