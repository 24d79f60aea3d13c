"""Every reason of the gate occurs in the records of real questions over the samples."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.factories import reply
from tests.strategies.test_anchor import QuotingModel

from fathom.control.reasons import REASONS
from fathom.engine import Engine
from fathom.engine.request import AskRequest
from fathom.llm.base import Call, Completion
from fathom.settings import Settings

BRIDGE = "Who designed the Mill Bridge?"
SKIP = "How much does a skip on a public street cost per week?"
YEAR = "How many visits did the library have in 2012?"
LIST = "Name five depots of Merrow."
LIGHTING = "How many kilometres of lighting will be saved?"
FIRE = "Who leads the Merrow Fire Department?"
POOL = "How much does a ticket for the Merrow swimming pool cost?"
LORRY = "What is the heaviest lorry that may cross the Mill Bridge?"
BAG = "Berapa berat paling besar kantong sampah?"
EASY = {"min_confidence": 0.05}
EVEN = {"like_weight": 0.05}
NOWHERE = "path=nowhere.md"
MODEL = {"model": "openai:m", "skip_above_confidence": 2}

QuestionSet = tuple[dict[str, Any], Sequence[tuple[str, str]]]

# settings, then questions with a filter
RECORDED: list[QuestionSet] = [
    ({}, [(BRIDGE, ""), (YEAR, ""), (LIGHTING, ""), (FIRE, ""), (LORRY, "")]),
    ({}, [(POOL, NOWHERE)]),
    ({"anchor": {"gate": False}}, [(BRIDGE, "")]),
    ({"anchor": {"config": "B"}}, [(BRIDGE, ""), (YEAR, ""), (LIGHTING, "")]),
    ({"anchor": {"config": "B"}}, [(LORRY, ""), (BAG, "")]),
    ({"anchor": {"config": "B"}}, [(POOL, NOWHERE)]),
    ({"anchor": EVEN}, [(SKIP, "")]),
    ({"anchor": {**EVEN, "config": "B", "new_hits": 1.0}}, [(SKIP, "")]),
    ({"anchor": {**EVEN, "conflict_abstains": True}}, [(SKIP, "")]),
    ({"anchor": {**EVEN, "config": "B", "new_hits": 0.0}}, [(SKIP, "")]),
    ({"ask": EASY, "anchor": {"config": "B", "faith_quotes": 0.0}}, [(LIST, "")]),
    ({"llm": MODEL, "anchor": {"config": "B", "ceiling": 0.5}}, [(YEAR, "")]),
    ({"llm": MODEL, "anchor": {**EVEN, "config": "B", "ceiling": 0.5}}, [(SKIP, "")]),
]


class MisquotingModel(QuotingModel):
    """A model whose quotes occur nowhere, so that the local reader's answer counts."""

    async def complete(self, call: Call) -> Completion:
        completion = await super().complete(call)
        return replace(completion, text=reply("So it is.", "stands nowhere at all"))


@pytest.fixture(scope="module")
def questions_by_reason(embedded_samples: Path) -> dict[str, list[str]]:
    """Return the questions at which each reason was given."""
    index = embedded_samples
    by_reason: dict[str, list[str]] = {}
    with Engine(Settings.model_validate({"index": {"directory": index}})) as engine:
        embedder, reads = engine.embedder, engine.assembly.cross_reader
    for tree, questions in RECORDED:
        settings = Settings.model_validate({"index": {"directory": index}, **tree})
        with Engine(
            settings, connect=lambda _: MisquotingModel(), embedder=embedder, cross_reader=reads
        ) as engine:
            for question, reason in list_reasons(engine, questions):
                by_reason.setdefault(reason, []).append(question)
    return by_reason


def list_reasons(engine: Engine, questions: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each question with the reasons of the gate."""
    for question, condition in questions:
        filters = [condition] if condition else []
        outcome = asyncio.run(
            engine.arun(AskRequest.parse(question, strategy="anchor", filters=filters))
        )
        for step in outcome.trace.steps:
            if step.agent == "gate":
                yield question, step.reason


def test_every_reason_occurs(questions_by_reason: dict[str, list[str]]) -> None:
    assert [reason for reason in REASONS if reason not in questions_by_reason] == []


def test_wrong_contexts_of_the_samples_never_stop_the_gate(
    questions_by_reason: dict[str, list[str]],
) -> None:
    assert YEAR in questions_by_reason["ABSTAIN_MISSING_ANCHOR"]
    assert LIGHTING in questions_by_reason["ABSTAIN_MISSING_UNIT"]
    assert LIST in questions_by_reason["STOP_PARTIAL_LIST"]
    assert BRIDGE in questions_by_reason["STOP_OVERLAP_OK"]
