"""The output for people and machines."""

import json
from dataclasses import replace

import pytest

from fathom.documents.lines import MatchingLine
from fathom.index.base import DocumentSummary
from fathom.ingest.outdated import OutdatedFile
from fathom.serving.brief import Brief
from fathom.serving.cli.output import (
    format_answer,
    format_brief,
    format_documents,
    format_hits,
    format_matching_lines,
    format_outdated,
    format_outline,
    link_citations,
    show,
    show_json,
)
from fathom.types import Answer, Chunk, Citation, Conflict, Document, Hit, Place, Span
from fathom.usage import Budget, Usage

CITATION = Citation(
    n=1,
    document="d1",
    path="/c/fees.pptx",
    title="Fees",
    section="Moorings",
    page=2,
    line=7,
    start=0,
    end=9,
    quote="It costs\n4",
    verified=True,
    support=0.9,
)
ANSWER = Answer(
    question="What does it cost?",
    status="answered",
    answer="It costs 4 [1]",
    confidence=0.9,
    citations=(CITATION,),
    strategy="extractive",
    phase="read",
    stop_reason="answered",
    usage=Usage(retrievals=1),
    budget=Budget(),
)
HIT = Hit(
    chunk=Chunk(id="d1#0", document_id="d1", text="It costs 4", span=Span(3, 13), ordinal=0),
    score=0.5,
    rank=1,
    retriever="hybrid",
)
PLACE = Place(path="/c/fees.pdf", title="Fees", section="Moorings", page=2, line=7)


def test_an_answer_shows_each_quote_on_a_line() -> None:
    assert format_answer(ANSWER).splitlines() == [
        "It costs 4 [1]",
        "",
        '  [1] Fees > Moorings, slide 2 (/c/fees.pptx:7): "It costs 4"',
        "  confidence 0.90, 0.00 s",
    ]


def test_a_more_precise_short_answer_comes_first() -> None:
    lines = format_answer(replace(ANSWER, short_answer="4")).splitlines()
    assert lines[:3] == ["4", "", "It costs 4 [1]"]
    for short in ("It costs 4", "It costs 4."):
        assert format_answer(replace(ANSWER, short_answer=short)).startswith("It costs 4 [1]\n")


def test_a_run_that_ends_before_a_draft_says_so_in_place_of_a_confidence() -> None:
    spent = replace(ANSWER, status="abstained", stop_reason="budget", confidence=None, citations=())
    failed = replace(spent, status="failed", stop_reason="ValueError in read")
    for answer in (spent, failed):
        assert format_answer(answer).splitlines()[-1].startswith("  no confidence: no answer was")
    uncalibrated = format_answer(replace(ANSWER, confidence=None))
    assert "confidence unknown: not calibrated for these settings" in uncalibrated


def test_a_tentative_answer_begins_with_not_sure() -> None:
    unsure = replace(ANSWER, tentative=True)
    assert format_answer(unsure).splitlines()[:3] == [
        "Not sure: It costs 4 [1]",
        "",
        '  [1] Fees > Moorings, slide 2 (/c/fees.pptx:7): "It costs 4"',
    ]
    assert format_answer(replace(unsure, short_answer="4")).startswith(
        "Not sure: 4\n\nIt costs 4 [1]\n"
    )
    assert print_brief(unsure)[0].startswith("Not sure: ")
    assert not print_brief(ANSWER)[0].startswith("Not sure: ")


def print_brief(answer: Answer) -> list[str]:
    return format_brief(Brief(answer=answer, nearest=None, shorten=str)).splitlines()


def test_a_short_answer_prints_no_quote_twice() -> None:
    assert print_brief(ANSWER) == [
        "It costs 4 [1]",
        "/c/fees.pptx:7",
        "P(right) 0.90",
    ]
    assert format_brief(
        Brief(answer=replace(ANSWER, short_answer="4"), nearest=None, shorten=str)
    ).splitlines() == [
        "4",
        '"It costs 4"  /c/fees.pptx:7',
        "P(right) 0.90",
    ]


def test_a_short_answer_prints_a_path_once_for_its_lines() -> None:
    second = replace(CITATION, n=2, start=40, end=50, line=9)
    other = replace(second, n=3, document="d2", path="/c/b.md")
    answer = replace(ANSWER, citations=(CITATION, second, other))
    assert print_brief(answer)[1:-1] == ["/c/fees.pptx:7 :9 /c/b.md:9"]


def test_a_partial_list_says_so() -> None:
    partial = replace(ANSWER, stop_reason="partial_list")
    assert "Only a part: the documents found give fewer" in format_answer(partial)
    assert "Only a part" not in format_answer(ANSWER)


def test_yes_or_no_comes_first() -> None:
    lines = format_answer(replace(ANSWER, short_answer="no")).splitlines()
    assert lines[:3] == ["no", "", "It costs 4 [1]"]


def test_disagreeing_documents_are_shown_with_their_answers() -> None:
    other = replace(
        CITATION, n=2, document="d2", title="Treasury", quote="It costs\n5", date="2025-06-30"
    )
    answer = replace(
        ANSWER,
        short_answer="4",
        citations=(CITATION, other),
        conflicts=(Conflict(answer="5", citations=(2,)),),
    )
    assert format_answer(answer).splitlines()[:7] == [
        "4",
        "",
        "The documents give different answers:",
        "  Fees [1]: 4",
        "  Treasury, 2025-06-30 [2]: 5",
        "",
        "It costs 4 [1]",
    ]


def test_warnings_are_shown_below_the_citations() -> None:
    output = format_answer(replace(ANSWER, warnings=("[1] a.md: changed since it was read",)))
    assert output.splitlines()[-1] == "  warning: [1] a.md: changed since it was read"


def test_the_shown_time_is_the_waiting_time_of_the_user() -> None:
    assert "confidence 0.90, 1.61 s" in format_answer(ANSWER, seconds=1.614)


def test_a_web_source_is_marked() -> None:
    page = replace(CITATION, document="web:https://a.example", page=None, source="web")
    output = format_answer(replace(ANSWER, citations=(page,)))
    assert '  [1] Fees (web:https://a.example, from the web): "It costs 4"' in output


def test_the_json_of_an_answer_has_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    show_json(ANSWER)
    payload = json.loads(capsys.readouterr().out)
    assert list(payload) == [
        "question",
        "standalone_question",
        "status",
        "tentative",
        "disputed",
        "answer",
        "short_answer",
        "confidence",
        "calibration",
        "citations",
        "conflicts",
        "strategy",
        "phase",
        "stop_reason",
        "usage",
        "budget",
        "calculation",
        "trace_id",
        "warnings",
    ]
    assert list(payload["citations"][0]) == [
        "n",
        "document",
        "path",
        "title",
        "section",
        "page",
        "line",
        "start",
        "end",
        "quote",
        "verified",
        "support",
        "source",
        "recognised",
        "date",
    ]
    assert list(payload["usage"]) == [
        "llm_calls",
        "prompt_tokens",
        "completion_tokens",
        "retrievals",
        "seconds",
        "cost_usd",
    ]


def test_paths_are_clickable_in_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show(format_answer(ANSWER), link_citations(ANSWER))
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    show(format_answer(ANSWER), link_citations(ANSWER))
    link = "(\x1b]8;;file:///c/fees.pptx\x1b\\/c/fees.pptx\x1b]8;;\x1b\\:7)"
    assert link in capsys.readouterr().out
    monkeypatch.setenv("TERM", "dumb")
    show(format_answer(ANSWER), link_citations(ANSWER))
    assert "\x1b" not in capsys.readouterr().out


def test_hits_show_their_places() -> None:
    output = format_hits([HIT], [PLACE])
    assert output.splitlines()[0] == "  1. Fees > Moorings, page 2 (/c/fees.pdf:7)  (0.5000, d1#0)"


def test_an_empty_list_of_hits_is_reported() -> None:
    assert format_hits([], []) == "nothing found"


def test_a_failed_answer_names_the_failure() -> None:
    failed = replace(ANSWER, status="failed", answer="", citations=(), stop_reason="m is down")
    assert format_answer(failed).splitlines()[0] == "No answer: m is down"


def test_calls_and_their_cost_are_shown() -> None:
    spent = Usage(llm_calls=2, prompt_tokens=10, completion_tokens=5, cost_usd=None)
    assert "2 calls, 15 tokens, cost unknown" in format_answer(replace(ANSWER, usage=spent))
    priced = replace(ANSWER, usage=replace(spent, cost_usd=0.25), trace_id="0123456789abcdef")
    assert "15 tokens, 0.250000 USD\n  trace 0123456789ab" in format_answer(priced)


def test_a_name_with_line_breaks_takes_one_line() -> None:
    path, title = "/c/a\nb.md", "Fees\u2028of\r\nall"
    place = replace(PLACE, path=path, title=title, section="")
    (head, _) = format_hits([HIT], [place]).splitlines()
    assert head == "  1. Fees of  all, page 2 (/c/a b.md:7)  (0.5000, d1#0)"
    summary = DocumentSummary(
        id="d1", path=path, title=title, language="en", chunks=1, updated="2026"
    )
    assert format_documents([summary]) == "d1  en      1 chunks  /c/a b.md  Fees of  all"
    line = MatchingLine(document="d1", place=place, start=0, text="Fees")
    assert format_matching_lines([line], str, has_more=False) == "/c/a b.md:7  Fees"
    document = Document(id="d1", path=path, title=title, text="")
    assert format_outline(document, [], str) == "/c/a b.md has no headings"
    assert format_outdated([OutdatedFile(path, "gone")]).splitlines()[0] == "/c/a b.md: gone"
