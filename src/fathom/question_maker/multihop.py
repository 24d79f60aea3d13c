"""Questions that need two documents: one answer stands in the next question, or two are compared.

As MuSiQue was made (Trivedi et al. 2022): where the answer to one question is named in another,
the name is replaced by what the first question says of it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathom.question_maker.facts import Fact, is_named
from fathom.text.answer_match import Amount, amount_of
from fathom.text.entities import names
from fathom.types import Span

_A_NAME = 3
"""So many chains, at most, go over one name."""
_LONGEST = 10
"""Words of a description."""
# What may follow a name that is a part of the question by itself, and does not tell of another.
_GOES_ON = re.compile(
    r"\?|\s(?:in|on|at|for|by|to|from|with|is|was|were|are|has|have|and|during|before|after|"
    r"\w+ed|born|"
    r"built|held|made|won|have|open|cost|take|become|begin|include|contain|move|di|pada|dari|"
    r"dengan|"
    r"oleh|untuk|lahir|wafat|memiliki|terdiri|(?:di|ber|ter|mem|men|meng)[a-z]{4,})\b"
)
_PERSON = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w.'-]+){1,3}$")
# How a question becomes the description of its answer; only forms that read well.
_DESCRIBED = tuple(
    (re.compile(asked), told)
    for asked, told in (
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
# A template holds `_` where the subject stood.
_COMPARED = tuple(
    (re.compile(asked), told, earliest)
    for asked, told, earliest in (
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
        answer: Verbatim from the chunk of one of them.
        rule: `chain` or `comparison`.
        facts: Both; each must pass the round trip alone.
    """

    question: str
    answer: str
    rule: str
    facts: tuple[Fact, Fact]


def hops(facts: Sequence[Fact]) -> Iterator[Hop]:
    """What two facts together answer, chains and comparisons in turn; each fact at most once."""
    used: set[str] = set()
    made = [list(_chains(facts)), list(_comparisons(facts))]
    for at in range(max(map(len, made))):
        for each in (own[at] for own in made if at < len(own)):
            asked = {fact.question for fact in each.facts}
            if not asked & used:
                used |= asked
                yield each


def _chains(facts: Sequence[Fact]) -> Iterator[Hop]:
    by_answer: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if described(fact):
            by_answer[fact.answer].append(fact)
    times: dict[str, int] = defaultdict(int)
    for second in facts:
        for span in names(second.question):
            name = span.cut(second.question)
            if not _GOES_ON.match(second.question, span.end):
                continue
            for first in by_answer.get(name, ()):
                if times[name] < _A_NAME and _apart(first, second):
                    times[name] += 1
                    yield _chain(first, second, span)
                    break


def _apart(first: Fact, second: Fact) -> bool:
    """Whether both documents are needed."""
    return (
        first.document != second.document
        and first.language == second.language
        and second.answer not in first.chunk.text
        and second.answer not in first.question
        and not {*first.question.split()} & {*second.answer.split()} - {"the", "of", "a"}
    )


def _chain(first: Fact, second: Fact, span: Span) -> Hop:
    before, after = second.question[: span.start], second.question[span.end :]
    told = described(first)
    told = told.removeprefix("the ") if re.search(r"\b[Tt]he $", before) else told
    question = f"{before}{told}{after}"
    question = question[0].upper() + question[1:]
    return Hop(question=question, answer=second.answer, rule="chain", facts=(first, second))


def described(fact: Fact) -> str:
    """The answer of a fact's question in words; empty where no form reads well."""
    for form, told in _DESCRIBED:
        found = form.match(fact.question)
        if found and (not told.startswith("the person") or _PERSON.match(fact.answer)):
            words = found.expand(told)
            return words if len(words.split()) <= _LONGEST else ""
    return ""


def _comparisons(facts: Sequence[Fact]) -> Iterator[Hop]:
    alike: dict[str, list[tuple[Fact, Amount]]] = defaultdict(list)
    for fact in facts:
        amount = amount_of(fact.answer)
        if amount and is_named(fact.subject) and fact.question.count(fact.subject) == 1:
            alike[fact.question.replace(fact.subject, "_")].append((fact, amount))
    for template, group in alike.items():
        for form, told, earliest in _COMPARED:
            found = form.match(template)
            if found:
                yield from _compared(group, found.expand(told), earliest=earliest)


def _compared(group: Sequence[tuple[Fact, Amount]], asked: str, *, earliest: bool) -> Iterator[Hop]:
    """Each two of a group whose amounts differ, from two documents."""
    for (one, here), (other, there) in zip(group[::2], group[1::2], strict=False):
        if one.document == other.document or here == there or len(here) != len(there):
            continue
        right = one if (here < there) == earliest else other
        joint = "atau" if one.language == "id" else "or"
        yield Hop(
            question=f"{asked}, {one.subject} {joint} {other.subject}?",
            answer=re.sub(r"^(?:the|an?) ", "", right.subject),
            rule="comparison",
            facts=(one, other),
        )
