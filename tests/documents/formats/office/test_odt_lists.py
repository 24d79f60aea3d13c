import pytest
from lxml import etree

from fathom.documents.formats.office.odt import ListStyles


def make_lists(levels: str) -> ListStyles:
    return ListStyles([etree.fromstring(f'<x><list-style name="L">{levels}</list-style></x>')])


def make_number(level: int, more: str) -> str:
    return f'<list-level-style-number level="{level}" {more}/>'


def make_item(more: str = "") -> etree._Element:
    return etree.fromstring(f"<list-item {more}><p>x</p></list-item>")


@pytest.mark.parametrize(
    ("more", "label"),
    [
        ('num-format="1" num-suffix="."', "1."),
        ('num-format="a" num-prefix="(" num-suffix=")"', "(a)"),
        ('num-format="I" num-suffix="." start-value="4"', "IV."),
    ],
)
def test_number_formats_are_rendered(more: str, label: str) -> None:
    counter = make_lists(make_number(1, more)).open_list(
        etree.fromstring('<list style-name="L"/>'), "", 1
    )
    assert counter.next_label(make_item()) == label


def test_an_item_may_set_its_number() -> None:
    counter = make_lists(make_number(1, 'num-format="1"')).open_list(
        etree.fromstring('<list style-name="L"/>'), "", 1
    )
    labels = [
        counter.next_label(element)
        for element in (make_item(), make_item('start-value="7"'), make_item())
    ]
    assert labels == ["1", "7", "8"]


def test_a_list_header_has_no_label() -> None:
    counter = make_lists(make_number(1, 'num-format="1"')).open_list(
        etree.fromstring('<list style-name="L"/>'), "", 1
    )
    assert counter.next_label(etree.fromstring("<list-header><p>x</p></list-header>")) == ""
    assert counter.next_label(make_item()) == "1"
