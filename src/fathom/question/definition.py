"""Rules for questions that ask for the meaning of a term, and for sentences that define it.

English and Indonesian.
"""

import re
from collections.abc import Callable

_TERM = r"([^?.!,;:]{2,80}?)"
_QUOTES = "\"'*_\u201c\u201d\u2018\u2019"
_ARTICLE = r"(?:the\s+|an?\s+)?"
_DEFINITION_QUESTION = re.compile(
    r"\W*+(?:(?:please|tolong|jelaskan|sebutkan)\s+)?(?:"
    rf"(?:what\s+(?:is|are)|what[\u2019']s|define)\s+{_ARTICLE}"
    rf"(?:(?:(?:meaning|definition)\s+of|meant\s+by)\s+{_ARTICLE})?{_TERM}"
    rf"|what\s+do(?:es)?\s+{_ARTICLE}{_TERM}\s+(?:mean|stand\s+for)"
    rf"|apa(?:kah)?\s+(?:sih\s+)?(?:itu|(?:yang\s+)?(?:di)?maksud(?:nya)?(?:\s+(?:dengan|dari))?"
    rf"|arti(?:nya)?(?:\s+dari)?|(?:yang\s+)?disebut(?:\s+dengan)?)\s+{_TERM}"
    rf"|(?:apa(?:kah)?\s+)?(?:pengertian|definisi)(?:nya)?(?:\s+dari)?\s+{_TERM}"
    rf"|{_TERM}\s+(?:itu|adalah)\s+apa"
    r")\W*",
    re.IGNORECASE,
)
_START = (
    r"(?:^|(?<=[.;:!?]\s))[^\w\n]{0,40}(?:(?:\d{1,3}|[a-z])[.)]\s*)?(?:the\s+|an?\s+)?"
    rf"[{_QUOTES}]{{0,9}}"
)
_IS = (
    rf"[{_QUOTES}]*(?:\s*\([^)\n]{{1,60}}\))?"
    r"(?:\s*[:\u2013\u2014]\s|,?\s+(?:is|are|means?|refers?\s+to|denotes?|stands\s+for"
    r"|adalah|ialah|yaitu|yakni|merupakan|berarti|artinya)\b)"
)


def extract_term(question: str) -> str:
    """Return the term whose meaning a question asks for: "quay" in "What is a quay?"; else empty.

    "What is the fee of a permit?" has the same form; its term is "fee of a permit".
    """
    match = _DEFINITION_QUESTION.fullmatch(question.strip())
    return "" if match is None else next(filter(None, match.groups())).strip(f" {_QUOTES}")


def build_definition_check(term: str) -> Callable[[str], bool]:
    """Return a predicate that tells whether a text has a sentence or item that defines a term.

    Such a sentence begins with the term, followed by "is", "means", a colon or the like.
    """
    # A term may be broken over two lines in a document.
    words = r"\s+".join(re.escape(word) for word in term.split())
    pattern = re.compile(f"{_START}{words}{_IS}", re.IGNORECASE | re.MULTILINE)
    return lambda text: pattern.search(text) is not None
