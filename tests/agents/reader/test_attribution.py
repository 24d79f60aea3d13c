"""Attribution: a question to one source is answered from that source."""

import pytest
from tests.factories import hit_of

from fathom.agents.reader.local import select_attributed
from fathom.question.question import Question


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("What does it cost according to the Treasury?", "Treasury"),
        ("According to the Harbour Office, what is a berth?", "Harbour Office"),
        ("Berapa biayanya menurut Dinas Pekerjaan Umum?", "Dinas Pekerjaan Umum"),
        ("What is allowed according to the law?", ""),
        ("Who is in the Treasury?", ""),
    ],
)
def test_the_question_names_its_source(question: str, source: str) -> None:
    assert Question(question).source == source


def test_hits_that_name_the_source_are_kept_alone() -> None:
    question = "What does a permit cost according to the Treasury?"
    old, new = hit_of("19 crowns."), hit_of("The Treasury asks 22 crowns.", document="new")
    assert select_attributed(Question(question), [old, new]) == [new]
    assert select_attributed(Question(question), [old]) == [old]
    assert select_attributed(Question("What does a permit cost?"), [old, new]) == [old, new]
