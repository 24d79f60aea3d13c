"""Content terms: no stop words, and one term for all inflections."""

from fathom.text.content_words import ContentTerms


def test_stop_words_are_removed_and_inflections_share_a_stem() -> None:
    terms = ContentTerms()
    assert terms("How much do the permits cost?") & terms("A permit costs 40 crowns.")
    assert not terms("the of and yang di dan")


def test_numbers_stay() -> None:
    assert "1999" in ContentTerms()("In 1999, the bridge")
