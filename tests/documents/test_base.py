"""Titles of documents, and the row that names a table's columns where the file does not say."""

import pytest

from fathom.documents.base import Builder, add_blocks


def build_document(*headings: tuple[str, int], before: str = "") -> Builder:
    builder = Builder()
    builder.add_paragraph(before)
    for text, level in headings:
        builder.add_heading(text, level)
        builder.add_paragraph("Words.")
    return builder


def test_the_title_of_the_file_comes_first() -> None:
    assert build_document(("Fees", 1)).build("Fees of 2023").title == "Fees of 2023"


@pytest.mark.parametrize(
    "made_up",
    [
        "Untitled",
        "Microsoft Word - a.doc",
        "PowerPoint Presentation",
        "fees.docx",
        "Document1",
        "-",
    ],
)
def test_a_name_given_by_a_program_is_no_title(made_up: str) -> None:
    assert build_document(("Fees", 1)).build(made_up).title == "Fees"
    assert build_document(before="Words.").build(made_up).title == ""


@pytest.mark.parametrize(
    ("builder", "title"),
    [
        (build_document(("Fees", 2), ("More", 2)), "Fees"),
        (build_document(("Fees", 1), ("More", 2), before="Notice."), "Fees"),
        (build_document(("Fees", 1), ("More", 1), before="Notice."), ""),
        (build_document(("1. Introduction", 1)), ""),
        (build_document(("BAB I KETENTUAN UMUM", 1)), ""),
        (build_document(("Part II", 1)), ""),
        (build_document(("3D printing", 1)), "3D printing"),
    ],
)
def test_a_heading_is_the_title_only_if_it_opens_or_dominates_the_document(
    builder: Builder, title: str
) -> None:
    assert builder.build().title == title
    assert builder.build(opening=False).title == ""


def test_chunks_carry_the_beginning_of_a_long_heading_and_the_text_holds_it_whole() -> None:
    heading = "rules of the house " * 1000
    parsed = build_document((heading, 1), ("Fees", 2)).build()
    assert heading.strip() in parsed.text
    assert parsed.title == heading[:300].strip()
    assert [block.headings for block in parsed.blocks[-2:]] == [(parsed.title, "Fees")] * 2


def list_kinds(*rows: str, head: bool = False) -> list[str]:
    """Return the kinds of the rows of a table after a paragraph."""
    builder = Builder()
    builder.add_paragraph("Before.")
    for at, row in enumerate(rows):
        builder.add_row(row.split("/"), head=head and at == 0)
    builder.add_paragraph("After.")
    return [block.kind for block in builder.build().blocks[1:-1]]


@pytest.mark.parametrize(
    "rows",
    [
        ("Item/Fee/Days", "Skip/40/2", "Permit/55/3"),
        ("Day/Hours", "Monday/closed", "Tuesday/9:00 to 17:00", "Friday/10:00 to 17:00"),
        ("Item/Fee", "Skip/40", "Only this", "Permit/55"),
    ],
)
def test_short_words_above_figures_name_the_columns(rows: tuple[str, ...]) -> None:
    assert list_kinds(*rows) == ["table_head", *["table_row"] * (len(rows) - 1)]


@pytest.mark.parametrize(
    "rows",
    [
        ("Telephone/555-0120", "Fax/555-0121"),
        ("Librarian/Petra Lund", "Mayor/Ann Oak"),
        ("Item/", "Skip/40"),
        ("Item/Fee",),
        ("Item", "4"),
        ("x" * 61 + "/Fee", "Skip/40"),
    ],
)
def test_otherwise_the_first_row_is_a_row(rows: tuple[str, ...]) -> None:
    assert list_kinds(*rows) == ["table_row"] * len(rows)


def test_the_declaration_of_the_file_decides() -> None:
    assert list_kinds("Librarian/Mayor", "Ann/Bob", head=True) == ["table_head", "table_row"]
    assert list_kinds("Item/Fee", "Skip/40", "Name/Age", "Ann/3", head=True)[2] == "table_row"


def test_a_table_is_one_run_of_lines() -> None:
    builder = Builder()
    builder.add_row(["Item", "Fee"], head=True)
    builder.add_row(["Skip", "40"])
    assert builder.build().text == "Item | Fee\nSkip | 40"


def test_a_table_at_the_end_is_closed_too() -> None:
    builder = Builder()
    builder.add_row(["Item", "Fee"])
    builder.add_row(["Skip", "40"])
    assert [block.kind for block in builder.build().blocks] == ["table_head", "table_row"]


def build_inner() -> Builder:
    builder = Builder()
    builder.set_page(3)
    builder.add_heading("Fees", 1)
    builder.add_heading("Skips", 2)
    builder.add_paragraph("Per week.")
    builder.add_item("Ask", "1.")
    builder.add_row(["a", "b"])
    builder.add_code("x = 1\n  y")
    builder.add_footnote("Since 2019.", "1")
    return builder


def test_blocks_keep_text_and_kind_and_move_below_a_heading() -> None:
    outer = Builder()
    outer.add_heading("Mail", 1)
    add_blocks(outer, build_inner().build(), below=1)
    parsed = outer.build()
    source = build_inner().build()
    assert parsed.text == f"Mail\n\n{source.text}"
    assert [block.kind for block in parsed.blocks[1:]] == [block.kind for block in source.blocks]
    assert parsed.blocks[-1].headings == ("Mail", "Fees", "Skips")
    assert {block.page for block in parsed.blocks} == {None}


def test_without_a_heading_above_nothing_moves() -> None:
    outer = Builder()
    add_blocks(outer, build_inner().build())
    assert outer.build().text == build_inner().build().text
    assert outer.build().blocks[-1].headings == ("Fees", "Skips")


def test_a_bar_inside_a_cell_is_escaped_once() -> None:
    inner, outer = Builder(), Builder()
    inner.add_row(["", "x | y", "|"])
    add_blocks(outer, inner.build())
    assert outer.build().text == inner.build().text == r"| x \| y | \|"
