"""PDF documents; covers fathom.documents.formats.pdf.layout."""

from io import BytesIO

import pytest
from pypdf import PdfWriter
from tests.documents.factories import make_lines, make_pdf

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.formats.pdf.document import parse

FULL = "This line is as wide as any other line of the page is"


def describe_blocks(parsed: ParsedDocument) -> list[tuple[str, str, int | None]]:
    return [(b.kind, b.span.cut(parsed.text), b.page) for b in parsed.blocks]


def test_wrapped_lines_are_joined_and_gaps_separate_paragraphs() -> None:
    parsed = parse(
        make_pdf(make_lines(FULL, "and it ends here.", "", FULL, "until here."), make_lines("Two"))
    )
    assert describe_blocks(parsed) == [
        ("paragraph", f"{FULL} and it ends here.", 1),
        ("paragraph", f"{FULL} until here.", 1),
        ("paragraph", "Two", 2),
    ]


def test_chapters_articles_and_steps_are_recognised() -> None:
    page = make_lines(
        "BAB I", "KETENTUAN UMUM", "Pasal 1", FULL, "kata akhir.", "1. Satu", "2. Dua"
    )
    parsed = parse(make_pdf(page))
    assert describe_blocks(parsed) == [
        ("heading", "BAB I KETENTUAN UMUM", 1),
        ("heading", "Pasal 1", 1),
        ("paragraph", f"{FULL} kata akhir.", 1),
        ("list_item", "1. Satu", 1),
        ("list_item", "2. Dua", 1),
    ]
    assert parsed.blocks[2].headings == ("BAB I KETENTUAN UMUM", "Pasal 1")


def test_repeated_heads_and_page_numbers_are_left_out() -> None:
    pages = [make_lines("The Company Report", f"Content {n} here.", f"- {n} -") for n in "3456"]
    parsed = parse(make_pdf(*pages))
    assert parsed.text == "Content 3 here.\n\nContent 4 here.\n\nContent 5 here.\n\nContent 6 here."


def test_a_sentence_across_pages_belongs_to_its_first_page() -> None:
    parsed = parse(
        make_pdf(make_lines(FULL, FULL), make_lines("and it ends here.", FULL + ".", "The end."))
    )
    assert describe_blocks(parsed)[0] == ("paragraph", f"{FULL} {FULL} and it ends here.", 1)
    assert parsed.blocks[1].page == 2
    parsed = parse(make_pdf(make_lines(FULL, FULL + "."), make_lines("and it is small.")))
    assert [page for _, _, page in describe_blocks(parsed)] == [1, 2]


def test_capitals_at_the_top_are_the_title() -> None:
    page = make_lines("SALINAN", "PERATURAN NOMOR 5", "TENTANG PANGAN", "BAB I", "Isi peraturan.")
    assert parse(make_pdf(page)).title == "PERATURAN NOMOR 5 TENTANG PANGAN"


def make_sized(*rows: tuple[int, str], margin: int = 50) -> str:
    """Return lines of a size each, with a gap above those that are larger than 10."""
    operators, top = [], 700
    for size, text in rows:
        top -= 30 if size > 10 else 14
        operators.append(f"BT /F1 {size} Tf {margin} {top} Td ({text}) Tj ET")
    return "\n".join(operators)


BODY = [(10, FULL)] * 3 + [(10, "and the end.")]


def test_the_largest_lines_of_the_first_page_are_the_title() -> None:
    letterhead = [(10, "UNITED STATES"), (10, "EXCHANGE COMMISSION"), (18, "Amber Inc."), *BODY]
    info = "/Title (0000320193-23-000077)"
    assert parse(make_pdf(make_sized(*letterhead), info=info)).title == "Amber Inc."
    assert parse(make_pdf(make_sized((18, "Contents"), *BODY))).title == ""
    assert parse(make_pdf(make_sized((11, "Hardly larger"), *BODY))).title == ""


def test_lines_in_larger_letters_are_headings() -> None:
    page = make_sized((18, "Report"), *BODY, (13, "Fees of the"), *BODY, (13, "are paid."), *BODY)
    blocks = [b for b in parse(make_pdf(page)).blocks if b.kind == "heading"]
    assert [b.headings for b in blocks] == [("Report",), ("Report", "Fees of the")]


def test_the_size_decides_nothing_if_most_lines_are_large() -> None:
    page = make_sized((18, "One"), (10, FULL), (18, "Two"), (10, "x"), (18, "Three"))
    assert not [b for b in parse(make_pdf(page)).blocks if b.kind == "heading"]


def test_capitals_at_the_margin_above_an_indented_text_are_headings() -> None:
    rows = [("NAME", 50), (f"foo {FULL}", 80), ("EXIT STATUS", 50), ("0 if it went well.", 80)]
    rows += [("CAPITALS IN THE TEXT", 80), ("go on at its margin.", 80)]
    page = "\n".join(
        f"BT /F1 10 Tf {margin} {700 - 14 * n} Td ({text}) Tj ET"
        for n, (text, margin) in enumerate(rows)
    )
    parsed = parse(make_pdf(page))
    headings = [b.span.cut(parsed.text) for b in parsed.blocks if b.kind == "heading"]
    assert headings == ["NAME", "EXIT STATUS"]


def test_words_broken_at_a_dash_or_slash_are_joined() -> None:
    first = "see the page at the address of the office https://"
    page = make_lines(first, "example.org/a and more words of the same sentence")
    assert "https://example.org/a" in parse(make_pdf(page)).text


def test_short_lines_stay_lines() -> None:
    parsed = parse(make_pdf(make_lines(FULL + ".", "Rent 12", "Food 30", "Total 42")))
    assert parsed.text.endswith("Rent 12\nFood 30\nTotal 42")


def test_title_and_facts_are_read_unless_the_title_is_a_file_name() -> None:
    info = "/Title (%s) /Author (A. B.) /CreationDate (D:20200304)"
    parsed = parse(make_pdf(make_lines("Text"), info=info % "Annual report"))
    assert parsed.title == "Annual report"
    assert parsed.metadata == {"author": "A. B.", "created": "2020-03-04"}
    assert parse(make_pdf(make_lines("Text"), info=info % "Microsoft Word - x.doc")).title == ""


def test_a_picture_without_text_has_no_text_layer() -> None:
    picture = "q 100 0 0 100 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \xff EI Q"
    with pytest.raises(ParseRefusal, match=r"fathom-qa\[ocr\]") as refusal:
        parse(make_pdf(picture))
    assert refusal.value.outcome == "no_text_layer"


def test_an_empty_page_is_empty() -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(make_pdf(""))
    assert refusal.value.outcome == "empty"


def test_a_file_with_an_empty_password_is_read() -> None:
    text = "The fee is 40 crowns."
    locked = encrypt(make_pdf(make_lines(text)), "", "x")
    assert parse(locked).text == text
    # Only the texts are encrypted and not the names in them, which PDFium calls a wrong password.
    half = locked.replace(
        b"/V 2\n/R 3\n/Length 128",
        b"/V 4\n/R 4\n/Length 128\n/CF << /StdCF << /CFM /V2 /Length 16 /AuthEvent /DocOpen >> >>"
        b"\n/StmF /StdCF\n/StrF /Identity",
    )
    assert half != locked
    assert parse(half).text == text


def test_a_file_with_another_password_is_refused() -> None:
    with pytest.raises(ParseRefusal, match="password") as refusal:
        parse(encrypt(make_pdf(make_lines("Secret.")), "u", "x"))
    assert refusal.value.outcome == "encrypted"


def encrypt(data: bytes, reader: str, owner: str) -> bytes:
    writer = PdfWriter(clone_from=BytesIO(data))
    writer.encrypt(reader, owner, algorithm="RC4-128")
    locked = BytesIO()
    writer.write(locked)
    return locked.getvalue()


def test_nonsense_is_refused() -> None:
    with pytest.raises(ParseRefusal, match="damaged PDF") as refusal:
        parse(b"%PDF-1.4 nonsense")
    assert refusal.value.outcome == "failed"


@pytest.mark.parametrize(
    "hidden",
    [
        "BT /F1 10 Tf 1 1 1 rg 50 600 Td (evil words) Tj ET",
        "BT /F1 10 Tf 0.97 g 50 600 Td (evil words) Tj ET",
        "BT /F1 1 Tf 50 600 Td (evil words) Tj ET",
        "BT /F1 10 Tf -900 600 Td (evil words) Tj ET",
        "BT /F1 10 Tf 50 900 Td (evil words) Tj ET",
        "BT /F1 10 Tf 3 Tr 50 600 Td (evil words) Tj ET",
        "BT /F1 10 Tf 1 1 1 rg 120 700 Td (evil words) Tj ET",
    ],
)
def test_words_that_no_reader_sees_are_left_out_and_reported(hidden: str) -> None:
    parsed = parse(make_pdf(f"{make_lines('Seen words')}\n{hidden}"))
    assert parsed.text == "Seen words"
    assert parsed.unread == "hidden or struck-through text left out in 1 place"


@pytest.mark.parametrize(
    "content",
    [
        "0 0 0.4 rg 40 590 200 30 re f BT /F1 10 Tf 1 1 1 rg 50 600 Td (Seen words) Tj ET",
        "BT /F1 5 Tf 0.5 g 50 600 Td (Seen words) Tj ET",
        "BT /F1 1 Tf 10 0 0 10 50 600 Tm (Seen words) Tj ET",
        "BT /F1 10 Tf 0 1 -1 0 50 600 Tm (Seen words) Tj ET",
    ],
)
def test_words_on_a_dark_ground_or_scaled_or_turned_are_read(content: str) -> None:
    parsed = parse(make_pdf(content))
    assert (parsed.text, parsed.unread) == ("Seen words", "")
