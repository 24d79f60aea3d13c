"""A pair reader for each language: one model reads English best, another one all the others."""

from collections.abc import Callable
from threading import Lock

from fathom.models.reading import CrossReader, ReadingSession


class ReaderByLanguage:
    """Puts a question to the reader of its language; a reader is loaded when it is first needed.

    The language of a claim or a question decides, not that of the chunk. May be used from several
    threads.
    """

    def __init__(self, load: Callable[[str], CrossReader], language: Callable[[str], str]) -> None:
        """Nothing is loaded yet.

        Args:
            load: Gives the reader of a language.
            language: Tells the language of a question.
        """
        self._load = load
        self._language = language
        self._readers: dict[str, CrossReader] = {}
        self._lock = Lock()

    def session(self, question: str, *, spans: int = 5) -> ReadingSession:
        """See `CrossReader.session`."""
        language = self._language(question)
        with self._lock:
            if language not in self._readers:
                self._readers[language] = self._load(language)
            reader = self._readers[language]
        return reader.session(question, spans=spans)
