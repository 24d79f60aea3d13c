"""Questions twisted a little, so that their text looks right and does not answer any more."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from training.cross_reader.rows import Row, number_of

_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")
_OPPOSITES = (
    "first last|before after|most least|north south|northern southern|east west|eastern western"
    "|largest smallest|highest lowest|biggest smallest|more fewer|increase decrease"
    "|increased decreased|oldest youngest|longest shortest|earliest latest|best worst|start end"
    "|began ended|begin end|open close|opened closed|win lose|won lost|male female|men women"
    "|king queen|father mother|son daughter|brother sister|husband wife|day month|month year"
    "|miles kilometers|dollars euros|city country|state city|university school|book film"
    "|song album|above below|inside outside|allowed forbidden|good bad|positive negative"
    "|pertama terakhir|sebelum sesudah|terbesar terkecil|tertinggi terendah|utara selatan"
    "|timur barat|ayah ibu|suami istri|dimulai berakhir|tertua termuda|terpanjang terpendek"
)
_OTHER = {
    word: other
    for pair in _OPPOSITES.split("|")
    for word, other in (tuple(pair.split()), tuple(pair.split())[::-1])
}
_NOT = re.compile(r"\b(is|was|are|were|did|does|do|can|could|would|will)\b(?! not)")
_ASKED = {"squad": "swapped", "wiki": "swapped", "nq": "swapped", "indonesian": "swapped-id"}
_WAYS = 3  # twisted forms of a question at most


def swapped(rows: Sequence[Row]) -> Iterator[Row]:
    """Answerable questions with a number, a name or a word replaced, or with a "not" put in.

    The new name is one that another question over the same article or source has and that this
    question lacks, which may occur in the text, or one of the text itself, which is harder.
    """
    asked = [row for row in rows if row.group in _ASKED and row.answerable]
    names: dict[str, list[str]] = {}
    for row in asked:
        names.setdefault(row.title or row.source, []).extend(_NAME.findall(row.question))
    known = {title: sorted(set(found)) for title, found in names.items()}
    for row in asked:
        draw = random.Random(number_of(row.question))
        ways = [
            question
            for question in (
                _by_number(row.question, draw),
                _by_name(row.question, known[row.title or row.source], draw),
                _by_name(row.question, _names_of(row), draw),
                _by_opposite(row.question),
                _NOT.sub(r"\1 not", row.question, count=1) if draw.random() < 0.1 else row.question,
            )
            if question != row.question
        ]
        for question in draw.sample(ways, min(_WAYS, len(ways))):
            yield replace(
                row,
                group=_ASKED[row.group],
                question=question,
                spans=(),
                answerable=False,
                relevant=None,
            )


def _by_number(question: str, draw: random.Random) -> str:
    number = _NUMBER.search(question)
    if not number:
        return question
    return question[: number.start()] + _other_number(number[0], draw) + question[number.end() :]


def _by_name(question: str, names: Sequence[str], draw: random.Random) -> str:
    name = _NAME.search(question)
    others = [other for other in names if other not in question and question not in other]
    if not name or not others:
        return question
    return question[: name.start()] + draw.choice(others) + question[name.end() :]


def _names_of(row: Row) -> list[str]:
    """Names within the sentences of the text, but the answer's own."""
    answers = " ".join(row.text[start:end] for start, end in row.spans)
    return sorted({name for name in _NAME.findall(row.text) if name not in answers})


def _by_opposite(question: str) -> str:
    words = re.split(r"(\W+)", question)
    for place, word in enumerate(words):
        if place and word in _OTHER:
            return "".join([*words[:place], _OTHER[word], *words[place + 1 :]])
    return question


def _other_number(number: str, draw: random.Random) -> str:
    """A number of the same shape in which at least one digit differs."""
    place = draw.choice([place for place, char in enumerate(number) if char.isdigit()])
    digit = draw.choice([d for d in "123456789" if d != number[place]])
    return number[:place] + digit + number[place + 1 :]
