"""The form and the examples of all prompts; an example never becomes an answer.

Covers the prompts of fathom.agents.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.factories import SAMPLES, engine_at
from tests.role_mixes import sections
from tests.scripted_server import Extractive, serve

from fathom.agents import (
    decomposer,
    hyde,
    judge,
    questioner,
    reorderer,
    rewriter,
    selector,
    summarizer,
)
from fathom.agents.calculator.llm import QueryReply
from fathom.agents.debate import aggregator, debater
from fathom.agents.reader import reply_forms
from fathom.assembly.prompts import list_shipped_prompts
from fathom.llm.prompt import Prompt
from fathom.llm.schema import build_schema, number_items
from fathom.llm.structured_reply import parse_reply
from fathom.llm.tokens import count_tokens
from fathom.planner import workflows as planner
from fathom.registry import STRATEGIES
from fathom.settings.tree import LlmSettings, PromptFiles

KINDS: Mapping[str, type[BaseModel]] = {
    "reader": reply_forms.ReaderReply,
    "reader_numbers": reply_forms.NumberedReply,
    "reader_short": reply_forms.ShortReply,
    "reader_sql": QueryReply,
    "judge": judge.JudgeReply,
    "debater": debater.DebaterReply,
    "aggregator": aggregator.AggregatorReply,
    "rewriter": rewriter.RewriterReply,
    "stand_alone": rewriter.RewriterReply,
    "decomposer_serial": decomposer.DecomposerReply,
    "decomposer_parallel": decomposer.DecomposerReply,
    "hyde": hyde.HydeReply,
    "reorderer": reorderer.OrderReply,
    "selector": selector.SelectorReply,
    "summarizer": summarizer.SummarizerReply,
    "planner": planner.PlannerReply,
    "questioner": questioner.QuestionerReply,
}
CHOICES = {
    name: number_items(9)
    for name in ("chunk", "agent", "pair", "quote", "share", "sentence", "option", "span")
} | {"workflow": ("R,AG",)}


@pytest.fixture(params=list_shipped_prompts(), ids=lambda prompt: prompt.name)
def prompt(request: pytest.FixtureRequest) -> Prompt:
    shipped: Prompt = request.param
    return shipped


def parse_example(prompt: Prompt) -> str:
    return prompt.text.rpartition("\nReply: ")[2]


def test_every_prompt_has_a_setting_and_a_schema() -> None:
    names = [prompt.name for prompt in list_shipped_prompts()]
    assert names == list(PromptFiles.model_fields)
    assert set(names) == set(KINDS)


def test_every_role_can_read_its_example(prompt: Prompt) -> None:
    assert parse_reply(KINDS[prompt.name], parse_example(prompt))


def test_a_prompt_is_short(prompt: Prompt) -> None:
    assert count_tokens(prompt.text) < 600


def test_a_prompt_states_the_language_and_what_to_do_when_unsure(prompt: Prompt) -> None:
    assert re.search(r"language|words of", prompt.text)
    assert re.search(
        r'\b(?:If|Where)\b.*(?:\b(?:null|cannot tell|enough|nothing to|alike|know|already)|"")',
        prompt.text,
    )


def test_every_part_of_a_reply_is_bounded(prompt: Prompt) -> None:
    def check_schema(part: Any) -> None:
        if part.get("type") == "string":
            assert part["maxLength"] <= 600
        if part.get("type") == "array":
            assert part["maxItems"] <= 20
            check_schema(part["items"])
        for inner in (*part.get("properties", {}).values(), *part.get("anyOf", ())):
            check_schema(inner)
        assert part.get("type") not in {"integer", "number"}  # those are enumerated

    schema = build_schema(KINDS[prompt.name], CHOICES)
    check_schema(schema)
    assert schema["required"] == list(schema["properties"])


def test_the_longest_reply_fits_its_token_limit(prompt: Prompt) -> None:
    """At two and a half characters a token, as in numbers and Indonesian words."""

    def measure_longest(part: Any) -> int:
        if "anyOf" in part:
            return max(map(measure_longest, part["anyOf"]))
        if "enum" in part:
            return max(len(json.dumps(option)) for option in part["enum"])
        if part.get("type") == "string":
            return int(part["maxLength"]) + 2
        if part.get("type") == "array":
            return int(part["maxItems"]) * (measure_longest(part["items"]) + 2) + 2
        parts = part.get("properties", {}).items()
        return sum(len(name) + 6 + measure_longest(inner) for name, inner in parts) + 5

    assert (
        measure_longest(build_schema(KINDS[prompt.name], CHOICES)) / 2.5 <= LlmSettings().max_tokens
    )


@pytest.fixture
def index_folder(samples: Path) -> Path:
    pytest.importorskip("langchain_openai")
    return samples


def reply_from_example(messages: list[dict[str, str]]) -> str:
    """Reply with the example of the prompt to every question."""
    return messages[0]["content"].rpartition("\nReply: ")[2].partition("\n")[0]


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_an_answer_copied_from_the_examples_is_never_shown(
    index_folder: Path, strategy: str
) -> None:
    question = "How deep must a pothole on a bus route be to be filled within 48 hours?"
    with (
        serve(Extractive(reply_from_example)) as server,
        engine_at(index_folder, **sections("all roles", server.base_url)) as engine,
    ):
        answer = engine.ask(question, strategy=strategy)
    assert server.calls > 0
    assert not re.search(
        "Sandholm|Vinterby|ferry", json.dumps([answer.answer, answer.short_answer])
    )
    assert all("Sandholm" not in citation.quote for citation in answer.citations)


def test_no_example_is_about_the_samples() -> None:
    corpus = b"".join(
        file.read_bytes() for file in (SAMPLES / "corpus").rglob("*") if file.is_file()
    )
    assert b"Sandholm" not in corpus
