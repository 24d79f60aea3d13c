from dataclasses import replace

import pytest
from tests.factories import hit_of

from fathom.control.draft_choice import has_conflict, is_better_draft
from fathom.types import Alternative, Draft, Evidence, Span


def make_draft(confidence: float, *, quoted: bool = True) -> Draft:
    evidence = Evidence(hit=hit_of(), span=Span(0, 9), support=0.9)
    return Draft(evidence=(evidence,) if quoted else (), confidence=confidence)


@pytest.mark.parametrize(
    ("new", "old", "better"),
    [
        (make_draft(0.6), make_draft(0.5), True),
        (make_draft(0.5), make_draft(0.5), False),
        (make_draft(0.9, quoted=False), make_draft(0.1), False),
        (make_draft(0.1), Draft(), True),
    ],
)
def test_the_surer_of_two_drafts_with_evidence_is_kept(
    new: Draft, old: Draft, better: bool
) -> None:
    assert is_better_draft(new, old) == better


def test_a_draft_that_settles_a_conflict_precedes_a_surer_first_one() -> None:
    rival = Alternative(text="55", evidence=(0,))
    contested = replace(make_draft(0.9), alternatives=(rival,))
    refuted = replace(make_draft(0.9), alternatives=(replace(rival, refuted=True),))
    assert has_conflict(contested)
    assert not has_conflict(refuted)
    assert is_better_draft(make_draft(0.4), contested, settles=True)
    assert not is_better_draft(make_draft(0.4), contested)
    assert is_better_draft(Draft(), contested, settles=True)
