"""The match between the form of a quote and the form that the question asks for.

A sentence that defines the term asked for, or the manual entry that is looked up, is right more
often than another sentence with the same scores of the cross-reader.
"""

from collections.abc import Iterator

from fathom.question.definition import build_definition_check
from fathom.question.lookup import Lookup, is_identifier, states_default
from fathom.question.question import Question
from fathom.text.entries import ManualEntry, list_entries, list_names
from fathom.text.quotable import list_blocks
from fathom.types import Draft, Evidence


def may_be_meant(lookup: Lookup, names: frozenset[str], text: str) -> bool:
    """Return whether a manual entry can be the one that is looked up.

    Args:
        lookup: The lookup that the question makes.
        names: The names of the entry, such as `-v` and `--verbose`.
        text: The text of the entry.
    """
    is_named = bool(names & lookup.names)
    if lookup.want in {"name", "way"}:
        # A name that the question contains is known to the user, so it is not the answer.
        return not is_named and _is_of_kind(lookup, names)
    return (is_named or not lookup.names) and (lookup.want == "meaning" or states_default(text))


def _is_of_kind(lookup: Lookup, names: frozenset[str]) -> bool:
    """Return whether an entry has a name of the kind asked for: an option or another name."""
    is_dashed = any(name.startswith("-") for name in names)
    return any(map(is_identifier, names)) and lookup.dashed in {None, is_dashed}


def rate_form(question: Question, quote: Evidence) -> int:
    """Return 1 if a quote has the form asked for, -1 if it certainly has not, else 0.

    It has the form if it defines the term asked for or belongs to an entry that may be meant. It
    has not if its chunk contains none of the names that are looked up, or if a default is looked up
    and the quote states none.
    """
    if question.term and build_definition_check(question.term)(quote.quote):
        return 1
    lookup, chunk = question.lookup, quote.hit.chunk
    if lookup is None:
        return 0
    entries = list_entries_around(quote)
    # Many ways to do something are not options, so an entry proves nothing there.
    if lookup.want != "way" and any(
        may_be_meant(lookup, list_names(entry.head.cut(chunk.text)), entry.span.cut(chunk.text))
        for entry in entries
    ):
        return 1
    is_foreign = bool(lookup.names) and not any(name in chunk.context for name in lookup.names)
    return -1 if is_foreign or (lookup.want == "default" and not states_default(quote.quote)) else 0


def is_asked_list(question: Question, draft: Draft) -> bool:
    """Return whether the question asks for a list or steps and all quotes are list items."""
    asks_list = question.form == "several" or question.asks_steps
    return asks_list and len(draft.evidence) > 1 and all(map(_is_item, draft.evidence))


def list_entries_around(quote: Evidence) -> Iterator[ManualEntry]:
    """Yield the manual entries that overlap a quote."""
    for entry in list_entries(quote.hit.chunk):
        if entry.span.start < quote.span.end and quote.span.start < entry.span.end:
            yield entry


def _is_item(quote: Evidence) -> bool:
    """Return whether a quote is in a list item."""
    return any(
        block.kind == "list_item" and block.start <= quote.span.start < block.end
        for block in list_blocks(quote.hit.chunk)
    )
