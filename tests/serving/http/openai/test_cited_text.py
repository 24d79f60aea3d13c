"""An answer as text of a chat: its marks, its sources, and their links."""

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from tests.answers import make_answer, make_citation
from tests.serving.http.payloads import EVIL, PAYLOADS

from fathom.serving.http.openai.cited_text import build_link, render_cited_text, strip_frame
from fathom.types import Conflict

BASE = "http://fathom.example/"


def list_links(text: str) -> list[str]:
    renderer = MarkdownIt("commonmark", {"html": True})
    inner = (token for block in renderer.parse(text) for token in block.children or ())
    return [
        str(token.attrs.get("href") or token.attrs.get("src")) for token in inner if token.attrs
    ]


def test_the_text_has_the_answer_with_marks_and_a_list_of_sources() -> None:
    assert render_cited_text(make_answer(), BASE).text == (
        "**28 days**\n\n"
        "Books are lent for 28 days. [1]\n\n"
        "**Sources**\n\n"
        "- [1] [Rules > Loans, page 3](http://fathom.example/#/documents/ab12?start=7&end=34): "
        "“Books are lent for 28 days.”"
    )


def test_a_source_links_to_the_page_at_the_quote_of_its_mark() -> None:
    text = render_cited_text(make_answer(), BASE)
    (source,) = text.sources
    assert source.url == "http://fathom.example/#/documents/ab12?start=7&end=34"
    assert text.text[source.start : source.end] == "[1]"
    assert text.text[: source.start].endswith("28 days. ")


def test_an_abstention_has_a_reason_and_the_nearest_quotes() -> None:
    unsure = make_answer(
        status="abstained", answer="", short_answer="", stop_reason="low_confidence"
    )
    text = render_cited_text(unsure, BASE)
    assert text.text.startswith("I don't know: the best evidence is not sure enough.\n\n")
    assert "**Nearest, but not enough**" in text.text
    assert text.text[text.sources[0].start :].startswith("[1]")


def test_a_tentative_answer_says_so_before_its_words() -> None:
    text = render_cited_text(make_answer(tentative=True), BASE).text
    assert text.startswith("*Not sure:*\n\n**28 days**\n\n")
    indonesian = make_answer(question="Berapa lama buku boleh dipinjam?", tentative=True)
    assert render_cited_text(indonesian, BASE).text.startswith("*Kurang yakin:*\n\n")


def test_an_indonesian_question_is_answered_in_indonesian() -> None:
    text = render_cited_text(make_answer(question="Berapa lama buku boleh dipinjam?"), BASE)
    assert "**Sumber**" in text.text
    assert "halaman 3" in text.text


def test_the_completed_follow_up_is_shown() -> None:
    follow_up = make_answer(question="And books?", standalone_question="How long are books lent?")
    assert render_cited_text(follow_up, BASE).text.startswith(
        "*Understood as: How long are books lent?*\n\n"
    )


def test_disagreeing_documents_are_listed_separately() -> None:
    torn = make_answer(
        citations=(make_citation(), make_citation(n=2, quote="14 days")),
        conflicts=(Conflict(answer="14 days", citations=(2,), refuted=True),),
    )
    text = render_cited_text(torn, BASE).text
    assert "The documents give different answers:" in text
    assert "- 28 days [1]\n- 14 days [2] (which others contradict)" in text


def test_warnings_are_part_of_the_text() -> None:
    assert (
        "Warning: rules.pdf has changed"
        in render_cited_text(make_answer(warnings=("rules.pdf has changed",)), BASE).text
    )


def test_lines_of_an_answer_stay_lines() -> None:
    assert (
        "Day | Hours  \nMonday | 9 [1]"
        in render_cited_text(make_answer(answer="Day | Hours\nMonday | 9 [1]"), BASE).text
    )


def test_a_web_source_links_to_the_web_and_to_nothing_executable() -> None:
    web = make_citation(source="web", document="web:https://a.example/x (y)?q=1&r=<b>")
    assert build_link(web, BASE) == (
        "https://a.example/x%20%28y%29?q=1&r=%3Cb%3E#:~:text=Books%20are%20lent%20for%2028%20days."
    )
    other = replace(web, document="web:http://a.example/#top", quote="co-op\nshop")
    assert build_link(other, BASE) == "http://a.example/#top:~:text=co%2Dop%20shop"
    assert build_link(replace(web, document="web:javascript:alert(1)"), BASE) == BASE


def test_a_document_with_any_name_keeps_its_link_whole() -> None:
    odd = make_citation(document="a b)/?#&<é")
    assert list_links(render_cited_text(make_answer(citations=(odd,)), BASE).text) == [
        build_link(odd, BASE)
    ]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("field", ["answer", "short_answer", "title", "section", "path", "quote"])
def test_the_text_has_no_other_links(field: str, payload: str) -> None:
    fields = {field: f"{payload} [1]" if field == "answer" else payload}
    answers = (
        make_answer(**fields)
        if field in {"answer", "short_answer"}
        else make_answer(citations=(make_citation(**fields),))
    )
    text = render_cited_text(answers, BASE).text
    assert list_links(text) == [build_link(make_citation(), BASE)]


def test_the_answer_is_recognised_in_the_text_a_client_sends_back() -> None:
    follow_up = make_answer(question="And books?", standalone_question="How long are books lent?")
    assert (
        strip_frame(render_cited_text(follow_up, BASE).text)
        == "**28 days**\n\nBooks are lent for 28 days. [1]"
    )
    tentative = make_answer(
        question="And books?", standalone_question="How long are books lent?", tentative=True
    )
    for answer in (tentative, make_answer(tentative=True)):
        assert (
            strip_frame(render_cited_text(answer, BASE).text)
            == "**28 days**\n\nBooks are lent for 28 days. [1]"
        )
    unsure = make_answer(
        status="abstained", answer="", short_answer="", stop_reason="low_confidence"
    )
    assert strip_frame(render_cited_text(unsure, BASE).text) == (
        "I don't know: the best evidence is not sure enough."
    )
    assert strip_frame("I read it in **Sources**: a film.") == "I read it in **Sources**: a film."


def test_no_link_address_is_empty() -> None:
    assert EVIL not in build_link(make_citation(document=""), BASE)
    assert build_link(make_citation(source="web", document=""), BASE) == BASE


def test_line_breaks_of_any_number_take_linear_time() -> None:
    text = "\n" * 4_000_000  # would take hours if each of them were tried
    assert strip_frame(text) == text
