import pytest

from fathom.documents.base import Refused
from fathom.documents.xml_members import attribute, child, descendants, local, read_xml, text_of


def test_names_are_found_in_any_namespace() -> None:
    root = read_xml(b'<a:x xmlns:a="urn:1" xmlns:b="urn:2"><b:y b:v="1"><z>t</z></b:y></a:x>', "x")
    inner = child(root, "y", "z")
    assert local(root) == "x"
    assert text_of(inner) == "t"
    assert [attribute(found, "v") for found in descendants(root, "y")] == ["1"]
    assert child(root, "y", "nothing", "z") is None


def test_mild_damage_is_mended() -> None:
    assert text_of(read_xml(b"<a><b>one</b><b>two</a>", "x")) == "onetwo"


@pytest.mark.parametrize("data", [b"", b"no markup at all", b"\xff\xfe\x00"])
def test_what_is_no_xml_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(Refused, match=r"part\.xml is not XML"):
        read_xml(data, "part.xml")


def test_entities_are_refused_and_files_are_not_read() -> None:
    data = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>'
    with pytest.raises(Refused, match="declares XML entities"):
        read_xml(data, "part.xml")


def test_what_is_nested_too_deep_is_refused_rather_than_cut_short() -> None:
    assert text_of(read_xml(b"<a>" * 200 + b"x" + b"</a>" * 200, "part.xml")) == "x"
    with pytest.raises(Refused, match="nested too deep"):
        read_xml(b"<a>" * 300 + b"x" + b"</a>" * 300, "part.xml")
