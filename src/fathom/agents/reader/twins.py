"""Twins: the sentence of an answer and a copy of it in another document with another value.

A forger copies the true sentence and replaces the value. Because the words around the two values
are the same, both cannot be right, even if the cross-reader is unsure of both or the question does
not show the kind of value. Two sentences are not twins if another year, number, name or place
differs between them too, because then they may be about different things.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain

from fathom.agents.reader.rivals import Rival, amounts_differ
from fathom.agents.reader.voices import drop_stuffed
from fathom.question.anchors import find_missing
from fathom.question.question import Question
from fathom.text.answer_match import contains_answer, list_amounts, normalize_answer
from fathom.text.entities import find_names
from fathom.text.quotable import list_units
from fathom.types import Evidence, Hit, Span

_FEWEST_SHARED = 4
"""The fewest words that twins have in common."""
_LONG_SHARED = 8
"""The number of shared words that shows the same subject even without a shared name."""
_SHARED_SHARE = 0.7
"""The lowest share of the shorter twin's words, without its value, that both contain."""
_FILLED_SHARE = 0.5
"""The lowest share of a value's words that are numbers or parts of names."""
_MOST_VALUE_WORDS = 8
"""The largest number of words of a value."""
_LONGEST = 600
"""The largest number of characters of a compared sentence; comparing takes quadratic time."""
_TEXT = {"paragraph", "list_item", "footnote"}
"""The kinds of blocks whose sentences are compared; table rows are too much alike."""
_WORD = re.compile(r"[^\W_]+(?:['.,][^\W_]+)*")
_MARK = re.compile(r"[\W_]")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class SentenceWords:
    """A sentence of a hit, split into words.

    Attributes:
        span: The place of the sentence in the text of the hit's chunk.
        spans: The places of its words in that text.
        words: The words in lower case.
    """

    hit: Hit
    span: Span
    spans: tuple[Span, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, hit: Hit, span: Span) -> "SentenceWords":
        """Split the sentence at a span of a hit."""
        text = hit.chunk.text
        spans = tuple(Span(*match.span()) for match in _WORD.finditer(text, span.start, span.end))
        return cls(hit, span, spans, tuple(place.cut(text).casefold() for place in spans))

    def cut(self, start: int, end: int) -> str:
        """Return the text from word `start` up to, but not including, word `end`."""
        if start >= end:
            return ""
        return Span(self.spans[start].start, self.spans[end - 1].end).cut(self.hit.chunk.text)

    def find_words(self, words: Sequence[str]) -> Span | None:
        """Return the span of consecutive words, counted in words; `None` if it is not there."""
        size = len(words)
        for start in range(len(self.words) - size + 1):
            if size and self.words[start : start + size] == tuple(words):
                return Span(start, start + size)
        return None

    def list_named(self) -> frozenset[int]:
        """Return the indexes of the words in names."""
        names = find_names(self.span.cut(self.hit.chunk.text))
        spans = [name.shift(self.span.start) for name in names]
        return frozenset(
            place
            for place, word in enumerate(self.spans)
            if any(span.start <= word.start < span.end for span in spans)
        )

    def is_value(self, place: Span, *, named: bool) -> bool:
        """Return whether words are a value: mostly numbers or names, or a single word.

        Args:
            place: The span of the words, counted in words.
            named: Whether only names count.
        """
        places = frozenset(range(place.start, place.end))
        values = self.list_named() if named else self.list_marked()
        # A single word may be a number that is spelled out.
        is_word = len(places) == 1 and not named
        return is_word or len(places & values) >= _FILLED_SHARE * len(places)

    def list_marked(self) -> frozenset[int]:
        """Return the indexes of the words that may identify the subject: numbers and names."""
        text = self.hit.chunk.text
        numbers = {place for place, word in enumerate(self.spans) if _DIGIT.search(word.cut(text))}
        return self.list_named() | numbers


@dataclass(frozen=True, slots=True)
class WordBlock:
    """A run of words in which two sentences differ; it may be empty in one of them."""

    place: Span
    other_place: Span

    @property
    def is_lead(self) -> bool:
        """True if one sentence has extra words before the start of the other."""
        return self.place.start == 0 == self.other_place.start and 0 in {
            self.place.end,
            self.other_place.end,
        }

    def holds(self, places: frozenset[int], other_places: frozenset[int]) -> bool:
        """Return whether any of the given word indexes of either sentence is in the block."""
        return any(
            span.start <= place < span.end
            for span, all_places in ((self.place, places), (self.other_place, other_places))
            for place in all_places
        )


@dataclass(frozen=True, slots=True)
class SentenceAlignment:
    """Two sentences aligned word by word.

    Attributes:
        shared: The indexes of the words of the first sentence that the other one has too.
        blocks: The runs in which they differ.
    """

    sentence: SentenceWords
    other: SentenceWords
    shared: frozenset[int]
    blocks: tuple[WordBlock, ...]

    @classmethod
    def of(cls, sentence: SentenceWords, other: SentenceWords) -> "SentenceAlignment":
        """Align two sentences by their longest common runs of words."""
        codes = SequenceMatcher(None, sentence.words, other.words, autojunk=False).get_opcodes()
        shared = [range(code[1], code[2]) for code in codes if code[0] == "equal"]
        blocks = [
            WordBlock(Span(*code[1:3]), Span(*code[3:5])) for code in codes if code[0] != "equal"
        ]
        return cls(sentence, other, frozenset(chain.from_iterable(shared)), tuple(blocks))

    def find_other_answer(self, answer: Span) -> str:
        """Return the other sentence's value for the answer; empty if they are not twins."""
        value = self._find_value(answer)
        if value is None or self._differs_beside(value) or not self._is_about_same(value):
            return ""
        # Words of the answer around the value occur in both sentences, so they are included.
        start = value.other_place.start - max(0, value.place.start - answer.start)
        end = value.other_place.end + max(0, answer.end - value.place.end)
        return " ".join(self.other.cut(max(0, start), min(end, len(self.other.spans))).split())

    def _find_value(self, answer: Span) -> WordBlock | None:
        """Return the one block in the answer that replaces a value; `None` without one."""
        inner = [
            block
            for block in self.blocks
            if block.place.start < answer.end and answer.start < block.place.end
        ]
        if len(inner) != 1 or not _may_differ(*self._cut_block(inner[0])):
            return None
        block = inner[0]
        beside = set(range(block.place.start, block.place.end)) - set(
            range(answer.start, answer.end)
        )
        if beside & self.sentence.list_marked():
            return None
        amounts = [list_amounts(text) for text in self._cut_block(block)]
        differs = amounts_differ(*amounts) if any(amounts) else self._is_filled(block, named=True)
        return block if differs and self._is_filled(block) else None

    def _is_filled(self, block: WordBlock, *, named: bool = False) -> bool:
        """Return whether both sides of a block are values; only names count if `named`."""
        return self.sentence.is_value(block.place, named=named) and self.other.is_value(
            block.other_place, named=named
        )

    def _differs_beside(self, value: WordBlock) -> bool:
        """Return whether a number or name differs outside of the value."""
        marked, other_marked = self.sentence.list_marked(), self.other.list_marked()
        # The first word of a sentence is capitalised anyway, so in a lead it need not be a name.
        inner, other_inner = marked - {0}, other_marked - {0}
        return any(
            block.holds(inner, other_inner) if block.is_lead else block.holds(marked, other_marked)
            for block in self.blocks
            # The same value may be replaced several times in the sentence.
            if self._cut_block(block) != self._cut_block(value)
        )

    def _is_about_same(self, value: WordBlock) -> bool:
        """Return whether most words are shared, and with them a name, a title or many words."""
        shorter = min(
            len(sentence.words) - (place.end - place.start)
            for sentence, place in (
                (self.sentence, value.place),
                (self.other, value.other_place),
            )
        )
        return len(self.shared) >= max(_FEWEST_SHARED, _SHARED_SHARE * shorter) and (
            len(self.shared) >= _LONG_SHARED
            or not self.shared.isdisjoint(self.sentence.list_marked())
            or _have_same_title(self.sentence.hit, self.other.hit)
        )

    def _cut_block(self, block: WordBlock) -> tuple[str, str]:
        """Return the text of a block in either sentence."""
        return (
            self.sentence.cut(block.place.start, block.place.end),
            self.other.cut(block.other_place.start, block.other_place.end),
        )


def find_twins(
    question: Question, answer: str, evidence: Evidence, hits: Sequence[Hit]
) -> list[Rival]:
    """Return other documents' values in copies of the sentences that give an answer.

    The best-ranked come first. Documents that repeat the question (`voices`) are left out.

    Args:
        question: The question.
        answer: The answer in a few words.
        evidence: The evidence of the answer.
        hits: The hits, best first; their sentences with the answer are compared as well.
    """
    others = [hit for hit in drop_stuffed(question, hits) if hit.chunk.id != evidence.hit.chunk.id]
    sentences = [
        SentenceWords.of(hit, unit.span)
        for hit in (evidence.hit, *others)
        for unit in list_units(hit.chunk)
        if unit.kind in _TEXT and unit.span.end - unit.span.start <= _LONGEST
    ]
    for value in _list_values(question, answer):
        twins = [
            Rival(
                text=text,
                # The copied sentence supports its value as much as the original does.
                evidence=Evidence(hit=twin.hit, span=twin.span, support=evidence.support),
            )
            for sentence in sentences
            if (place := sentence.find_words(value))
            for twin, text in _iterate_twins(question, sentence, place, sentences)
        ]
        if twins:
            return twins
    return []


def _list_values(question: Question, answer: str) -> Iterator[list[str]]:
    """Yield the words of an answer, then those of its names, unless the question has them."""
    asked = set(_list_words(question.text))
    for text in (answer, *(name.cut(answer) for name in find_names(answer))):
        words = _list_words(text)
        if not set(words) <= asked:
            yield words


def _list_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [match.group().casefold() for match in _WORD.finditer(text)]


def _iterate_twins(
    question: Question, sentence: SentenceWords, place: Span, sentences: Sequence[SentenceWords]
) -> Iterator[tuple[SentenceWords, str]]:
    """Yield the twins of a sentence in other documents, each with its value.

    Args:
        question: The question.
        sentence: The sentence with the answer.
        place: The span of the answer in it, counted in words.
        sentences: The sentences of all hits.
    """
    chunk = sentence.hit.chunk
    words = set(sentence.words)
    head_gaps = find_missing(question.anchors, chunk.breadcrumb)
    in_head = [anchor for anchor in question.anchors if anchor not in head_gaps]
    for other in sentences:
        if other.hit.chunk.document_id == chunk.document_id:
            continue
        other_words = set(other.words)
        shorter = min(len(words), len(other_words)) - _MOST_VALUE_WORDS
        # Most sentences have too little in common to be compared word by word.
        if len(words & other_words) < max(_FEWEST_SHARED, _SHARED_SHARE * shorter):
            continue
        text = SentenceAlignment.of(sentence, other).find_other_answer(place)
        # Anchors that only the title and headings name must occur in the other document too.
        if text and not find_missing(in_head, other.hit.chunk.context):
            yield other, text


def _have_same_title(one: Hit, other: Hit) -> bool:
    """Return whether the title of one hit contains that of the other."""
    titles = [one.chunk.title, other.chunk.title]
    return all(titles) and contains_answer(*titles)


def _may_differ(one: str, other: str) -> bool:
    """Return whether two texts can be different values: short and without a common word."""
    sizes = [len(text.split()) for text in (one, other)]
    if min(sizes) == 0 or max(sizes) > _MOST_VALUE_WORDS:
        return False
    if _MARK.sub("", one) == _MARK.sub("", other):
        return False
    return not set(normalize_answer(one).split()) & set(normalize_answer(other).split())
