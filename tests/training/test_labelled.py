from dataclasses import replace

from tests.training.rivers import ROWS
from training.cross_reader.labelled import GROUP, WRONG, Labeller, make_labelled
from training.cross_reader.rows import Row

SENTENCES = [
    replace(row, group="sentences", source="s", title="", spans=(), relevant=None) for row in ROWS
]


class MarkingLabeller(Labeller):
    """Two readers, each of which marks a number of words before "by all"."""

    @staticmethod
    def _find_best(reader: object, row: Row) -> tuple[int, int] | None:
        before = row.text.removesuffix(" by all.")
        words = before.split(" ")[-int(str(reader)) :]
        return len(before) - len(" ".join(words)), len(before)


def mark(first: int, second: int) -> Labeller:
    return MarkingLabeller(first, second)  # type: ignore[arg-type]


def label_rows(labeller: Labeller) -> list[Row]:
    return list(make_labelled(SENTENCES, labeller))


def test_the_answer_is_where_both_readers_find_it() -> None:
    rows = [row for row in label_rows(mark(1, 1)) if row.group == GROUP]

    assert len(rows) == len(SENTENCES)
    for row, gold in zip(rows, ROWS, strict=True):
        ((start, end),) = row.spans
        assert row.text[start:end] == gold.text.split()[-3]
        assert gold.text in row.text
        assert row.text.count(".") >= 3  # others stand around it


def test_readers_that_disagree_mark_nothing() -> None:
    assert label_rows(mark(1, 6)) == []


def test_the_paragraph_without_its_sentence_is_a_wrong_text() -> None:
    wrong = [row for row in label_rows(mark(1, 1)) if row.group == WRONG]

    assert len(wrong) == len(SENTENCES)
    for row, gold in zip(wrong, ROWS, strict=True):
        assert gold.text not in row.text
        assert (row.answerable, row.spans) == (False, ())


def test_sentences_of_two_sources_are_not_combined() -> None:
    low = [replace(row, source="low", text=row.text.lower()) for row in SENTENCES[:5]]
    rows = [r for r in make_labelled([*SENTENCES[5:], *low], mark(1, 1)) if r.group == GROUP]

    assert len(rows) == len(SENTENCES)
    for row in rows:
        assert (row.text == row.text.lower()) == (row.source == "low")
