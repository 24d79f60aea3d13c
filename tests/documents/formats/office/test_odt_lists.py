import pytest
from lxml import etree

from fathom.documents.formats.office.odt import ListStyles


def lists(levels: str) -> ListStyles:
    return ListStyles([etree.fromstring(f'<x><list-style name="L">{levels}</list-style></x>')])


def number(level: int, more: str) -> str:
    return f'<list-level-style-number level="{level}" {more}/>'


def item(more: str = "") -> etree._Element:
    return etree.fromstring(f"<list-item {more}><p>x</p></list-item>")


@pytest.mark.parametrize(
    ("more", "label"),
    [
        ('num-format="1" num-suffix="."', "1."),
        ('num-format="a" num-prefix="(" num-suffix=")"', "(a)"),
        ('num-format="I" num-suffix="." start-value="4"', "IV."),
    ],
)
def test_formats(more: str, label: str) -> None:
    counter = lists(number(1, more)).open_list(etree.fromstring('<list style-name="L"/>'), "", 1)
    assert counter.next_label(item()) == label


def test_an_item_may_set_its_number() -> None:
    counter = lists(number(1, 'num-format="1"')).open_list(
        etree.fromstring('<list style-name="L"/>'), "", 1
    )
    labels = [counter.next_label(one) for one in (item(), item('start-value="7"'), item())]
    assert labels == ["1", "7", "8"]


def test_a_list_header_has_no_label() -> None:
    counter = lists(number(1, 'num-format="1"')).open_list(
        etree.fromstring('<list style-name="L"/>'), "", 1
    )
    assert counter.next_label(etree.fromstring("<list-header><p>x</p></list-header>")) == ""
    assert counter.next_label(item()) == "1"
