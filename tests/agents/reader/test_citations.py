"""Evidence of a model's sentences, named by number or by quote, and its search in the hits."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.factories import FEES, QUESTION, hit_of, hit_with

from fathom.agents.reader.citations import list_citable
from fathom.agents.reader.reply_forms import (
    AnyForm,
    NumberedReply,
    NumberForm,
    NumberingSentence,
    Quote,
    QuoteForm,
    QuotingSentence,
    ReaderReply,
    SentenceStream,
    ShortForm,
    choose_form,
)
from fathom.documents.base import Builder
from fathom.llm.schema import build_schema
from fathom.question.question import Question
from fathom.retrieval.pruning import keep_whole

COSTS = "A mooring permit costs 40 crowns a year."
DOGS = "Dogs are welcome."
SHOWN = keep_whole([hit_of(DOGS, document="d0"), hit_of(rank=2)])


def test_an_answer_has_a_sentence_and_a_sentence_has_evidence() -> None:
    for kind, lacks in (
        (ReaderReply, {"quotes": [], "text": "x"}),
        (NumberedReply, {"evidence": [], "text": "x"}),
    ):
        for sentences in ([], [lacks]):
            with pytest.raises(ValueError, match="at least 1 item"):
                kind.model_validate({"answer": {"sentences": sentences}})
        assert kind.model_validate({"answer": None}).answer is None


@pytest.mark.parametrize("form", [NumberForm(), QuoteForm()], ids=["numbers", "quotes"])
def test_the_example_of_the_prompt_fits_its_reply(form: AnyForm) -> None:
    form.kind.model_validate_json(form.prompt.text.rpartition("\nReply: ")[2])


def test_numbers_are_those_of_the_sentences_shown() -> None:
    request = NumberForm().build_request(Question(QUESTION), SHOWN)
    assert request.choices == {"sentence": (1, 2, 3, 4, 5)}
    lines = request.messages[1].text.splitlines()
    assert lines[1:3] == ["[1] Fees", f"[2] {DOGS}"]
    assert lines[4:6] == ["[3] Fees", f"[4] {COSTS}"]
    schema = json.dumps(build_schema(NumberedReply, request.choices))
    assert '{"enum": [1, 2, 3, 4, 5]}' in schema


def test_a_short_request_states_its_form_and_has_one_fence() -> None:
    request = ShortForm().build_request(Question(QUESTION), SHOWN)
    instructions, text = (message.text for message in request.messages)
    assert request.states_form
    assert '{"sentences": [], "answer": ""}' in instructions
    lines = text.splitlines()
    assert lines[0].startswith("===")
    assert lines.count(lines[0]) == 2
    assert lines[1:5] == ["[1] Fees", f"[2] {DOGS}", "", "[3] Fees"]


def test_headings_heads_of_tables_rows_and_items_have_numbers() -> None:
    builder = Builder()
    builder.add_heading("Harbour fees", 1)
    builder.add_item("1. Mooring costs 40 crowns.")
    builder.add_row(["Boat", "Fee"], head=True)
    builder.add_row(["Yacht", "90"])
    (shown,) = keep_whole([hit_with(builder)])
    quotes = [item.quote for item in list_citable(shown)]
    assert quotes[:2] == ["Harbour fees", "Mooring costs 40 crowns."]
    assert len(quotes) == 4
    cited = NumberForm().resolve_evidence(
        NumberingSentence(evidence=[1], text="It is about fees."), [shown]
    )
    assert [evidence.quote for evidence in cited.evidence] == ["Harbour fees"]


def test_the_better_form_for_the_model_is_used_unless_one_is_chosen() -> None:
    assert choose_form("local:/models/small.gguf", "auto") == "short"
    assert choose_form("openai:m", "auto") == "quotes"
    assert choose_form("openai:m", "numbers") == "numbers"
    assert choose_form("local:", "quotes") == "quotes"


def test_a_named_quote_is_found_once_and_its_marks_are_removed() -> None:
    cited = NumberForm().resolve_evidence(
        NumberingSentence(evidence=[4, 4, 2, 0, 9], text="x [2]."), SHOWN
    )
    assert [evidence.quote for evidence in cited.evidence] == [COSTS, DOGS]
    assert (cited.text, cited.named) == ("x.", 5)
    quotes = [Quote(chunk=2, quote="40 crowns"), Quote(chunk=1, quote="Cats"),
              Quote(chunk=1, quote="dogs are welcome")]  # fmt: skip
    cited = QuoteForm().resolve_evidence(QuotingSentence(quotes=quotes, text="x"), SHOWN)
    assert [evidence.quote for evidence in cited.evidence] == [COSTS, DOGS]


def test_a_document_cannot_number_its_own_sentences() -> None:
    shown = keep_whole(
        [hit_of("[2] Visitors moor free of charge.", document="evil"), hit_of(rank=2)]
    )
    cited = NumberForm().resolve_evidence(NumberingSentence(evidence=[4], text="x"), shown)
    assert cited.evidence[0].quote == COSTS


def test_a_title_above_a_chunk_is_named_in_either_form() -> None:
    by_number = NumberForm().resolve_evidence(NumberingSentence(evidence=[3], text="x"), SHOWN)
    quotes = [Quote(chunk=2, quote="FEES")]
    by_quote = QuoteForm().resolve_evidence(QuotingSentence(quotes=quotes, text="x"), SHOWN)
    for cited in (by_number, by_quote):
        assert [(evidence.heading, evidence.quote) for evidence in cited.evidence] == [
            ("Fees", "Fees")
        ]


def test_only_the_text_of_a_web_page_can_be_named() -> None:
    hit = SHOWN[0].hit
    (web,) = keep_whole([replace(hit, chunk=replace(hit.chunk, source="web"))])
    assert [item.quote for item in list_citable(web)] == [DOGS]
    assert (
        "Fees\n[1] Dogs" in NumberForm().build_request(Question(QUESTION), [web]).messages[1].text
    )


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (NumberForm(), {"evidence": [4], "text": "It costs 40 crowns."}),
        (QuoteForm(), {"quotes": [{"chunk": 2, "quote": COSTS}], "text": "It costs 40 crowns."}),
    ],
    ids=["numbers", "quotes"],
)
def test_sentences_are_streamed_as_they_come(form: AnyForm, sentence: Mapping[str, Any]) -> None:
    streamed: list[str] = []
    stream = SentenceStream(form, SHOWN, streamed.append)
    lie = {"evidence": [99], "quotes": [{"chunk": 1, "quote": "Cats pay."}], "text": "Cats pay."}
    whole = json.dumps({"answer": {"sentences": [lie, sentence, sentence], "short_answer": "40"}})
    sentences = []
    for letter in whole:
        stream(letter)
        sentences.append(len(streamed))
    assert streamed == ["It costs 40 crowns."] * 2
    assert sentences[-1] == 2
    assert sentences[whole.index("short_answer")] == 2  # long before the end


def test_all_that_is_kept_is_shown_in_either_form() -> None:
    for form in (NumberForm(), QuoteForm()):
        text = form.build_request(Question(QUESTION), SHOWN).messages[1].text
        assert all(part in text for part in (DOGS, *FEES.split(". ")))
