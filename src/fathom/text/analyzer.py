"""The terms of texts, as BM25 counts them."""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import Stemmer

from fathom.text.language import load_stop_words

VERSION = "1"
"""The version of the terms; an index refuses an analyzer of another version."""
MAX_TERM_CHARS = 64
"""The largest length of a term, in characters."""
_MAX_CACHED = 100_000
"""The largest number of words whose terms are cached, per language."""
NEGATIONS = frozenset({"no", "not", "nor", "without", "tidak", "bukan", "belum", "tanpa"})
"""Stop words that queries keep, as they reverse the meaning."""

# A run of letters and digits with joints between them, so that numbers, identifiers, addresses,
# versions and hyphenated words stay whole.
_TOKEN = re.compile(r"\w+(?:[.,:/@'+#&\-]+\w+)*")
_PART = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc\uff07", "''''")


class _Stemmer(Protocol):
    """The protocol of PyStemmer's stemmers."""

    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's name


def _load_query_stop_words() -> frozenset[str]:
    """Return the stop words of queries in both languages, without negations."""
    return (load_stop_words("en") | load_stop_words("id")) - NEGATIONS


def _make_stemmers() -> dict[str, _Stemmer]:
    """Return the stemmer of each language."""
    # Without their own cache, which all threads would share; the analyzer caches terms itself.
    return {
        "en": cast(_Stemmer, Stemmer.Stemmer("english", 0)),
        "id": cast(_Stemmer, Stemmer.Stemmer("indonesian", 0)),
    }


@dataclass(frozen=True, slots=True)
class Analyzer:
    """The analyzer: words in lower case, stemmed in their language; numbers and identifiers whole.

    `ISO-9001` gives `iso-9001`, `iso` and `9001`; `1.250.000,50` stays one term and also gives
    `1250000,50`; a letter with an accent is also indexed without it; `anak-anak` also gives `anak`.
    No word of a document is dropped. Several threads may use the analyzer at once.
    """

    _stemmers: Mapping[str, _Stemmer] = field(default_factory=_make_stemmers, repr=False)
    _stop_words: frozenset[str] = field(default_factory=_load_query_stop_words, repr=False)
    _cache: Mapping[str, dict[str, tuple[str, ...]]] = field(
        default_factory=lambda: {"en": {}, "id": {}}, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def identity(self) -> dict[str, str]:
        """The facts that must agree between an index and its searchers."""
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
                lowered = word.lower()
                terms += cache.get(lowered) or self._cache_terms(lowered, stemmer_language)
        return terms

    def count_query_terms(self, text: str) -> dict[str, int]:
        """Return the distinct terms of a query with the number of times that each occurs.

        The language of a short text is a guess, so its words are stemmed both as English and as
        Indonesian; a term of the wrong language rarely meets any document. Stop words are left out
        unless the query has no other words; negations and words in capitals (WHO, IT) stay.
        """
        # In a text all in capitals they do not mark an abbreviation.
        is_shouted = text.isupper()
        words = list(_split_words(text))
        content_words = [
            word
            for word in words
            if (word.lower() not in self._stop_words) or (word.isupper() and not is_shouted)
        ]
        counts: dict[str, int] = {}
        with self._lock:
            for word in content_words or words:
                for term in dict.fromkeys(self._list_terms(word.lower(), ("en", "id"))):
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
            # Cleared as a whole: frequent words are back after a few texts, and no order has to be
            # kept.
            cache.clear()
        terms = cache[word] = tuple(self._derive_terms(word, self._stemmers[language]))
        return terms

    def _derive_terms(self, word: str, stemmer: _Stemmer) -> Iterator[str]:
        """Yield the terms of a word: the whole word, its components, and both without accents."""
        components = _PART.findall(word)
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
    """Yield the words of a text, in their normal form."""
    normalised = text
    if not text.isascii():
        normalised = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    return filter(None, (word.strip("_") for word in _TOKEN.findall(normalised)))


def _is_possessive(word: str) -> bool:
    """Return whether a word is one word with an apostrophe, such as `teacher's`."""
    head, apostrophe, tail = word.partition("'")
    return bool(apostrophe) and head.isalpha() and tail.isalpha()


def _list_number_forms(word: str) -> Iterator[str]:
    """Yield a number as it is written, and without the marks between thousands."""
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
