"""The maker of questions of all kinds; one index and one seed always give the same questions."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from fathom.errors import UsageError
from fathom.index.base import IndexReader
from fathom.question_maker.base import KINDS, Kind, Made, MadeQuestion
from fathom.question_maker.facts import Fact, facts_of, shuffled_chunks
from fathom.question_maker.multihop import Hop, hops
from fathom.question_maker.round_trip import Checked, Rival, RoundTrip
from fathom.question_maker.unanswerable import removed, twisted
from fathom.text.answer_match import agree, amount_of
from fathom.text.entities import texts
from fathom.text.language import Language
from fathom.types import Chunk

_LANGUAGES: tuple[Language, ...] = ("en", "id")
_TRIES = 12
"""Facts that are tried for each question asked for, at most."""
_VALUES = frozenset(
    {"when", "where", "who", "by whom", "how much", "how many", "how long", "how large", "cell"}
)
"""Rules whose questions have one right answer, so that another answer is a conflict."""
_A_DOCUMENT = 0.1
"""Share of all questions that may come from one document, if that is more than three."""
Written = Callable[[Sequence[Chunk], Sequence[Language]], Iterable[Fact]]
"""Writes facts of chunks in some languages."""
OnMade = Callable[[int, int], None]
"""Called with the number of questions made so far and the number asked for."""


class Choice(NamedTuple):
    """The kinds and languages of the questions to make."""

    kinds: tuple[Kind, ...]
    languages: tuple[Language, ...]


def checked_choice(number: int, kinds: Sequence[str], languages: Sequence[str]) -> Choice:
    """Check and return the selection of kinds and languages; all of them where none is named.

    Raises:
        UsageError: If a kind or a language is unknown, or the number below 1.
    """
    if number < 1:
        raise UsageError(f"number = {number}: ask for at least 1 question")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"kind {kind!r}: choose from {', '.join(KINDS)}")
    for language in languages:
        if language not in _LANGUAGES:
            raise UsageError(f"language {language!r}: choose from {', '.join(_LANGUAGES)}")
    return Choice(
        tuple(kind for kind in KINDS if kind in (kinds or KINDS)),
        tuple(code for code in _LANGUAGES if code in (languages or _LANGUAGES)),
    )


@dataclass
class _Work:
    """The questions made so far, and the number still to make of each kind."""

    wanted: dict[Kind, int]
    found: dict[Kind, list[MadeQuestion]] = field(default_factory=lambda: defaultdict(list))
    refused: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)
    documents: Counter[str] = field(default_factory=Counter)

    def lacks(self, kind: Kind) -> bool:
        return len(self.found[kind]) < self.wanted.get(kind, 0)

    def add(self, question: MadeQuestion | None) -> bool:
        """Add a question unless it is a duplicate or not needed; return whether it was added."""
        if question is None or question.text in self.texts or not self.lacks(question.kind):
            return False
        self.texts.add(question.text)
        self.found[question.kind].append(question)
        return True

    @property
    def count(self) -> int:
        return sum(map(len, self.found.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionMaker:
    """The maker of questions from the contents of an index.

    Attributes:
        write_facts: Returns the facts that a language model writes about chunks, besides those of
            the rules.
    """

    index: IndexReader
    trip: RoundTrip
    written: Written | None = None

    def make(
        self,
        number: int,
        *,
        kinds: Sequence[Kind] = KINDS,
        languages: Sequence[Language] = ("en", "id"),
        seed: int = 0,
        on_made: OnMade = lambda _made, _wanted: None,
    ) -> Made:
        """Return at most `number` questions, as many of each kind as the documents allow."""
        work = _Work(_shares(number, kinds))
        chunks = shuffled_chunks(self.index, seed)
        facts = [fact for chunk in chunks for fact in facts_of(chunk, languages)]
        if self.written is not None:
            facts += self.written(chunks[:number], languages)
        most = max(3, round(_A_DOCUMENT * number))
        named = sorted({name for fact in facts for name in _names(fact)})
        # First, since hops need two facts each and are found rarely.
        self._join(work, facts, on_made)
        tries = _TRIES * number
        for fact in _in_turn(facts):
            kind = _kind(fact)
            needed = work.lacks(kind) or work.lacks("unanswerable") or work.lacks("conflicting")
            # Without the limit a single long document would supply most questions.
            if not needed or work.documents[fact.document] >= most or tries <= 0:
                continue
            tries -= 1
            checked = self.trip(fact)
            if checked.refusal:
                work.refused[checked.refusal] += 1
                continue
            draw = random.Random(f"{seed} {fact.question}")  # noqa: S311 - no secret
            if self._took(work, fact, checked, named, draw):
                work.documents[fact.document] += 1
                on_made(work.count, number)
        return Made(questions=_mixed(work.found), refused=dict(work.refused), wanted=number)

    def _join(self, work: _Work, facts: Sequence[Fact], on_made: OnMade) -> None:
        """Add questions over two documents, as far as they are needed and found."""
        tries = _TRIES * work.wanted.get("multi-hop", 0)
        for hop in islice(hops(facts), tries):
            if not work.lacks("multi-hop"):
                return
            outcomes = [self.trip(fact) for fact in hop.facts]
            refusal = next((outcome.refusal for outcome in outcomes if outcome.refusal), "")
            if refusal:
                work.refused[refusal] += 1
            elif work.add(_joined(hop, outcomes)):
                on_made(work.count, sum(work.wanted.values()))

    def _took(
        self, work: _Work, fact: Fact, checked: Checked, named: Sequence[str], draw: random.Random
    ) -> bool:
        if checked.rivals:
            # A thing can be described in several ways without a conflict; a value cannot.
            rivals = [rival for rival in checked.rivals if _is_another(fact.answer, rival.answer)]
            if rivals and fact.rule in _VALUES and work.add(_conflict(fact, checked, rivals)):
                return True
            work.refused["another document gives another answer"] += 1
            return False
        # A question goes in with its answer or without it, never both ways.
        keep_answer = work.lacks(_kind(fact)) and draw.random() >= _share_of_none(work)
        if keep_answer or not work.lacks("unanswerable"):
            return work.add(_single(fact, checked))
        variants = [removed(fact, self.trip), twisted(fact, named, self.trip, draw)]
        draw.shuffle(variants)
        return any(work.add(variant) for variant in variants)


def _names(fact: Fact) -> Iterator[str]:
    """Yield the names in a question that its chunk has within a sentence, where capitals count."""
    for name in texts(fact.question):
        if re.search(rf"[a-z,] {re.escape(name)}\b", fact.chunk.text):
            yield name


def _share_of_none(work: _Work) -> float:
    none = work.wanted.get("unanswerable", 0) - len(work.found["unanswerable"])
    return none / max(1, sum(work.wanted.values()) - work.count)


def _kind(fact: Fact) -> Kind:
    if fact.several:
        return "list"
    return "numeric" if fact.numeric else "single-hop"


def _shares(number: int, kinds: Sequence[Kind]) -> dict[Kind, int]:
    """Return the number of questions of each kind, all alike; the first kinds get the remainder."""
    chosen_kinds = [kind for kind in KINDS if kind in kinds]
    whole, remainder = divmod(number, max(1, len(chosen_kinds)))
    return {kind: whole + (at < remainder) for at, kind in enumerate(chosen_kinds)}


def _in_turn(facts: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the facts, one of each rule in turn, so that no pattern dominates."""
    by_rule: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_rule[fact.rule].append(fact)
    for at in range(max(map(len, by_rule.values()), default=0)):
        yield from (rule_facts[at] for rule_facts in by_rule.values() if at < len(rule_facts))


def _single(fact: Fact, checked: Checked) -> MadeQuestion:
    return MadeQuestion(
        text=fact.question,
        kind=_kind(fact),
        language=fact.language,
        answers=(fact.answer,),
        relevant=(fact.document,),
        rule=fact.rule,
        chunks=(fact.chunk.id,),
        answerable=checked.answerable,
    )


def _joined(hop: Hop, outcomes: Sequence[Checked]) -> MadeQuestion:
    return MadeQuestion(
        text=hop.question,
        kind="multi-hop",
        language=hop.facts[0].language,
        answers=(hop.answer,),
        relevant=tuple(fact.document for fact in hop.facts),
        rule=hop.rule,
        chunks=tuple(fact.chunk.id for fact in hop.facts),
        answerable=min(outcome.answerable for outcome in outcomes),
    )


def _is_another(answer: str, other: str) -> bool:
    """Return whether two answers are values of one sort that cannot both be right."""
    amount, other_amount = amount_of(answer), amount_of(other)
    # An amount never contradicts a name, nor a name an amount.
    if amount is None:
        return other_amount is None and any(texts(f"x {other}"))
    return (
        other_amount is not None
        and len(amount) == len(other_amount)
        and not agree(amount, other_amount)
    )


def _conflict(fact: Fact, checked: Checked, rivals: Sequence[Rival]) -> MadeQuestion:
    return MadeQuestion(
        text=fact.question,
        kind="conflicting",
        language=fact.language,
        answers=tuple(dict.fromkeys([fact.answer, *(rival.answer for rival in rivals)])),
        relevant=tuple(
            dict.fromkeys([fact.document, *(rival.chunk.document_id for rival in rivals)])
        ),
        rule=fact.rule,
        chunks=(fact.chunk.id, *(rival.chunk.id for rival in rivals)),
        answerable=checked.answerable,
    )


def _mixed(by_kind: dict[Kind, list[MadeQuestion]]) -> tuple[MadeQuestion, ...]:
    """Return the questions, one of each kind in turn."""
    longest = max(map(len, by_kind.values()), default=0)
    return tuple(
        by_kind[kind][at]
        for at in range(longest)
        for kind in KINDS
        if at < len(by_kind.get(kind, ()))
    )
