"""An answer as the text of a chat: its marks, its sources, and where they lead."""

from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from tests.serving.http.payloads import EVIL, PAYLOADS

from fathom.serving.http.openai.cited_text import build_link, render_cited_text, strip_frame
from fathom.types import Answer, Citation, Conflict
from fathom.usage import Budget, Usage

BASE = "http://fathom.example/"
QUOTE = "Books are lent for 28 days."


def citation(**fields: Any) -> Citation:
    given: dict[str, Any] = {
        "n": 1,
        "document": "ab12",
        "title": "Rules",
        "section": "Loans",
        "page": 3,
        "path": "/docs/rules.pdf",
        "start": 7,
        "end": 34,
        "quote": QUOTE,
        "verified": True,
        "support": 0.9,
    }
    return Citation(**(given | fields))


def answer(**fields: Any) -> Answer:
    given: dict[str, Any] = {
        "question": "For how long are books lent?",
        "status": "answered",
        "answer": f"{QUOTE} [1]",
        "short_answer": "28 days",
        "citations": (citation(),),
        "strategy": "naive",
        "phase": "read",
        "stop_reason": "answered",
        "usage": Usage(),
        "budget": Budget(),
    }
    return Answer(**(given | fields))


def links(text: str) -> list[str]:
    renderer = MarkdownIt("commonmark", {"html": True})
    inner = (each for block in renderer.parse(text) for each in block.children or ())
    return [str(each.attrs.get("href") or each.attrs.get("src")) for each in inner if each.attrs]


def test_the_text_has_the_answer_with_marks_and_a_list_of_sources() -> None:
    assert render_cited_text(answer(), BASE).text == (
        "**28 days**\n\n"
        "Books are lent for 28 days. [1]\n\n"
        "**Sources**\n\n"
        "- [1] [Rules > Loans, page 3](http://fathom.example/#/documents/ab12?start=7&end=34): "
        "“Books are lent for 28 days.”"
    )


def test_a_source_leads_to_the_page_at_the_quote_from_its_mark() -> None:
    text = render_cited_text(answer(), BASE)
    (source,) = text.sources
    assert source.url == "http://fathom.example/#/documents/ab12?start=7&end=34"
    assert text.text[source.start : source.end] == "[1]"
    assert text.text[: source.start].endswith("28 days. ")


def test_an_abstention_says_why_and_gives_the_nearest() -> None:
    unsure = answer(status="abstained", answer="", short_answer="", stop_reason="low_confidence")
    text = render_cited_text(unsure, BASE)
    assert text.text.startswith("I don't know: the best evidence is not sure enough.\n\n")
    assert "**Nearest, but not enough**" in text.text
    assert text.text[text.sources[0].start :].startswith("[1]")


def test_an_indonesian_question_is_answered_with_indonesian_words() -> None:
    text = render_cited_text(answer(question="Berapa lama buku boleh dipinjam?"), BASE)
    assert "**Sumber**" in text.text
    assert "halaman 3" in text.text


def test_what_a_follow_up_was_understood_as_is_shown() -> None:
    follow_up = answer(question="And books?", standalone_question="How long are books lent?")
    assert render_cited_text(follow_up, BASE).text.startswith(
        "*Understood as: How long are books lent?*\n\n"
    )


def test_documents_that_do_not_agree_are_told_apart() -> None:
    torn = answer(
        citations=(citation(), citation(n=2, quote="14 days")),
        conflicts=(Conflict(answer="14 days", citations=(2,), refuted=True),),
    )
    text = render_cited_text(torn, BASE).text
    assert "The documents give different answers:" in text
    assert "- 28 days [1]\n- 14 days [2] (which others contradict)" in text


def test_warnings_are_part_of_the_text() -> None:
    assert (
        "Warning: rules.pdf has changed"
        in render_cited_text(answer(warnings=("rules.pdf has changed",)), BASE).text
    )


def test_lines_of_an_answer_stay_lines() -> None:
    assert (
        "Day | Hours  \nMonday | 9 [1]"
        in render_cited_text(answer(answer="Day | Hours\nMonday | 9 [1]"), BASE).text
    )


def test_a_source_of_the_web_leads_to_the_web_and_to_nothing_that_runs() -> None:
    web = citation(source="web", document="web:https://a.example/x (y)?q=1&r=<b>")
    assert build_link(web, BASE) == (
        "https://a.example/x%20%28y%29?q=1&r=%3Cb%3E#:~:text=Books%20are%20lent%20for%2028%20days."
    )
    other = replace(web, document="web:http://a.example/#top", quote="co-op\nshop")
    assert build_link(other, BASE) == "http://a.example/#top:~:text=co%2Dop%20shop"
    assert build_link(replace(web, document="web:javascript:alert(1)"), BASE) == BASE


def test_a_document_of_any_name_keeps_its_link_whole() -> None:
    odd = citation(document="a b)/?#&<é")
    assert links(render_cited_text(answer(citations=(odd,)), BASE).text) == [build_link(odd, BASE)]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("field", ["answer", "short_answer", "title", "section", "path", "quote"])
def test_the_only_links_are_its_own(field: str, payload: str) -> None:
    own = {field: f"{payload} [1]" if field == "answer" else payload}
    made = (
        answer(**own)
        if field in {"answer", "short_answer"}
        else answer(citations=(citation(**own),))
    )
    text = render_cited_text(made, BASE).text
    assert links(text) == [build_link(citation(), BASE)]


def test_what_was_said_is_found_again_in_what_a_client_sends_back() -> None:
    follow_up = answer(question="And books?", standalone_question="How long are books lent?")
    assert (
        strip_frame(render_cited_text(follow_up, BASE).text)
        == "**28 days**\n\nBooks are lent for 28 days. [1]"
    )
    unsure = answer(status="abstained", answer="", short_answer="", stop_reason="low_confidence")
    assert strip_frame(render_cited_text(unsure, BASE).text) == (
        "I don't know: the best evidence is not sure enough."
    )
    assert strip_frame("I read it in **Sources**: a film.") == "I read it in **Sources**: a film."


def test_no_address_is_empty() -> None:
    assert EVIL not in build_link(citation(document=""), BASE)
    assert build_link(citation(source="web", document=""), BASE) == BASE


def test_line_breaks_without_end_are_looked_through_in_one_go() -> None:
    text = "\n" * 4_000_000  # would take hours if each of them were tried
    assert strip_frame(text) == text
