"""One report in three forms: escaped text, readable aloud."""

import sys

import pytest
from markdown_it import MarkdownIt
from tests.evaluation.factories import make_abstention, make_failure, make_record

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import (
    EvaluationReport,
    Figure,
    ReportBlock,
    ReportSection,
    ReportStatement,
    ReportTable,
    Sentences,
)
from fathom.evaluation.report.build import build_measure_table
from fathom.evaluation.report.render import render_block, render_html, render_markdown, render_text
from fathom.evaluation.rows import score_system

EVIL = '<b>"&'
SAFE = "&lt;b&gt;&#34;&amp;"
SVG = '<svg viewBox="0 0 1 1"><g id="a"/><use href="#a"/></svg>'
TABLE = ReportTable(title="Answers", head=("", "naive"), rows=(("F1", "0.5 [0.4, 0.6]"),))


def make_report(*blocks: ReportBlock, title: str = "Section") -> EvaluationReport:
    return EvaluationReport(
        title="Title", sections=(ReportSection(title=title, blocks=blocks),), foot="Foot"
    )


def make_figure(name: str = "time", title: str = "Time") -> Figure:
    return Figure(name=name, title=title, caption="Less is better.", svg=SVG)


def test_an_empty_report_gives_nothing() -> None:
    nothing = EvaluationReport(title="", sections=())
    assert render_text(nothing) == render_markdown(nothing) == ""


def test_no_text_breaks_a_line_or_opens_a_tag_in_markdown() -> None:
    text = "a\n\nb <script>x</script> <!-- c"
    report = make_report(
        ReportStatement(text=text),
        Sentences(title=text, lines=(text,)),
        ReportTable(title=text, head=(text,), rows=((text,),)),
        Figure(name="f", title=text, caption="", svg=SVG),
        title=text,
    )
    safe = "a b &lt;script>x&lt;/script> &lt;!-- c"
    assert render_markdown(report).split("\n") == [
        f"## {safe}", "", safe, "", f"**{safe}**", "", f"- {safe}", "",
        f"**{safe}**", "", f"| {safe} |", "|---|", f"| {safe} |", "", f"*{safe}*",
    ]  # fmt: skip
    long = ReportTable(title="<b>\nc*", head=("x",), rows=(("1",),) * 61)
    assert next(iter(render_block(long))) == "<details><summary>&lt;b> c*</summary>"


@pytest.mark.parametrize("text", ["p < 0.05", "a <3 b", "x<0", "<", "F1 [0.4, 0.6]"])
def test_a_text_without_a_tag_stays_in_markdown(text: str) -> None:
    assert [*render_block(ReportStatement(text=text))] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "[notes](https://merrow.example)", "![a](b.png)", "[a][b] [b]: https://merrow.example",
        "C:\\[fees\\]", "a\\|b", "a|b", "*fees* and **more**", "_fees_ but snake_case", "`fees`",
        "&lt;b&gt; &#65; R&D", "<https://merrow.example>", "R@5 [0.4, 0.6] (n = 7)",
    ],
)  # fmt: skip
def test_names_are_shown_in_markdown_as_they_are(text: str) -> None:
    table = ReportTable(title=text, head=(text,), rows=((text,),))
    report = make_report(ReportStatement(text=text), Sentences(title=text, lines=(text,)), table)
    tokens = MarkdownIt("commonmark").enable("table").parse(render_markdown(report))
    inner = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in inner} <= {"text", "strong_open", "strong_close"}
    shown = ["".join(c.content for c in token.children) for token in tokens if token.children]
    assert shown == ["Section", *[text] * 6]


def test_a_cell_with_a_line_break_stays_in_its_row_in_a_terminal() -> None:
    table = ReportTable(title="t\nu", head=("", "x"), rows=(("a\u2028b\r\nc", "1"), ("d", "2")))
    assert render_text(make_report(table, title="s\nt")).splitlines() == [
        "S T", "", "t u", "       x", "-----  -", "a b c  1", "d      2",
    ]  # fmt: skip


def test_text_is_escaped_everywhere_on_a_page() -> None:
    pytest.importorskip("jinja2")
    evil: list[ReportBlock] = [
        ReportStatement(text=EVIL),
        Sentences(title=EVIL, lines=(EVIL,)),
        ReportTable(title=EVIL, head=(EVIL,), rows=((EVIL,),)),
        Figure(name=EVIL, title=EVIL, caption=EVIL, svg=SVG),
    ]
    for block in evil:
        page = render_html(make_report(block))
        assert SAFE in page
        assert EVIL not in page
    assert EVIL not in render_html(
        EvaluationReport(
            title=EVIL, sections=(ReportSection(title=EVIL, blocks=()),) * 4, foot=EVIL
        )
    )


def test_a_table_of_a_page_names_its_rows_and_columns() -> None:
    page = render_html(make_report(TABLE))
    assert '<th scope="col">naive</th>' in page
    assert '<th scope="row">F1</th><td>0.5<small>[0.4, 0.6]</small></td>' in page
    assert 'role="region" aria-label="Answers" tabindex="0"' in page


def test_figures_of_a_page_have_distinct_ids_and_are_adjacent() -> None:
    page = render_html(
        make_report(make_figure("a"), make_figure("b"), ReportStatement(text="x"), make_figure("c"))
    )
    assert '<svg role="img" aria-label="Time. Less is better." viewBox' in page
    for number in (1, 2, 3):
        assert f'id="p{number}-a"' in page
    assert "<strong>Time.</strong> Less is better.</figcaption>" in page
    assert page.count('<div class="plots">') == 2


def test_without_the_library_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match=r"pip install 'fathom-qa\[eval\]'"):
        render_html(make_report())


def test_markdown_and_text_have_the_same_content() -> None:
    full_report = make_report(
        ReportStatement(text="One."), Sentences(title="Two", lines=("a", "b")), TABLE, make_figure()
    )
    assert render_markdown(full_report) == (
        "## Section\n\nOne.\n\n**Two**\n\n- a\n- b\n\n**Answers**\n\n|  | naive |\n|---|---|\n"
        "| F1 | 0.5 [0.4, 0.6] |\n\n*Time*"
    )
    assert render_text(full_report) == (
        "SECTION\n\nOne.\n\nTwo\n- a\n- b\n\nAnswers\n    naive\n--  --------------\n"
        "F1  0.5 [0.4, 0.6]\n\n[Time]"
    )


def test_a_bar_in_a_cell_does_not_end_the_cell_of_markdown() -> None:
    assert "| a\\|b |" in [*render_block(ReportTable(title="", head=("x",), rows=(("a|b",),)))][-1]


def test_a_long_table_is_folded_in_markdown() -> None:
    lines = [*render_block(ReportTable(title="Long", head=("x",), rows=(("1",),) * 61))]
    assert lines[0] == "<details><summary>Long</summary>"
    assert lines[-1] == "</details>"


def test_a_table_too_wide_for_a_terminal_is_transposed() -> None:
    wide = ReportTable(title="", head=tuple(f"measure-{n}" for n in range(20)), rows=(("1",) * 20,))
    lines = render_text(make_report(wide, title="")).splitlines()
    assert lines[0] == "measure-0   1"
    assert len(lines) == 21


RECORDS = [make_record("q1"), make_abstention("q2"), make_failure("q3", seconds=2.0)]


def test_a_table_may_have_empty_cells() -> None:
    rows = [
        score_system(RECORDS),
        score_system([make_record(gold=(), relevant={}, dataset="bare")]),
    ]
    lines = [*render_block(build_measure_table(rows, ("F1", "RAMDocs-EM", "answered")))]
    head = "| data set | system | queries | F1 | answered | retrievals | llm_calls | tokens | "
    assert lines[0] == head + "p50 ms | p95 ms |"
    assert lines[2].startswith("| toy | naive | 3 | 0.333 [")
    assert lines[3] == "| bare | naive | 1 |  | 1.000 | 1.0 | 0.0 | 40.0 | 500.0 | 500.0 |"
