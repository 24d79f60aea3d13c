import io

from rich.console import Console

from fathom.ingest.progress import IngestState
from fathom.ingest.report import FileReport, IngestReport
from fathom.serving.cli.progress_bar import Pace, ProgressBoard, format_duration, show_ingest_bar


class ManualClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_speed_is_that_of_the_last_seconds() -> None:
    clock = ManualClock()
    pace = Pace(clock)
    assert (pace.rate, pace.estimate_seconds_left(10.0)) == (0.0, None)
    for _ in range(60):  # quick at first, as files that are known already are
        clock.now += 1
        pace.add((clock.now - 100) * 1000)
    assert pace.rate == 1000
    for second in range(1, 41):
        clock.now += 1
        pace.add(60_000 + second * 10)
    assert pace.rate == 10
    assert pace.estimate_seconds_left(60_000 + 400 + 100) == 10


def test_the_speed_falls_without_progress() -> None:
    clock = ManualClock()
    pace = Pace(clock)
    clock.now += 10
    pace.add(100)
    before = pace.estimate_seconds_left(200)
    clock.now += 10
    after = pace.estimate_seconds_left(200)
    assert (before, after) == (10, 20)
    assert pace.estimate_seconds_left(100) == 0


def make_state(done: float, **values: object) -> IngestState:
    fields = {"files": 4, "bytes": 2_000_000, "place": "/docs/fees.pdf", "chunks": 50}
    return IngestState(done=done, **(fields | values))  # type: ignore[arg-type]


def test_the_lines_show_progress_speed_and_remaining_time() -> None:
    clock = ManualClock()
    board = ProgressBoard(clock)
    assert str(board) == "looking for files\n"
    clock.now += 10
    report = IngestReport(files=[FileReport("a", "ok", "")], failed=1)
    board.update(report, make_state(500_000, stage="embedding"))
    assert str(board).splitlines() == [
        "#####...............  25%  0.5 of 2.0 MB, 1 of 4 files, 50 chunks, 1 failed",
        "0:30 left, 0.05 MB/s, 5 chunks/s, embedding fees.pdf",
    ]
    board.update(report, make_state(2_000_000, stage="finishing", place=""))
    assert str(board).splitlines()[1].endswith("chunks/s, finishing")
    assert "left" not in str(board)


def test_chunks_that_get_vectors_have_their_own_bar() -> None:
    clock = ManualClock()
    board = ProgressBoard(clock)
    clock.now += 10
    fields = {"stage": "embedding", "place": ""}
    board.update(IngestReport(), make_state(2_000_000, vectors=10, lacking=40, **fields))
    assert str(board).splitlines() == [
        "####................  20%  all 50 chunks are found by words, 10 of 50 have vectors",
        "0:40 left, 1 vectors/s, embedding",
    ]


def test_a_file_name_cannot_control_the_terminal() -> None:
    board = ProgressBoard(ManualClock())
    board.update(IngestReport(), make_state(0, place="/docs/\x1b[2Jx"))
    assert "\x1b" not in str(board)


def test_the_lines_are_drawn_and_erased() -> None:
    err = io.StringIO()
    with show_ingest_bar(Console(file=err, force_terminal=True, width=80)) as update:
        update(IngestReport(), make_state(1_000_000))
    assert "reading fees.pdf" in err.getvalue()
    assert err.getvalue().rstrip().endswith("\x1b[2K")


def test_durations_are_formatted() -> None:
    assert [format_duration(s) for s in (0, 9.6, 61, 3661)] == ["0:00", "0:10", "1:01", "1:01:01"]
