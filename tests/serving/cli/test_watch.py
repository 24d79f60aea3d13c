from collections.abc import Callable, Iterator
from pathlib import Path

from tests.making import engine_at

from fathom.documents.discover import take_snapshot
from fathom.serving.cli.watch import watch


def sleeper(*steps: Callable[[], object]) -> Callable[[float], None]:
    """Does one of these in each pause; in the last one Ctrl-C is pressed."""
    left: Iterator[Callable[[], object]] = iter(steps)

    def sleep(_: float) -> None:
        step = next(left, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    return sleep


def nothing() -> None:
    pass


def test_it_acts_first_and_then_after_changes_only() -> None:
    state, acted = {"a": 1}, []
    change = sleeper(nothing, lambda: state.update(a=2), nothing, nothing, nothing)
    watch(lambda: dict(state), lambda: acted.append(dict(state)), sleep=change)
    assert acted == [{"a": 1}, {"a": 2}]


def test_what_is_still_being_written_is_waited_for() -> None:
    state, acted = {"a": 1}, []
    steps = [lambda n=n: state.update(a=n) for n in (2, 3, 4)]
    watch(lambda: dict(state), lambda: acted.append(dict(state)), sleep=sleeper(*steps, nothing))
    assert acted == [{"a": 1}, {"a": 4}]


def test_what_changes_while_it_acts_is_not_overlooked() -> None:
    state, acted = {"a": 1}, []

    def act() -> None:
        acted.append(dict(state))
        state["a"] = 2

    watch(lambda: dict(state), act, sleep=sleeper(nothing, nothing, nothing))
    assert acted == [{"a": 1}, {"a": 2}]


def test_a_folder_is_followed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("First.")
    sleep = sleeper(
        lambda: (docs / "b.md").write_text("Second."),
        nothing,
        lambda: (docs / "a.md").write_text("First, and more."),
        nothing,
        (docs / "b.md").unlink,
        nothing,
    )
    with engine_at(tmp_path) as engine:
        watch(lambda: take_snapshot([docs]), lambda: engine.ingest([docs], prune=True), sleep=sleep)
        texts = [engine.documents.get(each.id).text for each in engine.documents.list()]
    assert texts == ["First, and more."]


def test_a_folder_that_is_gone_is_an_empty_one(tmp_path: Path) -> None:
    assert take_snapshot([tmp_path / "gone"]) == {}
