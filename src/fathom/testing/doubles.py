"""Doubles of the models: an embedder, a cross-reader and a chat model that load nothing.

They are the same on every machine and in every process, so that what is tested with them is too.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from fathom.config import settings_of
from fathom.engine import Engine
from fathom.llm.base import Call, ChatModel, Completion
from fathom.models.base import Matrix
from fathom.models.reading import NOTHING, Reading, ReadSpan
from fathom.question.answer_kind import asked_kind, tells
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Events, Origin
from fathom.text.sentences import split
from fathom.types import Chunk, Span
from fathom.usage import Budget

_WORD = re.compile(r"\w+|[^\w\s]")
_LETTERS = re.compile(r"\w+")
_GRAM = 4  # characters
Script = Callable[[str, Chunk], Reading]


class HashingEmbedder:
    """An embedder without weights, which knows words and not meanings.

    Signed feature hashing of words, neighbouring words and character 4-grams.

    Weinberger et al. 2009, "Feature hashing for large scale multitask learning". Texts that share
    words or parts of words are near each other. The same on every machine and in every process.
    """

    def __init__(self, dimension: int = 256) -> None:
        """`dimension` at least 8."""
        if dimension < 8:
            raise ValueError(f"dimension {dimension} must be at least 8")
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """There are no weights, so `sha256` is that of the name and the dimension."""
        name = f"hashing-{self._dimension}"
        digest = hashlib.sha256(name.encode()).hexdigest()
        return {"model": name, "sha256": digest, "runtime": "numpy", "precision": "fp32"}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text; see `Embedder.embed`."""
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            for feature, weight in _features(text):
                place, sign = self._place(feature)
                vectors[number, place] += sign * weight
        vectors[~vectors.any(axis=1), 0] = 1.0  # no words, or features that cancel out
        unit: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def count(self, text: str) -> int:
        """Number of words and punctuation marks."""
        return len(_WORD.findall(text))

    def _place(self, feature: str) -> tuple[int, int]:
        digest = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        return (number >> 1) % self._dimension, 1 - 2 * (number & 1)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(text.lower())
    for word in words:
        yield word, 1.0
        edged = f"^{word}$"
        for start in range(len(edged) - _GRAM + 1):
            yield f"gram {edged[start : start + _GRAM]}", 0.5
    for first, second in pairwise(words):
        yield f"pair {first} {second}", 0.5


def completion(text: str, *, model: str = "openai:m", **more: Any) -> Completion:  # noqa: ANN401
    """What a language model answers; see `Completion`."""
    return Completion(text=text, model=model, **more)


class ScriptedChat:
    """A `ChatModel` without a wire: gives, or raises, one outcome of its script after the other.

    Attributes:
        outcomes: Those that are left.
        calls: What it was asked, in order.
    """

    def __init__(self, *outcomes: Completion | str | Exception, name: str = "openai:m") -> None:
        """A text is a completion with it."""
        self.name = name
        self.outcomes = list(outcomes)
        self.calls: list[Call] = []

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`.

        Raises:
            IndexError: If the script is over.
        """
        self.calls.append(call)
        if not self.outcomes:
            raise IndexError(f"the script of {self.name} is over after {len(self.calls) - 1} calls")
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        done = completion(outcome, model=self.name) if isinstance(outcome, str) else outcome
        if call.on_text is not None:
            call.on_text(done.text)
        return done


def reading(chunk: Chunk, answer: str = "", score: float = 0.9, **values: float) -> Reading:
    """What a model might make of a chunk that holds `answer`; without one it holds none."""
    known: dict[str, Any] = dict(values)
    if answer:
        start = chunk.text.index(answer)
        spans = (ReadSpan(span=Span(start, start + len(answer)), score=score),)
        known = {"relevance": score, "answerable": score, "no_answer": -1.0, **known}
        known["spans"] = spans
    return replace(NOTHING, **known)


@dataclass(frozen=True)
class ScriptedCrossReader:
    """A `CrossReader` whose readings a function of question and chunk gives."""

    script: Script

    def session(self, question: str, *, spans: int = 5) -> "ScriptedSession":
        """See `CrossReader.session`."""
        return ScriptedSession(self.script, question, spans)


@dataclass(frozen=True)
class ScriptedSession:
    """See `ReadingSession`; an answer's score is that of the span with its text."""

    script: Script
    question: str
    spans: int

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """See `ReadingSession.read`."""
        found = [self.script(self.question, chunk) for chunk in chunks]
        return [replace(each, spans=each.spans[: self.spans]) for each in found]

    def score(self, chunk: Chunk, answer: str) -> float:
        """See `ReadingSession.score`."""
        (found,) = self.read([chunk])
        own = (s.score for s in found.spans if s.span.cut(chunk.text).lower() == answer.lower())
        return max(own, default=0.0)


def overlap(question: str, chunk: Chunk) -> Reading:
    """By shared words alone: the best sentence's first word that is new is the answer.

    Unless it is surely of another kind than what is asked for, as "ferry" is for "when".
    """
    asked, kind = _words(question), asked_kind(question)
    best = max(
        split(chunk.text), key=lambda s: len(asked & _words(s.cut(chunk.text))), default=None
    )
    if best is None or not asked:
        return NOTHING
    shared = round(len(asked & _words(best.cut(chunk.text))) / len(asked), 6)
    new = [
        Span(best.start + match.start(), best.start + match.end())
        for match in _LETTERS.finditer(best.cut(chunk.text))
        if not _words(match.group()) & asked and (kind is None or tells(kind, match.group()))
    ]
    sure = 0.99 if shared >= 0.5 else 0.01  # so that no test depends on how confidence is reckoned
    return replace(
        NOTHING,
        relevance=shared,
        answerable=sure,
        no_answer=0.5 - shared,
        supported=shared,
        unrelated=round(1 - shared, 6),
        spans=tuple(ReadSpan(span=span, score=sure) for span in new[:1]),
    )


def _words(text: str) -> frozenset[str]:
    """The beginnings of the longer words."""
    return frozenset(word[:4].lower() for word in _LETTERS.findall(text) if len(word) > 3)


OVERLAP = ScriptedCrossReader(overlap)
"""Answers with words of the sentence that shares most with the question; loads nothing."""


def make_engine(
    directory: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    connect: Callable[[str], ChatModel] | None = None,
) -> Engine:
    """An engine over the index at `directory` whose models are doubles.

    Args:
        directory: The folder of the index.
        settings: What differs from the defaults, as `{"ask.strategy": "mine"}`.
        connect: Gives the language models that the settings name, such as a `ScriptedChat`.
    """
    chosen = settings_of({**(settings or {}), "index.directory": str(directory)})
    return Engine(chosen, embedder=HashingEmbedder(64), cross_reader=OVERLAP, connect=connect)


@contextmanager
def run_context(
    budget: Budget | None = None, *, events: Events | None = None, seconds: float = inf
) -> Iterator[RunContext]:
    """A run outside of any strategy, for tests of agents; its recorder is `context.scope`.

    Args:
        budget: What may be spent; by default all.
        events: The record to replay; by default there is none.
        seconds: Until the deadline.
    """
    with ThreadPoolExecutor(2) as executor:
        yield RunContext(
            ledger=Ledger(budget or Budget()),
            scope=Recorder(Origin(question="q", strategy="s"), events=events),
            executor=executor,
            deadline=time.monotonic() + seconds,
            end=time.monotonic() + seconds,
        )
