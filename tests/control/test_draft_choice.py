import pytest
from tests.making import hit_of

from fathom.control.draft_choice import is_better
from fathom.types import Draft, Evidence, Span


def draft(confidence: float, *, quoted: bool = True) -> Draft:
    evidence = Evidence(hit=hit_of(), span=Span(0, 9), support=0.9)
    return Draft(evidence=(evidence,) if quoted else (), confidence=confidence)


@pytest.mark.parametrize(
    ("new", "old", "better"),
    [
        (draft(0.6), draft(0.5), True),
        (draft(0.5), draft(0.5), False),
        (draft(0.9, quoted=False), draft(0.1), False),
        (draft(0.1), Draft(), True),
    ],
)
def test_the_surer_of_two_drafts_with_evidence_is_kept(
    new: Draft, old: Draft, better: bool
) -> None:
    assert is_better(new, old) == better
