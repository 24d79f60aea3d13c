"""Rows are dropped only where the reader is sure that their label is wrong."""

from training.cross_reader.agreed import is_contradicted
from training.cross_reader.figures import Read
from training.cross_reader.rows import Row

TEXT = "The office opens at nine."


def read(logit: float, answer: str, *, answerable: bool) -> bool:
    spans = ((TEXT.index("nine"), TEXT.index("nine") + 4),) if answerable else ()
    row = Row(
        source="s",
        group="generated",
        question="When does the office open?",
        title="",
        text=TEXT,
        spans=spans,
        answerable=answerable,
    )
    return is_contradicted(Read(row, answer, logit - 1.0, {"answerable": 1.0}))


def test_an_answer_that_the_reader_is_sure_of_contradicts_a_row_without_one() -> None:
    assert read(9.0, "nine", answerable=False)
    assert not read(3.0, "nine", answerable=False)
    assert not read(-9.0, "nine", answerable=False)


def test_an_answer_that_the_reader_finds_stays_however_unsure_it_is() -> None:
    assert not read(-20.0, "at nine", answerable=True)


def test_an_answer_is_dropped_where_the_reader_is_sure_of_another_or_of_none() -> None:
    assert read(9.0, "office", answerable=True)
    assert read(-9.0, "office", answerable=True)
    assert not read(0.0, "office", answerable=True)


def test_a_verdict_is_never_contradicted() -> None:
    row = Row(source="s", group="generated", question="Is it?", title="", text=TEXT, yesno=0)

    assert not is_contradicted(Read(row, "nine", 20.0, {"answerable": 9.0}))
