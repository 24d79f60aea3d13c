"""What a model names is counted, and what of it was found."""

from benchmarks.evidence_forms import FORMS, named
from tests.making import hit_of

from fathom.agents.cited_answer import NumberingSentence, Quote, QuotingSentence

HITS = [hit_of("Dogs are welcome.", document="d0"), hit_of(rank=2)]


def test_what_is_named_and_found_is_counted() -> None:
    by_number = [NumberingSentence(evidence=[1, 3, 9], text="x")]
    assert named(FORMS["numbers"], by_number, HITS) == {"given": 3, "found": 2}
    costs = Quote(chunk=2, quote="a mooring permit COSTS 40 crowns")
    by_quote = [QuotingSentence(quotes=[costs, Quote(chunk=1, quote="Cats pay.")], text="x")]
    assert named(FORMS["quotes"], by_quote, HITS) == {"given": 2, "found": 1}


def test_what_is_named_twice_is_found_twice() -> None:
    twice = [NumberingSentence(evidence=[2, 2], text="x")]
    assert named(FORMS["numbers"], twice, HITS) == {"given": 2, "found": 2}
