"""What a question asks the meaning of, and which sentences tell it, in English and Indonesian."""

import re
from collections.abc import Callable

_TERM = r"([^?.!,;:]{2,80}?)"
_QUOTES = "\"'*_\u201c\u201d\u2018\u2019"
_ARTICLE = r"(?:the\s+|an?\s+)?"
_ASKED = re.compile(
    r"\W*(?:(?:please|tolong|jelaskan|sebutkan)\s+)?(?:"
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
    r"(?:^|(?<=[.;:!?]\s))[^\w\n]*(?:(?:\d{1,3}|[a-z])[.)]\s*)?(?:the\s+|an?\s+)?"
    rf"[{_QUOTES}]*"
)
_IS = (
    rf"[{_QUOTES}]*(?:\s*\([^)\n]{{1,60}}\))?"
    r"(?:\s*[:\u2013\u2014]\s|,?\s+(?:is|are|means?|refers?\s+to|denotes?|stands\s+for"
    r"|adalah|ialah|yaitu|yakni|merupakan|berarti|artinya)\b)"
)


def asked_term(question: str) -> str:
    """What a question asks the meaning of: "What is a quay?" of "quay"; empty if it asks another.

    "What is the fee of a permit?" has the same form: its term is "fee of a permit".
    """
    found = _ASKED.fullmatch(question.strip())
    return "" if found is None else next(filter(None, found.groups())).strip(f" {_QUOTES}")


def definer(term: str) -> Callable[[str], bool]:
    """Tells of a text whether a sentence, item or entry in it begins by saying what `term` is."""
    words = r"\s+".join(re.escape(word) for word in term.split())
    pattern = re.compile(f"{_START}{words}{_IS}", re.IGNORECASE | re.MULTILINE)
    return lambda text: pattern.search(text) is not None
