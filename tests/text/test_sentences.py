from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.chunking.structure import StructureChunker
from fathom.text.sentences import split
from fathom.types import Document


def sentences(text: str) -> list[str]:
    return [span.cut(text) for span in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith met Mrs. Jones. They left.", ["Dr. Smith met Mrs. Jones.", "They left."]),
        ("J. R. Tolkien wrote it. Yes.", ["J. R. Tolkien wrote it.", "Yes."]),
        ("It costs 3.14 dollars. OK.", ["It costs 3.14 dollars.", "OK."]),
        ("See e.g. Figure 2. Then stop.", ["See e.g. Figure 2.", "Then stop."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("Mulai pukul 08.00. Bawa KTP.", ["Mulai pukul 08.00.", "Bawa KTP."]),
        ("Jl. Sudirman No. 5 ditutup. Lewat Jl. Thamrin.",
         ["Jl. Sudirman No. 5 ditutup.", "Lewat Jl. Thamrin."]),
        ("Yth. Bpk. Budi hadir. Terima kasih.", ["Yth. Bpk. Budi hadir.", "Terima kasih."]),
        ("1. Open the lid.\n2. Press start.", ["1. Open the lid.", "2. Press start."]),
        ("Bring:\n- a pen\n- a book", ["Bring:", "- a pen", "- a book"]),
        ("A heading\n\nA paragraph", ["A heading", "A paragraph"]),
        ("Name | Age\nAnn | 3", ["Name | Age", "Ann | 3"]),
        ("A line that\ngoes on. End.", ["A line that\ngoes on.", "End."]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
        ("It fell in 1990.[1] Nobody came.[2][note 3] Why?", [
            "It fell in 1990.[1]", "Nobody came.[2][note 3]", "Why?",
        ]),
        ('He said "Stop."[a] Then he left.', ['He said "Stop."[a]', "Then he left."]),
        ("Built by Dr.[4] Smith. It is 3.[5] high.", [
            "Built by Dr.[4] Smith.", "It is 3.[5] high.",
        ]),
        ("It ended. [He laughs.] It began.", ["It ended.", "[He laughs.]", "It began."]),
        ("  ", []),
        ("", []),
    ],
)  # fmt: skip
def test_splits_as_a_reader_would(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_chunks_end_where_they_did_before_marks_of_notes_were_known() -> None:
    """Else every index would have to be made anew."""
    text = "It fell in 1990.[1] Nobody came. Why?"
    assert [span.cut(text) for span in split(text, notes=False)] == [
        "It fell in 1990.[1] Nobody came.",
        "Why?",
    ]
    (chunk, rest) = StructureChunker(lambda part: len(part.split()), 6, 1).split(
        Document(id="d", text=text, path="", title="")
    )
    assert (chunk.text, rest.text) == ("It fell in 1990.[1] Nobody came.", "Why?")


@given(st.text(alphabet=st.sampled_from('aB1 .!?\n|-")。[]'), max_size=200), st.booleans())
def test_loses_nothing_but_white_space(text: str, notes: bool) -> None:
    spans = split(text, notes=notes)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    covered = {i for span in spans for i in range(span.start, span.end)}
    assert all(i in covered or c.isspace() for i, c in enumerate(text))
    assert all(span.cut(text) == span.cut(text).strip() != "" for span in spans)
