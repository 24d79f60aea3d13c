"""The maker of questions of all kinds; the same index and seed give the same questions."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from fathom.errors import UsageError
from fathom.index.base import IndexReader
from fathom.question_maker.base import KINDS, Kind, QuestionSet, SyntheticQuestion
from fathom.question_maker.facts import Fact, extract_facts, shuffle_chunks
from fathom.question_maker.multihop import Hop, build_hops
from fathom.question_maker.round_trip import ConflictingAnswer, RoundTrip, RoundTripOutcome
from fathom.question_maker.unanswerable import remove_source, twist_question
from fathom.text.answer_match import amounts_agree, parse_amount
from fathom.text.entities import list_names
from fathom.text.language import Language
from fathom.types import Chunk

_LANGUAGES: tuple[Language, ...] = ("en", "id")
_TRIES_PER_QUESTION = 12
"""The number of facts that are tried for each requested question, at most."""
_VALUE_RULES = frozenset(
    {"when", "where", "who", "by whom", "how much", "how many", "how long", "how large", "cell"}
)
"""The rules whose questions have one right answer, so that another answer is a conflict."""
_DOCUMENT_SHARE = 0.1
"""The share of questions that may come from one document; three are always allowed."""
WriteFacts = Callable[[Sequence[Chunk], Sequence[Language]], Iterable[Fact]]
"""A function that returns the facts of chunks in some languages."""
OnProgress = Callable[[int, int], None]
"""A callback with the number of questions so far and the requested number."""


class QuestionSelection(NamedTuple):
    """The kinds and languages of the questions to make."""

    kinds: tuple[Kind, ...]
    languages: tuple[Language, ...]


def check_selection(
    number: int, kinds: Sequence[str], languages: Sequence[str]
) -> QuestionSelection:
    """Check and return the selection of kinds and languages; by default all.

    Raises:
        UsageError: If a kind or a language is unknown, or the number is below 1.
    """
    if number < 1:
        raise UsageError(f"number = {number}: ask for at least 1 question")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"kind {kind!r}: choose from {', '.join(KINDS)}")
    for language in languages:
        if language not in _LANGUAGES:
            raise UsageError(f"language {language!r}: choose from {', '.join(_LANGUAGES)}")
    return QuestionSelection(
        tuple(kind for kind in KINDS if kind in (kinds or KINDS)),
        tuple(code for code in _LANGUAGES if code in (languages or _LANGUAGES)),
    )


@dataclass
class _Progress:
    """The questions so far, and the number of questions of each kind to make."""

    targets: dict[Kind, int]
    questions: dict[Kind, list[SyntheticQuestion]] = field(
        default_factory=lambda: defaultdict(list)
    )
    refusals: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)
    documents: Counter[str] = field(default_factory=Counter)

    def lacks(self, kind: Kind) -> bool:
        return len(self.questions[kind]) < self.targets.get(kind, 0)

    def add(self, question: SyntheticQuestion | None) -> bool:
        """Add a question if it is needed and no duplicate; return whether it was added."""
        if question is None or question.text in self.texts or not self.lacks(question.kind):
            return False
        self.texts.add(question.text)
        self.questions[question.kind].append(question)
        return True

    @property
    def count(self) -> int:
        return sum(map(len, self.questions.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionMaker:
    """The maker of questions from the contents of an index.

    Attributes:
        index: The index.
        trip: The check of facts.
        write_facts: Returns facts by a language model, in addition to those of the rules; `None`
            without a model.
    """

    index: IndexReader
    trip: RoundTrip
    write_facts: WriteFacts | None = None

    def make(
        self,
        number: int,
        *,
        kinds: Sequence[Kind] = KINDS,
        languages: Sequence[Language] = ("en", "id"),
        seed: int = 0,
        on_progress: OnProgress = lambda _made, _wanted: None,
    ) -> QuestionSet:
        """Make at most `number` questions, the same number of each kind if the documents allow it.

        Args:
            number: The requested number of questions.
            kinds: The kinds of questions.
            languages: The languages of questions.
            seed: The seed of all random choices.
            on_progress: Called after each question.
        """
        work = _Progress(_split_number(number, kinds))
        chunks = shuffle_chunks(self.index, seed)
        facts = [fact for chunk in chunks for fact in extract_facts(chunk, languages)]
        if self.write_facts is not None:
            facts += self.write_facts(chunks[:number], languages)
        most = max(3, round(_DOCUMENT_SHARE * number))
        named = sorted({name for fact in facts for name in _list_names(fact)})
        # First, because each needs two facts, and they are rare.
        self._add_hops(work, facts, on_progress)
        tries = _TRIES_PER_QUESTION * number
        for fact in _alternate_rules(facts):
            kind = _classify_fact(fact)
            needed = work.lacks(kind) or work.lacks("unanswerable") or work.lacks("conflicting")
            # Without this limit most questions could come from a single long document.
            if not needed or work.documents[fact.document] >= most or tries <= 0:
                continue
            tries -= 1
            checked = self.trip(fact)
            if checked.refusal:
                work.refusals[checked.refusal] += 1
                continue
            draw = random.Random(f"{seed} {fact.question}")  # noqa: S311 - no secret
            if self._add_question(work, fact, checked, named, draw):
                work.documents[fact.document] += 1
                on_progress(work.count, number)
        return QuestionSet(
            questions=_alternate_kinds(work.questions),
            refusals=dict(work.refusals),
            target=number,
            lacking=tuple(filter(work.lacks, work.targets)),
        )

    def _add_hops(self, work: _Progress, facts: Sequence[Fact], on_made: OnProgress) -> None:
        """Add the questions over two documents that are needed."""
        tries = _TRIES_PER_QUESTION * work.targets.get("multi-hop", 0)
        for hop in islice(build_hops(facts), tries):
            if not work.lacks("multi-hop"):
                return
            outcomes = [self.trip(fact) for fact in hop.facts]
            refusal = next((outcome.refusal for outcome in outcomes if outcome.refusal), "")
            if refusal:
                work.refusals[refusal] += 1
            elif work.add(_make_multi_hop(hop, outcomes)):
                on_made(work.count, sum(work.targets.values()))

    def _add_question(
        self,
        work: _Progress,
        fact: Fact,
        checked: RoundTripOutcome,
        named: Sequence[str],
        draw: random.Random,
    ) -> bool:
        if checked.conflicts:
            # Different descriptions are no conflict, but different values are.
            rivals = [
                rival for rival in checked.conflicts if _is_another_value(fact.answer, rival.answer)
            ]
            if (
                rivals
                and fact.rule in _VALUE_RULES
                and work.add(_make_conflict(fact, checked, rivals))
            ):
                return True
            work.refusals["another document gives another answer"] += 1
            return False
        # A question is used either with its answer or without it.
        keep_answer = work.lacks(
            _classify_fact(fact)
        ) and draw.random() >= _compute_unanswerable_share(work)
        if keep_answer or not work.lacks("unanswerable"):
            return work.add(_make_single(fact, checked))
        variants = [remove_source(fact, self.trip), twist_question(fact, named, self.trip, draw)]
        draw.shuffle(variants)
        return any(work.add(variant) for variant in variants)


def _list_names(fact: Fact) -> Iterator[str]:
    """Yield the names in a question that are also inside of a sentence of its chunk."""
    for name in list_names(fact.question):
        if re.search(rf"[a-z,] {re.escape(name)}\b", fact.chunk.text):
            yield name


def _compute_unanswerable_share(work: _Progress) -> float:
    none = work.targets.get("unanswerable", 0) - len(work.questions["unanswerable"])
    return none / max(1, sum(work.targets.values()) - work.count)


def _classify_fact(fact: Fact) -> Kind:
    if fact.several:
        return "list"
    return "numeric" if fact.numeric else "single-hop"


def _split_number(number: int, kinds: Sequence[Kind]) -> dict[Kind, int]:
    """Divide a number evenly among the kinds; the first kinds get the remainder."""
    chosen_kinds = [kind for kind in KINDS if kind in kinds]
    whole, remainder = divmod(number, max(1, len(chosen_kinds)))
    return {kind: whole + (at < remainder) for at, kind in enumerate(chosen_kinds)}


def _alternate_rules(facts: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the facts, one of each rule in turn, so that no rule dominates."""
    by_rule: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_rule[fact.rule].append(fact)
    for at in range(max(map(len, by_rule.values()), default=0)):
        yield from (rule_facts[at] for rule_facts in by_rule.values() if at < len(rule_facts))


def _make_single(fact: Fact, checked: RoundTripOutcome) -> SyntheticQuestion:
    return SyntheticQuestion(
        text=fact.question,
        kind=_classify_fact(fact),
        language=fact.language,
        answers=(fact.answer,),
        relevant=(fact.document,),
        rule=fact.rule,
        chunks=(fact.chunk.id,),
        answerable=checked.answerable,
    )


def _make_multi_hop(hop: Hop, outcomes: Sequence[RoundTripOutcome]) -> SyntheticQuestion:
    return SyntheticQuestion(
        text=hop.question,
        kind="multi-hop",
        language=hop.facts[0].language,
        answers=(hop.answer,),
        relevant=tuple(fact.document for fact in hop.facts),
        rule=hop.rule,
        chunks=tuple(fact.chunk.id for fact in hop.facts),
        answerable=min(outcome.answerable for outcome in outcomes),
    )


def _is_another_value(answer: str, other: str) -> bool:
    """Return whether both answers are amounts, or both are not, and they contradict each other."""
    amount, other_amount = parse_amount(answer), parse_amount(other)
    # An amount and a name do not contradict each other.
    if amount is None:
        return other_amount is None and any(list_names(f"x {other}"))
    return (
        other_amount is not None
        and len(amount) == len(other_amount)
        and not amounts_agree(amount, other_amount)
    )


def _make_conflict(
    fact: Fact, checked: RoundTripOutcome, rivals: Sequence[ConflictingAnswer]
) -> SyntheticQuestion:
    return SyntheticQuestion(
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


def _alternate_kinds(by_kind: dict[Kind, list[SyntheticQuestion]]) -> tuple[SyntheticQuestion, ...]:
    """Return the questions, one of each kind in turn."""
    longest = max(map(len, by_kind.values()), default=0)
    return tuple(
        by_kind[kind][at]
        for at in range(longest)
        for kind in KINDS
        if at < len(by_kind.get(kind, ()))
    )
