"""Quotes of a model are located in the hits and completed to sentences."""

from tests.factories import FEES, hit_of, hit_with

from fathom.agents.reader.citations import locate_quote, widen_to_units
from fathom.documents.base import Builder
from fathom.types import Span

COSTS = "A mooring permit costs 40 crowns a year."
DOGS = hit_of("Dogs on a lead are welcome on the pier.", document="d0")
HITS = [DOGS, hit_of(rank=2), hit_of(rank=3, document="d2")]


def locate(quote: str, chunk: int = 2) -> tuple[str, str] | None:
    span = locate_quote(quote, HITS, chunk=chunk)
    return (span.hit.chunk.document_id, span.quote) if span else None


def test_a_part_of_a_sentence_is_completed_to_the_sentence() -> None:
    assert locate("permit costs 40 CROWNS") == ("d1", COSTS)
    assert locate("40 crowns a year. It is paid at the") == ("d1", FEES)
    assert locate("permit costs 41 crowns") is None


def test_the_named_chunk_precedes_others_with_the_same_words() -> None:
    assert locate(COSTS, 3) == ("d2", COSTS)
    assert locate(COSTS, 1) == ("d1", COSTS)


def test_in_another_chunk_only_long_exact_quotes_count() -> None:
    assert locate("Dogs on a lead are welcome on the pier", 2) == (
        "d0",
        "Dogs on a lead are welcome on the pier.",
    )
    assert locate("Dogs on a", 2) is None
    assert locate("Dogs on a lead are welcome at the pier", 2) is None
    assert locate("Dogs on a lead are welcome at the pier", 1) == (
        "d0",
        "Dogs on a lead are welcome on the pier.",
    )


def test_a_quote_cut_out_of_a_denial_is_shown_with_the_denial() -> None:
    hit = hit_of("It cannot be said by anybody here that dogs are welcome on the pier. Ask.")
    span = locate_quote("dogs are welcome on the pier", [hit], chunk=1)
    assert span is not None
    assert span.quote.startswith("It cannot be said")


def test_a_heading_stays_unchanged_and_an_item_has_no_label() -> None:
    builder = Builder()
    builder.add_heading("Harbour fees", 1)
    builder.add_item("1. Mooring costs 40 crowns.")
    builder.add_item("2. Landing is free.")
    hit = hit_with(builder)
    text = hit.chunk.text
    assert widen_to_units(hit, Span(0, len("Harbour"))) == Span(0, len("Harbour"))
    span = locate_quote("Mooring costs 40", [hit], chunk=1)
    assert span is not None
    assert span.quote == "Mooring costs 40 crowns."
    both = locate_quote("Mooring costs 40 crowns. Landing is free.", [hit], chunk=1)
    assert both is not None
    assert both.quote in text
    assert both.quote.startswith("Mooring")
    assert both.quote.endswith("free.")


def test_a_heading_above_the_chunk_can_be_quoted() -> None:
    hit = hit_of()
    span = locate_quote("fees", [hit], chunk=1)
    assert span is not None
    assert (span.heading, span.quote, span.span) == ("Fees", "Fees", Span(0, 0))
    assert locate_quote("Prices", [hit], chunk=1) is None
