"""The reader that came before the cross-reader, kept as the baseline of `reader_table.py`.

Each sentence is scored by a logistic model of six features; its value is the probability that the
sentence holds an answer. The weights were fitted on the even questions of squad-retrieval,
idk-mrc-retrieval, facqa-id, covid-qa and hotpotqa-200.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.models.base import Embedder
from fathom.text.answer_type import answer_type, holds
from fathom.text.sentences import split
from fathom.types import Draft, Evidence, Hit, Span

# cosine, the sentence's share of the question's terms, the chunk's, 1 / rank, kind, fullness, bias
WEIGHTS = (3.139, 3.309, 0.046, 3.447, 0.551, -0.038, -8.148)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceReader:
    """Quotes the sentence that most likely holds the answer."""

    embedder: Embedder
    terms: Callable[[str], frozenset[str]]

    def draft(self, question: str, hits: Sequence[Hit]) -> Draft:
        """The best sentence of the hits; confidence is its probability."""
        candidates = list(candidates_of(hits))
        if not candidates:
            return Draft()
        logits = np.asarray(self.features(question, candidates)) @ np.asarray(WEIGHTS)
        place = int(logits.argmax())
        score = round(1 / (1 + math.exp(-logits[place])), 6)
        hit, span = candidates[place]
        return Draft(evidence=(Evidence(hit=hit, span=span, support=score),), confidence=score)

    def features(
        self, question: str, candidates: Sequence[tuple[Hit, Span]]
    ) -> list[tuple[float, ...]]:
        """What the weights are for, for each (hit, sentence)."""
        wanted = self.terms(question)
        kind = answer_type(question)
        texts = [span.cut(hit.chunk.text) for hit, span in candidates]
        shown = [_in_context(hit, text) for (hit, _), text in zip(candidates, texts, strict=True)]
        vectors = self.embedder.embed([question, *shown])
        cosines = vectors[1:] @ vectors[0]
        rows: list[tuple[float, ...]] = []
        for (hit, _), text, cosine in zip(candidates, texts, cosines, strict=True):
            words = self.terms(text)
            rows.append(
                (
                    float(cosine),
                    _share(wanted, words),
                    _share(wanted, self.terms(hit.chunk.context)),
                    1 / hit.rank,
                    0.0 if kind == "any" else 1.0 if holds(kind, text, question) else -1.0,
                    min(len(words - wanted), 10) / 10,
                    1.0,
                )
            )
        return rows


def candidates_of(hits: Sequence[Hit]) -> Iterator[tuple[Hit, Span]]:
    """Every sentence of every hit; one that overlapping chunks share comes once."""
    seen: set[tuple[str, int]] = set()
    for hit in hits:
        for span in split(hit.chunk.text):
            place = (hit.chunk.document_id, hit.chunk.span.start + span.start)
            if place not in seen and any(char.isalnum() for char in span.cut(hit.chunk.text)):
                seen.add(place)
                yield hit, span


def _in_context(hit: Hit, sentence: str) -> str:
    path = dict.fromkeys(part for part in (hit.chunk.title, *hit.chunk.headings) if part)
    return f"{' > '.join(path)}: {sentence}" if path else sentence


def _share(wanted: frozenset[str], words: frozenset[str]) -> float:
    return len(wanted & words) / len(wanted) if wanted else 0.0
