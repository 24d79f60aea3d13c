"""How many there are: the number that a document states, or the items that it lists."""

import re
from collections.abc import Callable, Sequence

from fathom.agents.reader.early_stop import ReadHit
from fathom.agents.reader.lists import Steps, steps_of
from fathom.text.numbers import numbers

_COUNTED = re.compile(
    r"\bhow many\s+(?P<en>.{1,200}?)\s+(?:are|is|were|was|do|does|did|has|have|had|can|could|may|"
    r"must|should|will|there)\b"
    r"|\b(?:ada berapa(?: banyak)?|berapa (?:banyak|jumlah|buah|macam|jenis)|jumlah)\s+"
    r"(?P<id>[^?]+?)"
    r"(?:\s+(?:yang|di|pada|dalam|dari|milik|ada)\b|\s*\?|$)",
    re.IGNORECASE,
)


def counted(question: str) -> str:
    """What a question asks the number of: "How many branches are there?"; empty if of nothing."""
    found = _COUNTED.search(question)
    return next((each for each in found.groups() if each), "") if found else ""


def listed(
    question: str, seen: Sequence[ReadHit], terms: Callable[[str], frozenset[str]]
) -> Steps | None:
    """The list of what is to be counted, if it is whole; of several the likeliest.

    Its heading, or the line above it, holds all words of what is counted.
    """
    wanted = terms(counted(question))
    lists = steps_of(question, seen, terms) if wanted else []
    return next((each for each in lists if each.whole and wanted <= terms(each.above)), None)


def stated(answer: str) -> float | None:
    """The one number in a short answer."""
    found = set(numbers(answer))
    return found.pop() if len(found) == 1 else None
