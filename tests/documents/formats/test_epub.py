import io
import zipfile

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.epub import parse

CONTAINER = '<c xmlns="urn:c"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></c>'
PACKAGE = (
    '<package xmlns="urn:p" xmlns:dc="urn:dc"><metadata><dc:title>Bridges</dc:title>'
    "<dc:creator>Ada</dc:creator></metadata><manifest>"
    '<item id="one" href="a%20b.xhtml"/><item id="two" href="sub/c.xhtml"/>'
    '<item id="nav" href="nav.xhtml" properties="nav"/><item id="cover" href="cover.xhtml"/>'
    '</manifest><spine><itemref idref="cover"/><itemref idref="nav"/><itemref idref="two"/>'
    '<itemref idref="one"/><itemref idref="missing"/></spine></package>'
)


def make_page(inner: str) -> str:
    return f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{inner}</body></html>'


def make_book(more: dict[str, str] | None = None) -> bytes:
    parts = {
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": PACKAGE,
        "OPS/a b.xhtml": make_page("<h1>Last</h1><p>End.</p>"),
        "OPS/sub/c.xhtml": make_page("<h1>First</h1><h2>Arches</h2><p>Stone.</p>"),
        "OPS/nav.xhtml": make_page("<p>Contents</p>"),
        "OPS/cover.xhtml": make_page('<img src="x.png"/>'),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in (parts | (more or {})).items():
            archive.writestr(name, text)
    return buffer.getvalue()


def test_chapters_come_in_the_order_of_the_spine() -> None:
    parsed = parse(make_book())
    assert parsed.text == "First\n\nArches\n\nStone.\n\nLast\n\nEnd."
    assert [block.headings for block in parsed.blocks][2] == ("First", "Arches")
    assert parsed.blocks[-1].headings == ("Last",)
    assert (parsed.title, parsed.metadata) == ("Bridges", {"author": "Ada"})


def test_protected_chapters_are_refused_but_scrambled_fonts_are_not() -> None:
    def make_rules(name: str) -> dict[str, str]:
        link = f'<e xmlns="urn:e"><CipherReference URI="{name}"/></e>'
        return {"META-INF/encryption.xml": link}

    assert parse(make_book(make_rules("OPS/font.otf"))).title == "Bridges"
    with pytest.raises(ParseRefusal) as refused:
        parse(make_book(make_rules("OPS/sub/c.xhtml")))
    assert refused.value.outcome == "encrypted"


def test_a_zip_without_package_file_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
    with pytest.raises(ParseRefusal, match=r"\.opf"):
        parse(buffer.getvalue())


def test_all_creators_of_a_book_are_its_authors() -> None:
    names = "<dc:creator>Ada</dc:creator><dc:creator>Bo</dc:creator><dc:creator>Ada</dc:creator>"
    package = PACKAGE.replace("<dc:creator>Ada</dc:creator>", names)
    assert parse(make_book({"OPS/book.opf": package})).metadata == {"author": "Ada; Bo"}
