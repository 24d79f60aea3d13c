"""Questions with a number or a name swapped, so that their text looks right and is not."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from training.cross_reader.rows import Row, number_of

_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")


def swapped(rows: Sequence[Row]) -> Iterator[Row]:
    """Answerable questions with one number or name replaced, so that their text no longer answers.

    The new name is one that another question over the same article or source has and that this
    question lacks; it may occur in the text, which makes the pair harder.
    """
    asked = [row for row in rows if row.group in ("squad", "wiki") and row.answerable]
    names: dict[str, list[str]] = {}
    for row in asked:
        names.setdefault(row.title, []).extend(_NAME.findall(row.question))
    for row in asked:
        question = _swap(row.question, sorted(set(names[row.title])))
        if question != row.question:
            yield replace(
                row, group="swapped", question=question, spans=(), answerable=False, relevant=None
            )


def _swap(question: str, names: Sequence[str]) -> str:
    draw = random.Random(number_of(question))
    number = _NUMBER.search(question)
    if number:
        return (
            question[: number.start()] + _other_number(number[0], draw) + question[number.end() :]
        )
    name = _NAME.search(question)
    others = [other for other in names if other not in question and question not in other]
    if not name or not others:
        return question
    return question[: name.start()] + draw.choice(others) + question[name.end() :]


def _other_number(number: str, draw: random.Random) -> str:
    """A number of the same shape in which at least one digit differs."""
    place = draw.choice([place for place, char in enumerate(number) if char.isdigit()])
    digit = draw.choice([d for d in "123456789" if d != number[place]])
    return number[:place] + digit + number[place + 1 :]
