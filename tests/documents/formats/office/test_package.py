import io
import zipfile

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.office.package import OfficePackage, Relation

RELS = "http://schemas.openxmlformats.org/package/2006/relationships"


def make_package(parts: dict[str, str | bytes]) -> OfficePackage:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return OfficePackage(buffer.getvalue())


def make_relation(mark: str, kind: str, target: str, mode: str = "") -> str:
    return f'<Relationship Id="{mark}" Type="http://x/{kind}" Target="{target}" {mode}/>'


def test_targets_are_names_inside_the_package_and_external_links_are_dropped() -> None:
    inner = (
        make_relation("a", "slide", "slides/one.xml")
        + make_relation("b", "theme", "/ppt/theme.xml")
        + make_relation("c", "image", "../media/x.png")
        + make_relation("d", "hyperlink", "http://example.org", 'TargetMode="External"')
    )
    xml = f'<Relationships xmlns="{RELS}">{inner}</Relationships>'
    assert make_package({"ppt/_rels/p.xml.rels": xml}).list_relations("ppt/p.xml") == [
        Relation(id="a", kind="slide", target="ppt/slides/one.xml"),
        Relation(id="b", kind="theme", target="ppt/theme.xml"),
        Relation(id="c", kind="image", target="media/x.png"),
    ]


def test_a_target_cannot_leave_the_package() -> None:
    link = make_relation("a", "slide", "../../../etc/x")
    xml = f'<Relationships xmlns="{RELS}">{link}</Relationships>'
    assert make_package({"_rels/.rels": xml}).list_relations("")[0].target == "etc/x"


def test_the_default_part_is_found_without_relationships() -> None:
    name, root = make_package({"word/document.xml": "<d/>"}).find_main("word/document.xml")
    assert (name, root.tag) == ("word/document.xml", "d")


def test_a_missing_main_part_is_named() -> None:
    with pytest.raises(ParseRefusal, match=r"no part word/document\.xml"):
        make_package({"other": "<d/>"}).find_main("word/document.xml")


def test_properties_give_title_author_and_dates() -> None:
    xml = (
        '<c:core xmlns:c="urn:c" xmlns:d="urn:d"><d:title>Fees</d:title><d:creator>Ada</d:creator>'
        "<c:created>2024-01-02T00:00:00Z</c:created><c:revision>4</c:revision></c:core>"
    )
    title, metadata = make_package({"docProps/core.xml": xml}).read_properties()
    assert title == "Fees"
    assert metadata == {"author": "Ada", "created": "2024-01-02T00:00:00Z"}


def test_a_document_type_is_forbidden_in_any_encoding() -> None:
    bomb = '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a [<!ENTITY b "c">]><a/>'
    with pytest.raises(ParseRefusal, match="entity bomb"):
        make_package({"xl/sheet.xml": bomb.encode("utf-16")}).forbid_doctypes()
