"""The form of an answer's quotes beside the form that the question asks for.

A sentence that defines the term asked for, or the entry that is looked up, is likelier right than
another sentence with the same numbers of the cross-reader.
"""

from collections.abc import Iterator

from fathom.question.definition import build_definition_check
from fathom.question.lookup import Lookup, is_identifier, states_default
from fathom.question.question import Question
from fathom.text.entries import ManualEntry, list_entries, list_names
from fathom.text.quotable import list_blocks
from fathom.types import Draft, Evidence


def may_be_meant(lookup: Lookup, names: frozenset[str], text: str) -> bool:
    """Return whether an entry can be the one that is looked up, by its names and its text."""
    is_named = bool(names & lookup.names)
    if lookup.want in {"name", "way"}:
        # A name that the question holds is known to the user, so it is not the answer.
        return not is_named and _is_of_kind(lookup, names)
    return (is_named or not lookup.names) and (lookup.want == "meaning" or states_default(text))


def _is_of_kind(lookup: Lookup, names: frozenset[str]) -> bool:
    """Return whether an entry's names are of the kind that is asked for, such as options."""
    is_dashed = any(name.startswith("-") for name in names)
    return any(map(is_identifier, names)) and lookup.dashed in {None, is_dashed}


def rate_form(question: Question, quote: Evidence) -> int:
    """Return 1 if a quote has the form asked for, -1 if it surely lacks it, else 0.

    It has it if it defines the term asked for, or is of an entry that may be looked up. It lacks it
    if none of the names that are looked up occurs in its chunk, or if a default is looked up and
    the quote tells none.
    """
    if question.term and build_definition_check(question.term)(quote.quote):
        return 1
    lookup, chunk = question.lookup, quote.hit.chunk
    if lookup is None:
        return 0
    entries = list_entries_around(quote)
    # An option is often not the way to do what is asked, and many ways are no options.
    if lookup.want != "way" and any(
        may_be_meant(lookup, list_names(entry.head.cut(chunk.text)), entry.span.cut(chunk.text))
        for entry in entries
    ):
        return 1
    is_foreign = bool(lookup.names) and not any(name in chunk.context for name in lookup.names)
    return -1 if is_foreign or (lookup.want == "default" and not states_default(quote.quote)) else 0


def is_asked_list(question: Question, draft: Draft) -> bool:
    """Return whether several things or steps are asked for and the quotes are items of a list."""
    asks_list = question.form == "several" or question.asks_steps
    return asks_list and len(draft.evidence) > 1 and all(map(_is_item, draft.evidence))


def list_entries_around(quote: Evidence) -> Iterator[ManualEntry]:
    """Yield the entries in which a quote stands, at least in part."""
    for entry in list_entries(quote.hit.chunk):
        if entry.span.start < quote.span.end and quote.span.start < entry.span.end:
            yield entry


def _is_item(quote: Evidence) -> bool:
    return any(
        block.kind == "list_item" and block.start <= quote.span.start < block.end
        for block in list_blocks(quote.hit.chunk)
    )
