import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fathom.documents.discover import FileFilter, discover_folders, take_snapshot
from fathom.serving import notifications
from fathom.serving.cli.watch import watch
from fathom.serving.notifications import Notifications, choose_wait

pytest.importorskip("watchfiles")


class Follower:
    """A thread that reads a folder after each change, as `fathom ingest --watch` does."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._changed = threading.Condition()
        self._is_ending = False
        self._notifications = Notifications(lambda: discover_folders(paths, FileFilter()))
        self.rounds: list[dict[str, str]] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Follower":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ending = True
        self._thread.join()

    def _run(self) -> None:
        watch(
            lambda: take_snapshot(self._paths),
            self._read,
            wait=self._wait,
            sleep=lambda _: time.sleep(0.1),
        )

    def _wait(self) -> None:
        if self._is_ending:
            raise KeyboardInterrupt
        self._notifications.wait()

    def _read(self) -> None:
        texts = {Path(path).name: Path(path).read_text() for path in take_snapshot(self._paths)}
        with self._changed:
            self.rounds.append(texts)
            self._changed.notify()

    def expect(self, **texts: str) -> None:
        """Wait until a round has read these files; a `_` stands for a dot."""
        wanted = {name.replace("_", "."): text for name, text in texts.items()}
        self.expect_files(wanted)

    def expect_files(self, wanted: dict[str, str]) -> None:
        with self._changed:
            is_read = self._changed.wait_for(
                lambda: bool(self.rounds) and self.rounds[-1] == wanted, timeout=10
            )
        assert is_read, (wanted, self.rounds)


@pytest.fixture(autouse=True)
def _quick_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pace, and leave nothing to the look that needs no notification."""
    monkeypatch.setattr(notifications, "PACE_S", 0.2)
    monkeypatch.setattr(notifications, "LONGEST_S", 3600.0)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("First.")
    return folder


@pytest.fixture
def follower(docs: Path) -> Iterator[Follower]:
    with Follower(docs) as follower:
        follower.expect(a_md="First.")
        yield follower
        (docs / f"end-{time.monotonic()}").touch()


def test_each_kind_of_change_is_noticed(docs: Path, follower: Follower) -> None:
    (docs / "b.md").write_text("Second.")
    follower.expect(a_md="First.", b_md="Second.")
    (docs / "a.md").write_text("Changed.")
    follower.expect(a_md="Changed.", b_md="Second.")
    (docs / "b.md").rename(docs / "c.md")
    follower.expect(a_md="Changed.", c_md="Second.")
    (docs / "c.md").unlink()
    follower.expect(a_md="Changed.")
    (docs / "new" / "deep").mkdir(parents=True)
    (docs / "new" / "deep" / "d.md").write_text("Deep.")
    follower.expect(a_md="Changed.", d_md="Deep.")
    (docs / "new" / "deep" / "d.md").write_text("Deeper.")
    follower.expect(a_md="Changed.", d_md="Deeper.")
    shutil.rmtree(docs / "new")
    follower.expect(a_md="Changed.")


def test_a_burst_is_one_change_or_two(docs: Path, follower: Follower) -> None:
    names = [f"{number}.md" for number in range(200)]
    for name in names:
        (docs / name).write_text(name)
    follower.expect_files({name: name for name in names} | {"a.md": "First."})
    assert len(follower.rounds) <= 3


def test_a_folder_that_is_made_again_is_watched_again(docs: Path, follower: Follower) -> None:
    for _ in range(2):  # the new folder may have the number of the old one
        shutil.rmtree(docs)
        follower.expect()
        docs.mkdir()
        (docs / "a.md").write_text("Again.")
        follower.expect(a_md="Again.")
        (docs / "a.md").write_text("And changed.")
        follower.expect(a_md="And changed.")


def test_a_folder_that_another_replaces_is_watched_again(docs: Path, follower: Follower) -> None:
    other = docs.with_name("other")
    other.mkdir()
    (other / "b.md").write_text("Other.")
    docs.rename(docs.with_name("old"))
    other.rename(docs)
    follower.expect(b_md="Other.")
    (docs / "b.md").write_text("Changed.")
    follower.expect(b_md="Changed.")


def test_a_name_that_is_no_text_ends_nothing(docs: Path, follower: Follower) -> None:
    Path(os.fsdecode(os.fsencode(docs) + b"/\xff")).mkdir()
    (docs / "b.md").write_text("Second.")
    follower.expect(a_md="First.", b_md="Second.")


def test_a_file_that_is_replaced_is_still_watched(docs: Path) -> None:
    file, draft = docs / "a.md", docs / "draft"
    with Follower(file) as follower:
        follower.expect(a_md="First.")
        for text in ("Second.", "Third."):
            draft.write_text(text)
            draft.rename(file)
            follower.expect(a_md=text)
        (docs / "end").touch()


def test_a_change_without_notification_is_found(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = docs / ".hidden"
    hidden.mkdir()
    (hidden / "b.md").write_text("Second.")
    (docs / "b.md").symlink_to(hidden / "b.md")
    monkeypatch.setattr(notifications, "LONGEST_S", 0.5)
    with Follower(docs) as follower:
        follower.expect(a_md="First.", b_md="Second.")
        (hidden / "b.md").write_text("Changed.")
        follower.expect(a_md="First.", b_md="Changed.")


def test_only_folders_that_are_read_are_watched(docs: Path) -> None:
    for name in ("in", "in/deep", ".git", "left"):
        (docs / name).mkdir()
    (docs / "link").symlink_to("/")
    missing = docs.with_name("missing") / "folder"
    folders = discover_folders([docs, docs / "in" / "a.md", missing], FileFilter(exclude=("left",)))
    expected = [docs, docs / "in", docs / "in" / "deep", docs / "in", missing.parent]
    assert list(folders) == expected


EXHAUSTED = """
import os, resource, sys
from pathlib import Path
from fathom.serving import notifications
import watchfiles._rust_notify
notifications.PACE_S = 0.1
wait = notifications.Notifications(lambda: [Path(sys.argv[1])]).wait
resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0) + 1, 4096))
for _ in range(3):
    wait()
print("polled")
"""


def test_without_notifications_it_polls_and_says_so_once(docs: Path) -> None:
    command = [sys.executable, "-c", EXHAUSTED, str(docs)]
    child = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert child.stdout == "polled\n", child.stderr
    assert child.stderr.count("max_user_watches") == 1


def test_without_the_extra_nothing_is_notified(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_wait(list) is not None
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert choose_wait(list) is None
