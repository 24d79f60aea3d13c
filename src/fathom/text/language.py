"""Detection of English and Indonesian by their most frequent words."""

import re
from functools import cache
from importlib.resources import files
from typing import Literal

Language = Literal["en", "id", "und"]

_SAMPLE_CHARS = 2_000
_LEAST_SHARE = 0.08
"""The least share of stop words in a text of a language."""
_LEAD = 1.5
"""The least ratio of stop words between the two languages that decides."""
_WORD = re.compile(r"[^\W\d_]+")


def detect_language(text: str) -> Language:
    """Return the language of the first 2,000 characters; `und` when neither is likely."""
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
    """Return the words of a string as a set."""
    return frozenset(words.split())


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """Return the most frequent words of `en` or `id`, in lower case."""
    source = files("fathom.text").joinpath(f"stopwords_{language}.txt")
    return split_set(source.read_text(encoding="utf-8"))
