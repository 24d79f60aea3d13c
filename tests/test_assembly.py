"""The composition root: the implementation of each role, and the retrievers.

Covers fathom.assembly.agents, fathom.assembly.retrieval.
"""

from pathlib import Path
from typing import Any

import pytest

from fathom import registry
from fathom.agents.debate.debater import LocalDebater
from fathom.agents.reader.llm import LLMReader
from fathom.agents.reader.reply_forms import make_form
from fathom.assembly import Assembly
from fathom.assembly.models import Models
from fathom.assembly.prompts import list_shipped_prompts
from fathom.errors import SettingsError, UsageError
from fathom.llm.call import AbsentModel
from fathom.llm.role_models import ROLES
from fathom.models.base import Embedder
from fathom.models.embedder import load_embedder
from fathom.models.query_encoder import SHA256
from fathom.retrieval.vector import SentenceRetriever, VectorFeedback, VectorRetriever
from fathom.settings import Settings
from fathom.testing import OVERLAP, HashingEmbedder

LOCAL_AND_LLM = {
    "reader": ("LocalReader", "LLMReader"),
    "judge": ("LocalJudge", "LLMJudge"),
    "debater": ("LocalDebater", "LLMDebater"),
    "aggregator": ("LocalAggregator", "LLMAggregator"),
    "rewriter": ("LocalRewriter", "LLMRewriter"),
    "decomposer": ("LocalDecomposer", "LLMDecomposer"),
    "summarizer": ("LocalSummarizer", "LLMSummarizer"),
    "planner": ("LocalPlanner", "LLMPlanner"),
}


def build_assembly(**tables: Any) -> Assembly:
    settings = Settings.model_validate(tables)
    return Assembly(
        settings,
        index=lambda: pytest.fail("the index is opened before it is needed"),
        models=Models(
            settings, embedder=HashingEmbedder(64), cross_reader=OVERLAP, connect=AbsentModel
        ),
    )


@pytest.mark.parametrize(("role", "kinds"), LOCAL_AND_LLM.items())
def test_a_role_is_local_unless_a_model_is_configured(role: str, kinds: tuple[str, str]) -> None:
    local, other = build_assembly(), build_assembly(roles={role: "openai:m"})
    entry = registry.ROLES[role]
    assert (type(local.agent(entry)).__name__, type(other.agent(entry)).__name__) == kinds


def test_each_component_is_built_once() -> None:
    parts = build_assembly()
    for name in ("terms", "context_selector", "chunker"):
        assert getattr(parts, name) is getattr(parts, name)
    for role in registry.ROLES.values():
        assert parts.agent(role) is parts.agent(role)


def test_every_retriever_that_settings_may_name_can_be_built() -> None:
    with pytest.raises(UsageError, match=r"retriever 'magic'.*vector, keyword, hybrid"):
        build_assembly().retriever("magic", object())  # type: ignore[arg-type]  # never looked into


def test_settings_sections_reach_their_agents() -> None:
    parts = build_assembly(
        maf={"peer_weight": 0.5},
        anchor={"fine": 3},
        ask={"min_confidence": 0.9},
        llm={"evidence_tokens": 300, "evidence_share": 0.5},
        roles={"reader": "openai:m"},
    )
    reader = parts.agent(registry.READER)
    assert isinstance(reader, LLMReader)
    assert (reader.pruner.limit, reader.pruner.share) == (300, 0.5)
    assert LocalDebater.of(parts).settings.peer_weight == 0.5
    assert parts.context_selector.selection.settings.fine == 3
    assert parts.finalizer("naive").min_confidence == 0.9


def test_a_replaced_prompt_reaches_its_agent_or_is_refused_before_any_question(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.txt"
    for prompt in list_shipped_prompts():
        file.write_text(" ".join(["Mine.", *(f"${name}" for name in prompt.placeholders)]))
        roles = dict.fromkeys(ROLES, "openai:m")
        parts = build_assembly(roles=roles, llm={"prompts": {prompt.name: str(file)}})
        parts.prepare()
        model = parts.models.language_models.get_model("reader")
        assert model is not None
        reader = LLMReader.of(parts, model)
        forms = [
            make_form(reader.model.chat.name, choice, parts.prompt)
            for choice in ("quotes", "numbers", "short")
        ]
        assert reader.form == forms[0]
        agents = (
            *forms,
            reader.calculator,
            *(parts.agent(role) for role in registry.ROLES.values()),
        )
        named = ("prompt", "conversation", "serial", "parallel")
        prompts = [
            getattr(agent, name) for agent in agents for name in named if hasattr(agent, name)
        ]
        assert len(prompts) == len(list_shipped_prompts())
        assert {found_prompt.name for found_prompt in prompts if found_prompt.source} == {
            prompt.name
        }
    file.write_text("Mine, with $nothing.")
    with pytest.raises(SettingsError, match=r"mine.txt"):
        build_assembly(llm={"prompts": {"reader": str(file)}}).prepare()


def assemble_with_encoder(name: str, embedder: Embedder) -> Assembly:
    settings = Settings.model_validate({"models": {"query_encoder": name}})
    models = Models(settings, embedder=embedder, cross_reader=OVERLAP)
    return Assembly(settings, index=pytest.fail, models=models)


def test_only_questions_are_embedded_by_the_query_encoder() -> None:
    shipped = load_embedder(threads=1)
    parts, before = (
        assemble_with_encoder("rounded", shipped),
        assemble_with_encoder("same", shipped),
    )
    index: Any = object()
    retrievers = {
        name: parts.retriever(name, index) for name in ("vector", "sentence", "vector_feedback")
    }

    assert parts.question_embedder.identity["sha256"] == SHA256["rounded"]
    assert parts.identity == before.identity
    assert (
        parts.question_embedder.embed(["mooring fee"]).tobytes()
        != shipped.embed(["mooring fee"]).tobytes()
    )
    for retriever in retrievers.values():
        if isinstance(retriever, VectorRetriever):
            assert retriever.side.embedder is parts.question_embedder
            assert retriever.side.texts.identity == shipped.identity
            continue
        assert isinstance(retriever, SentenceRetriever | VectorFeedback)
        assert retriever.embedder is parts.question_embedder
        assert retriever.texts.identity == shipped.identity
        assert retriever.texts.embed(["a text"]).tobytes() == shipped.embed(["a text"]).tobytes()


def test_a_search_names_its_query_encoder_unless_it_is_the_embedder() -> None:
    shipped = load_embedder(threads=1)

    identity = assemble_with_encoder("rounded", shipped).search("hybrid").identity
    assert identity["query_encoder"] == {"name": "rounded", "sha256": SHA256["rounded"]}
    assert "query_encoder" not in assemble_with_encoder("same", shipped).search("hybrid").identity


def test_a_query_encoder_of_another_embedder_is_refused() -> None:
    with pytest.raises(SettingsError, match="'rounded' goes with the embedder 'all-MiniLM-L6-v2'"):
        _ = build_assembly(models={"query_encoder": "rounded"}).question_embedder
