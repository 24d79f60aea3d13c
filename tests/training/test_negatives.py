from tests.training.rivers import PLACES, ROWS, asked
from training.cross_reader.data import Unseen, windows
from training.cross_reader.negatives import swapped
from training.cross_reader.rows import Row


def test_a_swapped_name_is_another_questions() -> None:
    found = list(swapped(ROWS))

    assert len(found) == len(ROWS)
    for row, twisted in zip(ROWS, found, strict=True):
        (old,) = [place for place in PLACES if place in row.question]
        (new,) = [place for place in PLACES if place in twisted.question]
        assert old != new
        assert twisted.text == row.text
        assert (twisted.answerable, twisted.relevant) == (False, None)


def test_a_swapped_number_keeps_its_shape() -> None:
    (row,) = swapped([asked("Oslo", "x", "Which river ran in 1,904 here?")])

    assert row.question != "Which river ran in 1,904 here?"
    number = row.question.split()[4]
    assert len(number) == 5
    assert number[1] == ","


def test_texts_that_overlap_with_development_texts_are_seen() -> None:
    unseen = Unseen([asked("Oslo", "x")])
    copy = "Before. " + asked("Oslo", "x").text + " After."

    assert not unseen.allows(Row(source="s", group="g", question="?", title="", text=copy))
    assert not unseen.allows(Row(source="s", group="g", question="?", title="rivers", text="new"))
    assert unseen.allows(Row(source="s", group="g", question="?", title="", text="The river that"))


def test_windows_of_a_short_text() -> None:
    assert windows("Two words") == ["two words"]
    assert len(windows("a b c d e f g h i j")) == 2
