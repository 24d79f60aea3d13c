"""Clause rules: a nested question becomes a chain of plain ones; English and Indonesian.

"Who founded the company that distributed the film UHF?" asks first "What is the company that
distributed the film UHF?" and then "Who founded #1?". The innermost description of something
unnamed is asked for first; `#1` stands for its answer, and may itself be part of the next
description. Rules know no meaning: what they cannot take apart stays one question.
"""

import re
from collections.abc import Iterator, Sequence

from fathom.agents.clause_forms import (
    CLAUSE,
    HOLLOW,
    MARK,
    NOT_THINGS,
    OF_ROLE,
    OPEN_END,
    OWNER,
    PARTICIPLE,
    PATTERNS,
    PERSON,
    PERSON_ID,
    ROLES_ID,
    TAIL,
    A,
)
from fathom.text.content_words import ContentTerms
from fathom.text.entities import names
from fathom.types import Span

MOST = 4
"""So many questions a chain has at most (MAO-ARAG, section 3)."""
LONGEST = 1_000
"""Rules look at questions of so many characters; what is longer is no question but a text."""

_QUOTED = re.compile(r"[\"“«][^\"“”»]{2,80}[\"”»]")
_SLOT = re.compile(r"#\d+")
_AND = re.compile(r"\s+(?:and|dan)\s+")

_terms = ContentTerms()


def chain(question: str, most: int = MOST) -> tuple[str, ...]:
    """The questions to ask one after the other, at most `most`; itself where rules see no clause.

    Later ones hold `#1`, `#2`, ... where the answers to earlier ones belong.
    """
    if len(question) > LONGEST:
        return (question,)
    rest = " ".join(question.split())
    asked: list[str] = []
    while len(asked) < most - 1:
        parts = _tail(rest, len(asked) + 1) or _inner(rest, len(asked) + 1)
        if parts is None:
            break
        asked.append(parts[0])
        rest = parts[1]
    return (*asked, rest) if asked else (question,)


def mentions(text: str) -> list[Span]:
    """Where names, quoted words and slots stand, in order; they do not overlap."""
    found = [Span(*match.span()) for match in (*_SLOT.finditer(text), *_QUOTED.finditer(text))]
    for name in names(text):
        if all(name.end <= other.start or name.start >= other.end for other in found):
            found.append(name)
    return sorted(found, key=lambda span: span.start)


def _inner(text: str, number: int) -> tuple[str, str] | None:
    """The innermost description as a question, and the rest with a slot in its place."""
    marked, cuts = mark(text)
    for start, end in sorted(_descriptions(marked), key=lambda place: place[1] - place[0]):
        outer = f"{marked[:start]}#{number}{marked[end:]}"
        more = OPEN_END.match(outer)
        after = end + len(more["more"]) if more else end
        inner = marked[start:after]
        described = unmark(inner, cuts)
        rest = unmark(f"{marked[:start]}#{number}{marked[after:]}", cuts)
        if _says_more(rest) and _says_more(described) and not HOLLOW.match(rest):
            return _asking(described, inner), rest[:1].upper() + rest[1:]
    return None


def _descriptions(marked: str) -> Iterator[tuple[int, int]]:
    for pattern in PATTERNS:
        at = 0
        while match := pattern.search(marked, at):
            at = match.start() + 1  # an inner description may begin within an outer one
            start = match.start() + len(_lead(match.group()))
            start -= 4 if marked[:start].endswith("the ") else 0
            if _wanted(marked[start : match.end()]):
                yield start, match.end()


def _lead(phrase: str) -> str:
    found = NOT_THINGS.match(phrase)
    return found.group() if found else ""


def _wanted(phrase: str) -> bool:
    """Whether a phrase asks for something else than what it names."""
    if not MARK.search(phrase):
        return False
    is_clause = CLAUSE.search(phrase) or PARTICIPLE.search(phrase)
    owned = re.search(rf"{A}{OWNER}\s", phrase)
    indonesian = re.match(rf"(?:{ROLES_ID})\b", phrase)
    return bool(is_clause or owned or indonesian or OF_ROLE.search(phrase))


def _says_more(text: str) -> bool:
    """Whether there are words of meaning beside the names and slots."""
    for span in reversed(mentions(text)):
        text = f"{text[: span.start]} {text[span.end :]}"
    return bool(_terms(text))


def _asking(described: str, marked: str) -> str:
    """A question for what is described; the same words, marked, tell who or what it is."""
    if marked.startswith("where"):
        return f"What is the place {described}?"
    if re.search(r"\b(?:yang|tempat|dari)\b", marked) or re.match(ROLES_ID, marked):
        return f"Siapa {described}?" if PERSON_ID.match(marked) else f"Apa {described}?"
    return f"Who is {described}?" if PERSON.search(marked) else f"What is {described}?"


def _tail(text: str, number: int) -> tuple[str, str] | None:
    """For a question whose question word stands in the clause at its end."""
    marked, cuts = mark(text)
    found = TAIL.match(marked.rstrip("? "))
    if found is None or not MARK.search(found["main"]):
        return None
    main = found["main"][: found.start("det")]
    owner = "'s" if found["link"].lower() == "whose" else ""
    first = unmark(f"{main}which {found['thing']}?", cuts)
    return first[:1].upper() + first[1:], unmark(f"#{number}{owner} {found['rest']}?", cuts)


def mark(text: str, *, apart: bool = False) -> tuple[str, Sequence[str]]:
    """The text in lower case with `§0§`, `§1§`, ... for its names, and the names.

    Apostrophes become straight ones. Names joined by "and" are two if they are to be `apart`.
    """
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    cuts: list[str] = []
    out, at = "", 0
    for span in _apart(text) if apart else mentions(text):
        out += text[at : span.start].lower() + f"§{len(cuts)}§"
        cuts.append(span.cut(text))
        at = span.end
    return out + text[at:].lower(), cuts


def _apart(text: str) -> Iterator[Span]:
    for span in mentions(text):
        at = span.start
        for joint in _AND.finditer(text, span.start, span.end):
            yield Span(at, joint.start())
            at = joint.end()
        yield Span(at, span.end)


def unmark(marked: str, cuts: Sequence[str]) -> str:
    """The text with its names again."""
    return MARK.sub(lambda match: cuts[int(match.group(1))], marked)
