"""Conformance suites for strategies, retrievers, formats, readers, judges and embedders.

Subclass a suite in a file of tests, and define the fixture (for a format, the attributes) that its
docstring names. pytest then runs the suite.

    class TestTitles(RetrieverConformance):
        @pytest.fixture
        def retriever(self, engine):
            return engine.retriever("titles")
"""

import asyncio
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from fathom.agents.judge import Judge
from fathom.agents.reader.base import Reader
from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal
from fathom.documents.sandbox.parent import Sandbox, read_file
from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.models.base import Embedder
from fathom.question.question import Question
from fathom.retrieval.base import Retriever
from fathom.runs.ledger import BudgetRefused
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import make_engine, run_context
from fathom.types import Answer, Chunk, Filter, Hit, Query, Span
from fathom.usage import Budget

TEXTS = {
    "ferry.md": "# Ferry\n\nThe ferry to the island sails at noon and at six.",
    "bridge.md": "# Bridge\n\nThe bridge to the island is closed in winter.",
    "permit.md": "# Permit\n\nA mooring permit costs 40 crowns a year. It is paid at the harbour "
    "office.",
    "izin.md": "# Izin\n\nBiaya izin tambat kapal adalah empat puluh ribu rupiah.",
    # Equal sentences in two documents give equal scores.
    "copy.md": "# Copy\n\nThe bridge to the island is closed in winter.",
}
"""The documents that the suites search."""
QUESTION = "How much does a mooring permit cost?"
QUESTIONS = (
    QUESTION,
    "Where is it paid?",
    "Berapa biaya izin tambat setahun, dan di mana dibayar?",
    "Which enzyme unwinds a helix?",
    "🙂",
    "SELECT 1; --",
)
QUERIES = ("when does the ferry sail", "bridge island winter", "berapa biaya izin", "zzz qqq", "!?")


class _EngineSuite:
    """The base of suites that ask an engine.

    Attributes:
        settings: The settings that differ from the defaults, such as `{"retrieval.k": 20}`.
    """

    settings: ClassVar[Mapping[str, object]] = {}

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
        """The engine over `TEXTS`, with doubles as models."""
        folder = tmp_path_factory.mktemp("conformance")
        (folder / "corpus").mkdir()
        for name, text in TEXTS.items():
            (folder / "corpus" / name).write_text(f"{text}\n", encoding="utf-8")
        with make_engine(folder / "index", cls.settings) as engine:
            engine.ingest(folder / "corpus")
            yield engine


class StrategyConformance(_EngineSuite):
    """The suite of `Strategy`; subclasses define the fixture `strategy`, which is its name."""

    @pytest.fixture
    def strategy(self) -> str:
        """The name of the strategy, as in `--strategy`."""
        raise NotImplementedError("define the fixture `strategy`")

    def test_quotes_are_verified_and_stand_in_the_document(
        self, engine: Engine, strategy: str
    ) -> None:
        for question in QUESTIONS:
            answer = engine.ask(question, strategy=strategy)
            assert answer.question == question
            assert answer.strategy == strategy
            assert answer.status in {"answered", "abstained"}
            for citation in answer.citations:
                text = engine.documents.get(citation.document).text
                assert citation.verified
                assert text[citation.start : citation.end] == citation.quote

    def test_answers_are_cited(self, engine: Engine, strategy: str) -> None:
        answers = [engine.ask(question, strategy=strategy) for question in QUESTIONS]
        answered = [answer for answer in answers if answer.status == "answered"]
        assert answered
        assert all(answer.citations for answer in answered)

    def test_equal_questions_have_equal_answers(self, engine: Engine, strategy: str) -> None:
        first, second = (engine.ask(QUESTION, strategy=strategy) for _ in range(2))
        assert _strip_run_details(first) == _strip_run_details(second)
        traces = [engine.trace(str(answer.trace_id)) for answer in (first, second)]
        # Parallel branches end in any order, so the order of steps may differ.
        assert sorted(s.id for s in traces[0].steps) == sorted(s.id for s in traces[1].steps)

    def test_concurrent_questions_get_the_same_answers(self, engine: Engine, strategy: str) -> None:
        async def at_once() -> list[Answer]:
            pending = (engine.aask(question, strategy=strategy) for question in QUESTIONS)
            return await asyncio.gather(*pending)

        alone = [
            _strip_run_details(engine.ask(question, strategy=strategy)) for question in QUESTIONS
        ]
        assert [_strip_run_details(answer) for answer in asyncio.run(at_once())] == alone

    def test_the_steps_account_for_the_usage(self, engine: Engine, strategy: str) -> None:
        for question in QUESTIONS:
            answer = engine.ask(question, strategy=strategy)
            usage = engine.trace(str(answer.trace_id)).usage
            assert usage.retrievals == answer.usage.retrievals
            assert usage.tokens == answer.usage.tokens

    def test_a_run_replays_without_the_index(self, engine: Engine, strategy: str) -> None:
        for question in QUESTIONS:
            answer = engine.ask(question, strategy=strategy)
            replay = engine.replay(str(answer.trace_id))
            assert replay.same, replay.difference or replay.missing

    @pytest.mark.parametrize("retrievals", [0, 1])
    def test_the_budget_holds(self, engine: Engine, strategy: str, retrievals: int) -> None:
        # A strategy must keep to each limit of a budget.
        budget = Budget(calls=0, tokens=0, cost_usd=0.0, retrievals=retrievals)
        answer = engine.ask(QUESTION, strategy=strategy, budget=budget)
        assert answer.usage.retrievals <= retrievals
        assert (answer.usage.llm_calls, answer.usage.tokens, answer.usage.cost_usd) == (0, 0, 0.0)
        assert retrievals or answer.stop_reason == "budget"


def _strip_run_details(answer: Answer) -> Answer:
    """Return an answer without the time and the trace, which differ between runs."""
    usage = replace(answer.usage, seconds=0.0)
    return replace(answer, usage=usage, trace_id=None)


class RetrieverConformance(_EngineSuite):
    """The suite of `Retriever`; subclasses define the fixture `retriever`, over `engine`."""

    @pytest.fixture
    def retriever(self, engine: Engine) -> Retriever:
        """The retriever, such as `engine.retriever("mine")`."""
        raise NotImplementedError("define the fixture `retriever`")

    @pytest.mark.parametrize("text", QUERIES)
    @pytest.mark.parametrize("k", [1, 3, 50])
    def test_ranks_have_no_gaps_and_scores_never_grow(
        self, retriever: Retriever, text: str, k: int
    ) -> None:
        hits = retriever.retrieve(Query(text=text), k=k)
        assert len(hits) <= k
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        scores = [hit.score for hit in hits]
        assert all(map(isfinite, scores))  # NaN has no order
        assert scores == sorted(scores, reverse=True)
        assert len({hit.chunk.id for hit in hits}) == len(hits)

    def test_hits_name_their_retriever(self, retriever: Retriever) -> None:
        hits = [hit for text in QUERIES for hit in retriever.retrieve(Query(text=text), k=9)]
        assert {hit.retriever for hit in hits} == {retriever.name}

    def test_a_shorter_list_is_the_beginning_of_a_longer_one(self, retriever: Retriever) -> None:
        query = Query(text="bridge island winter")
        assert retriever.retrieve(query, k=2) == retriever.retrieve(query, k=4)[:2]

    def test_the_same_query_gives_the_same_list(self, retriever: Retriever) -> None:
        query = Query(text="island")
        assert retriever.retrieve(query, k=5) == retriever.retrieve(query, k=5)

    def test_every_hit_is_cut_from_its_document(self, engine: Engine, retriever: Retriever) -> None:
        for hit in retriever.retrieve(Query(text="island permit"), k=9):
            document = engine.documents.get(hit.chunk.document_id)
            assert hit.chunk.span.cut(document.text) == hit.chunk.text

    def test_filters_hold_for_every_hit(self, engine: Engine, retriever: Retriever) -> None:
        query = Query(text="izin permit", filters=(Filter("language", "=", "id"),))
        hits = retriever.retrieve(query, k=9)
        languages = {engine.documents.get(hit.chunk.document_id).language for hit in hits}
        assert languages <= {"id"}

    def test_a_filter_finds_what_ranks_last_without_it(self, retriever: Retriever) -> None:
        # A retriever that filters only its best hits would lose the one that ranks last.
        for last in retriever.retrieve(Query(text="island permit"), k=9)[-1:]:
            only = Filter("document", "=", last.chunk.document_id)
            hits = retriever.retrieve(Query(text="island permit", filters=(only,)), k=1)
            assert [hit.chunk.id for hit in hits] == [last.chunk.id]

    def test_malformed_requests_are_refused(self, retriever: Retriever) -> None:
        malformed = Query(text="island", filters=(Filter("year", "in", 1),))
        with pytest.raises(UsageError):
            retriever.retrieve(malformed, k=3)
        with pytest.raises(UsageError):
            retriever.retrieve(Query(text="island"), k=0)


class FormatConformance:
    """The suite of `Parser`; subclasses define `ending`, `parse` and at least one example.

    Attributes:
        ending: The ending of the files without the dot, which must be registered for the sandbox.
        parse: The parser.
        examples: The contents of example files, by name.
    """

    ending: ClassVar[str]
    parse: "ClassVar[staticmethod[[bytes], ParsedDocument]]"
    examples: ClassVar[Mapping[str, bytes]]

    def parse_data(self, data: bytes) -> ParsedDocument:
        """Parse the content of a file."""
        # `self.parse` would pass `self` as the argument.
        return type(self).parse(data)

    def test_every_example_gives_text(self) -> None:
        assert self.examples
        for name, data in self.examples.items():
            assert self.parse_data(data).text.strip(), name

    def test_blocks_lie_in_the_text_in_order_and_do_not_overlap(self) -> None:
        for data in self.examples.values():
            parsed, end = self.parse_data(data), 0
            for block in parsed.blocks:
                assert end <= block.span.start < block.span.end <= len(parsed.text)
                assert block.span.cut(parsed.text).strip()
                assert block.page is None or block.page >= 1
                end = block.span.end

    def test_line_numbers_grow_with_the_text(self) -> None:
        for data in self.examples.values():
            parsed, before = self.parse_data(data), (-1, 0)
            for offset, line in parsed.lines:
                assert before[0] < offset < len(parsed.text)
                assert before[1] < line
                before = (offset, line)

    def test_metadata_are_plain_values(self) -> None:
        for data in self.examples.values():
            for key, value in self.parse_data(data).metadata.items():
                assert isinstance(key, str)
                assert isinstance(value, str | int | float | bool)

    def test_the_same_bytes_give_the_same_document(self) -> None:
        for data in self.examples.values():
            assert self.parse_data(data) == self.parse_data(data)

    def test_the_sandbox_reads_it_too(self, tmp_path: Path) -> None:
        """The sandbox lets a parser open no other file, no socket and no program."""
        with Sandbox(ParseLimits()) as sandbox:
            for number, data in enumerate(self.examples.values()):
                file = tmp_path / f"{number}.{self.ending}"
                file.write_bytes(data)
                (sandboxed,) = read_file(file, sandbox)
                assert isinstance(sandboxed, ParsedDocument)
                direct = self.parse_data(data)
                assert (sandboxed.text, sandboxed.title) == (direct.text, direct.title)
                assert (sandboxed.blocks, dict(sandboxed.metadata)) == (
                    direct.blocks,
                    dict(direct.metadata),
                )

    def test_torn_files_are_read_or_refused(self) -> None:
        """Any other exception would be reported as damage, without a useful reason."""
        for name, data in self.examples.items():
            for fragment in (b"", data[: len(data) // 2], data[1:], b"\x00\xff" * 40):
                try:
                    parsed = self.parse_data(fragment)
                except ParseRefusal:
                    continue
                assert isinstance(parsed, ParsedDocument), name


class ReaderConformance:
    """The suite of `agents.reader.Reader`; subclasses define the fixture `reader`."""

    @pytest.fixture
    def reader(self) -> Reader:
        """The reader."""
        raise NotImplementedError("define the fixture `reader`")

    def test_evidence_lies_in_the_given_hits(self, reader: Reader) -> None:
        hits = _make_hits()
        for question in QUESTIONS:
            with run_context() as context:
                draft = asyncio.run(reader.read(Question(question), hits, context))
            assert 0 <= draft.confidence <= 1
            assert all(0 <= evidence.support <= 1 for evidence in draft.evidence)
            for evidence in draft.evidence:
                assert evidence.hit in hits
                assert 0 <= evidence.span.start < evidence.span.end <= len(evidence.hit.chunk.text)
            places = range(len(draft.evidence))
            assert all(place in places for claim in draft.claims for place in claim.evidence)

    def test_the_answer_is_quoted(self, reader: Reader) -> None:
        with run_context() as context:
            draft = asyncio.run(reader.read(Question(QUESTION), _make_hits(), context))
        assert "40 crowns" in " ".join(evidence.quote for evidence in draft.evidence)

    def test_no_hits_give_an_empty_draft(self, reader: Reader) -> None:
        with run_context() as context:
            draft = asyncio.run(reader.read(Question(QUESTION), (), context))
        assert (draft.evidence, draft.claims, draft.short_answer) == ((), (), "")

    def test_equal_readings_give_equal_drafts(self, reader: Reader) -> None:
        drafts = []
        for _ in range(2):
            with run_context() as context:
                drafts.append(asyncio.run(reader.read(Question(QUESTION), _make_hits(), context)))
        assert drafts[0] == drafts[1]

    def test_reading_is_a_step_of_the_run(self, reader: Reader) -> None:
        with run_context() as context:
            asyncio.run(reader.read(Question(QUESTION), _make_hits(), context))
            assert isinstance(context.scope, Recorder)
            steps = context.scope.seal(None).steps
        assert "reader" in {step.agent for step in steps}

    def test_work_after_the_deadline_is_refused(self, reader: Reader) -> None:
        with run_context(seconds=0) as context, pytest.raises(BudgetRefused):
            asyncio.run(reader.read(Question(QUESTION), _make_hits(), context))


def _make_hits() -> tuple[Hit, ...]:
    return tuple(
        Hit(
            chunk=Chunk(
                id=f"{name}#0",
                document_id=name,
                text=text,
                span=Span(0, len(text)),
                ordinal=0,
                title=name,
            ),
            score=1 / rank,
            rank=rank,
            retriever="hybrid",
        )
        for rank, (name, text) in enumerate(
            ((name, text.split("\n\n")[1]) for name, text in TEXTS.items()), start=1
        )
    )


class JudgeConformance:
    """The suite of `agents.judge.Judge`; subclasses define the fixture `judge`."""

    PAIRS: ClassVar = [
        ("A permit costs 40 crowns.", "A permit costs 40 crowns."),
        ("A permit costs 41 crowns.", "A permit costs 40 crowns."),
        ("🙂", "\x00"),
        ("x" * 5_000, "y"),
    ]

    @pytest.fixture
    def judge(self) -> Judge:
        """The judge."""
        raise NotImplementedError("define the fixture `judge`")

    def test_scores_are_one_a_pair_from_0_to_1(self, judge: Judge) -> None:
        with run_context() as context:
            scores = asyncio.run(judge.score_support(self.PAIRS, context))
        assert len(scores) == len(self.PAIRS)
        assert all(0 <= score <= 1 for score in scores)

    def test_equal_texts_support_and_other_numbers_do_not(self, judge: Judge) -> None:
        with run_context() as context:
            same, other, *_ = asyncio.run(judge.score_support(self.PAIRS, context))
        assert same > 0.9
        assert other == 0.0

    def test_no_pairs_give_no_scores(self, judge: Judge) -> None:
        with run_context() as context:
            assert asyncio.run(judge.score_support([], context)) == ()

    def test_work_after_the_deadline_is_refused(self, judge: Judge) -> None:
        with run_context(seconds=0) as context, pytest.raises(BudgetRefused):
            asyncio.run(judge.score_support(self.PAIRS, context))


class EmbedderConformance:
    """The suite of `models.base.Embedder`; subclasses define the fixture `embedder`.

    With the scope `class`, the fixture loads the model only once.
    """

    TEXTS: ClassVar = (
        "The pump must be stopped before the cover is opened.",
        "Pompa harus dimatikan sebelum penutup dibuka.",
        "stop the pump",
        "pump the stop",
        "¿Dónde está la salida?",
        "冷却水の温度",
        "👩‍🔧🔧🔥",
        "x",
        "42",
        "a much longer text, " * 40,
    )
    ODD: ClassVar = (
        *("", " \n\t", "!?...", "\x00\x07", "\ud800", "🙂" * 300, "w" * 200_000, "word " * 40_000),
    )

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Embedder:
        """The embedder."""
        raise NotImplementedError("define the fixture `embedder`")

    def test_rows_are_float32_of_unit_length(self, embedder: Embedder) -> None:
        vectors = embedder.embed(self.TEXTS)

        assert vectors.dtype == np.float32
        assert vectors.shape == (len(self.TEXTS), embedder.dimension)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)

    def test_odd_texts_have_unit_vectors_too(self, embedder: Embedder) -> None:
        vectors = embedder.embed(self.ODD)

        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_vectors_do_not_depend_on_the_batch(self, embedder: Embedder) -> None:
        alone = {text: embedder.embed([text]).tobytes() for text in self.TEXTS}
        many = [*self.TEXTS, *self.TEXTS, *(f"{text} again" for text in self.TEXTS)]
        # A batch pads its texts to the longest one, which must not change their vectors.
        for seed in range(3):
            random.Random(seed).shuffle(many)  # noqa: S311 - no secret
            vectors = embedder.embed(many)
            assert all(
                vectors[place].tobytes() == alone[text]
                for place, text in enumerate(many)
                if text in alone
            )

    def test_unequal_texts_differ(self, embedder: Embedder) -> None:
        vectors = embedder.embed(self.TEXTS)

        assert len({row.tobytes() for row in vectors}) == len(self.TEXTS)

    def test_texts_with_shared_words_are_near(self, embedder: Embedder) -> None:
        near, query, far = embedder.embed(
            ["how to stop the water pump", "stop the water pump", "annual leave of civil servants"]
        )

        assert near @ query > far @ query + 0.1

    def test_count_grows_with_the_text(self, embedder: Embedder) -> None:
        assert embedder.count("") == 0
        assert embedder.count("pump") == 1
        assert embedder.count("pump pump pump") == 3
        assert embedder.count("pump " * 1000) == 1000  # uncut

    def test_identity_names_all_that_must_agree(self, embedder: Embedder) -> None:
        identity = embedder.identity

        assert set(identity) - {"space"} == {"model", "sha256", "runtime", "precision"}
        assert len(identity["sha256"]) == 64
        assert all(identity.values())
