"""Detection of English and Indonesian by their most frequent words."""

import re
from functools import cache
from importlib.resources import files
from typing import Literal

Language = Literal["en", "id", "und"]
"""English, Indonesian, or undetermined."""

_SAMPLE_CHARS = 2_000
"""The number of characters at the start of a text by which its language is detected."""
_LEAST_SHARE = 0.08
"""The lowest share of a language's stop words in a text of that language."""
_LEAD = 1.5
"""The lowest ratio of one language's stop words to the other's at which it is chosen."""
_WORD = re.compile(r"[^\W\d_]+")


def detect_language(text: str) -> Language:
    """Return the language of the first 2,000 characters of a text; `und` if neither is likely."""
    words = [word.lower() for word in _WORD.findall(text[:_SAMPLE_CHARS])]
    english = sum(map(load_stop_words("en").__contains__, words))
    indonesian = sum(map(load_stop_words("id").__contains__, words))
    most = max(english, indonesian)
    if most == 0 or most < _LEAST_SHARE * len(words):
        return "und"
    if english >= _LEAD * indonesian:
        return "en"
    return "id" if indonesian >= _LEAD * english else "und"


def split_set(words: str) -> frozenset[str]:
    """Return the set of the words in a string."""
    return frozenset(words.split())


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case.

    Args:
        language: `en` or `id`.
    """
    source = files("fathom.text").joinpath(f"stopwords_{language}.txt")
    return split_set(source.read_text(encoding="utf-8"))
