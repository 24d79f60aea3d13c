"""Slightly changed questions, whose text looks right and no longer answers."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from training.cross_reader.rows import Row, hash_to_number

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
_GROUPS = {"squad": "swapped", "wiki": "swapped", "nq": "swapped", "indonesian": "swapped-id"}
_WAYS = 3  # twisted forms of a question at most


def swap_questions(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield answerable questions with a number, name or word replaced, or negated.

    The new name is one that another question over the same article or source has and that this
    question lacks, which may occur in the text, or one of the text itself, which is harder.
    """
    answerable = [row for row in rows if row.group in _GROUPS and row.answerable]
    names: dict[str, list[str]] = {}
    for row in answerable:
        names.setdefault(row.title or row.source, []).extend(_NAME.findall(row.question))
    names_by_title = {title: sorted(set(names_of_title)) for title, names_of_title in names.items()}
    for row in answerable:
        draw = random.Random(hash_to_number(row.question))
        ways = [
            question
            for question in (
                _swap_number(row.question, draw),
                _swap_name(row.question, names_by_title[row.title or row.source], draw),
                _swap_name(row.question, _list_names(row), draw),
                _swap_opposite(row.question),
                _NOT.sub(r"\1 not", row.question, count=1) if draw.random() < 0.1 else row.question,
            )
            if question != row.question
        ]
        for question in draw.sample(ways, min(_WAYS, len(ways))):
            yield replace(
                row,
                group=_GROUPS[row.group],
                question=question,
                spans=(),
                answerable=False,
                relevant=None,
            )


def _swap_number(question: str, draw: random.Random) -> str:
    number = _NUMBER.search(question)
    if not number:
        return question
    return question[: number.start()] + _draw_number(number[0], draw) + question[number.end() :]


def _swap_name(question: str, names: Sequence[str], draw: random.Random) -> str:
    name = _NAME.search(question)
    others = [other for other in names if other not in question and question not in other]
    if not name or not others:
        return question
    return question[: name.start()] + draw.choice(others) + question[name.end() :]


def _list_names(row: Row) -> list[str]:
    """Return the names in the sentences of the text, except the answer's own."""
    answers = " ".join(row.text[start:end] for start, end in row.spans)
    return sorted({name for name in _NAME.findall(row.text) if name not in answers})


def _swap_opposite(question: str) -> str:
    words = re.split(r"(\W+)", question)
    for place, word in enumerate(words):
        if place and word in _OTHER:
            return "".join([*words[:place], _OTHER[word], *words[place + 1 :]])
    return question


def _draw_number(number: str, draw: random.Random) -> str:
    """Return a number of the same shape in which at least one digit differs."""
    place = draw.choice([place for place, char in enumerate(number) if char.isdigit()])
    digit = draw.choice([d for d in "123456789" if d != number[place]])
    return number[:place] + digit + number[place + 1 :]
