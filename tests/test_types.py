"""Places in documents, and the title of a chunk's document."""

from dataclasses import replace

import pytest

from fathom.types import Block, Chunk, Document, Place, Span

TEXT = "Fees\n\nA permit costs 40 crowns. Pay at\nthe harbour."
DOCUMENT = Document(
    id="d1",
    text=TEXT,
    path="/c/fees.md",
    title="Fees",
    blocks=(
        Block(kind="heading", span=Span(0, 4), headings=("Fees",)),
        Block(kind="paragraph", span=Span(6, len(TEXT)), headings=("Fees", "Permits"), page=2),
    ),
)
FROM_FILE = replace(DOCUMENT, lines=((0, 3), (6, 5), (15, 6), (TEXT.index("Pay"), 9)))
CHUNK = Chunk(id="d1#0", document_id="d1", text="It is 4.", span=Span(0, 8), ordinal=0)


def test_a_place_shows_its_section_without_the_title_and_its_page() -> None:
    at = TEXT.index("costs")
    place = Place(path="/c/fees.md", title="Fees", section="Permits", page=2, line=3)
    assert DOCUMENT.place_at(at) == place
    assert FROM_FILE.place_at(at) == replace(place, line=6)
    untitled = replace(DOCUMENT, title="Other")
    assert untitled.place_at(at).section == "Fees > Permits"
    bare = Place(path="/c/fees.md", title="Fees", line=1)
    assert replace(DOCUMENT, blocks=()).place_at(0) == bare


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (3, "Fees"),
        (4, "Fees"),
        (5, "A permit"),
        (6, "costs 40 crowns."),
        (9, TEXT[32:]),
        (1, "Fees"),
    ],
)
def test_a_line_of_the_file_leads_to_its_words(line: int, text: str) -> None:
    assert FROM_FILE.line_span(line).cut(TEXT) == text


def test_without_lines_of_the_file_the_lines_of_the_text_count() -> None:
    lines = [DOCUMENT.line_span(line).cut(TEXT) for line in (1, 2, 3, 4)]
    assert lines == ["Fees", "", "A permit costs 40 crowns. Pay at", "the harbour."]
    assert [DOCUMENT.line_at(at) for at in (0, 5, 6, len(TEXT))] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("path", "title", "label"),
    [
        ("/sec/AMZN/2023 Q3.pdf", "Form 10-Q", "AMZN 2023 Q3 > Form 10-Q"),
        ("/sec/2023 Q3 AMZN.pdf", "Report on Q3", "sec 2023 AMZN > Report on Q3"),
        ("/fees/fees-2023.pdf", "Fees of 2023", "Fees of 2023"),
        ("/fees.pdf", "fees", "fees"),
        ("/c/corpus.jsonl#d1", "Cats", "Cats"),
        ("/c/odd #1.md", "", "c odd 1"),
        ("", "Cats", "Cats"),
    ],
)
def test_file_and_folder_names_precede_a_title_without_their_words(
    path: str, title: str, label: str
) -> None:
    chunk = replace(CHUNK, path=path, title=title, headings=("Part I",))
    assert chunk.label == label
    assert chunk.breadcrumb == f"{label} > Part I"
    assert chunk.context == f"{label} > Part I\nIt is 4."
