import random
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear_growth import assert_linear

from fathom.documents.chunking.structure import StructureChunker
from fathom.text.sentences import split
from fathom.types import Document


def split_sentences(text: str) -> list[str]:
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
def test_sentences_are_split_as_a_reader_would(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_chunks_end_at_the_same_places_as_before_note_marks() -> None:
    """Otherwise every index would have to be rebuilt."""
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
def test_only_white_space_is_lost(text: str, notes: bool) -> None:
    spans = split(text, notes=notes)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    covered = {i for span in spans for i in range(span.start, span.end)}
    assert all(i in covered or c.isspace() for i, c in enumerate(text))
    assert all(span.cut(text) == span.cut(text).strip() != "" for span in spans)


# As sentences ended when one pattern told it, whose work was the square of a run of marks.
_BEFORE = (
    r"(?P<blank>\n[ \t]*\n\s*)"
    r"|(?P<line>\n[ \t]*)(?=(?:[-*\u2022]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t])"
    r"|(?P<row>\n)"
    r"|(?P<stop>[.!?\u2026]+[\"'\u201d\u2019)\]]*)%s(?P<space>\s+)"
    r"|(?P<wide>[\u3002\uff01\uff1f]+[\u300d\u300f\u201d]*)"
)
_NOTES = r"(?:\[[^\[\]\n]{1,20}\])*"
_SHORT_WORDS = frozenset({"a.n", "dr", "e.g", "no", "p"})


def _split_like_before(text: str, *, notes: bool) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = 0
    for end in re.finditer(_BEFORE % (_NOTES if notes else ""), text):
        if _is_end_like_before(text, start, end):
            last = end.end() if end["wide"] else end.start()
            spans.append((start, end.start("space") if end["stop"] else last))
            start = end.end()
    spans.append((start, len(text)))
    pieces = [(at, text[at:to]) for at, to in spans]
    inner = [(at + len(piece) - len(piece.lstrip()), piece.strip()) for at, piece in pieces]
    return [(at, at + len(piece)) for at, piece in inner if piece]


def _is_end_like_before(text: str, start: int, end: re.Match[str]) -> bool:
    if end["stop"]:
        return _is_stop_like_before(text, start, end)
    if end["row"]:
        before = text[max(start, end.start() - 300) : end.start()].rpartition("\n")[2]
        return " | " in before or " | " in text[end.end() : end.end() + 300].partition("\n")[0]
    return True


def _is_stop_like_before(text: str, start: int, end: re.Match[str]) -> bool:
    if end["space"].count("\n") > 1:
        return True
    if text[end.end() : end.end() + 1].islower():
        return False
    near = max(start, end.start() - 40)
    word = re.compile(r"[^\s(\[\"'\u201c\u2018]+\Z").search(text, near, end.start())
    if end["stop"] != "." or word is None:
        return True
    if word[0].lower() in _SHORT_WORDS or (len(word[0]) == 1 and word[0].isupper()):
        return False
    first = not text[start : word.start()].strip("([\"'\u201c\u2018 \t\n")
    return not (first and re.fullmatch(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})", word[0]))


MARKS = "aB1 .!?\u2026\n\t|-*\"')(][\u201d\u2019\u3002\uff01\u300d"
UNITS = [
    *("!", ".", "?", '"', ")", " ", "\n", "\t", "[", "]", "\u3002", "\uff01\u300d", "\u2026"),
    *("[x]", "[.]", "[.!]", ".[x]", ".[.]", '."[.]', ".]", '!"', ".)", "! ", ". ", ".\n", "\r\n"),
    *("\n ", "\n\t", "\n-", " \n", ".\u3002", "[\u3002.]", "[.\u3002]", "[.a", ".[", "A. ", "dr. "),
    *("1. ", "(1. ", "((", " | \n", '." ', "a.", "a. ", "!a", "! a", ".[.].", "\u3000"),
]


@given(st.text(alphabet=st.sampled_from(MARKS), max_size=60), st.booleans())
def test_sentences_end_at_the_same_places_as_before(text: str, notes: bool) -> None:
    spans = [(span.start, span.end) for span in split(text, notes=notes)]
    assert spans == _split_like_before(text, notes=notes)


@given(st.lists(st.sampled_from(UNITS), max_size=30), st.booleans())
def test_sentences_of_unusual_text_end_at_the_same_places_as_before(
    units: list[str], notes: bool
) -> None:
    text = "".join(units)
    spans = [(span.start, span.end) for span in split(text, notes=notes)]
    assert spans == _split_like_before(text, notes=notes)


@pytest.mark.parametrize("notes", [True, False])
def test_four_times_the_marks_take_four_times_the_work(notes: bool) -> None:
    """45,000 exclamation marks once took a server 40 seconds."""
    drawn = random.Random(5)
    mixed = ["".join(drawn.choices(UNITS, k=drawn.randrange(2, 5))) for _ in range(12)]
    for unit in [*UNITS, *mixed]:
        assert_linear(lambda text: split(text, notes=notes), unit)
        assert_linear(lambda text: split(text, notes=notes), unit, around="x")
