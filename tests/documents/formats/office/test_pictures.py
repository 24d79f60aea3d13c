"""Pictures inside office files; most tests use a recogniser that reports its input."""

import io
import zipfile
from pathlib import Path

import pytest
from PIL import Image
from tests.documents.formats.office import test_odt as texts
from tests.documents.formats.office import test_pptx as slides
from tests.documents.formats.office.test_docx import KIND, RELS, make_package, p, r
from tests.documents.formats.pdf.test_scans import FixedRecogniser
from tests.documents.formats.test_picture import ENGLISH, draw_page, needs_ocr, save_image

from fathom.documents.base import NEEDS_OCR, ParsedDocument, ParseRefusal
from fathom.documents.formats.office.docx import parse
from fathom.documents.formats.office.odt import parse as parse_odt
from fathom.documents.formats.office.pptx import parse as parse_slides
from fathom.documents.parse import parse_bytes
from fathom.documents.sandbox.parent import Sandbox, read_file

PROSE = "The harbour office keeps the table of fees below, as it was signed by the clerk."
NOISE = Image.effect_noise((200, 120), 80.0)
BLIP = (
    '<w:r><w:drawing><a:blip xmlns:a="a" xmlns:o="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships" o:embed="pic{}"/></w:drawing></w:r>'
)


def add_pictures(
    docx: bytes, *pictures: bytes, folder: str = "word", packing: int = zipfile.ZIP_STORED
) -> bytes:
    """Return the package with pictures that its main part links to as `pic0`, `pic1` and so on."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx)) as old, zipfile.ZipFile(out, "w") as new:
        links = "".join(
            f'<Relationship Id="pic{at}" Type="{KIND}/image" Target="media/{at}.png"/>'
            for at in range(len(pictures))
        )
        for name in old.namelist():
            if name != "word/_rels/document.xml.rels":
                new.writestr(name, old.read(name))
        main = f'<Relationships xmlns="{RELS}">{links}</Relationships>'
        new.writestr("word/_rels/document.xml.rels", main)
        for at, data in enumerate(pictures):
            new.writestr(f"{folder}/media/{at}.png", data, packing)
    return out.getvalue()


def test_a_picture_is_read_at_its_place_and_an_unplaced_one_at_the_end() -> None:
    noise, other = save_image(NOISE, "PNG"), save_image(NOISE.rotate(90), "PNG")
    body = p(r(PROSE)) + p(BLIP.format(1)) + p(BLIP.format(1)) + p(r("Below it."))
    recogniser = FixedRecogniser()
    parsed = parse(add_pictures(make_package(body), noise, other), recogniser)
    assert recogniser.pages == [2]
    assert [(block.span.cut(parsed.text), block.recognised) for block in parsed.blocks] == [
        (PROSE, None),
        (recogniser.text, 0.9),
        ("Below it.", None),
        (recogniser.text, 0.9),
    ]
    assert parsed.metadata == {"recognised_pages": 2, "recognised": 0.9}
    assert parsed.unread == ""


def test_without_a_recogniser_the_pictures_and_the_extra_are_named() -> None:
    docx = add_pictures(make_package(p(r(PROSE))), save_image(NOISE, "PNG"), b"\x89PNG\r\nsmall")
    assert parse(docx).unread == f"1 picture in it not looked into; {NEEDS_OCR}"
    assert parse(docx, FixedRecogniser("")).unread == ""
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>evil</w:t></w:r>"
    both = add_pictures(make_package(p(r(PROSE) + hidden)), save_image(NOISE, "PNG"))
    notes = (
        "hidden or struck-through text left out in 1 place",
        "1 picture in it not looked into",
        NEEDS_OCR,
    )
    assert parse(both).unread == "; ".join(notes)
    scan = add_pictures(make_package(p(r("The form:"))), save_image(NOISE, "PNG"))
    with pytest.raises(ParseRefusal, match=r"hardly any text; .*fathom-qa\[ocr\]"):
        parse(scan)
    with pytest.raises(ParseRefusal, match="none can be recognised"):
        parse(scan, FixedRecogniser(""))
    assert FixedRecogniser().text in parse(scan, FixedRecogniser()).text


def test_a_broken_picture_does_not_hide_the_text() -> None:
    docx = add_pictures(make_package(p(r(PROSE))), b"\x89PNG\r\n" + bytes(9_000))
    assert parse(docx, FixedRecogniser()).text == PROSE


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_picture_that_cannot_be_unpacked_does_not_hide_the_text(packing: int) -> None:
    noise = save_image(NOISE, "PNG")
    for parser, whole in (
        (parse, add_pictures(make_package(p(r(PROSE))), noise, packing=packing)),
        (parse_odt, make_odt(texts.p(PROSE), noise, packing=packing)),
    ):
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            [member] = [entry for entry in archive.infolist() if entry.filename.endswith("/0.png")]
        begin = member.header_offset + 30 + len(member.filename)
        torn = (
            whole[:begin] + b"\xff" * member.compress_size + whole[begin:][member.compress_size :]
        )
        for recogniser in (None, FixedRecogniser()):
            assert parser(torn, recogniser).text == PROSE


def test_a_short_text_beside_a_small_picture_is_no_scan() -> None:
    for parser, short in (
        (parse, add_pictures(make_package(p(r("Closed today."))), b"\x89PNG\r\nsmall")),
        (parse_odt, make_odt(texts.p("Closed today."), b"\x89PNG\r\nsmall")),
    ):
        for recogniser in (None, FixedRecogniser("")):
            assert parser(short, recogniser).text == "Closed today."


def test_pictures_of_a_slide_are_read_on_its_page() -> None:
    data = slides.make_package(
        [
            slides.make_shape(slides.make_line("Fees"), role="title"),
            slides.make_shape(slides.make_line("Second one")),
        ],
        parts={"ppt/media/a.png": ""},
        links={"r7": ("image", "../media/b.png")},
    )
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("ppt/media/b.png", save_image(NOISE, "PNG"))
    recogniser = FixedRecogniser()
    parsed = parse_slides(out.getvalue(), recogniser)
    recognised = [(block.page, block.recognised) for block in parsed.blocks if block.recognised]
    assert recognised == [(1, 0.9)]
    assert parse_slides(out.getvalue()).unread.endswith(NEEDS_OCR)


def make_odt(body: str, *pictures: bytes, packing: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO(texts.make_package(body))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("Thumbnails/thumbnail.png", save_image(NOISE, "PNG"))
        for at, data in enumerate(pictures):
            archive.writestr(f"Pictures/{at}.png", data, packing)
    return out.getvalue()


def make_frame(name: str) -> str:
    return f'<draw:frame><draw:image xlink:href="{name}"/></draw:frame>'


def test_pictures_of_an_odt_are_read_at_their_places() -> None:
    noise, other = save_image(NOISE, "PNG"), save_image(NOISE.rotate(90), "PNG")
    body = (
        texts.p(PROSE + make_frame("./Pictures/1.png"))
        + texts.p(make_frame("Pictures/1.png") + "Below it.")
        + texts.p(make_frame("https://a.example/x.png"))
        + "<text:section>"
        + make_frame("Pictures/2.png")
        + "</text:section>"
        + texts.p("The end.")
    )
    recogniser = FixedRecogniser()
    parsed = parse_odt(make_odt(body, noise, other, other), recogniser)
    assert recogniser.pages == [3]
    assert [(block.span.cut(parsed.text), block.recognised) for block in parsed.blocks] == [
        (PROSE, None),
        (recogniser.text, 0.9),
        ("Below it.", None),
        (recogniser.text, 0.9),
        ("The end.", None),
        (recogniser.text, 0.9),
    ]
    assert parsed.metadata == {"recognised_pages": 3, "recognised": 0.9}


def test_an_odt_names_its_unread_pictures() -> None:
    data = make_odt(texts.p(PROSE), save_image(NOISE, "PNG"), b"\x89PNG\r\nsmall")
    (parsed,) = parse_bytes(data, "a.odt")
    assert isinstance(parsed, ParsedDocument)
    assert parsed.unread == f"1 picture in it not looked into; {NEEDS_OCR}"
    (parsed,) = parse_bytes(data, "a.odt", recogniser=FixedRecogniser())
    assert isinstance(parsed, ParsedDocument)
    assert FixedRecogniser().text in parsed.text
    assert parsed.unread == ""
    with pytest.raises(ParseRefusal, match=r"hardly any text; .*fathom-qa\[ocr\]"):
        parse_odt(make_odt(texts.p("The form:"), save_image(NOISE, "PNG")))


def test_other_formats_get_no_recogniser() -> None:
    (parsed,) = parse_bytes(b"Some words.", "a.txt", recogniser=FixedRecogniser())
    assert isinstance(parsed, ParsedDocument)


@needs_ocr
def test_a_picture_in_a_document_is_read_in_the_sandbox(tmp_path: Path) -> None:
    file = tmp_path / "fees.docx"
    file.write_bytes(
        add_pictures(
            make_package(p(r(PROSE)) + p(BLIP.format(0))), save_image(draw_page(*ENGLISH), "PNG")
        )
    )
    with Sandbox() as sandbox:
        (parsed,) = read_file(file, sandbox)
    assert isinstance(parsed, ParsedDocument)
    assert ENGLISH[0] in parsed.text
    assert {block.recognised is None for block in parsed.blocks} == {True, False}
