"""Questions whose answer needs two chunks, composed from questions that need one.

As MuSiQue was made (Trivedi et al. 2022): where the answer of one question is named in another
one, the name is replaced by a description made of the first question, so that both texts are
needed. Some chains are broken on purpose, one of their texts exchanged for another of the same
article; they have no answer. Beside them stand comparisons of two dates. No multi-hop data set is
read.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from training.cross_reader.rows import Row, hash_to_number

_ASKED_SOURCES = frozenset({"squad", "wiki", "nq"})
_BROKEN = 0.3  # share of the chains that lack one of their texts
_THIRD = 0.4  # share of the whole chains, where there is one, that have a wrong text beside them
_NAME = re.compile(r"[A-Z0-9]")
_OF = ("'s", "\u2019s")
_A_QUESTION = 4  # chains a question ends, at the most
_A_VERB = 600  # comparisons of two dates, at the most

# How a question becomes the description of its answer. Only the forms that read well.
_VERB = (
    r"(?:is|was|were|are|has|had|can|could|did|does|do|\w+ed"
    r"|wrote|led|won|made|built|gave|ran|held)"
)
_NO_KIND = r"is\b|was\b|did\b|does\b|do\b|are\b|were\b|kind\b|type\b|percent"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(form), description)
    for form, description in (
        (r"^(?:What|Who) (?:is|was|are|were) (the [^?]+)\?$", r"\1"),
        (r"^What (?:is|was) ([A-Z][\w ]+'s? [^?]+)\?$", r"\1"),
        (rf"^Who ({_VERB}) (?!you\b)([^?]+)\?$", r"the person who \1 \2"),
        (
            rf"^(?:What|Which) ((?!{_NO_KIND})[a-z]+(?: [a-z]+)??) ({_VERB}) ([^?]+)\?$",
            r"the \1 that \2 \3",
        ),
        (
            r"^[Ii]n (?:what|which) ([a-z]+(?: [a-z]+)??) (?:is|was) ([^?]+?) "
            r"(\w+ed|held|born|built)\?$",
            r"the \1 in which \2 was \3",
        ),
        (
            r"^Where (is|was|were) ([^?]+?) (\w+ed|held|born|built)\?$",
            r"the place where \2 \1 \3",
        ),
        (
            r"^(?:[Bb]y w|W)hom? (?:is|was|were) ([^?]+?) (\w+ed|written|built) by\?$",
            r"the one by whom \1 was \2",
        ),
        (r"^What is the name of ([^?]+)\?$", r"\1"),
    )
)


@dataclass(frozen=True, slots=True)
class Part:
    """One of the texts of a composed row.

    Attributes:
        title: Of its document.
        text: As it is.
        is_needed: Whether the answer rests on it.
    """

    title: str
    text: str
    is_needed: bool = True


def describe_answer(question: str) -> str:
    """Describe the answer of `question`; empty where no form fits."""
    stripped = question.strip().replace("  ", " ")
    for form, description in _FORMS:
        match = form.match(stripped)
        if match:
            return match.expand(description)
    return ""


def append_text(title: str, text: str) -> str:
    """Return a further text as it follows the first one."""
    return f"{title} : {text}" if title else text


def compose_rows(rows: Sequence[Row], seed: int = 1) -> Iterator[Row]:
    """Return chains of two questions, complete and broken, and comparisons."""
    answerable = [
        row for row in rows if row.group in _ASKED_SOURCES and row.answerable and row.spans
    ]
    yield from _make_chains(answerable, seed)
    yield from _make_comparisons(answerable, seed)


def _list_answers(row: Row) -> list[str]:
    return sorted({row.text[a:b] for a, b in row.spans}, key=len)


def _make_chains(rows: Sequence[Row], seed: int) -> Iterator[Row]:
    first_of: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for answer in _list_answers(row):
            if 3 <= len(answer) <= 50 and _NAME.match(answer) and describe_answer(row.question):
                first_of[answer].append(row)
    fillers = _group_by_article(rows)
    for second in rows:
        draw = random.Random(f"{seed}/{hash_to_number(second.question)}")
        count = 0
        for name in _list_names(second.question):
            bridges = [
                row
                for row in first_of.get(name, [])
                if row.text != second.text and not _leaks(row, second)
            ]
            draw.shuffle(bridges)
            for first in bridges[:_A_QUESTION]:
                question = _compose_question(first.question, second.question, name)
                if question and count < _A_QUESTION:
                    count += 1
                    yield _make_chain(first, second, question, fillers, draw)


def _list_names(question: str) -> list[str]:
    words = question.rstrip("?").split()
    names = []
    for start in range(1, len(words)):
        for end in range(start + 1, min(len(words), start + 6) + 1):
            name = " ".join(words[start:end]).rstrip(",.;")
            beside = [words[start - 1] if start > 1 else "", *words[end : end + 1]]
            if _NAME.match(name) and not any(_NAME.match(word) for word in beside):
                names += [name, name[:-2]] if name.endswith(_OF) else [name]
    return sorted(set(names), key=lambda name: (-len(name), name))


def _leaks(first: Row, second: Row) -> bool:
    """Return whether the first text suffices, or the second question repeats the first."""
    return any(answer in first.text for answer in _list_answers(second)) or (
        first.question == second.question
    )


def _compose_question(first: str, second: str, name: str) -> str:
    description = describe_answer(first)
    if not description or name in description:
        return ""
    if re.search(rf"\b[Tt]he {re.escape(name)}", second):
        description = description.removeprefix("the ")
    return second.replace(name, description, 1) if description else ""


def _group_by_article(rows: Sequence[Row]) -> dict[str, list[str]]:
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        texts[row.title].setdefault(row.text)
    return {title: list(unique) for title, unique in texts.items()}


def _make_chain(
    first: Row, second: Row, question: str, fillers: dict[str, list[str]], draw: random.Random
) -> Row:
    answers = _list_answers(second)
    wrong = [
        Part(title, text, is_needed=False)
        for title in (first.title, second.title)
        for text in fillers[title]
        if text not in (first.text, second.text) and not any(a in text for a in answers)
    ]
    draw.shuffle(wrong)
    parts = [Part(first.title, first.text), Part(second.title, second.text)]
    is_broken = draw.random() < _BROKEN and bool(wrong)
    if is_broken:
        parts[draw.randrange(2)] = wrong.pop()
    elif wrong and draw.random() < _THIRD:
        parts.append(wrong.pop())
    draw.shuffle(parts)
    return _combine_texts(second, question, parts, answerable=not is_broken)


def _combine_texts(
    answering: Row, question: str, parts: Sequence[Part], *, answerable: bool
) -> Row:
    """Concatenate the texts, with the spans where `answering`'s text is among them."""
    pieces = [parts[0].text, *(append_text(part.title, part.text) for part in parts[1:])]
    ends = [end - 1 for end in accumulate(len(piece) + 1 for piece in pieces)]
    places = [(end - len(piece), end) for end, piece in zip(ends, pieces, strict=True)]
    placed = list(zip(places, parts, strict=True))
    shifts = [end - len(part.text) for (_, end), part in placed if part.text == answering.text]
    return replace(
        answering,
        group="composed",
        question=question,
        title=parts[0].title,
        text="\n".join(pieces),
        spans=tuple((a + shifts[-1], b + shifts[-1]) for a, b in answering.spans)
        if answerable
        else (),
        answerable=answerable,
        relevant=None,
        yesno=2 if answerable else None,
        rests=tuple(place for place, part in placed if part.is_needed) if answerable else (),
        parts=tuple(places),
    )


_WHEN = re.compile(
    r"^(?:When|[Ii]n (?:what|which) year) (?:was|were) (?:the )?([A-Z][^?]{2,40}?) "
    r"(born|founded|established|built|completed|opened|published|released|created|formed|signed)\b"
    r"[^?]{0,12}\?$"
)
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")


@dataclass(frozen=True, slots=True)
class _Dated:
    """An event of a year, and the row that states it."""

    year: int
    name: str
    row: Row


def _make_comparisons(rows: Sequence[Row], seed: int) -> Iterator[Row]:
    """Yield questions for the earlier or later event, answered by a name in its question."""
    by_verb: dict[str, list[_Dated]] = defaultdict(list)
    for row in rows:
        match, year = _WHEN.match(row.question), _YEAR.search(_list_answers(row)[0])
        if match and year and match[1] in row.text:
            by_verb[match[2]].append(_Dated(int(year[1]), match[1], row))
    for verb in sorted(by_verb):
        dated = by_verb[verb]
        draw = random.Random(f"{seed}/{verb}")
        pairs = [
            (a, b)
            for a in dated
            for b in dated
            if a.name < b.name and a.year != b.year and a.row.text != b.row.text
        ]
        draw.shuffle(pairs)
        for a, b in pairs[:_A_VERB]:
            yield _compare_dates(verb, a, b, draw)


def _compare_dates(verb: str, a: _Dated, b: _Dated, draw: random.Random) -> Row:
    is_first = draw.random() < 0.5
    right = (min if is_first else max)(a, b, key=lambda event: event.year)
    names = [a.name, b.name]
    draw.shuffle(names)
    question = f"Which was {verb} {'first' if is_first else 'last'}, {names[0]} or {names[1]}?"
    start = right.row.text.find(right.name)
    answering = replace(right.row, spans=((start, start + len(right.name)),))
    parts = [Part(event.row.title, event.row.text) for event in (a, b)]
    draw.shuffle(parts)
    return _combine_texts(answering, question, parts, answerable=True)
