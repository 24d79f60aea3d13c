import pytest

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.formats.text import find_heading_level, parse


def describe_blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]


def test_paragraphs_items_and_headings_are_read() -> None:
    parsed = parse(
        b"BAB I KETENTUAN UMUM\r\n\r\nPasal 1\r\n\r\nDalam peraturan ini.\r\n\r\n"
        b"1. Buka tutup.\r\n2. Tekan tombol\r\n   dua kali.\r\n"
    )
    assert describe_blocks(parsed) == [
        ("heading", "BAB I KETENTUAN UMUM"),
        ("heading", "Pasal 1"),
        ("paragraph", "Dalam peraturan ini."),
        ("list_item", "1. Buka tutup."),
        ("list_item", "2. Tekan tombol\n   dua kali."),
    ]
    assert parsed.blocks[2].headings == ("BAB I KETENTUAN UMUM", "Pasal 1")
    assert parsed.title == ""  # a chapter's name is not the document's


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("BAB IV", 1),
        ("CHAPTER 2 The House", 1),
        ("Pasal 12", 2),
        ("Pasal 12A", 2),
        ("Article 3: Scope", 2),
        ("1.2 Terms and conditions", 2),
        ("2 Method", 1),
        ("Item 1A. Risk Factors", 2),
        ("ITEM 4. CONTROLS AND PROCEDURES", 2),
        ("PART I \u2014 FINANCIAL INFORMATION", 1),
        ("II. PASAL DEMI PASAL", 1),
        ("Item 2. Legal Proceedings 28", None),  # of a table of contents
        ("I. am sure that", None),
        ("Pasal 5 ayat (1) berlaku", None),
        ("Pasal 5 Undang-Undang Nomor 12", None),
        ("1.2 is the version.", None),
        ("BAB I, Pasal 3 dan", None),
        ("12 Monkeys ran away, and", None),
        ("Just a line", None),
    ],
)
def test_certain_headings_are_recognised(line: str, level: int | None) -> None:
    assert find_heading_level(line) == level


def test_a_deep_number_may_be_right_above_its_text() -> None:
    parsed = parse(
        b"1.2 Scope\nThis part is about fees.\n\n"
        b"3.5 Million people were there when the\nflood came."
    )
    assert describe_blocks(parsed) == [
        ("heading", "1.2 Scope"),
        ("paragraph", "This part is about fees."),
        ("paragraph", "3.5 Million people were there when the\nflood came."),
    ]


def test_white_space_is_empty() -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(b" \n\t\n ")
    assert refusal.value.outcome == "empty"


def test_bullets_and_roman_numbers_are_labels() -> None:
    parsed = parse("Bring:\n  o  a pen\n\u25aa a book\n  (ii) a lamp\n\u00b7 a cup".encode())
    assert [text for _, text in describe_blocks(parsed)] == [
        "Bring:", "o a pen", "\u25aa a book", "(ii) a lamp", "\u00b7 a cup"
    ]  # fmt: skip
    assert len(describe_blocks(parse(b"one of o\no and the rest"))) == 1


def test_text_typed_after_a_prompt_is_code() -> None:
    parsed = parse(b"Then do:\n\n    $ make\n      all\n\n$40 is due.")
    assert describe_blocks(parsed) == [
        ("paragraph", "Then do:"),
        ("code", "$ make\n      all"),
        ("paragraph", "$40 is due."),
    ]


@pytest.mark.parametrize("sign", ["\uf0b7", "\uf0a7", "\uf0d8", "\uf0fc"])
def test_bullets_of_symbol_fonts_are_bullets(sign: str) -> None:
    parsed = parse(f"Buy:\n{sign} ropes\n{sign}\tfenders".encode())
    assert parsed.text == "Buy:\n\n\u2022 ropes\n\u2022 fenders"


@pytest.mark.parametrize("sign", ["\u25a0", "\u25ba", "\u27a2", "\u2756", "\u2043"])
def test_other_bullets_begin_items(sign: str) -> None:
    assert describe_blocks(parse(f"{sign} ropes".encode())) == [("list_item", f"{sign} ropes")]


def test_calendars_and_cards_have_whole_words_and_an_entry_a_paragraph() -> None:
    parsed = parse(
        b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nSUMMARY:Board\\, spring\r\n"
        b"DESCRIPTION:Fees\\nand the calen\r\n dar\\; C:\\\\new\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\n"
        b"SUMMARY:Crane\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    assert parsed.text == (
        "BEGIN:VCALENDAR\nVERSION:2.0\n\n"
        "BEGIN:VEVENT\nSUMMARY:Board, spring\nDESCRIPTION:Fees\nand the calendar; C:\\new\n"
        "END:VEVENT\n\nBEGIN:VEVENT\nSUMMARY:Crane\nEND:VEVENT\nEND:VCALENDAR"
    )
    assert parse(b"BEGIN: a\n b\\nc").text == "BEGIN: a\n b\\nc"
