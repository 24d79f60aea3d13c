import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.xml_members import (
    find_child,
    get_attribute,
    get_local_name,
    get_text,
    get_value,
    iter_descendants,
    read_facts,
    read_xml,
)


def test_names_are_found_in_any_namespace() -> None:
    root = read_xml(b'<a:x xmlns:a="urn:1" xmlns:b="urn:2"><b:y b:v="1"><z>t</z></b:y></a:x>', "x")
    inner = find_child(root, "y", "z")
    assert get_local_name(root) == "x"
    assert get_text(inner) == "t"
    assert [get_attribute(child, "v") for child in iter_descendants(root, "y")] == ["1"]
    assert find_child(root, "y", "nothing", "z") is None


def test_slight_damage_is_repaired() -> None:
    assert get_text(read_xml(b"<a><b>one</b><b>two</a>", "x")) == "onetwo"


@pytest.mark.parametrize("data", [b"", b"no markup at all", b"\xff\xfe\x00"])
def test_a_part_that_is_no_xml_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(ParseRefusal, match=r"part\.xml is not XML"):
        read_xml(data, "part.xml")


def test_entities_are_refused_and_files_are_not_read() -> None:
    data = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>'
    with pytest.raises(ParseRefusal, match="declares XML entities"):
        read_xml(data, "part.xml")


def test_excessive_nesting_is_refused_rather_than_cut_short() -> None:
    assert get_text(read_xml(b"<a>" * 200 + b"x" + b"</a>" * 200, "part.xml")) == "x"
    with pytest.raises(ParseRefusal, match="nested too deep"):
        read_xml(b"<a>" * 300 + b"x" + b"</a>" * 300, "part.xml")


def test_a_value_is_that_of_the_first_child_on_the_path() -> None:
    root = read_xml(b'<a><b><c val="1"/><c val="2"/></b><d/></a>', "x")
    assert get_value(root, "b", "c") == "1"
    assert get_value(root, "d") is get_value(root, "e") is get_value(None) is None


def test_facts_are_named_by_their_keys_and_the_last_one_counts() -> None:
    root = read_xml(
        b"<m><title> A </title><creator>x</creator><creator>y</creator><date/></m>", "x"
    )
    keys = {"creator": "author", "date": "created"}
    assert read_facts(root, keys) == ("A", {"author": "y"})
    assert read_facts(reversed(root), keys) == ("A", {"author": "x"})
    assert read_facts((), keys) == ("", {})
