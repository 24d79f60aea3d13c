"""The stand-in for a language model follows every schema and uses only words of the prompt."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.lab.stub_llm import NAME, ExtractiveModel, StubLLM
from pydantic import BaseModel
from tests.experiments.toy import TOML, bench, experiment
from tests.factories import FEES, QUESTION

from fathom.agents.debate.aggregator import AggregatorReply
from fathom.agents.debate.debater import DebaterReply
from fathom.agents.judge import JudgeReply
from fathom.agents.prompt_delimiters import fence_texts, make_fence
from fathom.agents.reader.reply_forms import NumberedReply, ReaderReply
from fathom.agents.reorderer import OrderReply
from fathom.agents.selector import SelectorReply
from fathom.llm.base import Message
from fathom.llm.prompt import ModelRequest
from fathom.llm.structured_reply import request_object
from fathom.planner.workflows import PlannerReply
from fathom.testing.doubles import OVERLAP

MODEL = ExtractiveModel(OVERLAP)
OSLO = "Fees > Oslo\nThe opera of Oslo has a roof to walk on."
HARBOUR = f"Fees\n{FEES}"


def reply_to(kind: type[BaseModel], user: str, system: str = "") -> Any:
    schema = json.dumps({"title": kind.__name__})
    prompt = f"{system}\nAnswer with one JSON object. It must fit this JSON schema:\n{schema}"
    contents = [("system", prompt), ("user", user)]
    reply = MODEL([{"role": role, "content": content} for role, content in contents])
    return kind.model_validate_json(reply)


def show_chunks(question: str, texts: Sequence[str], label: str = "chunk") -> str:
    fence = make_fence(question, texts)
    return f"{fence_texts(fence, texts, label=label)}\n\nQuestion: {question}"


def test_a_reader_quotes_a_sentence_of_the_best_chunk() -> None:
    reply = reply_to(ReaderReply, show_chunks(QUESTION, [OSLO, HARBOUR]))
    (sentence,) = reply.answer.sentences
    (sentence,) = sentence.quotes
    assert (sentence.chunk, sentence.quote) == (2, "A mooring permit costs 40 crowns a year.")
    assert reply.answer.short_answer in sentence.quote
    assert reply_to(ReaderReply, show_chunks("Which enzyme unwinds DNA?", [OSLO])).answer is None


def test_a_reader_names_the_best_of_numbered_sentences() -> None:
    texts = ["Oslo\n[1] The opera has a roof.", "Fees\n[2] Dogs pay nothing.\n[3] " + FEES]
    reply = reply_to(NumberedReply, show_chunks(QUESTION, texts))
    assert [sentence.evidence for sentence in reply.answer.sentences] == [[3]]
    assert (
        reply_to(NumberedReply, show_chunks("Which enzyme unwinds DNA?", texts[:1])).answer is None
    )


def test_a_debater_speaks_for_its_own_chunk() -> None:
    others = ["answer: 40 crowns\nquote: x", "answer: 99 crowns\nquote: x", "answer: unknown\n"]
    chunk = f"[1] Fees\n[2] {FEES}\n[3] Dogs pay nothing."
    fence = make_fence(QUESTION, [chunk, *others])
    own_chunk, heard = fence_texts(fence, [chunk]), fence_texts(fence, others, label="agent")
    reply = reply_to(
        DebaterReply, f"Your chunk:\n{own_chunk}\n\nOthers:\n{heard}\n\nQuestion: {QUESTION}"
    )
    assert (reply.answer.sentence, bool(reply.answer.text)) == (2, True)
    assert (reply.supports, reply.contradicts) == ([1], [])


def test_chunks_are_ordered_and_selected_by_relevance() -> None:
    user = show_chunks(QUESTION, [OSLO, HARBOUR])
    assert reply_to(OrderReply, user).order == [2, 1]
    assert reply_to(SelectorReply, user).chunks == [2]


def test_a_judge_looks_for_the_words_of_a_claim() -> None:
    pairs = "Pair 1\nclaim: It costs 40.\nquote: it costs 40 crowns\n\nPair 2\nclaim: 41\nquote: 40"
    assert reply_to(JudgeReply, pairs).support == [1.0, 0.0]


def test_every_answer_of_a_debate_is_a_reading() -> None:
    said_by = ["answer: Oslo\nquote: a", "answer: Bergen\nquote: b", "answer: oslo\nquote: c"]
    reply = reply_to(
        AggregatorReply, show_chunks("Where?", [*said_by, "answer: unknown\nquote: "], "agent")
    )
    assert [(reading.answer, reading.agents) for reading in reply.readings] == [
        ("Oslo", [1, 3]),
        ("Bergen", [2]),
    ]


def test_a_plan_is_legal_in_its_turn() -> None:
    user = "Question: Who is older, Ada Lovelace or Alan Turing?"
    assert reply_to(PlannerReply, user, "QDS; QDP; R,AG").workflow == "QDP"
    assert reply_to(PlannerReply, user, "R,AG").workflow == "R,AG"


def test_it_follows_the_schema_and_counts_its_tokens() -> None:
    texts = [f"Fees\n{FEES}"]
    prompt = f"{fence_texts(make_fence(QUESTION, texts), texts)}\n\nQuestion: {QUESTION}"
    request = request_object(
        ReaderReply,
        StubLLM(ExtractiveModel(OVERLAP)),
        ModelRequest([Message("system", "You read."), Message("user", prompt)], {"chunk": [1]}),
        max_tokens=200,
        deadline=time.monotonic() + 60,
    )
    reply = asyncio.run(request)
    assert reply.value.answer is not None
    assert not reply.repaired
    assert reply.usage.llm_calls == 1
    assert reply.usage.prompt_tokens > reply.usage.completion_tokens > 0


def test_an_arm_selects_it_by_its_name(tmp_path: Path) -> None:
    values = f'"llm.model" = "{NAME}", "llm.skip_above_confidence" = 2, "ask.min_confidence" = 0.0'
    named = f"settings = {{ {values} }}"
    toml = TOML.replace('settings = { "ask.min_confidence" = 0.0 }', named, 1)
    results = bench(tmp_path).collect_results(experiment(tmp_path, toml))
    asked_cell, local, _ = (cell.records for cell in results.cells)
    assert {record.usage["llm_calls"] for record in asked_cell} == {1}
    assert all(record.usage["prompt_tokens"] for record in asked_cell)
    assert {record.usage["llm_calls"] for record in local} == {0}
    assert "failed" not in {record.status for record in asked_cell}
