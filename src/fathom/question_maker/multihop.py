"""Questions that need two documents: chains and comparisons.

Chains are made as in MuSiQue (Trivedi et al. 2022): if the answer to one question is a name in
another question, the description from the first question replaces the name.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathom.question_maker.facts import Fact, is_named
from fathom.text.answer_match import Amount, parse_amount
from fathom.text.entities import find_names
from fathom.types import Span

_MOST_PER_NAME = 3
"""The number of chains over one name, at most."""
_MOST_WORDS = 10
"""The number of words of a description, at most."""
# Words that may follow a whole name; other words could belong to a longer name.
_AFTER_NAME = re.compile(
    r"\?|\s(?:in|on|at|for|by|to|from|with|is|was|were|are|has|have|and|during|before|after|"
    r"\w+ed|born|"
    r"built|held|made|won|have|open|cost|take|become|begin|include|contain|move|di|pada|dari|"
    r"dengan|"
    r"oleh|untuk|lahir|wafat|memiliki|terdiri|(?:di|ber|ter|mem|men|meng)[a-z]{4,})\b"
)
_PERSON = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w.'-]+){1,3}$")
# Forms of questions that can become a description of their answer.
_DESCRIPTIONS = tuple(
    (re.compile(form), wording)
    for form, wording in (
        (r"(?:What|Who) (?:is|was|are|were) (the [^?]+ (?:of|for|in|at) [^?]+)\?$", r"\1"),
        (r"Who (?!is\b|was\b)(\w+ [^?]+)\?$", r"the person who \1"),
        (
            r"Where (is|was|are|were) ([^?]+) (born|built|founded|held|located|stored|kept|"
            r"buried)\?$",
            r"the place where \2 \1 \3",
        ),
        (r"(?:Apa|Siapa) (?!yang\b)([^?]+)\?$", r"\1"),
        (r"Di mana ([^?]+) (lahir|wafat|terletak|didirikan|dibangun)\?$", r"tempat \1 \2"),
    )
)
# A template has `_` in place of the subject.
_COMPARISONS = tuple(
    (re.compile(form), wording, earliest)
    for form, wording, earliest in (
        (r"When (?:was|were) _ (\w+(?: \w+)?)\?$", r"Which was \1 first", True),
        (r"How much (?:does|do) _ cost([^?]*)\?$", r"Which costs more\1", False),
        (r"How many ([^?]+) (?:does|do) _ have\?$", r"Which has more \1", False),
        (r"How (long|high|tall|deep|old) (?:is|was) _\?$", r"Which is \1er", False),
        (r"Kapan _ (\w+)\?$", r"Mana yang lebih dulu \1", True),
        (r"_ memiliki berapa ([^?]+)\?$", r"Mana yang memiliki lebih banyak \1", False),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """A question over two facts of two documents.

    Attributes:
        question: The question.
        answer: The answer, verbatim from a chunk of one of the documents.
        rule: `chain` or `comparison`.
        facts: Both facts, each of which must pass the round trip.
    """

    question: str
    answer: str
    rule: str
    facts: tuple[Fact, Fact]


def build_hops(facts: Sequence[Fact]) -> Iterator[Hop]:
    """Yield chains and comparisons in turn; use each fact at most once."""
    used: set[str] = set()
    sorts = [list(_build_chains(facts)), list(_build_comparisons(facts))]
    for at in range(max(map(len, sorts))):
        for hop in (sort[at] for sort in sorts if at < len(sort)):
            questions = {fact.question for fact in hop.facts}
            if not questions & used:
                used |= questions
                yield hop


def _build_chains(facts: Sequence[Fact]) -> Iterator[Hop]:
    by_answer: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if describe_answer(fact):
            by_answer[fact.answer].append(fact)
    times: dict[str, int] = defaultdict(int)
    for second in facts:
        for span in find_names(second.question):
            name = span.cut(second.question)
            if not _AFTER_NAME.match(second.question, span.end):
                continue
            for first in by_answer.get(name, ()):
                if times[name] < _MOST_PER_NAME and _are_both_needed(first, second):
                    times[name] += 1
                    yield _build_chain(first, second, span)
                    break


def _are_both_needed(first: Fact, second: Fact) -> bool:
    """Return whether a chain of two facts needs both of their documents."""
    return (
        first.document != second.document
        and first.language == second.language
        and second.answer not in first.chunk.text
        and second.answer not in first.question
        and not {*first.question.split()} & {*second.answer.split()} - {"the", "of", "a"}
    )


def _build_chain(first: Fact, second: Fact, span: Span) -> Hop:
    before, after = second.question[: span.start], second.question[span.end :]
    description = describe_answer(first)
    # The name may have an article before it.
    description = (
        description.removeprefix("the ") if re.search(r"\b[Tt]he $", before) else description
    )
    question = f"{before}{description}{after}"
    question = question[0].upper() + question[1:]
    return Hop(question=question, answer=second.answer, rule="chain", facts=(first, second))


def describe_answer(fact: Fact) -> str:
    """Return a description of a fact's answer, made from its question; empty if there is none."""
    for form, wording in _DESCRIPTIONS:
        match = form.match(fact.question)
        # The answer to "Who won the cup?" may be a club.
        if match and (not wording.startswith("the person") or _PERSON.match(fact.answer)):
            words = match.expand(wording)
            return words if len(words.split()) <= _MOST_WORDS else ""
    return ""


def _build_comparisons(facts: Sequence[Fact]) -> Iterator[Hop]:
    by_template: dict[str, list[tuple[Fact, Amount]]] = defaultdict(list)
    for fact in facts:
        amount = parse_amount(fact.answer)
        # Questions that differ only in the subject can be compared.
        if amount and is_named(fact.subject) and fact.question.count(fact.subject) == 1:
            by_template[fact.question.replace(fact.subject, "_")].append((fact, amount))
    for template, group in by_template.items():
        for form, wording, earliest in _COMPARISONS:
            match = form.match(template)
            if match:
                yield from _compare_pairs(group, match.expand(wording), earliest=earliest)


def _compare_pairs(
    group: Sequence[tuple[Fact, Amount]], wording: str, *, earliest: bool
) -> Iterator[Hop]:
    """Yield comparisons of pairs of facts from different documents with different amounts."""
    for (first, amount_1), (second, amount_2) in zip(group[::2], group[1::2], strict=False):
        if (
            first.document == second.document
            or amount_1 == amount_2
            or len(amount_1) != len(amount_2)
        ):
            continue
        right = first if (amount_1 < amount_2) == earliest else second
        joint = "atau" if first.language == "id" else "or"
        yield Hop(
            question=f"{wording}, {first.subject} {joint} {second.subject}?",
            answer=re.sub(r"^(?:the|an?) ", "", right.subject),
            rule="comparison",
            facts=(first, second),
        )
