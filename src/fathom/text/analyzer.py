"""Texts become the terms that BM25 counts."""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import Stemmer

from fathom.text.language import stop_words

VERSION = "1"
LONGEST_TERM = 64
_MOST_KNOWN = 100_000
NEGATIONS = frozenset({"no", "not", "nor", "without", "tidak", "bukan", "belum", "tanpa"})

# A run of letters and digits, held together by joints that stand between them: numbers,
# identifiers, addresses, versions, hyphenated words.
_TOKEN = re.compile(r"\w+(?:[.,:/@'+#&\-]+\w+)*")
_PART = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc\uff07", "''''")


class _Stems(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's name


def _stop_words() -> frozenset[str]:
    return (stop_words("en") | stop_words("id")) - NEGATIONS


def _stemmers() -> dict[str, _Stems]:
    # The cache would be shared by all threads that hold the stemmer; terms are cached here.
    return {
        "en": cast(_Stems, Stemmer.Stemmer("english", 0)),
        "id": cast(_Stems, Stemmer.Stemmer("indonesian", 0)),
    }


@dataclass(frozen=True, slots=True)
class Analyzer:
    """Lower-cased words, stemmed in the language of the text; numbers and identifiers whole.

    `ISO-9001` gives `iso-9001`, `iso` and `9001`; `1.250.000,50` stays one term and also gives
    `1250000,50`; a letter with an accent is also indexed without it; `anak-anak` also gives
    `anak`. Nothing is dropped from documents. May be used by several threads at once.
    """

    _stemmers: Mapping[str, _Stems] = field(default_factory=_stemmers, repr=False)
    _stop_words: frozenset[str] = field(default_factory=_stop_words, repr=False)
    _known: Mapping[str, dict[str, tuple[str, ...]]] = field(
        default_factory=lambda: {"en": {}, "id": {}}, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def identity(self) -> dict[str, str]:
        """What must agree between an index and those who search it."""
        return {"name": "snowball-en-id", "version": VERSION}

    def document_terms(self, text: str, language: str) -> list[str]:
        """The terms of a document's text in order, with repetitions.

        Args:
            text: Any text.
            language: `en`, `id`; anything else is stemmed as English.
        """
        chosen = "id" if language == "id" else "en"
        found: list[str] = []
        with self._lock:
            known = self._known[chosen]
            for word in _words(text):
                small = word.lower()
                found += known.get(small) or self._learn(small, chosen)
        return found

    def query_terms(self, text: str) -> dict[str, int]:
        """The distinct terms of a query and how often each occurs.

        The language of a short text is a guess, so that words are stemmed as English and as
        Indonesian both; a term of the wrong language rarely meets any document. Stop words are
        left out unless nothing else is there; negations and words in capitals (WHO, IT) stay.
        """
        shouted = text.isupper()
        words = list(_words(text))
        telling = [
            word
            for word in words
            if (word.lower() not in self._stop_words) or (word.isupper() and not shouted)
        ]
        counts: dict[str, int] = {}
        with self._lock:
            for word in telling or words:
                for term in dict.fromkeys(self._terms(word.lower(), ("en", "id"))):
                    counts[term] = counts.get(term, 0) + 1
        return counts

    def _terms(self, word: str, languages: tuple[str, ...]) -> Iterable[str]:
        for language in languages:
            yield from self._known[language].get(word) or self._learn(word, language)

    def _learn(self, word: str, language: str) -> tuple[str, ...]:
        known = self._known[language]
        if len(known) > _MOST_KNOWN:
            known.clear()
        terms = known[word] = tuple(self._forms(word, self._stemmers[language]))
        return terms

    def _forms(self, word: str, stemmer: _Stems) -> Iterator[str]:
        parts = _PART.findall(word)
        if _NUMBER.fullmatch(word):
            yield from _number_forms(word)
            return
        if len(parts) > 1 and not _is_possessive(word):
            yield word[:LONGEST_TERM]
            parts = list(dict.fromkeys(parts))
        else:
            parts = [word]
        for part in parts:
            for form in dict.fromkeys((part, _unaccented(part))):
                stem = stemmer.stemWord(form[:LONGEST_TERM])
                if stem:
                    yield stem


def _words(text: str) -> Iterator[str]:
    plain = text
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    return filter(None, (word.strip("_") for word in _TOKEN.findall(plain)))


def _is_possessive(word: str) -> bool:
    head, apostrophe, tail = word.partition("'")
    return bool(apostrophe) and head.isalpha() and tail.isalpha()


def _number_forms(word: str) -> Iterator[str]:
    yield word[:LONGEST_TERM]
    grouped = _GROUPED.fullmatch(word)
    if grouped:
        yield word.replace(grouped[1], "")[:LONGEST_TERM]


def _unaccented(word: str) -> str:
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))
