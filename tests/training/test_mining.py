from tests.training.rivers import PLACES, ROWS, asked
from training.cross_reader.mining import mined

from fathom.models.hashing import HashingEmbedder

EMBEDDER = HashingEmbedder()


def test_a_mined_text_is_another_one_without_the_answer() -> None:
    found = list(mined(ROWS, EMBEDDER))

    assert [wrong.question for wrong in found[::2]] == [row.question for row in ROWS]
    assert [wrong.question for wrong in found[1::2]] == [row.question for row in ROWS]
    for place, wrong in enumerate(found):
        assert wrong.text not in {ROWS[place // 2].text, found[place ^ 1].text}
        assert (wrong.answerable, wrong.relevant, wrong.spans) == (False, False, ())


def test_a_text_that_holds_the_answer_is_not_mined() -> None:
    same = [asked(place, "the long one") for place in PLACES]

    assert list(mined(same, EMBEDDER)) == []
