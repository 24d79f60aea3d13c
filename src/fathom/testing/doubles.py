"""Doubles of the models: an embedder, a cross-reader and a chat model that load nothing.

Their outputs are the same on every machine and in every process.
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

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.llm.base import Call, ChatModel, Completion
from fathom.models.base import Matrix
from fathom.models.reading import NOTHING, Reading, ReadSpan
from fathom.question.answer_kind import is_plausible
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.trace import EventSource, Origin
from fathom.text.sentences import split
from fathom.types import Chunk, Span
from fathom.usage import Budget

_WORD = re.compile(r"\w+|[^\w\s]")
_LETTERS = re.compile(r"\w+")
_GRAM = 4  # characters
Script = Callable[[str, Chunk], Reading]


class HashingEmbedder:
    """An embedder without weights, by signed feature hashing.

    The features are words, pairs of neighbouring words, and 4-grams of characters. So texts that
    share words or parts of words are near each other. The vectors are the same on every machine and
    in every process. Source: Weinberger et al. 2009, "Feature hashing for large scale multitask
    learning".
    """

    def __init__(self, dimension: int = 256) -> None:
        """Create the embedder; the dimension is at least 8."""
        if dimension < 8:
            raise ValueError(f"dimension {dimension} must be at least 8")
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity; `sha256` is the hash of the name with the dimension."""
        name = f"hashing-{self._dimension}"
        digest = hashlib.sha256(name.encode()).hexdigest()
        return {"model": name, "sha256": digest, "runtime": "numpy", "precision": "fp32"}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a matrix with a unit vector for each text as a row."""
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            for feature, weight in _extract_features(text):
                place, sign = self._hash_feature(feature)
                vectors[number, place] += sign * weight
        vectors[~vectors.any(axis=1), 0] = 1.0  # for texts without words or with cancelled features
        unit: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def count(self, text: str) -> int:
        """Return the number of words and punctuation marks."""
        return len(_WORD.findall(text))

    def _hash_feature(self, feature: str) -> tuple[int, int]:
        # Python's `hash` of a text differs between processes.
        digest = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        return (number >> 1) % self._dimension, 1 - 2 * (number & 1)


def _extract_features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(text.lower())
    for word in words:
        yield word, 1.0
        padded = f"^{word}$"
        for start in range(len(padded) - _GRAM + 1):
            yield f"gram {padded[start : start + _GRAM]}", 0.5
    for first, second in pairwise(words):
        yield f"pair {first} {second}", 0.5


def completion(text: str, *, model: str = "openai:m", **more: Any) -> Completion:  # noqa: ANN401
    """Make the reply of a language model."""
    return Completion(text=text, model=model, **more)


class ScriptedChat:
    """A `ChatModel` without a network, which returns or raises the outcomes of its script in turn.

    Attributes:
        name: The name of the model.
        outcomes: The remaining outcomes.
        calls: The calls so far, in order.
    """

    def __init__(self, *outcomes: Completion | str | Exception, name: str = "openai:m") -> None:
        """Create the model with a script; a text in it means a completion with this text."""
        self.name = name
        self.outcomes = list(outcomes)
        self.calls: list[Call] = []

    async def complete(self, call: Call) -> Completion:
        """Return or raise the next outcome of the script.

        Raises:
            IndexError: If the script is over.
        """
        self.calls.append(call)
        if not self.outcomes:
            raise IndexError(f"the script of {self.name} is over after {len(self.calls) - 1} calls")
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        reply = completion(outcome, model=self.name) if isinstance(outcome, str) else outcome
        if call.on_text is not None:
            call.on_text(reply.text)
        return reply


def reading(chunk: Chunk, answer: str = "", score: float = 0.9, **values: float) -> Reading:
    """Make a plausible reading of a chunk that contains `answer`; without it, one that has none."""
    fields: dict[str, Any] = dict(values)
    if answer:
        start = chunk.text.index(answer)
        spans = (ReadSpan(span=Span(start, start + len(answer)), score=score),)
        fields = {"relevance": score, "answerable": score, "no_answer": -1.0, **fields}
        fields["spans"] = spans
    return replace(NOTHING, **fields)


@dataclass(frozen=True)
class ScriptedCrossReader:
    """A `CrossReader` whose readings come from a function of the question and the chunk."""

    script: Script

    def open_session(self, question: str, *, spans: int = 5) -> "ScriptedSession":
        """Open a session on one question."""
        return ScriptedSession(self.script, question, spans)


@dataclass(frozen=True)
class ScriptedSession:
    """A `ReadingSession`; an answer's score is that of the span with its text."""

    script: Script
    question: str
    spans: int

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """Return the scripted readings of the chunks."""
        readings = [self.script(self.question, chunk) for chunk in chunks]
        return [replace(result, spans=result.spans[: self.spans]) for result in readings]

    def score(self, chunk: Chunk, answer: str) -> float:
        """Return the score of the span with an answer; 0 if there is none."""
        (chunk_reading,) = self.read([chunk])
        scores = (
            s.score for s in chunk_reading.spans if s.span.cut(chunk.text).lower() == answer.lower()
        )
        return max(scores, default=0.0)


def read_by_overlap(question: str, chunk: Chunk) -> Reading:
    """Read by shared words only; the answer is the first other word of the best sentence.

    A word that cannot be of the kind that the question asks for is no answer, such as "ferry" for
    "when".
    """
    question_words, kind = _extract_stems(question), Question(question).expected_value
    best = max(
        split(chunk.text),
        key=lambda sentence: len(question_words & _extract_stems(sentence.cut(chunk.text))),
        default=None,
    )
    if best is None or not question_words:
        return NOTHING
    shared = round(
        len(question_words & _extract_stems(best.cut(chunk.text))) / len(question_words), 6
    )
    new = [
        Span(best.start + match.start(), best.start + match.end())
        for match in _LETTERS.finditer(best.cut(chunk.text))
        if not _extract_stems(match.group()) & question_words
        and (kind is None or is_plausible(kind, match.group()))
    ]
    sure = 0.99 if shared >= 0.5 else 0.01  # far from the thresholds of any setting
    return replace(
        NOTHING,
        relevance=shared,
        answerable=sure,
        no_answer=0.5 - shared,
        supported=shared,
        unrelated=round(1 - shared, 6),
        spans=tuple(ReadSpan(span=span, score=sure) for span in new[:1]),
    )


def _extract_stems(text: str) -> frozenset[str]:
    """Return the first four letters of words with more than three, as rough stems."""
    return frozenset(word[:4].lower() for word in _LETTERS.findall(text) if len(word) > 3)


OVERLAP = ScriptedCrossReader(read_by_overlap)
"""A cross-reader that answers from the sentence with the most shared words; it loads nothing."""


def make_engine(
    directory: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    connect: Callable[[str], ChatModel] | None = None,
) -> Engine:
    """Make an engine whose models are doubles.

    Args:
        directory: The folder of the index.
        settings: The settings and constants that differ from the defaults, such as
            `{"ask.strategy": "mine"}`.
        connect: Returns the language model of a name in the settings, such as a `ScriptedChat`.
    """
    given = {**(settings or {}), "index.directory": str(directory)}
    all_settings = parse_settings(given, constants=True)
    return Engine(all_settings, embedder=HashingEmbedder(64), cross_reader=OVERLAP, connect=connect)


@contextmanager
def run_context(
    budget: Budget | None = None, *, events: EventSource | None = None, seconds: float = inf
) -> Iterator[RunContext]:
    """Open a run without a strategy, for tests of agents; its recorder is `context.scope`.

    Args:
        budget: The budget; by default without limits.
        events: The record to replay; by default none.
        seconds: The seconds until the deadline.
    """
    with ThreadPoolExecutor(2) as executor:
        yield RunContext(
            ledger=Ledger(budget or Budget()),
            scope=Recorder(Origin(question="q", strategy="s"), events=events),
            executor=executor,
            deadline=time.monotonic() + seconds,
            end=time.monotonic() + seconds,
        )
