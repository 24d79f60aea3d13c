"""Questions whose answer needs two chunks, composed from questions that need one.

As MuSiQue was made (Trivedi et al. 2022): where the answer of one question is named in another one,
the name is replaced by a description made of the first question, so that both texts are needed. Some
chains are broken on purpose, one of their texts exchanged for another of the same article; they
have no answer. Beside them stand comparisons of two dates. No multi-hop data set is read.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from training.cross_reader.rows import Row, number_of

_ASKED = frozenset({"squad", "wiki", "nq"})
_BROKEN = 0.3  # share of the chains that lack one of their texts
_NAME = re.compile(r"[A-Z0-9]")
_A_QUESTION = 4  # chains a question ends, at the most

# How a question becomes the description of its answer. Only the forms that read well.
_VERB = r"(?:is|was|were|are|has|had|can|could|did|does|do|\w+ed|wrote|led|won|made|built|gave|ran|held)"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(?:What|Who) (?:is|was|are|were) (the [^?]+)\?$"), r"\1"),
    (re.compile(r"^What (?:is|was) ([A-Z][\w ]+'s? [^?]+)\?$"), r"\1"),
    (re.compile(rf"^Who ({_VERB}) (?!you\b)([^?]+)\?$"), r"the person who \1 \2"),
    (
        re.compile(
            rf"^(?:What|Which) ((?!is\b|was\b|did\b|does\b|do\b|are\b|were\b|kind\b|type\b|percent)[a-z]+(?: [a-z]+)??) ({_VERB}) ([^?]+)\?$"
        ),
        r"the \1 that \2 \3",
    ),
    (
        re.compile(
            r"^[Ii]n (?:what|which) ([a-z]+(?: [a-z]+)??) (?:is|was) ([^?]+?) (\w+ed|held|born|built)\?$"
        ),
        r"the \1 in which \2 was \3",
    ),
    (
        re.compile(r"^Where (is|was|were) ([^?]+?) (\w+ed|held|born|built)\?$"),
        r"the place where \2 \1 \3",
    ),
    (
        re.compile(r"^(?:[Bb]y w|W)hom? (?:is|was|were) ([^?]+?) (\w+ed|written|built) by\?$"),
        r"the one by whom \1 was \2",
    ),
    (re.compile(r"^What is the name of ([^?]+)\?$"), r"\1"),
)


def described(question: str) -> str:
    """The answer of `question` as a description; empty where no form fits."""
    asked = question.strip().replace("  ", " ")
    for form, made in _FORMS:
        match = form.match(asked)
        if match:
            return match.expand(made)
    return ""


def joined(title: str, text: str) -> str:
    """A further text as it stands behind the first one."""
    return f"{title} : {text}" if title else text


def composed(rows: Sequence[Row], seed: int = 1) -> Iterator[Row]:
    """Chains of two questions, whole and broken, and comparisons; each with two or three texts."""
    asked = [row for row in rows if row.group in _ASKED and row.answerable and row.spans]
    yield from _chains(asked, seed)
    yield from _comparisons(asked, seed)


def _answers(row: Row) -> list[str]:
    return sorted({row.text[a:b] for a, b in row.spans}, key=len)


def _chains(asked: Sequence[Row], seed: int) -> Iterator[Row]:
    first_of: dict[str, list[Row]] = defaultdict(list)
    for row in asked:
        for answer in _answers(row):
            if 3 <= len(answer) <= 50 and _NAME.match(answer) and described(row.question):
                first_of[answer].append(row)
    fillers = _by_article(asked)
    for second in asked:
        draw = random.Random(f"{seed}/{number_of(second.question)}")
        made = 0
        for name in _names(second.question):
            bridges = [
                row
                for row in first_of.get(name, [])
                if row.text != second.text and not _leaks(row, second)
            ]
            draw.shuffle(bridges)
            for first in bridges[:_A_QUESTION]:
                question = _composed(first.question, second.question, name)
                if question and made < _A_QUESTION:
                    made += 1
                    yield _chain(first, second, question, fillers, draw)


def _names(question: str) -> list[str]:
    words = question.rstrip("?").split()
    found = []
    for start in range(1, len(words)):
        for end in range(start + 1, min(len(words), start + 6) + 1):
            name = " ".join(words[start:end]).rstrip(",.;")
            beside = [words[start - 1] if start > 1 else "", *words[end : end + 1]]
            if _NAME.match(name) and not any(_NAME.match(word) for word in beside):
                found.append(name)
                if name.endswith(("'s", "’s")):
                    found.append(name[:-2])
    return sorted(set(found), key=len, reverse=True)


def _leaks(first: Row, second: Row) -> bool:
    """Whether the first text alone would do, or the second question is the first again."""
    return any(answer in first.text for answer in _answers(second)) or (
        first.question == second.question
    )


def _composed(first: str, second: str, name: str) -> str:
    made = described(first)
    if not made or name in made:
        return ""
    if re.search(rf"\b[Tt]he {re.escape(name)}", second):
        made = made.removeprefix("the ")
    return second.replace(name, made, 1) if made else ""


def _by_article(asked: Sequence[Row]) -> dict[str, list[str]]:
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for row in asked:
        texts[row.title].setdefault(row.text)
    return {title: list(found) for title, found in texts.items()}


def _chain(
    first: Row, second: Row, question: str, fillers: dict[str, list[str]], draw: random.Random
) -> Row:
    answers = _answers(second)
    wrong = [
        (title, text)
        for title in (first.title, second.title)
        for text in fillers[title]
        if text not in (first.text, second.text) and not any(a in text for a in answers)
    ]
    draw.shuffle(wrong)
    parts = [(first.title, first.text, True), (second.title, second.text, True)]
    broken = draw.random() < _BROKEN and bool(wrong)
    if broken:
        parts[draw.randrange(2)] = (*wrong.pop(), False)
    elif wrong and draw.random() < 0.4:
        parts.append((*wrong.pop(), False))
    draw.shuffle(parts)
    return _row(second, question, parts, answerable=not broken, group="composed")


def _row(
    second: Row,
    question: str,
    parts: Sequence[tuple[str, str, bool]],
    *,
    answerable: bool,
    group: str,
) -> Row:
    """The texts behind one another; the first part's title is the row's."""
    text, places = "", []
    for number, (title, body, _) in enumerate(parts):
        piece = body if number == 0 else joined(title, body)
        start = len(text) + (1 if number else 0)
        text += ("\n" if number else "") + piece
        places.append((start, len(text)))
    spans: list[tuple[int, int]] = []
    if answerable:
        for (start, end), (_, body, _) in zip(places, parts, strict=True):
            if body == second.text:
                shift = end - len(body)
                spans = [(a + shift, b + shift) for a, b in second.spans]
    return replace(
        second,
        group=group,
        question=question,
        title=parts[0][0],
        text=text,
        spans=tuple(spans),
        answerable=answerable,
        relevant=None,
        yesno=2 if answerable else None,
        rests=tuple(place for place, part in zip(places, parts, strict=True) if part[2])
        if answerable
        else (),
        parts=tuple(places),
    )


_WHEN = re.compile(
    r"^(?:When|[Ii]n (?:what|which) year) (?:was|were) (?:the )?([A-Z][^?]{2,40}?) "
    r"(born|founded|established|built|completed|opened|published|released|created|formed|signed)\b[^?]{0,12}\?$"
)
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")


def _comparisons(asked: Sequence[Row], seed: int) -> Iterator[Row]:
    """Which of two came first or last: the answer is a name of the question that its text has."""
    dated: dict[str, list[tuple[int, str, Row]]] = defaultdict(list)
    for row in asked:
        match, year = _WHEN.match(row.question), _YEAR.search(_answers(row)[0])
        if match and year and match[1] in row.text:
            dated[match[2]].append((int(year[1]), match[1], row))
    for verb in sorted(dated):
        found = dated[verb]
        draw = random.Random(f"{seed}/{verb}")
        pairs = [
            (a, b)
            for a in found
            for b in found
            if a[1] < b[1] and a[0] != b[0] and a[2].text != b[2].text
        ]
        draw.shuffle(pairs)
        for a, b in pairs[:600]:
            early = draw.random() < 0.5
            right = min(a, b, key=lambda it: it[0]) if early else max(a, b, key=lambda it: it[0])
            names = [a[1], b[1]]
            draw.shuffle(names)
            asks = f"Which was {verb} {'first' if early else 'last'}, {names[0]} or {names[1]}?"
            start = right[2].text.find(right[1])
            base = replace(right[2], spans=((start, start + len(right[1])),))
            parts = [(a[2].title, a[2].text, True), (b[2].title, b[2].text, True)]
            draw.shuffle(parts)
            yield _row(base, asks, parts, answerable=True, group="composed")
