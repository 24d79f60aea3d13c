from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.text.sentences import split


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
        ("  ", []),
        ("", []),
    ],
)  # fmt: skip
def test_splits_as_a_reader_would(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet=st.sampled_from('aB1 .!?\n|-")。'), max_size=200))
def test_loses_nothing_but_white_space(text: str) -> None:
    spans = split(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    covered = {i for span in spans for i in range(span.start, span.end)}
    assert all(i in covered or c.isspace() for i, c in enumerate(text))
    assert all(span.cut(text) == span.cut(text).strip() != "" for span in spans)
