from dataclasses import replace

import pytest
from tests.training.rivers import PLACES, ROWS, make_row
from training.cross_reader.mining import Embed, mine_wrong

from fathom.testing.doubles import HashingEmbedder

MORE = [*ROWS, *(make_row(place, f"the {place.lower()}flow") for place in ("Bonn", "Kyiv"))]
VECTORS: Embed = HashingEmbedder().embed


@pytest.mark.parametrize("embed", [None, VECTORS])
def test_mined_texts_are_others_without_the_answer(embed: Embed | None) -> None:
    negatives = list(mine_wrong(MORE, embed))

    assert [wrong.question for wrong in negatives[::2]] == [row.question for row in MORE]
    assert [wrong.question for wrong in negatives[1::2]] == [row.question for row in MORE]
    for place, wrong in enumerate(negatives):
        assert wrong.text not in {MORE[place // 2].text, negatives[place ^ 1].text}
        assert (wrong.answerable, wrong.relevant, wrong.spans) == (False, False, ())
        assert wrong.group == "mined"


@pytest.mark.parametrize("embed", [None, VECTORS])
def test_a_text_that_holds_the_answer_is_not_mined(embed: Embed | None) -> None:
    same = [make_row(place, "the long one") for place in [*PLACES, "Bonn", "Kyiv"]]

    assert list(mine_wrong(same, embed)) == []


def test_languages_are_mined_separately() -> None:
    indonesian = [replace(row, group="indonesian", text=f"Sungai {row.text}") for row in MORE]

    negatives = list(mine_wrong([*MORE, *indonesian]))

    assert {row.group for row in negatives} == {"mined", "mined-id"}
    for wrong in negatives:
        assert wrong.text.startswith("Sungai") == (wrong.group == "mined-id")


def test_too_few_texts_are_not_searched() -> None:
    assert list(mine_wrong(ROWS)) == []
