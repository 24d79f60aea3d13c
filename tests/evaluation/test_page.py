"""The report is one accessible file that needs nothing else, and is made of records alone."""

import re
from html.parser import HTMLParser

import pytest
from tests.evaluation.making import abstained, failed, record

from fathom.evaluation.comparison import compare
from fathom.evaluation.findings import Findings
from fathom.evaluation.gate import Baseline, gated
from fathom.evaluation.page import page
from fathom.evaluation.report import row_of

pytest.importorskip("matplotlib")

EVIL = '<script>alert("x")</script>'
NAIVE = [record("q1", kind="list"), abstained("q2", kind="date"), record("q3", kind=EVIL)]
MAF = [
    record("q1", strategy="maf", kind="list", setup="abc"),
    failed("q2", strategy="maf", kind="date", stop_reason=EVIL),
    record("q3", strategy="maf", kind=EVIL),
]
FINDINGS = Findings(
    rows=[row_of(NAIVE), row_of(MAF)],
    answered=[NAIVE, MAF],
    comparisons=compare([(MAF, NAIVE)]),
    verdict=gated(Baseline.of([NAIVE, MAF]), [NAIVE, MAF]),
)


@pytest.fixture(scope="module")
def whole() -> str:
    return page(FINDINGS)


class Seen(HTMLParser):
    """What a browser would find."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_is_well_formed_and_loads_nothing(whole: str) -> None:
    seen = Seen(whole)
    assert seen.open == []
    assert not {"script", "link", "img", "iframe", "image"} & {tag for tag, _ in seen.tags}
    refused = "default-src 'none'; style-src 'unsafe-inline'"
    assert refused in {attributes.get("content") for _, attributes in seen.tags}
    for _, attributes in seen.tags:
        assert "src" not in attributes
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_what_others_wrote_is_text(whole: str) -> None:
    assert EVIL not in whole
    assert "&lt;script&gt;" in whole


def test_plots_and_tables_can_be_read_aloud(whole: str) -> None:
    seen = Seen(whole)
    pictures = [attributes for tag, attributes in seen.tags if tag == "svg"]
    assert len(pictures) == 6
    assert all(each["role"] == "img" and each["aria-label"] for each in pictures)
    tables = whole.count("<table>")
    assert tables == whole.count("<caption>") == 4
    assert all(each.get("scope") for tag, each in seen.tags if tag == "th")
    assert ("html", {"lang": "en"}) in seen.tags


def test_it_says_what_was_asked_what_failed_and_what_follows(whole: str) -> None:
    assert "naive, maf answered 3 questions of toy; 1 of 6 runs failed and count as wrong." in whole
    assert "The first 1 of 1 failed questions, and why" in whole
    assert "Gate passed" in whole
    assert "cannot be told apart in F1 on toy" in whole
    assert "answers made by setup abc" in whole
    assert re.search(r"0\.667 <small>\[0\.\d+, 1\.000\]</small>", whole)


def test_light_and_dark_are_both_served(whole: str) -> None:
    assert "prefers-color-scheme:dark" in whole
    assert "currentColor" in whole


def test_the_same_records_give_the_same_page(whole: str) -> None:
    assert page(FINDINGS) == whole


def test_a_page_of_retrieval_alone_draws_nothing() -> None:
    row = row_of(NAIVE)
    alone = page(Findings(retrieval=[row]))
    assert "toy: naive" in alone
    assert "<svg" not in alone
    assert page(Findings())
