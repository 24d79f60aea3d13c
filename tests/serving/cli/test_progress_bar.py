import io

from rich.console import Console

from fathom.ingest.progress import IngestState
from fathom.ingest.report import FileReport, IngestReport
from fathom.serving.cli.progress_bar import Pace, ProgressBoard, format_duration, show_ingest_bar


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_pace_is_that_of_the_last_seconds() -> None:
    clock = Clock()
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


def test_who_stands_still_gets_slower() -> None:
    clock = Clock()
    pace = Pace(clock)
    clock.now += 10
    pace.add(100)
    before = pace.estimate_seconds_left(200)
    clock.now += 10
    after = pace.estimate_seconds_left(200)
    assert (before, after) == (10, 20)
    assert pace.estimate_seconds_left(100) == 0


def advance(done: float, **values: object) -> IngestState:
    known = {"files": 4, "bytes": 2_000_000, "place": "/docs/fees.pdf", "chunks": 50}
    return IngestState(done=done, **(known | values))  # type: ignore[arg-type]


def test_the_lines_tell_how_far_how_fast_and_how_long() -> None:
    clock = Clock()
    board = ProgressBoard(clock)
    assert str(board) == "looking for files\n"
    clock.now += 10
    report = IngestReport(files=[FileReport("a", "ok", "")], failed=1)
    board.update(report, advance(500_000, stage="embedding"))
    assert str(board).splitlines() == [
        "#####...............  25%  0.5 of 2.0 MB, 1 of 4 files, 50 chunks, 1 failed",
        "0:30 left, 0.05 MB/s, 5 chunks/s, embedding fees.pdf",
    ]
    board.update(report, advance(2_000_000, stage="finishing", place=""))
    assert str(board).splitlines()[1].endswith("chunks/s, finishing")
    assert "left" not in str(board)


def test_stored_chunks_that_get_vectors_have_a_bar_of_their_own() -> None:
    clock = Clock()
    board = ProgressBoard(clock)
    clock.now += 10
    known = {"stage": "embedding", "place": ""}
    board.update(IngestReport(), advance(2_000_000, vectors=10, lacking=40, **known))
    assert str(board).splitlines() == [
        "####................  20%  all 50 chunks are found by words, 10 of 50 have vectors",
        "0:40 left, 1 vectors/s, embedding",
    ]


def test_a_file_s_name_cannot_fool_the_terminal() -> None:
    board = ProgressBoard(Clock())
    board.update(IngestReport(), advance(0, place="/docs/\x1b[2Jx"))
    assert "\x1b" not in str(board)


def test_the_lines_are_drawn_and_wiped_away() -> None:
    err = io.StringIO()
    with show_ingest_bar(Console(file=err, force_terminal=True, width=80)) as update:
        update(IngestReport(), advance(1_000_000))
    assert "reading fees.pdf" in err.getvalue()
    assert err.getvalue().rstrip().endswith("\x1b[2K")


def test_durations() -> None:
    assert [format_duration(s) for s in (0, 9.6, 61, 3661)] == ["0:00", "0:10", "1:01", "1:01:01"]
