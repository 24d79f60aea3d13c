"""Makes questions of all kinds from an index; the same index and seed give the same questions."""

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
"""So many questions are looked at, at most, for each that is wanted."""
_VALUES = frozenset(
    {"when", "where", "who", "by whom", "how much", "how many", "how long", "how large", "cell"}
)
"""Rules whose questions have one right answer."""
_A_DOCUMENT = 0.1
"""Of all questions at most such a share, and three, are from one document."""
Written = Callable[[Sequence[Chunk], Sequence[Language]], Iterable[Fact]]
"""Gives facts of chunks in some languages."""
OnMade = Callable[[int, int], None]
"""Told how many questions are made, and how many are wanted."""


class Choice(NamedTuple):
    """Which kinds and languages are wanted."""

    kinds: tuple[Kind, ...]
    languages: tuple[Language, ...]


def checked_choice(number: int, kinds: Sequence[str], languages: Sequence[str]) -> Choice:
    """What is asked for, all where nothing is named.

    Raises:
        UsageError: If a kind or a language is unknown, or the number below 1.
    """
    if number < 1:
        raise UsageError(f"number = {number}: ask for at least 1 question")
    for each in kinds:
        if each not in KINDS:
            raise UsageError(f"kind {each!r}: choose of {', '.join(KINDS)}")
    for each in languages:
        if each not in _LANGUAGES:
            raise UsageError(f"language {each!r}: choose of {', '.join(_LANGUAGES)}")
    return Choice(
        tuple(kind for kind in KINDS if kind in (kinds or KINDS)),
        tuple(each for each in _LANGUAGES if each in (languages or _LANGUAGES)),
    )


@dataclass
class _Work:
    """What is made so far."""

    wanted: dict[Kind, int]
    found: dict[Kind, list[MadeQuestion]] = field(default_factory=lambda: defaultdict(list))
    refused: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)
    documents: Counter[str] = field(default_factory=Counter)

    def lacks(self, kind: Kind) -> bool:
        return len(self.found[kind]) < self.wanted.get(kind, 0)

    def add(self, made: MadeQuestion | None) -> bool:
        """Whether it was taken."""
        if made is None or made.text in self.texts or not self.lacks(made.kind):
            return False
        self.texts.add(made.text)
        self.found[made.kind].append(made)
        return True

    @property
    def count(self) -> int:
        return sum(map(len, self.found.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionMaker:
    """Makes questions from what an index holds.

    Attributes:
        written: Gives what a language model asks about chunks, beside what the rules ask.
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
        """At most `number` questions, as many of each kind as the documents allow."""
        work = _Work(_shares(number, kinds))
        chunks = shuffled_chunks(self.index, seed)
        facts = [fact for chunk in chunks for fact in facts_of(chunk, languages)]
        if self.written is not None:
            facts += self.written(chunks[:number], languages)
        most = max(3, round(_A_DOCUMENT * number))
        named = sorted({name for fact in facts for name in _names(fact)})
        self._join(work, facts, on_made)
        tries = _TRIES * number
        for fact in _in_turn(facts):
            kind = _kind(fact)
            needed = work.lacks(kind) or work.lacks("unanswerable") or work.lacks("conflicting")
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
        """Add questions over two documents, as far as such are wanted and found."""
        tries = _TRIES * work.wanted.get("multi-hop", 0)
        for hop in islice(hops(facts), tries):
            if not work.lacks("multi-hop"):
                return
            checked = [self.trip(fact) for fact in hop.facts]
            refusal = next((each.refusal for each in checked if each.refusal), "")
            if refusal:
                work.refused[refusal] += 1
            elif work.add(_joined(hop, checked)):
                on_made(work.count, sum(work.wanted.values()))

    def _took(
        self, work: _Work, fact: Fact, checked: Checked, named: Sequence[str], draw: random.Random
    ) -> bool:
        if checked.rivals:
            # A thing can be described in several ways without a conflict; a value cannot.
            rivals = [each for each in checked.rivals if _is_another(fact.answer, each.answer)]
            if rivals and fact.rule in _VALUES and work.add(_conflict(fact, checked, rivals)):
                return True
            work.refused["another document answers it otherwise"] += 1
            return False
        # What is asked with its answer is not asked without it too.
        answered = work.lacks(_kind(fact)) and draw.random() >= _share_of_none(work)
        if answered or not work.lacks("unanswerable"):
            return work.add(_single(fact, checked))
        ways = [removed(fact, self.trip), twisted(fact, named, self.trip, draw)]
        draw.shuffle(ways)
        return any(work.add(way) for way in ways)


def _names(fact: Fact) -> Iterator[str]:
    """The names in a question that its chunk has within a sentence too: no capital misleads."""
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
    """The same share of each; what is left over goes to the first."""
    chosen = [kind for kind in KINDS if kind in kinds]
    whole, rest = divmod(number, max(1, len(chosen)))
    return {kind: whole + (at < rest) for at, kind in enumerate(chosen)}


def _in_turn(facts: Sequence[Fact]) -> Iterator[Fact]:
    """The facts, one of each rule in turn, so that no pattern drowns the others."""
    by_rule: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_rule[fact.rule].append(fact)
    for at in range(max(map(len, by_rule.values()), default=0)):
        yield from (own[at] for own in by_rule.values() if at < len(own))


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


def _joined(hop: Hop, checked: Sequence[Checked]) -> MadeQuestion:
    return MadeQuestion(
        text=hop.question,
        kind="multi-hop",
        language=hop.facts[0].language,
        answers=(hop.answer,),
        relevant=tuple(fact.document for fact in hop.facts),
        rule=hop.rule,
        chunks=tuple(fact.chunk.id for fact in hop.facts),
        answerable=min(each.answerable for each in checked),
    )


def _is_another(answer: str, other: str) -> bool:
    """Whether two answers are values of the same sort that cannot both be right."""
    one, two = amount_of(answer), amount_of(other)
    if one is None:
        return two is None and any(texts(f"x {other}"))
    return two is not None and len(one) == len(two) and not agree(one, two)


def _conflict(fact: Fact, checked: Checked, rivals: Sequence[Rival]) -> MadeQuestion:
    return MadeQuestion(
        text=fact.question,
        kind="conflicting",
        language=fact.language,
        answers=tuple(dict.fromkeys([fact.answer, *(each.answer for each in rivals)])),
        relevant=tuple(dict.fromkeys([fact.document, *(r.chunk.document_id for r in rivals)])),
        rule=fact.rule,
        chunks=(fact.chunk.id, *(each.chunk.id for each in rivals)),
        answerable=checked.answerable,
    )


def _mixed(found: dict[Kind, list[MadeQuestion]]) -> tuple[MadeQuestion, ...]:
    """One of each kind in turn."""
    longest = max(map(len, found.values()), default=0)
    return tuple(
        found[kind][at] for at in range(longest) for kind in KINDS if at < len(found.get(kind, ()))
    )
