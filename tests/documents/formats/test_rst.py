from pathlib import Path

from fathom.documents.base import ParsedDocument
from fathom.documents.formats.rst import parse


def describe_blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]


def test_all_kinds_of_blocks_are_read() -> None:
    parsed = parse(
        b"Guide\n=====\n\nFirst\nparagraph with *words* [1]_.\n\nSteps\n-----\n\n"
        b"#. one\n#. two\n\n- dot\n\n::\n\n    code  here\n\n"
        b"===  ===\nA    B\n===  ===\n1    2\n===  ===\n\n.. [1] A note.\n\n.. a comment\n"
    )
    assert describe_blocks(parsed) == [
        ("heading", "Guide"),
        ("paragraph", "First paragraph with words [1]."),
        ("heading", "Steps"),
        ("list_item", "1. one"),
        ("list_item", "2. two"),
        ("list_item", "- dot"),
        ("code", "code  here"),
        ("table_head", "A | B"),
        ("table_row", "1 | 2"),
        ("footnote", "[1] A note."),
    ]
    assert parsed.blocks[3].headings == ("Guide", "Steps")


def test_a_cell_of_several_columns_or_rows_stands_in_each_of_its_rows() -> None:
    table = (
        "+---+---+---+\n| A | B | C |\n+===+===+===+\n| 1 | 2 | 3 |\n+   +---+---+\n|   | 4 | 5 |\n"
        "+---+---+---+\n| 6     | 7 |\n+-------+---+\n"
    )
    assert parse(table.encode()).text == "A | B | C\n1 | 2 | 3\n1 | 4 | 5\n6 |  | 7"


def test_the_titles_of_the_document_are_headings() -> None:
    parsed = parse(b"====\nBook\n====\n\n----\nFees\n----\n\nFirst\n=====\n\nText.\n")
    assert parsed.title == "Book"
    assert parsed.blocks[-1].headings == ("Book", "Fees", "First")


def test_the_title_of_a_table_or_a_box_heads_nothing_behind_it() -> None:
    source = (
        "Book\n====\n\n.. contents:: Contents\n\nFees\n----\n\n.. table:: Of boats\n\n"
        "   ===  ===\n   A    B\n   ===  ===\n   1    2\n   ===  ===\n\n"
        ".. topic:: A topic\n\n   Text.\n\n.. rubric:: Notes\n\nEnd.\n"
    )
    parsed = parse(source.encode())
    assert describe_blocks(parsed) == [
        ("heading", "Book"),
        ("heading", "Fees"),
        ("paragraph", "Of boats"),
        ("table_head", "A | B"),
        ("table_row", "1 | 2"),
        ("paragraph", "A topic"),
        ("paragraph", "Text."),
        ("heading", "Notes"),
        ("paragraph", "End."),
    ]
    assert [block.headings for block in parsed.blocks[6:]] == [
        ("Book", "Fees"),
        *[("Book", "Fees", "Notes")] * 2,
    ]


def test_superscripts_and_marks_of_notes_are_no_digits_of_a_number() -> None:
    text = b"It costs 25 [1]_ or 10\\ :sup:`6`, H\\ :sub:`2`\\ O [Ana]_.\n\n"
    source = text + b".. [1] Net.\n.. [Ana] Book."
    assert parse(source).text == ("It costs 25 [1] or 10^6, H2O [Ana].\n\n[1] Net.\n\n[Ana] Book.")


def test_items_have_the_labels_that_they_print() -> None:
    parsed = parse(b"c) x\nd) y\n\n(i) z\n(ii) w\n\n2. v\n")
    assert parsed.text == "c) x\nd) y\n(i) z\n(ii) w\n2. v"


def test_no_file_is_included_and_nothing_raw_passes(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    insertions = (
        f"include:: {secret}",
        f"raw:: html\n   :file: {secret}",
        "raw:: html\n\n   evil",
        "|x| raw:: html\n\n   evil",
        f"note2::\n\n   .. include:: {secret}",
    )
    source = "Text\n\n" + "".join(f".. {directive}\n\n" for directive in insertions)
    assert parse(source.encode()).text == "Text"


def test_unknown_directives_do_no_harm() -> None:
    assert "Text" in parse(b"Text :py:func:`x`\n\n.. toctree::\n\n   a\n").text


def test_the_text_of_directives_of_other_programs_is_read() -> None:
    source = (
        ".. py:function:: pay(fee, *rest)\n   :noindex:\n\n   Pay a *fee*.\n\n"
        "   :param fee: crowns\n\n"
        "   .. versionadded:: 1.2\n      Takes several.\n\n"
        ".. class:: Fee(amount)\n\n   A fee.\n\n.. class:: wide\n\n"
        ".. only:: html\n\n   - one\n\n     .. seealso:: The *guide*.\n\nEnd.\n"
    )
    assert describe_blocks(parse(source.encode())) == [
        ("paragraph", "pay(fee, *rest)"),
        ("paragraph", "Pay a fee."),
        ("paragraph", "param fee: crowns"),
        ("paragraph", "Added in version 1.2 Takes several."),
        ("paragraph", "Fee(amount)"),
        ("paragraph", "A fee."),
        ("list_item", "- one"),
        ("paragraph", "The guide."),
        ("paragraph", "End."),
    ]


def test_listings_with_options_of_other_programs_are_read() -> None:
    source = ".. code-block:: python\n   :linenos:\n   :caption: x.py\n\n   if a:\n       b\n"
    assert describe_blocks(parse(source.encode())) == [("code", "if a:\n    b")]


def test_a_table_out_of_shape_is_kept_as_it_is_written() -> None:
    table = "+---+---+\n| A | B |\n+---+---+\n| far too wide | 2 |\n+---+---+"
    assert describe_blocks(parse(f"Text\n\n{table}\n\nEnd\n".encode())) == [
        ("paragraph", "Text"),
        ("code", table),
        ("paragraph", "End"),
    ]


def test_warnings_of_the_reader_are_not_text() -> None:
    text = ":Place: Run :program:`cat`.\n\n-n, --nodaemon  Run :program:`cat` here.\n"
    parsed = parse(text.encode())
    assert "No role entry" not in parsed.text
    assert "Place: Run :program:`cat`." in parsed.text
    assert "-n, --nodaemon: Run :program:`cat` here." in parsed.text


def test_a_title_field_or_directive_names_the_document() -> None:
    body = "Intro\n=====\n\nWords.\n\nMore\n====\n\nWords.\n"
    assert parse(f":title: AWS CLI faq\n:category: x\n\n{body}".encode()).title == "AWS CLI faq"
    assert parse(f".. title:: The faq\n\n{body}".encode()).title == "The faq"
    assert parse(f".. comment\n\n{body}".encode()).title == "Intro"
