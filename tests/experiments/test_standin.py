"""The stand-in is a language model like any other: asked by its name, its tokens counted."""

import asyncio
import time
from pathlib import Path

from experiments.extractive import ExtractiveModel
from experiments.lab.standin import NAME, StandIn
from tests.experiments.toy import TOML, bench, experiment
from tests.making import FEES, QUESTION
from tests.scripted_pairs import OVERLAP

from fathom.agents.prompt_delimiters import fence_for, fenced
from fathom.agents.reader import ReaderReply
from fathom.llm.base import Message
from fathom.llm.structured import ask_for


def test_it_replies_by_the_schema_and_counts_its_tokens() -> None:
    texts = [f"Fees\n{FEES}"]
    prompt = f"{fenced(fence_for(QUESTION, texts), texts)}\n\nQuestion: {QUESTION}"
    asked = ask_for(
        ReaderReply,
        StandIn(ExtractiveModel(OVERLAP)),
        [Message("system", "You read."), Message("user", prompt)],
        max_tokens=200,
        deadline=time.monotonic() + 60,
    )
    reply = asyncio.run(asked)
    assert reply.value.answerable
    assert not reply.repaired
    assert reply.usage.llm_calls == 1
    assert reply.usage.prompt_tokens > reply.usage.completion_tokens > 0


def test_an_arm_asks_it_by_its_name(tmp_path: Path) -> None:
    values = f'"llm.model" = "{NAME}", "llm.skip_above_confidence" = 2, "ask.min_confidence" = 0.0'
    named = f"settings = {{ {values} }}"
    toml = TOML.replace('settings = { "ask.min_confidence" = 0.0 }', named, 1)
    seen = bench(tmp_path).see(experiment(tmp_path, toml))
    asked, local, _ = (cell.records for cell in seen.cells)
    assert {record.usage["llm_calls"] for record in asked} == {1}
    assert all(record.usage["prompt_tokens"] for record in asked)
    assert {record.usage["llm_calls"] for record in local} == {0}
    assert "failed" not in {record.status for record in asked}
