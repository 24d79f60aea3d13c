"""Answers in manual entries: the option or setting to use, its meaning, or its default.

The reader of running text often picks a neighbouring entry, because the entries of a manual are
alike. This reader reads each entry that shares words with the question alone.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fathom.agents.reader.asked_form import list_entries_around, may_be_meant
from fathom.agents.reader.base import compute_logit
from fathom.models.reading import Reading, ReadingSession
from fathom.question.lookup import Lookup, is_default_itself, is_identifier, states_default
from fathom.question.question import Question
from fathom.text.content_words import Terms
from fathom.text.entries import ManualEntry, list_entries, list_names
from fathom.text.quotable import extract_chunk, list_units
from fathom.types import DIGITS, Draft, Evidence, Hit, Span

_MOST_ENTRIES = 8
"""The largest number of entries that are read alone."""
_LEAST_ANSWERABLE = 0.6
"""The lowest probability that an entry, read alone, answers the question."""
_SHARED_WORD = 0.5
"""The logits that an entry gains for each word that it shares with the question."""
_PLACE = 0.25
"""The logits that an entry loses for each unit of ln(1 + index of its hit)."""
_WORD = re.compile(r"[^\W_]+")
_PUNCTUATION = ".,;:()[]'\"`"
_SLOPE, _OFFSET = 0.5, -0.3
"""The slope and offset of the confidence's logit over the logit of `answerable`."""


class ReadEntry(NamedTuple):
    """An entry with its reading.

    Attributes:
        merit: The log-odds by which entries are compared.
    """

    hit: Hit
    entry: ManualEntry
    reading: Reading
    merit: float

    @property
    def head(self) -> str:
        """The name with its arguments, in one line."""
        return " ".join(self.entry.head.cut(self.hit.chunk.text).split())

    def holds(self, quote: Evidence) -> bool:
        """Return whether a quote overlaps this entry."""
        return quote.hit.chunk.id == self.hit.chunk.id and _overlap(quote.span, self.entry.span)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryReader:
    """A reader that finds the manual entry that a question looks up.

    Attributes:
        extract_terms: A function that returns the content words of a text.
    """

    extract_terms: Terms

    def __call__(
        self, question: Question, draft: Draft, hits: Sequence[Hit], session: ReadingSession
    ) -> Draft:
        """Return the draft of the entry that is looked up, or the given draft if none is better.

        Args:
            question: The question.
            draft: The draft of the local reader.
            hits: The hits, best first.
            session: The cross-reader's session for the question.
        """
        lookup = question.lookup
        if lookup is None:
            return draft
        if lookup.want == "name":
            draft = _complete_name(draft)
        entries = self._read_entries(question, lookup, hits, session)
        best = max(entries, key=lambda read: read.merit, default=None)
        if best is None or best.reading.answerable < _LEAST_ANSWERABLE:
            return draft
        new = _draft_entry(lookup, best)
        if not _is_better(question, new, best, draft):
            return draft
        # Many things need no option, so finding one must not raise the confidence.
        is_capped = lookup.want == "way" and bool(draft.evidence)
        return replace(new, confidence=min(new.confidence, draft.confidence)) if is_capped else new

    def _read_entries(
        self, question: Question, lookup: Lookup, hits: Sequence[Hit], session: ReadingSession
    ) -> list[ReadEntry]:
        """Read the entries that share most words with the question, each alone."""
        candidates = sorted(
            self._list_candidates(question, lookup, hits), key=lambda item: (-item[0], item[1])
        )[:_MOST_ENTRIES]
        chunks = [extract_chunk(hits[place].chunk, entry.span) for _, place, entry in candidates]
        readings = session.read(chunks)
        return [
            ReadEntry(hits[place], entry, reading, _compute_merit(reading, shared, place))
            for (shared, place, entry), reading in zip(candidates, readings, strict=True)
        ]

    def _list_candidates(
        self, question: Question, lookup: Lookup, hits: Sequence[Hit]
    ) -> Iterator[tuple[int, int, ManualEntry]]:
        """Yield entries that may be meant: number of shared words, index of the hit, entry."""
        wanted = self.extract_terms(question.text)
        subjects = [span.cut(question.text).casefold() for span in question.mentions]
        for place, hit in enumerate(hits):
            # Many programs have an option such as --debug; those of another one do not count.
            context = f"{hit.chunk.path} {hit.chunk.context}".casefold()
            if not all(subject in context for subject in subjects):
                continue
            title_terms = self.extract_terms(hit.chunk.title)
            for entry in list_entries(hit.chunk):
                text = entry.span.cut(hit.chunk.text)
                shared = len(self.extract_terms(text) & wanted - title_terms)
                names = list_names(entry.head.cut(hit.chunk.text))
                if shared and may_be_meant(lookup, names, text):
                    yield shared, place, entry


def _compute_merit(reading: Reading, shared: int, place: int) -> float:
    """Return the log-odds by which entries are compared: reading, shared words and rank."""
    return (
        compute_logit(reading.answerable)
        + compute_logit(reading.relevance)
        + _SHARED_WORD * shared
        - _PLACE * math.log1p(place)
    )


def _draft_entry(lookup: Lookup, read: ReadEntry) -> Draft:
    """Return the draft of an entry: its name and first sentence, or the stated default."""
    chunk, entry = read.hit.chunk, read.entry
    units = [unit.span for unit in list_units(chunk) if _overlap(unit.span, entry.span)]
    described = [span for span in units if span.end > entry.body.start]
    quoted, short_answer = described[0], read.head
    if lookup.want == "meaning":
        short_answer = chunk.text[max(quoted.start, entry.body.start) : quoted.end]
    elif lookup.want == "default":
        quoted, short_answer = _find_default(read, described)
    logit = _SLOPE * compute_logit(read.reading.answerable) + _OFFSET
    return Draft(
        # The name is quoted too, since a description alone does not show what it describes.
        evidence=tuple(
            Evidence(hit=read.hit, span=span, support=read.reading.answerable)
            for span in dict.fromkeys([units[0], quoted])
        ),
        short_answer=" ".join(short_answer.split()),
        confidence=round(1 / (1 + math.exp(-logit)), DIGITS),
    )


def _find_default(read: ReadEntry, described: Sequence[Span]) -> tuple[Span, str]:
    """Return the sentence that states the default, and the default; empty if unclear."""
    text = read.hit.chunk.text
    telling = [span for span in described if states_default(span.cut(text))] or described[:1]
    if is_default_itself(telling[0].cut(text)):
        return telling[0], read.head
    answers = [item.span.shift(read.entry.span.start) for item in read.reading.spans]
    for sentence in telling:
        inside = (span for span in answers if _overlap(span, sentence))
        if answer := next(inside, None):
            return sentence, answer.cut(text)
    return telling[0], ""


def _is_better(question: Question, new: Draft, read: ReadEntry, draft: Draft) -> bool:
    """Return whether the draft of an entry replaces that of the local reader."""
    if not draft.evidence:
        return True
    want = question.lookup.want if question.lookup else None
    if read.holds(draft.evidence[0]):
        # The usual reading has the entry; it may lack the name that is asked for.
        return want in {"name", "way"} and not (
            list_names(read.head) & list_names(draft.short_answer)
        )
    if want == "default" and states_default(draft.evidence[0].quote):
        # Each neighbour of the entry states a default too, so the name decides.
        text = draft.evidence[0].hit.chunk.text
        usual = (entry.head.cut(text) for entry in list_entries_around(draft.evidence[0]))
        return _count_named_words(question, read.head) > max(
            (_count_named_words(question, head) for head in usual), default=0
        )
    return new.confidence >= draft.confidence


def _count_named_words(question: Question, head: str) -> int:
    """Return the number of words of an entry's name if the question has all of them, else 0.

    `idle_session_timeout` is named by "the idle session timeout".
    """
    asked = {word.casefold() for word in _WORD.findall(question.text)}
    names = ([word.casefold() for word in _WORD.findall(name)] for name in list_names(head))
    return max((len(words) for words in names if asked.issuperset(words)), default=0)


def _complete_name(draft: Draft) -> Draft:
    """Return the draft with a one-word short answer extended to the whole name in the quote."""
    part = draft.short_answer
    if not part or not draft.evidence or len(part.split()) > 1:
        return draft
    words = (word.strip(_PUNCTUATION) for word in draft.evidence[0].quote.split())
    whole = next((word for word in words if part.strip(_PUNCTUATION) in word), "")
    return replace(draft, short_answer=whole) if is_identifier(whole) else draft


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
