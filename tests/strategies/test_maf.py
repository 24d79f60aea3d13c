import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.factories import FEES, QUESTION, engine_at, hit_of, index_fees
from tests.real_model import LOCAL, RealModel
from tests.scripted_server import Extractive, serve
from tests.strategies.scripted_run import (
    EndlessSearch,
    ScriptedRetriever,
    is_replayed,
    make_finalizer,
    make_hits,
    run_to_end,
)

from fathom.agents.classifier import Classifier
from fathom.agents.debate.debate import DebateOutcome
from fathom.control.cascade import Cascade
from fathom.domains.domain import ClassRetrieval, Domain, QuestionClass
from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.llm.role_models import RoleModels
from fathom.question.question import Question
from fathom.retrieval.expansion import EnhancedScore
from fathom.runs.context import RunContext
from fathom.settings import Settings
from fathom.settings.maf import MafSettings
from fathom.strategies.maf import Maf, reserve_lists, select_best_per_document
from fathom.testing.doubles import OVERLAP, HashingEmbedder
from fathom.types import Draft, Evidence, Filter, Hit, Query, Span
from fathom.usage import Budget

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/maf.md"
HITS = make_hits("d1", "d1", "d1")
DOUBT = MafSettings(debate_on="doubt")


@dataclass
class ConfidentReader:
    """A reader with a given confidence for each call."""

    confidences: list[float]
    read_ids: list[int] = field(default_factory=list)

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        self.read_ids.append(len(hits))
        return make_draft(hits, self.confidences.pop(0))


@dataclass
class ScriptedDebate:
    confidence: float = 0.0
    share: float = 0.0
    late: bool = False
    conflict: bool = False
    agents: list[int] = field(default_factory=list)

    async def answers_differ(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> bool:
        return self.conflict

    async def hold(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> DebateOutcome:
        self.agents.append(len(hits))
        if self.late:
            await asyncio.Event().wait()
        draft = replace(make_draft(hits, self.share), short_answer=str(self.confidence))
        draft = draft if self.confidence else Draft()
        sure = self.confidence
        return DebateOutcome(draft=draft, share=self.share, confidence=sure, verdict=sure)


@dataclass
class ScriptedWeb:
    hits: Sequence[Hit] = ()

    async def __call__(self, question: Question, context: RunContext) -> tuple[Hit, ...]:
        return tuple(self.hits)


def make_draft(hits: Sequence[Hit], confidence: float) -> Draft:
    if not hits:
        return Draft()
    evidence = Evidence(hit=hits[0], span=Span(0, 40), support=0.9)
    return Draft(evidence=(evidence,), short_answer=str(confidence), confidence=confidence)


def make_maf(*confidences: float, **parts: Any) -> Maf:
    maf_settings = parts.pop("settings", None) or MafSettings()
    search = ScriptedRetriever(HITS).search()
    components: dict[str, Any] = {
        "classifier": Classifier(domain=Domain(name="none")),
        "search": search,
        "foreign": search,
        "enhanced": EnhancedScore(extract_terms=lambda text: frozenset(text.split())),
        "reader": ConfidentReader(list(confidences)),
        "debate": ScriptedDebate(),
        "web": None,
        "finalizer": make_finalizer("maf"),
        "settings": maf_settings,
        **parts,
    }
    return Maf(
        **components, cascade=Cascade.from_settings(maf_settings, web=components["web"] is not None)
    )


def test_the_picture_in_the_docs_is_the_code() -> None:
    drawn = make_maf(web=ScriptedWeb()).graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("confidences", "debate", "phase", "short"),
    [
        ((0.75,), ScriptedDebate(), "vor", "0.75"),
        ((0.74, 0.6), ScriptedDebate(), "evr", "0.6"),
        ((0.5, 0.4), ScriptedDebate(confidence=0.65), "debate", "0.65"),
        # Nothing is accepted: the surest draft goes to the finalizer, wherever it is from.
        ((0.7, 0.55), ScriptedDebate(confidence=0.6), "vor, not accepted", "0.7"),
        ((0.5, 0.55), ScriptedDebate(), "evr, not accepted", "0.55"),
    ],
)
def test_each_phase_of_the_paper_is_accepted_at_its_threshold(
    confidences: tuple[float, ...], debate: ScriptedDebate, phase: str, short: str
) -> None:
    answer = run_to_end(make_maf(*confidences, debate=debate, settings=DOUBT)).answer
    assert (answer.status, answer.phase, answer.short_answer) == ("answered", phase, short)


def test_the_debate_is_about_what_vor_found_where_nothing_is_above_the_floor_of_evr() -> None:
    hits, debate = make_hits("d1", "d2", "d3"), ScriptedDebate(confidence=0.65)
    enhanced = EnhancedScore(extract_terms=lambda _text: frozenset({"absent"}), floor=1.0)
    strategy = make_maf(
        0.4,
        0.0,
        search=ScriptedRetriever(hits).search(),
        enhanced=enhanced,
        debate=debate,
        settings=DOUBT,
    )
    assert run_to_end(strategy).answer.phase == "debate"
    assert debate.agents == [3]


def test_conflict_starts_the_debate_but_low_confidence_does_not() -> None:
    calm, conflict = ScriptedDebate(confidence=0.9), ScriptedDebate(confidence=0.9, conflict=True)
    assert run_to_end(make_maf(0.4, 0.4, debate=calm)).answer.phase == "vor, not accepted"
    assert calm.agents == []
    # However sure the reader was of one of the documents.
    assert run_to_end(make_maf(0.95, debate=conflict)).answer.phase == "debate"
    assert conflict.agents == [1]


def test_a_single_document_is_no_longer_surest_if_documents_differ() -> None:
    unsure = ScriptedDebate(confidence=0.6, conflict=True)
    answer = run_to_end(make_maf(0.95, debate=unsure)).answer
    assert (answer.phase, answer.short_answer) == ("debate, not accepted", "0.6")
    answer = run_to_end(make_maf(0.95, debate=ScriptedDebate(confidence=0.2, conflict=True))).answer
    assert (answer.status, answer.stop_reason) == ("abstained", "conflict")


def test_an_answer_below_the_ladder_is_judged_by_the_finalizer() -> None:
    answer = run_to_end(make_maf(0.2, 0.3)).answer
    assert (answer.status, answer.stop_reason) == ("abstained", "low_confidence")
    empty = make_maf(0.0, 0.0, search=ScriptedRetriever([]).search())
    answer = run_to_end(empty).answer
    assert (answer.status, answer.stop_reason) == ("abstained", "no_evidence")


def test_the_constants_are_those_of_the_paper() -> None:
    many = tuple(hit_of(document="d1", rank=rank) for rank in range(1, 30))
    many = tuple(replace(hit, score=1.0) for hit in many)
    finds = ScriptedRetriever(many)
    strategy = make_maf(0.1, 0.1, search=finds.search())
    trace = run_to_end(strategy).trace
    counts = [step.inputs["k"] for step in trace.steps if step.name == "search"]
    assert counts == [12, 24]
    assert isinstance(strategy.reader, ConfidentReader)
    assert strategy.reader.read_ids == [5, 5]


def test_top1_is_the_score_of_the_best_hit() -> None:
    best = replace(HITS[0], score=0.8)
    settings = MafSettings(confidence="top1", debate_on="doubt")
    answer = run_to_end(
        make_maf(0.5, search=ScriptedRetriever([best]).search(), settings=settings)
    ).answer
    assert (answer.status, answer.phase) == ("answered", "vor")
    # What is more likely wrong than right is "unknown"; the paper accepts that too.
    unknown = run_to_end(
        make_maf(0.49, 0.49, search=ScriptedRetriever([best]).search(), settings=settings)
    ).answer
    assert unknown.status == "abstained"
    paper = settings.model_copy(update={"known_from": 0.0})
    assert (
        run_to_end(
            make_maf(0.1, search=ScriptedRetriever([best]).search(), settings=paper)
        ).answer.phase
        == "vor"
    )
    low = ScriptedRetriever([replace(HITS[0], score=0.4)]).search()
    debate = ScriptedDebate(confidence=0.1, share=0.75)
    answer = run_to_end(make_maf(0.1, 0.1, search=low, settings=settings, debate=debate)).answer
    assert (answer.phase, answer.confidence) == ("debate", 0.75)


def test_a_class_of_questions_has_its_own_thresholds() -> None:
    fees = QuestionClass(name="Fees", cues=("permit",), thresholds={"vor": 0.9, "evr": 0.4})
    classifier = Classifier(domain=Domain(name="port", classes=(fees,)))
    assert run_to_end(make_maf(0.8, 0.4, classifier=classifier)).answer.phase == "evr"


LIST = "- a permit\n- a plan\n- a fee"


def test_the_class_of_a_question_chooses_retriever_numbers_and_lists(tmp_path: Path) -> None:
    """The words of the question stand in one note, and a list in another folder."""
    corpus = tmp_path / "corpus"
    texts = {
        "rules/steps.md": f"# Mooring\n\nA mooring needs:\n\n{LIST}\n",
        "rules/fees.md": f"# Fees\n\n{FEES}\n",
        "news/party.md": "# News\n\nA mooring permit was the talk of the party.\n",
    }
    for name, text in texts.items():
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_text(text)
    (tmp_path / "port.toml").write_text(
        'name = "port"\n[[classes]]\nname = "Fees"\ncues = ["how much"]\n[classes.retrieval]\n'
        'retriever = "keyword"\nvor_k = 2\nvor_read = 1\nlists = 1\n'
        'filters = { folder = "rules" }\n[[classes]]\nname = "General"\n'
    )
    searched, read = {}, {}
    for domain in ("generic", str(tmp_path / "port.toml")):
        with engine_at(tmp_path, domain={"file": domain}) as engine:
            engine.ingest([corpus])
            answer = engine.ask(QUESTION, strategy="maf")
            trace = engine.traces.get(str(answer.trace_id))
            assert engine.replay(trace.id).same
        steps = {step.name: step for step in reversed(trace.steps)}
        searched[domain] = steps["search"]
        read[domain] = steps["read"].inputs["chunks"]
        retrieval = steps["classify"].outputs.get("retrieval", {})
    generic, port = searched.values()
    assert (generic.inputs["k"], port.inputs["k"]) == (12, 2)
    assert (len(generic.outputs["hits"]), len(port.outputs["hits"])) == (3, 2)
    all_read, only_list = read.values()
    assert len(all_read) == 3
    # The second hit, which has the list, takes the reserved place.
    assert only_list == [port.outputs["hits"][1][0]]
    assert retrieval["retriever"] == "keyword"
    assert retrieval["filters"][0]["key"] == "folder"


@pytest.mark.parametrize(
    ("most", "places", "chosen"),
    [(2, 0, [1, 2]), (2, 1, [1, 3]), (3, 1, [1, 2, 3]), (2, 5, [3, 5]), (9, 2, [1, 2, 3, 4, 5])],
)
def test_places_are_reserved_for_chunks_with_lists(
    most: int, places: int, chosen: list[int]
) -> None:
    texts = [FEES, FEES, LIST, FEES, LIST]
    hits = [hit_of(text, document=f"d{n}", rank=n) for n, text in enumerate(texts, start=1)]
    assert [hit.rank for hit in reserve_lists(hits, most, places)] == chosen


def test_a_condition_of_the_class_that_no_document_meets_is_left_out() -> None:
    narrow = ClassRetrieval(filters=(Filter("folder", "=", "nowhere"),))
    fees = QuestionClass(name="Fees", cues=("permit",), retrieval=narrow)
    classifier = Classifier(domain=Domain(name="port", classes=(fees,)))

    @dataclass
    class FolderSearch:
        queries: list[Query] = field(default_factory=list)

        async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
            self.queries.append(query)
            return () if query.filters else tuple(HITS)

    search = FolderSearch()
    answer = run_to_end(make_maf(0.9, classifier=classifier, search=search)).answer
    assert (answer.status, [query.filters for query in search.queries]) == (
        "answered",
        [narrow.filters, ()],
    )


def test_the_confidence_of_the_paper_keeps_its_cosines() -> None:
    lexical = ScriptedRetriever(HITS)
    fees = QuestionClass(
        name="Fees", cues=("permit",), retrieval=ClassRetrieval(retriever="keyword")
    )
    parts = {
        "classifier": Classifier(domain=Domain(name="port", classes=(fees,))),
        "class_searches": {"keyword": lexical.search()},
    }
    run_to_end(make_maf(0.9, settings=MafSettings(confidence="top1"), **parts))
    assert lexical.calls == 0
    run_to_end(make_maf(0.9, **parts))
    assert lexical.calls == 1


def test_synonyms_are_searched_too() -> None:
    domain = Domain(name="port", synonyms={"permit": ("licence",)})
    trace = run_to_end(make_maf(0.1, 0.1, classifier=Classifier(domain=domain))).trace
    queries = [step.inputs["query"] for step in trace.steps if step.name == "search"]
    assert queries == [QUESTION, f"{QUESTION} licence"]


def test_web_answers_are_accepted_and_marked() -> None:
    web = ScriptedWeb(make_hits("d1"))
    answer = run_to_end(make_maf(0.1, 0.1, 0.2, web=web)).answer
    assert (answer.status, answer.phase) == ("answered", "web, low confidence")
    assert run_to_end(make_maf(0.1, 0.1, 0.6, web=web)).answer.phase == "web"
    nothing = run_to_end(make_maf(0.1, 0.1, 0.0, web=ScriptedWeb())).answer
    assert (nothing.status, nothing.stop_reason) == ("abstained", "low_confidence")


def test_the_baselines_of_table_ii_have_no_debate() -> None:
    debate = ScriptedDebate(confidence=0.9, conflict=True)
    settings = MafSettings(phases=("vor", "evr", "web"))
    assert run_to_end(make_maf(0.1, 0.6, debate=debate, settings=settings)).answer.phase == "evr"
    run_to_end(make_maf(0.1, 0.1, debate=debate, settings=settings))
    assert debate.agents == []


def test_one_agent_speaks_for_each_of_the_first_documents() -> None:
    hits = make_hits("d1", "d2", "d1", "d3")
    assert [hit.rank for hit in select_best_per_document(hits, 2)] == [1, 2]
    assert [hit.rank for hit in select_best_per_document(hits, 9)] == [1, 2, 4]


def test_a_debate_that_never_ends_does_not_lose_the_answer() -> None:
    def make_with_endless_debate() -> Maf:
        return make_maf(0.7, 0.3, debate=ScriptedDebate(late=True), settings=DOUBT)

    outcome = run_to_end(make_with_endless_debate(), Budget(seconds=1.0))
    assert (outcome.answer.status, outcome.answer.phase) == ("answered", "vor, not accepted")
    assert is_replayed(outcome, make_with_endless_debate())
    outcome = run_to_end(make_maf(0.7, search=EndlessSearch()), Budget(seconds=1.0))
    assert (outcome.answer.status, outcome.answer.stop_reason) == ("abstained", "budget")


def test_one_retrieval_is_enough_for_an_answer() -> None:
    answer = run_to_end(make_maf(0.7), Budget(retrievals=1)).answer
    assert (answer.status, answer.phase) == ("answered", "vor, not accepted")


def test_indonesian_questions_use_the_other_search(tmp_path: Path) -> None:
    foreign = ScriptedRetriever(HITS)
    strategy = make_maf(0.9, search=ScriptedRetriever([]).search(), foreign=foreign.search())
    question = "Berapa biaya izin tambat kapal di pelabuhan ini?"

    run_to_end(strategy, question=question)
    assert foreign.calls == 1
    with engine_at(index_fees(tmp_path)) as engine:
        assert engine.ask(question, strategy="maf").status in {"answered", "abstained"}


@pytest.mark.parametrize(
    "wrong", [{"phases": ()}, {"phases": ("evr", "vor")}, {"rounds": 0}, {"vor_threshold": 1.1}]
)
def test_invalid_settings_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        MafSettings(**wrong)


MILLS = {
    "a.md": "# Elm\n\nThe mill of Elm was built in 1835 by the brothers Vale.\n",
    "b.md": "# Elm\n\nThe mill of Elm was built in 1927 after the great flood.\n",
}
ALWAYS: dict[str, Any] = {
    "debate_on": "doubt",
    "vor_threshold": 1.0,
    "evr_threshold": 1.0,
    "debate_threshold": 0.0,
}
BUILT = "When was the mill of Elm built?"


def index_mills(folder: Path) -> Path:
    """Index two documents that differ, and return the folder."""
    (folder / "corpus").mkdir()
    for name, text in MILLS.items():
        (folder / "corpus" / name).write_text(text)
    with engine_at(folder) as engine:
        engine.ingest([folder / "corpus"])
    return folder


def reply_as_debater(messages: list[dict[str, str]]) -> str:
    """Reply as a debater: the year in its chunk, with the number of the sentence."""
    pattern = r"\[(\d+)\] The mill of Elm was built in (\d{4})"
    number, year = re.findall(pattern, messages[1]["content"])[0]
    return json.dumps({"answer": {"sentence": int(number), "text": year}})


def test_agents_may_use_different_models_on_different_servers(tmp_path: Path) -> None:
    index_mills(tmp_path)
    with serve(Extractive(reply_as_debater)) as strong, serve(Extractive(reply_as_debater)) as weak:
        sections = {
            **ALWAYS,
            "debaters": [f"openai:large@{strong.base_url}", f"openai:small@{weak.base_url}"],
        }
        with engine_at(tmp_path, maf=sections) as engine:
            answer = engine.ask(BUILT, strategy="maf")
        calls = [
            (server.calls, {request.body["model"] for request in server.requests})
            for server in (strong, weak)
        ]
    # One agent each, in two rounds: the first speaks for the best document.
    assert calls == [(2, {"large"}), (2, {"small"})]
    assert answer.usage.llm_calls == 4
    assert answer.short_answer == "1835 or 1927"
    assert [conflict.answer for conflict in answer.conflicts] == ["1835", "1927"]
    quotes = {citation.n: citation.quote for citation in answer.citations}
    for side in answer.conflicts:
        assert [side.answer in quotes[n] for n in side.citations] == [True]


def test_a_real_small_model_debates_with_the_local_agent(
    tmp_path: Path, real_model: RealModel
) -> None:
    sections = {**ALWAYS, "debaters": [LOCAL, "local"], "rounds": 1}
    index_mills(tmp_path)
    with engine_at(tmp_path, maf=sections) as opened:
        engine = Engine(
            opened.settings, embedder=HashingEmbedder(64), cross_reader=OVERLAP,
            connect=real_model.chat,
        )  # fmt: skip
        with engine:
            answer = engine.ask(BUILT, strategy="maf")
            replayed = engine.replay(str(answer.trace_id))
    assert 1 <= answer.usage.llm_calls <= 2  # once more where its reply has to be repaired
    assert all(citation.verified for citation in answer.citations)
    assert replayed.same, replayed.difference


def test_an_invalid_debater_is_refused_before_any_call() -> None:
    with pytest.raises(UsageError, match=r"maf.debaters is llm.*-m PROVIDER:MODEL"):
        RoleModels(Settings.model_validate({"maf": {"debaters": ["local", "llm"]}})).prepare()
