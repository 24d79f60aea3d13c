"""The report is one accessible file without dependencies, made of records alone."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.evaluation.factories import make_abstention, make_failure, make_ranking, make_record

from fathom.evaluation.gate import Baseline, compare_with_baseline
from fathom.evaluation.harness import Evaluation
from fathom.evaluation.records import Record
from fathom.evaluation.report.build import UNEQUAL_QUESTIONS

pytest.importorskip("matplotlib")

EVIL = '<script>alert("x")</script>'
NAIVE = [
    make_record("q1", kind="list"),
    make_abstention("q2", kind="date"),
    make_record("q3", kind=EVIL),
]
MAF = [
    make_record("q1", strategy="maf", kind="list", setup="abc", phase="debate"),
    make_failure("q2", strategy="maf", kind="date", stop_reason=EVIL),
    make_record("q3", strategy="maf", kind=EVIL),
]
HYBRID = [
    make_ranking("q1", strategy="hybrid"),
    make_ranking("q2", strategy="hybrid", evidence=("d2",)),
]
SMALL, LARGE = (
    [make_record(f"q{n}", dataset=name, documents=size, varied={"rrf.k": "2"}) for n in range(4)]
    for name, size in (("small", 100), ("large", 9000))
)


def make_evaluation(answered: list[list[Record]], rankings: list[list[Record]]) -> Evaluation:
    return Evaluation(
        ranked=rankings,
        answered=answered,
        verdict=compare_with_baseline(Baseline.of(answered), answered),
    )


FINDINGS = replace(make_evaluation([NAIVE, MAF, SMALL, LARGE], [HYBRID]), compared=("maf", "naive"))


@pytest.fixture(scope="module")
def whole() -> str:
    return FINDINGS.to_html()


class PageParser(HTMLParser):
    """Parses a page as a browser would."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings.append(f"{self.open[-1]} {data}")

    def list_tags(self, wanted: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == wanted]


def test_the_page_is_well_formed_and_loads_nothing(whole: str) -> None:
    page = PageParser(whole)
    assert page.open == []
    assert not {"script", "link", "img", "iframe", "image"} & {tag for tag, _ in page.tags}
    refused = "default-src 'none'; style-src 'unsafe-inline'"
    assert refused in {attributes.get("content") for _, attributes in page.tags}
    for _, attributes in page.tags:
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"@import|url\((?!#)", whole)


def test_every_reference_within_the_page_has_its_target(whole: str) -> None:
    page = PageParser(whole)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {link["href"] for link in page.list_tags("a")} | {
        f"#{upload['aria-labelledby']}" for upload in page.list_tags("section")
    }
    assert len(named) == len(page.list_tags("section"))
    assert named <= {f"#{name}" for name in ids}


def test_headings_are_in_order_and_precede_content(whole: str) -> None:
    assert PageParser(whole).headings == [
        "h1 Evaluation",
        "h2 Gate",
        "h2 In plain words",
        "h2 Who leads",
        "h2 Data set toy",
        "h2 Data set small",
        "h2 Data set large",
        "h2 The size of the corpus",
        "h2 Failed questions",
    ]
    assert not re.search(r"</h2>\s*</section>", whole)


def test_a_short_report_needs_no_contents() -> None:
    assert "<nav" not in Evaluation(answered=[NAIVE]).to_html()


def test_text_of_others_is_escaped(whole: str) -> None:
    assert EVIL not in whole
    assert "&lt;script&gt;" in whole


def test_plots_and_tables_are_readable_by_screen_readers(whole: str) -> None:
    page = PageParser(whole)
    pictures = page.list_tags("svg")
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in pictures)
    assert len(pictures) == whole.count("<figcaption>") == whole.count("<figure>")
    assert whole.count("<table>") == whole.count("<caption>")
    assert all(upload.get("scope") for upload in page.list_tags("th"))
    assert page.list_tags("html") == [{"lang": "en"}]


def test_each_plot_describes_its_content(whole: str) -> None:
    titles = re.findall(r"<figcaption><strong>(.*?)\.</strong>", whole)
    assert titles == [
        "nDCG@10 and cost", "Recall", "Time",
        "F1 and cost", "Recall", "Risk and coverage", "Time", "Phases",
        "F1 for each kind of question",
        *["F1 and cost", "Recall", "Risk and coverage", "Time"] * 2,
        "F1 and the size of the corpus",
    ]  # fmt: skip


def test_breakdowns_are_shown_where_there_are_several_parts(whole: str) -> None:
    rows = re.findall(r'<th scope="row">(\w+: [^<]*)</th>', whole)
    assert rows == [
        "maf: debate", "maf: failed", "maf: read",
        "naive: &lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;",
        "maf: &lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;",
        "naive: date", "maf: date", "naive: list", "maf: list",
    ]  # fmt: skip


def test_measures_state_which_direction_is_better(whole: str) -> None:
    assert "F1 ↑</th>" in whole
    assert "wrong-on-answerable ↓</th>" in whole


def test_it_lists_questions_failures_and_next_steps(whole: str) -> None:
    assert "answered 3 questions of toy, 4 questions of small" in whole
    assert "hybrid ranked the documents for 2 questions of toy." in whole
    assert "The first 1 of 1, and why:" in whole
    assert "Gate passed" in whole
    assert "cannot be told apart in F1 on toy" in whole
    assert "naive has the highest F1 on toy: maf cannot be told apart from it." in whole
    assert '<th scope="row">naive - maf, toy</th><td>F1</td>' in whole
    assert "made by setup abc" in whole
    assert "<title>Fathom: evaluation of toy, small, large</title>" in whole


def test_an_interval_is_shown_where_there_is_one(whole: str) -> None:
    assert re.search(r"0\.667<small>\[0\.\d+, 1\.000\]</small>", whole)
    assert "[1.000, 1.000]" not in whole


def test_means_over_different_questions_are_not_compared(whole: str) -> None:
    assert UNEQUAL_QUESTIONS not in whole
    assert UNEQUAL_QUESTIONS in Evaluation(answered=[NAIVE, MAF[:2]]).to_html()


def test_light_dark_and_print_are_supported(whole: str) -> None:
    assert "prefers-color-scheme:dark" in whole
    assert "@media print" in whole
    assert "currentColor" in whole


def test_the_same_records_give_the_same_page(whole: str) -> None:
    assert FINDINGS.to_html() == whole


def test_an_empty_evaluation_gives_a_page() -> None:
    assert PageParser(Evaluation().to_html()).headings == ["h1 Evaluation"]
