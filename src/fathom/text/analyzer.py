"""The analyzer of texts: the terms that BM25 counts."""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, Protocol, cast

import Stemmer

from fathom.text.language import load_stop_words

VERSION = "2"
"""The version of the terms; an index refuses an analyzer of another version."""
MAX_TERM_CHARS = 64
"""The largest number of characters of a term; longer ones are cut."""
_MAX_CACHED = 100_000
"""The largest number of words whose terms are cached, per language."""
NEGATIONS = frozenset({"no", "not", "nor", "without", "tidak", "bukan", "belum", "tanpa"})
"""Stop words that queries keep, because they reverse the meaning."""

_JOINTS = r"[.,:/@'+#&\-]+"
_FIRST_MARK, _LAST_MARK = 0x300, 0x1EFFF
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x1950, 0x1AAF),
    (0xAA60, 0xAADF),
)
"""The first and last characters of scripts without blanks between words: Thai, Lao, Burmese, Khmer,
Tai. There a mark still ends a word, because a whole sentence would be one word otherwise."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_PLAIN_MARKS = str.maketrans("\u2019\u2018\u02bc\uff07", "''''") | dict.fromkeys(
    (0xAD, 0x34F, 0x200C, 0x200D, 0x2060, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)
"""Straight apostrophes, and nothing for characters within a word that nobody sees: soft hyphens,
joiners and selectors of a letter's form."""


class _Patterns(NamedTuple):
    """The patterns of words.

    Attributes:
        token: Runs of letters and digits, joined by single marks, so that numbers, identifiers,
            addresses, versions and hyphenated words are one token.
        part: A part of a token without joints and underscores.
    """

    token: re.Pattern[str]
    part: re.Pattern[str]


_PLAIN = _Patterns(re.compile(rf"\w+(?:{_JOINTS}\w+)*"), re.compile(r"[^\W_]+"))
"""The patterns for texts without combining marks."""


class _Stemmer(Protocol):
    """The protocol of PyStemmer's stemmers."""

    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's name


def _load_query_stop_words() -> frozenset[str]:
    """Return the stop words of queries in both languages, without negations."""
    return (load_stop_words("en") | load_stop_words("id")) - NEGATIONS


def _make_stemmers() -> dict[str, _Stemmer]:
    """Return the stemmer of each language."""
    # Cache size 0, because the analyzer caches terms itself, under its lock.
    return {
        "en": cast(_Stemmer, Stemmer.Stemmer("english", 0)),
        "id": cast(_Stemmer, Stemmer.Stemmer("indonesian", 0)),
    }


@dataclass(frozen=True, slots=True)
class Analyzer:
    """An analyzer that splits a text into terms: stemmed words, numbers and identifiers.

    Terms are in lower case. `ISO-9001` gives `iso-9001`, `iso` and `9001`; `1.250.000,50` gives
    itself and `1250000,50`; `anak-anak` gives itself and `anak`; a word with an accent also gives
    the word without it. A combining mark belongs to the letter before it. No word of a document is
    dropped. Several threads may use the analyzer at the same time.
    """

    _stemmers: Mapping[str, _Stemmer] = field(default_factory=_make_stemmers, repr=False)
    _stop_words: frozenset[str] = field(default_factory=_load_query_stop_words, repr=False)
    _cache: Mapping[str, dict[str, tuple[str, ...]]] = field(
        default_factory=lambda: {"en": {}, "id": {}}, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def identity(self) -> dict[str, str]:
        """The name and version, which must be the same for an index and those who search it."""
        return {"name": "snowball-en-id", "version": VERSION}

    def list_document_terms(self, text: str, language: str) -> list[str]:
        """Return the terms of a document's text in order, with repetitions.

        Args:
            text: The text.
            language: `en` or `id`; text in any other language is stemmed as English.
        """
        stemmer_language = "id" if language == "id" else "en"
        terms: list[str] = []
        with self._lock:
            cache = self._cache[stemmer_language]
            for word in _split_words(text):
                lowered = word.casefold()
                terms += cache.get(lowered) or self._cache_terms(lowered, stemmer_language)
        return terms

    def count_query_terms(self, text: str) -> dict[str, int]:
        """Return the distinct terms of a query with the number of times that each occurs.

        The language of a short text is uncertain, so its words are stemmed both as English and as
        Indonesian; terms of the wrong language are in few documents. Stop words are left out if the
        query has other words, except negations and words in capitals (WHO, IT).
        """
        # In a text all in capitals, capitals do not mark an abbreviation.
        is_shouted = text.isupper()
        words = list(_split_words(text))
        content_words = [
            word
            for word in words
            if (word.casefold() not in self._stop_words) or (word.isupper() and not is_shouted)
        ]
        counts: dict[str, int] = {}
        with self._lock:
            for word in content_words or words:
                for term in dict.fromkeys(self._list_terms(word.casefold(), ("en", "id"))):
                    counts[term] = counts.get(term, 0) + 1
        return counts

    def _list_terms(self, word: str, languages: tuple[str, ...]) -> Iterable[str]:
        """Yield the terms of a word in these languages."""
        for language in languages:
            yield from self._cache[language].get(word) or self._cache_terms(word, language)

    def _cache_terms(self, word: str, language: str) -> tuple[str, ...]:
        """Return the terms of a word, and add them to the cache."""
        cache = self._cache[language]
        if len(cache) > _MAX_CACHED:
            # All of it is cleared, because frequent words return after a few texts and no order of
            # use must be kept.
            cache.clear()
        terms = cache[word] = tuple(self._derive_terms(word, self._stemmers[language]))
        return terms

    def _derive_terms(self, word: str, stemmer: _Stemmer) -> Iterator[str]:
        """Yield the terms of a word.

        A number gives itself and its form without marks between thousands. A word of several
        components gives the whole word and the stem of each component; any other word its stem.
        Stems are given with and without accents.
        """
        components = _choose_patterns(word).part.findall(word)
        if _NUMBER.fullmatch(word):
            yield from _list_number_forms(word)
            return
        if len(components) > 1 and not _is_possessive(word):
            yield word[:MAX_TERM_CHARS]
            components = list(dict.fromkeys(components))
        else:
            components = [word]
        for component in components:
            for form in dict.fromkeys((component, _strip_accents(component))):
                stem = stemmer.stemWord(form[:MAX_TERM_CHARS])
                if stem:
                    yield stem


def _split_words(text: str) -> Iterator[str]:
    """Yield the words of a text in normal form (NFKC, with straight apostrophes).

    Characters within a word that nobody sees are left out.
    """
    normalised = text
    if not text.isascii():
        normalised = unicodedata.normalize("NFKC", text).translate(_PLAIN_MARKS)
    return filter(
        None, (word.strip("_") for word in _choose_patterns(normalised).token.findall(normalised))
    )


def _choose_patterns(text: str) -> _Patterns:
    """Return the patterns for a text; those for ASCII are faster and need no list of marks."""
    return _PLAIN if text.isascii() else _load_marked_patterns()


@cache
def _load_marked_patterns() -> _Patterns:
    """Return the patterns in which combining marks belong to the letter before them."""
    marks = _list_marks()
    word = rf"\w[\w{marks}]*"
    return _Patterns(
        re.compile(rf"{word}(?:{_JOINTS}{word})*"), re.compile(rf"[^\W_](?:[^\W_]|[{marks}])*")
    )


def _list_marks() -> str:
    """Return the combining marks that continue a word, without those that enclose a sign."""
    return "".join(
        char
        for char in map(chr, range(_FIRST_MARK, _LAST_MARK + 1))
        if unicodedata.category(char) in {"Mn", "Mc"}
        and not any(first <= ord(char) <= last for first, last in _UNSPACED)
    )


def _is_possessive(word: str) -> bool:
    """Return whether a word is one word with an apostrophe, such as `teacher's`."""
    head, apostrophe, tail = word.partition("'")
    return bool(apostrophe) and head.isalpha() and tail.isalpha()


def _list_number_forms(word: str) -> Iterator[str]:
    """Yield a number as it is written and, if it has marks between thousands, without them."""
    yield word[:MAX_TERM_CHARS]
    match = _GROUPED.fullmatch(word)
    if match:
        yield word.replace(match[1], "")[:MAX_TERM_CHARS]


def _strip_accents(word: str) -> str:
    """Return a word without its accents."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))
