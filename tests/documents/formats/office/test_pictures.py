"""Pictures inside office files; the recogniser here says what it was given, but for one."""

import io
import zipfile
from pathlib import Path

import pytest
from PIL import Image
from tests.documents.formats.office import test_odt as texts
from tests.documents.formats.office import test_pptx as slides
from tests.documents.formats.office.test_docx import KIND, RELS, p, packed, r
from tests.documents.formats.pdf.test_scans import Told
from tests.documents.formats.test_picture import ENGLISH, needs_ocr, page, saved

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


def with_pictures(
    docx: bytes, *pictures: bytes, folder: str = "word", packing: int = zipfile.ZIP_STORED
) -> bytes:
    """The package with pictures that its main part links to as `pic0`, `pic1` and so on."""
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


def test_a_picture_is_read_where_it_stands_and_one_that_nothing_shows_at_the_end() -> None:
    noise, other = saved(NOISE, "PNG"), saved(NOISE.rotate(90), "PNG")
    body = p(r(PROSE)) + p(BLIP.format(1)) + p(BLIP.format(1)) + p(r("Below it."))
    recogniser = Told()
    parsed = parse(with_pictures(packed(body), noise, other), recogniser)
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
    docx = with_pictures(packed(p(r(PROSE))), saved(NOISE, "PNG"), b"\x89PNG\r\nsmall")
    assert parse(docx).unread == f"1 picture in it not looked into; {NEEDS_OCR}"
    assert parse(docx, Told("")).unread == ""
    scan = with_pictures(packed(p(r("The form:"))), saved(NOISE, "PNG"))
    with pytest.raises(ParseRefusal, match=r"hardly any text; .*fathom-qa\[ocr\]"):
        parse(scan)
    with pytest.raises(ParseRefusal, match="none can be recognised"):
        parse(scan, Told(""))
    assert Told().text in parse(scan, Told()).text


def test_a_broken_picture_keeps_no_text_away() -> None:
    docx = with_pictures(packed(p(r(PROSE))), b"\x89PNG\r\n" + bytes(9_000))
    assert parse(docx, Told()).text == PROSE


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_picture_that_cannot_be_unpacked_keeps_no_text_away(packing: int) -> None:
    noise = saved(NOISE, "PNG")
    for parser, whole in (
        (parse, with_pictures(packed(p(r(PROSE))), noise, packing=packing)),
        (parse_odt, odt(texts.p(PROSE), noise, packing=packing)),
    ):
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            [member] = [each for each in archive.infolist() if each.filename.endswith("/0.png")]
        begin = member.header_offset + 30 + len(member.filename)
        torn = (
            whole[:begin] + b"\xff" * member.compress_size + whole[begin:][member.compress_size :]
        )
        for recogniser in (None, Told()):
            assert parser(torn, recogniser).text == PROSE


def test_a_short_text_beside_a_small_sign_is_no_scan() -> None:
    for parser, short in (
        (parse, with_pictures(packed(p(r("Closed today."))), b"\x89PNG\r\nsmall")),
        (parse_odt, odt(texts.p("Closed today."), b"\x89PNG\r\nsmall")),
    ):
        for recogniser in (None, Told("")):
            assert parser(short, recogniser).text == "Closed today."


def test_pictures_of_a_slide_are_read_on_its_page() -> None:
    data = slides.packed(
        [slides.shape(slides.line("Fees"), role="title"), slides.shape(slides.line("Second one"))],
        parts={"ppt/media/a.png": ""},
        links={"r7": ("image", "../media/b.png")},
    )
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("ppt/media/b.png", saved(NOISE, "PNG"))
    recogniser = Told()
    parsed = parse_slides(out.getvalue(), recogniser)
    found = [(block.page, block.recognised) for block in parsed.blocks if block.recognised]
    assert found == [(1, 0.9)]
    assert parse_slides(out.getvalue()).unread.endswith(NEEDS_OCR)


def odt(body: str, *pictures: bytes, packing: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO(texts.packed(body))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("Thumbnails/thumbnail.png", saved(NOISE, "PNG"))
        for at, data in enumerate(pictures):
            archive.writestr(f"Pictures/{at}.png", data, packing)
    return out.getvalue()


def framed(name: str) -> str:
    return f'<draw:frame><draw:image xlink:href="{name}"/></draw:frame>'


def test_pictures_of_an_odt_are_read_where_they_stand() -> None:
    noise, other = saved(NOISE, "PNG"), saved(NOISE.rotate(90), "PNG")
    body = (
        texts.p(PROSE + framed("./Pictures/1.png"))
        + texts.p(framed("Pictures/1.png") + "Below it.")
        + texts.p(framed("https://a.example/x.png"))
        + "<text:section>"
        + framed("Pictures/2.png")
        + "</text:section>"
        + texts.p("The end.")
    )
    recogniser = Told()
    parsed = parse_odt(odt(body, noise, other, other), recogniser)
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


def test_an_odt_names_the_pictures_that_nobody_reads() -> None:
    data = odt(texts.p(PROSE), saved(NOISE, "PNG"), b"\x89PNG\r\nsmall")
    (parsed,) = parse_bytes(data, "a.odt")
    assert isinstance(parsed, ParsedDocument)
    assert parsed.unread == f"1 picture in it not looked into; {NEEDS_OCR}"
    (parsed,) = parse_bytes(data, "a.odt", recogniser=Told())
    assert isinstance(parsed, ParsedDocument)
    assert Told().text in parsed.text
    assert parsed.unread == ""
    with pytest.raises(ParseRefusal, match=r"hardly any text; .*fathom-qa\[ocr\]"):
        parse_odt(odt(texts.p("The form:"), saved(NOISE, "PNG")))


def test_other_formats_are_given_no_recogniser() -> None:
    (parsed,) = parse_bytes(b"Some words.", "a.txt", recogniser=Told())
    assert isinstance(parsed, ParsedDocument)


@needs_ocr
def test_a_picture_in_a_document_is_read_in_the_sandbox(tmp_path: Path) -> None:
    file = tmp_path / "fees.docx"
    file.write_bytes(
        with_pictures(packed(p(r(PROSE)) + p(BLIP.format(0))), saved(page(*ENGLISH), "PNG"))
    )
    with Sandbox() as sandbox:
        (parsed,) = read_file(file, sandbox)
    assert isinstance(parsed, ParsedDocument)
    assert ENGLISH[0] in parsed.text
    assert {block.recognised is None for block in parsed.blocks} == {True, False}
