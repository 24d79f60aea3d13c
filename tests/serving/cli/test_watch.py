import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.documents.discover import take_snapshot
from fathom.errors import IndexLocked
from fathom.serving.cli.watch import MOST_LOOKS, watch

FOLLOW = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from fathom.serving.cli.app import main; main()"
)


def make_sleep(*steps: Callable[[], object]) -> Callable[[float], None]:
    """Return a sleep that takes one of these steps per pause, and presses Ctrl-C in the last
    one.
    """
    remaining: Iterator[Callable[[], object]] = iter(steps)

    def sleep(_: float) -> None:
        step = next(remaining, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    return sleep


def do_nothing() -> None:
    pass


def test_it_acts_at_once_and_then_after_changes_only() -> None:
    state, acted = {"a": 1}, []
    change = make_sleep(do_nothing, lambda: state.update(a=2), do_nothing, do_nothing, do_nothing)
    watch(lambda: dict(state), lambda: acted.append(dict(state)), sleep=change)
    assert acted == [{"a": 1}, {"a": 2}]


def test_a_file_that_is_still_being_written_is_waited_for() -> None:
    state, acted = {"a": 1}, []
    steps = [lambda n=n: state.update(a=n) for n in (2, 3, 4)]
    watch(
        lambda: dict(state), lambda: acted.append(dict(state)), sleep=make_sleep(*steps, do_nothing)
    )
    assert acted == [{"a": 1}, {"a": 4}]


def test_a_file_that_never_comes_to_rest_is_read_in_the_end() -> None:
    state, acted = {"a": 0}, []
    steps = [lambda: state.update(a=state["a"] + 1)] * (2 * MOST_LOOKS + 2)
    watch(lambda: dict(state), lambda: acted.append(state["a"]), sleep=make_sleep(*steps))
    assert acted == [0, MOST_LOOKS + 1, 2 * MOST_LOOKS + 2]


def test_a_locked_index_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    state, acted = {"a": 1}, []

    def act() -> None:
        acted.append(state["a"])
        if len(acted) in {2, 3}:
            raise IndexLocked("process 7 is writing")

    steps = [lambda: state.update(a=2), *[do_nothing] * 6]
    watch(lambda: dict(state), act, sleep=make_sleep(*steps))
    assert acted == [1, 2, 2, 2]
    assert caplog.messages == ["process 7 is writing; the next look tries again"]


def test_a_change_during_the_action_is_noticed() -> None:
    state, acted = {"a": 1}, []

    def act() -> None:
        acted.append(dict(state))
        state["a"] = 2

    watch(lambda: dict(state), act, sleep=make_sleep(do_nothing, do_nothing, do_nothing))
    assert acted == [{"a": 1}, {"a": 2}]


def test_a_folder_is_watched(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("First.")
    sleep = make_sleep(
        lambda: (docs / "b.md").write_text("Second."),
        do_nothing,
        lambda: (docs / "a.md").write_text("First, and more."),
        do_nothing,
        (docs / "b.md").unlink,
        do_nothing,
    )
    with engine_at(tmp_path) as engine:
        watch(lambda: take_snapshot([docs]), lambda: engine.ingest([docs], prune=True), sleep=sleep)
        texts = [engine.documents.get(document.id).text for document in engine.documents.list()]
    assert texts == ["First, and more."]


def test_a_deleted_folder_counts_as_empty(tmp_path: Path) -> None:
    assert take_snapshot([tmp_path / "gone"]) == {}


@pytest.mark.parametrize("has_extra", [True, False])
def test_the_command_follows_a_folder_until_ctrl_c(tmp_path: Path, has_extra: bool) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("First.")
    if not has_extra:
        (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['watchfiles'] = None")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        # A child of a shell's background job ignores Ctrl-C, unless told otherwise.
        [sys.executable, "-c", FOLLOW, "ingest", "docs", "--watch", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["new"] == 1
        (docs / "b.md").write_text("Second.")
        assert json.loads(child.stdout.readline())["new"] == 1
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) in {0, 130}  # the round may still be ending
