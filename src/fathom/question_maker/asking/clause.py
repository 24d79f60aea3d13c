"""The main clause of an English sentence, with the elements that questions ask for."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from fathom.question_maker.asking.base import tidy_question
from fathom.question_maker.asking.verbs import (
    is_noun,
    map_participles,
    map_past_forms,
    map_third_persons,
    split_words,
)
from fathom.text.answer_type import find_spans
from fathom.types import Span

BE = split_words("is are was were")
HAVE = split_words("has have had")
_MODALS = split_words("can could must should will would may might shall")
_FINITE = BE | _MODALS | HAVE
_ADVERB = re.compile(
    r"(?:first|also|then|now|often|always|only|later|still|further|well|even|just|already|soon|"
    r"thus|long|\w{3,}ly)$"
)
# A subject that begins with one of these words refers to another sentence, or is no subject.
_NO_SUBJECT = split_words("""
it this that these those they he she we i you there here its their his her our my your such
another other others both each some many most all several few one if when while although though
because
since after before as unless until once where what which who how why for to in on at by with from of
during despite however therefore thus also then but and or so not no yet still instead moreover
furthermore additionally first second third finally next today now nothing everything everyone
anyone
someone people sometimes please see note use make under like unlike even just only rather later
earlier meanwhile otherwise example step figure table among according along between within without
above below over through throughout following given regardless depending besides beyond upon against
around across behind beneath beside inside outside via per plus
""")
_PREPOSITIONS = split_words("back to from in on at with by for as")
_SUBORDINATE = split_words("that which who whom whose where when if because while although than as")
_NO_VERB_AFTER = split_words("the a an of in for to and or by with on as at from its their")
_ENDS = re.compile(
    r"[,;:](?=\s)|\s[\u2013\u2014-]\s"
    r"|\s(?:because|that|until (?=it|they|the )|while|although|whereas|unless|so that|which|who|"
    r"when|where|if|but|rather than|"
    r"as well as|such as|including|instead of|due to|in order to|followed by|depending on)\b"
    r"|\s(?:and|or)\s(?=\w+(?:ed|ing)\b|(?:then|later|also|grew|began|became|took|made|gave|led|"
    r"describes|includes|occurs?|occupy|contains|provides|uses|has|had|it|they|he|she|we|is|are|"
    r"was|"
    r"were|can|must|will|the \w+ (?:is|are|was|were))\b)"
)
_JOINT = re.compile(r"\s(?:and|or)\s(?P<verb>\w+)")
_UNCLEAR_SUBJECT = re.compile(
    r"\b(?!(?:of|in|for|on|at|by|to|and|with|from|between|or)\b)\w+ (?:the|an?) \w"
    r"|ly\b(?=.* )"
    r"|^(?:the |an? )?(?:other|next|last|same|above|following|former|latter|result|reason|rest)\b"
    r"|^the (?:first|second|third|fourth|fifth|sixth|primary \w+|main \w+|highlight)$",
    re.IGNORECASE,
)
"""Subjects that name two things, or something that cannot be understood without the text."""
_MOST_SUBJECT_WORDS = 11
"""The number of words of a sentence before its verb, at most."""


@dataclass(frozen=True, slots=True)
class Clause:
    """The main clause of a sentence.

    Attributes:
        sentence: The sentence.
        subject: The span of the subject.
        aux: The auxiliary verb before the subject of a question.
        verb: The verb after the subject of a question; empty if `aux` is the only verb.
        finite: The span of the whole verb in the sentence.
        tail: The span from the end of the verb to the end of the clause.
        passive: Whether the verb is passive.
        when: The span of a time before the subject; `None` without one.
        common: The words that are no names, even with a capital.
    """

    sentence: str
    subject: Span
    aux: str
    verb: str
    finite: Span
    tail: Span
    passive: bool
    when: Span | None
    common: Collection[str]

    @property
    def about(self) -> str:
        """The subject as it is written within a question."""
        return lower_noun(self.subject.cut(self.sentence), self.common)

    @property
    def rest(self) -> str:
        """The text of the tail."""
        return self.tail.cut(self.sentence)

    @property
    def main(self) -> str:
        """The last word of `verb`; empty if there is none."""
        return self.verb.split()[-1] if self.verb else ""

    def ask(self, word: str, rest: str) -> str:
        """Return the question that begins with a question word, with `rest` after the verb."""
        return tidy_question(f"{word} {self.aux} {self.about} {self.verb} {rest}")

    def omit(self, start: int, end: int) -> str:
        """Return the text of the tail without one span; offsets are those of the sentence."""
        return f"{self.sentence[self.tail.start : start]} {self.sentence[end : self.tail.end]}"


class _Word(NamedTuple):
    text: str
    start: int
    end: int


class _Verb(NamedTuple):
    """A verb: its words in a question, and the number of its words in the sentence."""

    aux: str
    verb: str
    words: int
    passive: bool = False


def lower_noun(text: str, common: Collection[str]) -> str:
    """Return a noun as it is written within a sentence, without the capital of a first word."""
    head, _, _ = text.partition(" ")
    small = head in {"The", "A", "An"} or (head.lower() in common and head[1:].islower())
    return f"{head.lower()}{text[len(head) :]}" if small else text


def parse_clause(sentence: str, common: Collection[str]) -> Clause | None:
    """Parse the clause with which a sentence begins; `None` if it is not clear."""
    start, when = 0, None
    if re.match(r"(?:In|On|Since|At|By)\s", sentence):
        when = _find_leading_time(sentence)
        if when is None:
            return None
        start = when.end + 2
    words = [
        _Word(match[0].strip("()\"'"), match.start(), match.end())
        for match in re.compile(r"\S+").finditer(sentence, start)
    ]
    at = _find_verb(words)
    verb = _parse_verb(words, at) if at else None
    if verb is None or at + verb.words >= len(words):
        return None
    # Without the full stop.
    tail = Span(words[at + verb.words].start, len(sentence) - 1)
    clause = Clause(
        sentence=sentence,
        subject=Span(words[0].start, words[at - 1].end),
        aux=verb.aux,
        verb=verb.verb,
        finite=Span(words[at].start, words[at + verb.words - 1].end),
        tail=_find_core(sentence, tail),
        passive=verb.passive,
        when=when,
        common=common,
    )
    return clause if _is_whole(clause) else None


def _find_leading_time(sentence: str) -> Span | None:
    """Return the span of the time at the beginning of a sentence, such as in "In 1891, ..."."""
    comma, first = sentence.find(", "), sentence.find(" ") + 1
    times = find_spans("time", sentence, "") or []
    return next((span for span in times if span.start == first and span.end == comma), None)


def _find_verb(words: list[_Word]) -> int:
    """Return the index of the first word of the verb; 0 if it is not clear."""
    first = words[0].text.lower() if words else ","
    if first in _NO_SUBJECT or first in map_third_persons() or first.endswith(","):
        return 0
    if first.endswith(("ing", "ed")) and words[1].text in _PREPOSITIONS:
        # "Dating back to 1936 the museum ...": a participle comes before the subject.
        return 0
    for at in range(1, min(len(words) - 1, _MOST_SUBJECT_WORDS)):
        word = words[at].text
        # In a clause within the subject, its verb would count as the main verb.
        if words[at - 1].text[-1:] in ",;:" or word.lower() in _SUBORDINATE:
            return 0
        if word in _FINITE or _is_finite(words, at):
            return at
    return 0


def _is_finite(words: list[_Word], at: int) -> bool:
    word, before, after = (words[place].text for place in (at, at - 1, at + 1))
    if is_noun(before.lower()) or before.lower() in _NO_VERB_AFTER:
        return False
    if word in map_past_forms():
        # "The bridge built in 1901 was closed": the first verb form is a participle.
        reduced = after in {"in", "by", "on", "for", "to", "from", "with", "at"}
        return not (reduced and _has_another_verb(words[at + 1 : at + 10]))
    return word in map_third_persons() and not before.endswith("ss") and after not in _FINITE


def _has_another_verb(words: list[_Word]) -> bool:
    """Return whether another verb follows in the clause, so that the first form is a participle."""
    for word, _, _ in words:
        if word.lower() in _FINITE:
            return True
        if word[-1:] in ",;" or word.lower() in _SUBORDINATE | {"and", "or"}:
            return False
    return False


def _parse_verb(words: list[_Word], at: int) -> _Verb | None:
    word = words[at].text
    rest = [follower.text.lower() for follower in words[at + 1 :]]
    adverbs = next((n for n, text in enumerate(rest) if not _ADVERB.fullmatch(text)), len(rest))
    adverb_words, rest = rest[:adverbs], [*rest[adverbs:], "", ""]
    lead = "".join(f"{adverb} " for adverb in adverb_words)
    if word in BE:
        return _parse_be(word, lead, rest[0], adverbs)
    if word in _MODALS:
        passive = rest[0] == "be" and _is_participle(rest[1])
        done = f"be {rest[1]}" if passive else rest[0]
        return _Verb(word, lead + done, adverbs + 2 + passive, passive)
    if word in HAVE:
        return _parse_have(word, lead, rest, adverbs)
    # Adverbs are parsed only after an auxiliary: "was later built".
    if adverb_words:
        return None
    past = map_past_forms().get(word)
    return _Verb("did", past, 1) if past else _Verb("does", map_third_persons()[word], 1)


def _is_participle(word: str) -> bool:
    """Return whether a word after a form of "be" or "have" is a past participle."""
    return word in map_participles() or (word.endswith("ed") and len(word) > 4)


def _parse_be(word: str, lead: str, after: str, adverbs: int) -> _Verb | None:
    if _is_participle(after):
        return _Verb(word, lead + after, adverbs + 2, passive=True)
    return None if lead else _Verb(word, "", 1)


def _parse_have(word: str, lead: str, rest: list[str], adverbs: int) -> _Verb | None:
    if rest[0] == "been" and _is_participle(rest[1]):
        return _Verb(word, f"{lead}been {rest[1]}", adverbs + 3, passive=True)
    if _is_participle(rest[0]):
        return _Verb(word, lead + rest[0], adverbs + 2)
    if lead or rest[0] in _NO_VERB_AFTER - {"the", "a", "an"} | {"been", "not", "no", "since"}:
        return None
    return _Verb({"has": "does", "have": "do", "had": "did"}[word], "have", 1)


def _find_core(sentence: str, tail: Span) -> Span:
    """Return the tail up to the end of the main clause, past commas in dates and places."""
    protected = [
        *(find_spans("time", sentence, "") or ()),
        *(find_spans("place", sentence, "") or ()),
    ]
    ends = [match.start() for match in _ENDS.finditer(sentence, tail.start - 1, tail.end)]
    joints = _JOINT.finditer(sentence, tail.start, tail.end)
    # "and" before a verb begins another clause; otherwise it joins two nouns.
    ends += [
        match.start() for match in joints if match["verb"] in map_past_forms() | map_third_persons()
    ]
    outside = [at for at in ends if not any(span.start < at < span.end for span in protected)]
    return Span(tail.start, max(tail.start, min(outside, default=tail.end)))


def _is_whole(clause: Clause) -> bool:
    """Return whether a clause has one verb, and a subject that can be understood alone."""
    subject = clause.subject.cut(clause.sentence)
    if re.search(r"\b(?:is|are|was|were|has|had)\b|[;:]\s", clause.rest):
        return False
    if len(subject) < 3 or _UNCLEAR_SUBJECT.search(subject):
        return False
    reduced = re.search(r"\b(\w+) (?:by|in|on|at|for|to|from|with|as)\b", subject)
    return not (reduced and reduced[1] in map_participles())
