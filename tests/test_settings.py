"""The settings that a trace records: all that can change an answer."""

import re
from pathlib import Path

import pytest

from fathom.settings import Settings, drop_later_settings
from fathom.settings.section import Section, iterate_keys
from fathom.settings.tree import AskSettings, LlmSettings

ROOT = Path(__file__).parent.parent
UNRECORDED = {
    "serve",
    "grading",
    "index",
    "ingest",
    "chunking",
    "limits",
    "effort",
    "budget",
    "trace",
}
"""Sections that a trace leaves out: it holds the index's revision, and the budget by itself."""
SOME = {
    "models": {"embedder", "query_encoder", "cross_reader", "runtime"},
    "llm": {
        "model",
        "base_url",
        "max_tokens",
        "context_tokens",
        "evidence",
        "evidence_tokens",
        "evidence_share",
        "skip_above_confidence",
        "fallback",
        "prompts",
    },
    "web": {"provider", "base_url", "results"},
    "embedding": {"base_url"},
    "ask": {name for name in AskSettings.model_fields if name != "paper"},
}


def test_every_section_is_recorded_except_what_cannot_change_an_answer() -> None:
    every = {name: getattr(Settings(), name) for name in Settings.model_fields}
    sections = {name: value for name, value in every.items() if isinstance(value, Section)}
    record = Settings().to_record()
    assert record.keys() == sections.keys() - UNRECORDED
    for name, values in record.items():
        assert values.keys() == SOME.get(name, set(type(sections[name]).model_fields)), name


def test_a_user_can_set_at_most_a_hundred_settings() -> None:
    settings = [key for key, refusal in iterate_keys(Settings) if not refusal]
    assert len(settings) <= 100


def test_every_constant_names_an_existing_page() -> None:
    for key, refusal in iterate_keys(Settings):
        for page in re.findall(r"docs/\S+?\.md", refusal):
            assert (ROOT / page).is_file(), key
        assert not refusal or "docs/" in refusal or "DIR" in refusal, key


def test_a_new_section_is_recorded_by_default() -> None:
    class New(Section):
        weight: float = 0.5

    class Grown(Settings):
        new: New = New()

    assert Grown().to_record()["new"] == {"weight": 0.5}


def test_calibrations_older_than_the_query_encoder_still_apply() -> None:
    same, rounded = (
        drop_later_settings(
            Settings.model_validate({"models": {"query_encoder": name}}).to_record()
        )
        for name in ("same", "rounded")
    )

    assert "query_encoder" not in same["models"]
    assert rounded["models"] == {**same["models"], "query_encoder": "rounded"}
    others = {"models": None, "hybrid": None, "anchor": None, "sources": None}
    assert {**Settings().to_record(), **others} == {**same, **others}


def test_calibrations_older_than_trusted_sources_still_apply() -> None:
    assert "sources" not in drop_later_settings(Settings().to_record())
    trusting = Settings.model_validate({"sources": {"trusted": ["policies"]}})
    assert drop_later_settings(trusting.to_record())["sources"] == {"trusted": ["policies"]}


def test_calibrations_older_than_the_doubt_of_a_branch_still_apply() -> None:
    hybrid = Settings().to_record()["hybrid"]
    kept = drop_later_settings({"hybrid": hybrid})["hybrid"]
    assert {**kept, "low_confidence": 0.5, "joined": [0.3, 0.7]} == hybrid
    varied = {"hybrid": {**hybrid, "low_confidence": 0.0}}
    assert drop_later_settings(varied)["hybrid"]["low_confidence"] == 0.0


def test_an_effort_fills_in_the_missing_limits() -> None:
    tables = {"low": {"calls": 5}}
    low = Settings.model_validate({"budget": {"effort": "low", "tokens": 7}, "effort": tables})
    assert (low.budget.tokens, low.budget.calls) == (7, 5)
    assert low.budget.retrievals == low.effort.low.retrievals
    plain = Settings().budget
    assert plain.model_dump(exclude={"effort"}) == Settings().effort.medium.model_dump()
    efforts = Settings().effort
    for name in ("tokens", "calls", "seconds", "retrievals"):
        limits = [getattr(effort, name) for effort in (efforts.low, efforts.medium, efforts.high)]
        assert limits == sorted(set(limits)), name


@pytest.mark.parametrize(
    ("chosen", "model", "confidence"),
    [
        ({}, "local:qwen-1.5b", 0.6),
        ({}, "openai:m", 0.95),
        ({"skip_above_confidence": 0.3}, "local:qwen-1.5b", 0.3),
        ({"skip_above_confidence": 2}, "openai:m", 2.0),
    ],
)
def test_a_small_model_is_asked_only_if_the_local_reader_is_unsure(
    chosen: dict[str, float], model: str, confidence: float
) -> None:
    assert LlmSettings.model_validate(chosen).choose_skip_confidence(model) == confidence
