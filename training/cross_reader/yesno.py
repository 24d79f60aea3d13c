"""Yes/no questions made of statements that are known to be supported, contradicted or neither.

There are few yes/no questions to learn from and many statements with a verdict. "The man is
sleeping" asks "Is the man sleeping?"; in Indonesian `apakah` before the statement is enough.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from training.cross_reader.rows import WRITTEN, YESNO, Row

from fathom.question.question import Question

_AUXILIARY = re.compile(
    r"^(?P<subject>[^,;:?]{2,60}?) "
    r"(?P<verb>is|are|was|were|can|could|will|would|has|had|should|must|may|might) "
    r"(?P<rest>[^?]{2,})$"
)
_HAS = re.compile(r"^(?:has|had) (?!been|not|never|\w+ed\b|\w+en\b)")
_PLAIN = re.compile(
    r"an?|the|this|that|these|those|there|some|many|most|all|no|two|three|it|he|she|they|we|you"
)
_CLAUSE = re.compile(
    r"\b(who|which|that|because|when|if|and|but|or|while|where|what|how)\b", re.IGNORECASE
)
_SIDES = (YESNO.index("yes"), YESNO.index("no"))
_VERDICTS = {(0,): "yes", (1,): "no", (2,): "none"}


def make_question(statement: str) -> str:
    """Turn the statement into an English question; empty where that is not safe."""
    match = _AUXILIARY.match(statement.strip().rstrip("."))
    if (
        not match
        or _CLAUSE.search(match["subject"])
        or _HAS.match(f"{match['verb']} {match['rest']}")
    ):
        return ""
    first, *rest = match["subject"].split()
    is_plain = _PLAIN.fullmatch(first.lower())
    subject = " ".join([first.lower() if is_plain else first, *rest])
    return f"{match['verb'].capitalize()} {subject} {match['rest']}?"


def make_question_id(statement: str) -> str:
    """Turn the statement into an Indonesian question."""
    plain = statement.strip().rstrip(".")
    first = plain.split(" ", maxsplit=1)[0]
    is_word = first[1:].islower() and len(first) > 3 and not any(c.isdigit() for c in first)
    return f"Apakah {plain[0].lower() + plain[1:] if is_word else plain}?" if plain else ""


_SOURCES = {
    "nli": (make_question, "yesno-made"),
    "claims": (make_question, "yesno-made"),
    "indonesian-nli": (make_question_id, "yesno-id"),
}


def make_stated(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the statement of a yes/no question, and its negation, as the reader reads them."""
    for row in rows:
        statement = Question(row.question).statement if row.yesno in _SIDES else None
        if statement and row.group in WRITTEN:
            supported, contradicted = (statement.says, statement.denies)[
                :: 1 if row.yesno == _SIDES[0] else -1
            ]
            for text, support in ((supported, (0,)), (contradicted, (1,))):
                yield replace(
                    row, group="written-stated", question=text, yesno=None, support=support
                )


def make_yesno(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield a yes/no question for every row with a verdict whose statement can be turned around."""
    for row in rows:
        if row.group in _SOURCES and row.support in _VERDICTS:
            form, group = _SOURCES[row.group]
            question = form(row.question)
            if question:
                verdict = YESNO.index(_VERDICTS[row.support])
                decided = verdict < 2
                yield replace(
                    row,
                    group=group,
                    question=question,
                    support=(),
                    yesno=verdict,
                    relevant=True if decided else None,
                )
