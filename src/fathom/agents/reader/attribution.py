"""Whom hits are about: what somebody says, and what is compared, is read where they are named."""

import re
from collections.abc import Sequence

from fathom.text.entities import names
from fathom.types import Hit

_ACCORDING = re.compile(
    r"\b(?:according to|as stated by|as reported by|menurut)\s+(?:the\s+)?", re.IGNORECASE
)


def source_of(question: str) -> str:
    """Who is to say it, as the question calls them: "according to the Treasury"; else empty."""
    found = _ACCORDING.search(question)
    if found is None:
        return ""
    named = next((each for each in names(question) if each.end > found.end()), None)
    told = named is not None and named.start <= found.end()
    return question[found.end() : named.end] if named is not None and told else ""


def attributed(question: str, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that name who is to say it, in text, title or headings; all where none does."""
    source = source_of(question)
    if not source:
        return hits
    return naming(source, hits) or hits


def naming(name: str, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that hold a name in text, title or headings."""
    bare = re.sub(r"^(?:the|a|an)\s+", "", name, flags=re.IGNORECASE)
    word = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)", re.IGNORECASE)
    return [hit for hit in hits if word.search(hit.chunk.context)]
