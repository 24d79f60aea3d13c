"""Each promise of each suite fails for a component that breaks it; every test can fail.

Those of fathom.testing.late_vectors_conformance are among those of indexes.
"""

import asyncio
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import count
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathom.agents.judge import LocalJudge
from fathom.agents.reader.local import LocalReader
from fathom.documents.base import ParsedDocument
from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.index.base import IndexStatus, Match, SourceRecord
from fathom.index.embedded.opening import open_reader, open_writer
from fathom.index.rights import Viewer
from fathom.models.base import Matrix
from fathom.question.question import Question
from fathom.registry import STRATEGIES, RegistryEntry
from fathom.runs.reservation import CostBound
from fathom.strategies.naive import Naive
from fathom.testing import (
    OVERLAP,
    EmbedderConformance,
    FormatConformance,
    HashingEmbedder,
    IndexConformance,
    JudgeConformance,
    ReaderConformance,
    RetrieverConformance,
    StrategyConformance,
    make_engine,
)
from fathom.testing.conformance import TEXTS
from fathom.testing.index_entries import CATS, IDENTITY, axis, put
from fathom.types import Answer, Block, Draft, Evidence, Filter, Hit, Query, Span
from fathom.usage import Usage

NUMBERS = count()
FAILED = AssertionError, pytest.fail.Exception, FathomError, LookupError, ValueError, AttributeError
Suite = IndexConformance


def is_caught(test: Callable[..., None], **values: Any) -> bool:
    """Return whether a test of a suite fails for one of the values it is tried with."""
    parameters = inspect.signature(test).parameters
    arguments = {name: value for name, value in values.items() if name in parameters}
    try:
        test(**arguments)
    except FAILED:
        return True
    return False


def list_promises(suite: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(suite) if name.startswith("test_")}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("conformance")
    (folder / "corpus").mkdir()
    for name, text in TEXTS.items():
        (folder / "corpus" / name).write_text(f"{text}\n", encoding="utf-8")
    with make_engine(folder / "index") as opened:
        opened.ingest(folder / "corpus")
        yield opened


# Strategies: one that reads as `naive` does, and then says something else.

AnswerChange = Callable[[Answer], Answer]


def misquote(answer: Answer) -> Answer:
    wrong = tuple(replace(citation, quote=f"{citation.quote}!") for citation in answer.citations)
    return replace(answer, citations=wrong)


class BrokenStrategy(Naive):
    """Changes the answer by `change`; `asked` is state that questions share."""

    change: Callable[["BrokenStrategy", Any, Any, Answer], Answer]
    asked: list[str] = []  # noqa: RUF012 - what it must not have
    name = "broken"

    async def finish(self, state: Any, context: Any) -> Answer:
        BrokenStrategy.asked.append(state.query.text)
        await asyncio.sleep(0.01)
        answer = await super().finish(state, context)
        return type(self).change(self, state, context, answer)


def ignore_budget(strategy: BrokenStrategy, state: Any, context: Any, answer: Answer) -> Answer:
    del strategy, state
    context.ledger.reserve(CostBound(retrievals=1)).settle(Usage(retrievals=1))
    return answer


def ignore_deadline(strategy: BrokenStrategy, state: Any, context: Any, answer: Answer) -> Answer:
    del strategy, state, context
    return replace(answer, status="answered", stop_reason="answered")


def stream_late(strategy: BrokenStrategy, state: Any, context: Any, answer: Answer) -> Answer:
    del strategy, state, context
    return replace(answer, answer=BrokenStrategy.asked[-1])


def change_answer(change: AnswerChange) -> Callable[..., Answer]:
    return lambda _strategy, _state, _context, answer: change(answer)


STRATEGY: Mapping[str, Sequence[Callable[..., Answer]]] = {
    "test_quotes_are_verified_and_stand_in_the_document": (change_answer(misquote),),
    "test_answers_are_cited": (
        change_answer(lambda answer: replace(answer, citations=())),
        change_answer(lambda answer: replace(answer, status="abstained", citations=())),
    ),
    "test_equal_questions_have_equal_answers": (
        change_answer(lambda answer: replace(answer, short_answer=str(next(NUMBERS)))),
    ),
    "test_concurrent_questions_get_the_same_answers": (stream_late,),
    "test_the_steps_account_for_the_usage": (ignore_budget,),
    "test_a_run_replays_without_the_index": (
        change_answer(lambda answer: replace(answer, answer=str(time.perf_counter()))),
    ),
    "test_the_budget_holds": (ignore_deadline,),
}


@pytest.mark.parametrize("name", sorted(list_promises(StrategyConformance)))
def test_every_broken_strategy_is_caught(
    name: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = getattr(StrategyConformance(), name)
    assert not is_caught(test, engine=engine, strategy="naive", retrievals=0)
    entry = RegistryEntry("broken", f"{__name__}:Made")
    monkeypatch.setitem(STRATEGIES, "broken", entry)
    for change in STRATEGY[name]:
        strategy_class = type("Made", (BrokenStrategy,), {"change": staticmethod(change)})
        monkeypatch.setattr(sys.modules[__name__], "Made", strategy_class, raising=False)
        engine._strategies.pop("broken", None)
        assert is_caught(test, engine=engine, strategy="broken", retrievals=0)


# Retrievers: what `hybrid` finds, changed.


@dataclass(frozen=True)
class ChangedRetriever:
    """A retriever that changes its query or its hits."""

    inner: Any
    ask: Callable[[Query, int], tuple[Query, int]] = lambda query, k: (query, k)
    give: Callable[[list[Hit], int], list[Hit]] = lambda hits, _: hits
    name: str = "hybrid"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        changed_query, most = self.ask(query, k)
        return self.give(self.inner.retrieve(changed_query, k=most), k)


def reverse_hits(hits: list[Hit], _: int) -> list[Hit]:
    scores = [hit.score for hit in hits]
    return [
        replace(hit, rank=rank, score=score)
        for rank, (hit, score) in enumerate(zip(hits[::-1], scores, strict=True), start=1)
    ]


def raise_scores(hits: list[Hit], _: int) -> list[Hit]:
    return [replace(hit, chunk=replace(hit.chunk, text=hit.chunk.text.upper())) for hit in hits]


def ask_nothing_with_filters(query: Query, k: int) -> tuple[Query, int]:
    nothing = Filter("document", "=", "none")
    return (replace(query, filters=(*query.filters, nothing)) if query.filters else query), k


RETRIEVER: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "test_ranks_have_no_gaps_and_scores_never_grow": (
        {"give": lambda hits, _: [replace(hit, rank=hit.rank - 1) for hit in hits]},
        {"give": lambda hits, _: [replace(hit, score=hit.rank) for hit in hits]},
        {"give": lambda hits, _: [replace(hit, score=nan) for hit in hits]},
        {"give": lambda hits, _: [replace(hits[0], rank=n) for n in (1, 2)] if hits else []},
        {"ask": lambda query, _: (query, 4)},
    ),
    "test_hits_name_their_retriever": ({"name": "other"}, {"give": lambda *_: []}),
    "test_a_shorter_list_is_the_beginning_of_a_longer_one": ({"give": reverse_hits},),
    "test_the_same_query_gives_the_same_list": (
        {"give": lambda hits, _: [replace(hit, score=next(NUMBERS)) for hit in hits]},
    ),
    "test_every_hit_is_cut_from_its_document": ({"give": raise_scores},),
    "test_filters_hold_for_every_hit": ({"ask": lambda query, k: (replace(query, filters=()), k)},),
    "test_a_filter_finds_what_ranks_last_without_it": ({"ask": ask_nothing_with_filters},),
    "test_malformed_requests_are_refused": (
        {"ask": lambda query, k: (query, max(k, 1))},
        {"ask": lambda query, k: (replace(query, filters=()), k)},
    ),
}


@pytest.mark.parametrize("name", sorted(list_promises(RetrieverConformance)))
def test_every_broken_retriever_is_caught(name: str, engine: Engine) -> None:
    test = getattr(RetrieverConformance(), name)
    values = {"engine": engine, "text": "bridge island winter", "k": 3}
    inner = engine.retriever("hybrid")
    assert not is_caught(test, retriever=ChangedRetriever(inner), **values)
    for change in RETRIEVER[name]:
        assert is_caught(test, retriever=ChangedRetriever(inner, **change), **values)


# Formats: text in paragraphs, as Markdown without a mark is, with something wrong.

WORDS = "Some words.\n\nMore of them.\n"


def parse_paragraphs(data: bytes) -> ParsedDocument:
    from fathom.documents.formats.markdown import parse as markdown

    return markdown(data)


def parse_with_blocks(*spans: tuple[int, int]) -> Callable[[bytes], ParsedDocument]:
    blocks = tuple(Block(kind="paragraph", span=Span(*span)) for span in spans)
    return lambda data: replace(parse_paragraphs(data), blocks=blocks)


def parse_damaged(data: bytes) -> ParsedDocument:
    if not data.startswith(b"Some"):
        raise ValueError("no words")
    return parse_paragraphs(data)


FORMAT: Mapping[str, Sequence[Callable[[bytes], Any]]] = {
    "test_every_example_gives_text": (lambda _: ParsedDocument(text=" \n"),),
    "test_blocks_lie_in_the_text_in_order_and_do_not_overlap": (
        parse_with_blocks((0, 8), (4, 11)),
        parse_with_blocks((4, 11), (0, 3)),
        parse_with_blocks((0, 99)),
        parse_with_blocks((0, 0)),
    ),
    "test_line_numbers_grow_with_the_text": (
        lambda data: replace(parse_paragraphs(data), lines=((0, 2), (4, 1))),
        lambda data: replace(parse_paragraphs(data), lines=((99, 1),)),
    ),
    "test_metadata_are_plain_values": (
        lambda data: replace(parse_paragraphs(data), metadata={"tags": ["a"]}),  # type: ignore[dict-item]
    ),
    "test_the_same_bytes_give_the_same_document": (
        lambda data: replace(parse_paragraphs(data), title=str(next(NUMBERS))),
    ),
    "test_the_sandbox_reads_it_too": (lambda data: replace(parse_paragraphs(data), title="Other"),),
    "test_torn_files_are_read_or_refused": (parse_damaged, lambda _: None),
}


@pytest.mark.parametrize("name", sorted(list_promises(FormatConformance)))
def test_every_broken_format_is_caught(name: str, tmp_path: Path) -> None:
    def make_suite(parser: Callable[[bytes], Any]) -> Any:
        values = {"ending": "md", "parse": staticmethod(parser), "examples": {"a": WORDS.encode()}}
        return type("Suite", (FormatConformance,), values)()

    assert not is_caught(getattr(make_suite(parse_paragraphs), name), tmp_path=tmp_path)
    for parser in FORMAT[name]:
        assert is_caught(getattr(make_suite(parser), name), tmp_path=tmp_path)


# Agents: the local reader and judge, with something wrong.

DraftChange = Callable[[Draft, Sequence[Hit]], Draft]


@dataclass(frozen=True)
class ChangedReader:
    change: DraftChange = lambda draft, _: draft
    records: bool = True

    async def read(self, question: Question, hits: Sequence[Hit], context: Any) -> Draft:
        local = LocalReader(pairs=OVERLAP, sentences=2)
        if not self.records:
            return Draft()
        return self.change(await local.read(question, hits, context), hits)


def quote_beyond(draft: Draft, hits: Sequence[Hit]) -> Draft:
    if not hits:
        return draft
    evidence = Evidence(hit=hits[0], span=Span(0, 9_999), support=0.5)
    return replace(draft, evidence=(evidence,))


READER: Mapping[str, Sequence[ChangedReader]] = {
    "test_evidence_lies_in_the_given_hits": (
        ChangedReader(quote_beyond),
        ChangedReader(lambda draft, _: replace(draft, confidence=1.5)),
    ),
    "test_the_answer_is_quoted": (ChangedReader(lambda *_: Draft()),),
    "test_no_hits_give_an_empty_draft": (
        ChangedReader(lambda draft, _: replace(draft, short_answer="42")),
    ),
    "test_equal_readings_give_equal_drafts": (
        ChangedReader(lambda draft, _: replace(draft, short_answer=str(next(NUMBERS)))),
    ),
    "test_reading_is_a_step_of_the_run": (ChangedReader(records=False),),
    "test_work_after_the_deadline_is_refused": (ChangedReader(records=False),),
}


@pytest.mark.parametrize("name", sorted(list_promises(ReaderConformance)))
def test_every_broken_reader_is_caught(name: str) -> None:
    test = getattr(ReaderConformance(), name)
    assert not is_caught(test, reader=ChangedReader())
    for reader in READER[name]:
        assert is_caught(test, reader=reader)


@dataclass(frozen=True)
class ChangedJudge:
    change: Callable[[tuple[float, ...]], tuple[float, ...]] = lambda scores: scores
    waits: bool = True

    async def score_support(self, pairs: Sequence[Any], context: Any) -> tuple[float, ...]:
        local = LocalJudge(pairs=OVERLAP)
        if not self.waits:
            return local.score_pairs(pairs)
        return self.change(await local.score_support(pairs, context))


JUDGE: Mapping[str, Sequence[ChangedJudge]] = {
    "test_scores_are_one_a_pair_from_0_to_1": (
        ChangedJudge(lambda scores: scores[1:]),
        ChangedJudge(lambda scores: tuple(2 * score for score in scores)),
    ),
    "test_equal_texts_support_and_other_numbers_do_not": (
        ChangedJudge(lambda scores: tuple(0.5 for _ in scores)),
        ChangedJudge(lambda scores: tuple(1.0 for _ in scores)),
    ),
    "test_no_pairs_give_no_scores": (ChangedJudge(lambda scores: scores or (1.0,)),),
    "test_work_after_the_deadline_is_refused": (ChangedJudge(waits=False),),
}


@pytest.mark.parametrize("name", sorted(list_promises(JudgeConformance)))
def test_every_broken_judge_is_caught(name: str) -> None:
    test = getattr(JudgeConformance(), name)
    assert not is_caught(test, judge=ChangedJudge())
    for judge in JUDGE[name]:
        assert is_caught(test, judge=judge)


# Embedders: by hashing, with something wrong.


def make_embedder(change: Callable[[Matrix, Sequence[str]], Any]) -> HashingEmbedder:
    class ChangedEmbedder(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            changed: Matrix = change(super().embed(texts), texts)
            return changed

    return ChangedEmbedder(64)


def make_counter(number: Callable[[str], int]) -> HashingEmbedder:
    class ChangedCounter(HashingEmbedder):
        def count(self, text: str) -> int:
            return number(text)

    return ChangedCounter(64)


class NamelessEmbedder(HashingEmbedder):
    @property
    def identity(self) -> Mapping[str, str]:
        return {"model": "some"}


def embed_by_batch(vectors: Matrix, texts: Sequence[str]) -> Matrix:
    vectors[:, 0] += len(texts) / 1e6
    return vectors


EMBEDDER: Mapping[str, Sequence[HashingEmbedder]] = {
    "test_rows_are_float32_of_unit_length": (
        make_embedder(lambda vectors, _: vectors.astype(np.float64)),
        make_embedder(lambda vectors, _: 2 * vectors),
    ),
    "test_odd_texts_have_unit_vectors_too": (
        make_embedder(
            lambda v, texts: v * np.array([[bool(t.strip())] for t in texts], np.float32)
        ),
    ),
    "test_no_texts_give_no_rows": (
        make_embedder(
            lambda vectors, _: vectors if len(vectors) else np.zeros((1, 64), np.float32)
        ),
    ),
    "test_vectors_do_not_depend_on_the_batch": (make_embedder(embed_by_batch),),
    "test_unequal_texts_differ": (make_embedder(lambda v, _: np.ones_like(v) / np.float32(8)),),
    "test_texts_with_shared_words_are_near": (
        make_embedder(lambda v, _: np.ones_like(v) / np.float32(8)),
    ),
    "test_count_grows_with_the_text": (
        make_counter(lambda text: 1 if text else 0),
        make_counter(lambda text: min(512, len(text.split()))),
    ),
    "test_identity_names_all_that_must_agree": (NamelessEmbedder(64),),
}


@pytest.mark.parametrize("name", sorted(list_promises(EmbedderConformance)))
def test_every_broken_embedder_is_caught(name: str) -> None:
    suite = type("Suite", (EmbedderConformance,), {"ODD": ("", " \n", "!?", "🙂" * 9)})()
    test = getattr(suite, name)
    assert not is_caught(test, embedder=HashingEmbedder(64))
    for embedder in EMBEDDER[name]:
        assert is_caught(test, embedder=embedder)


# Indexes: the embedded one, with a method that does something else.


class ChangedIndex:
    """Calls `changes[name](real, *arguments)` instead of the method of that name."""

    def __init__(self, real: Any, changes: Mapping[str, Callable[..., Any]]) -> None:
        self.real, self.changes = real, changes

    def __getattr__(self, name: str) -> Any:
        if name not in self.changes:
            return getattr(self.real, name)
        return lambda *positional, **named: self.changes[name](self.real, *positional, **named)

    def __enter__(self) -> "ChangedIndex":
        self.real.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.real.__exit__(*error)


def ignore_arguments(*names: str) -> Callable[..., Any]:
    """Return a search that ignores these of its arguments."""

    def search(real: Any, *positional: Any, **named: Any) -> list[Match]:
        kept_arguments = {name: value for name, value in named.items() if name not in names}
        method = (
            real.vector_search if isinstance(positional[0], np.ndarray) else real.keyword_search
        )
        matches: list[Match] = method(*positional, **({"k": 9} | kept_arguments))
        return matches

    return search


def search_backwards(real: Any, *positional: Any, **named: Any) -> list[Match]:
    matches: list[Match] = ignore_arguments()(real, *positional, **named)
    return matches[::-1]


def search_from_memory(real: Any, text: str, **named: Any) -> list[Match]:
    """Return the first hits for a text, whatever is purged since."""
    if text not in real.__dict__.setdefault("found", {}):
        real.found[text] = real.keyword_search(text, **named)
    matches: list[Match] = real.found[text]
    return matches


def restate_status(**values: Any) -> Callable[[Any], IndexStatus]:
    return lambda real: replace(real.status(), **values)


def count_status(real: Any) -> IndexStatus:
    status: IndexStatus = replace(real.status(), content=str(next(NUMBERS)))
    return status


def list_files(real: Any, *positional: Any, **named: Any) -> list[SourceRecord]:
    """List the sources that are files of this machine."""
    sources = real.list_sources(*positional, **named)
    return [record for record in sources if record.path.startswith("/")]


def do_nothing(*_: Any, **__: Any) -> Any:
    return 0


def put_once(real: Any, entries: Sequence[Any], sources: Sequence[Any]) -> None:
    if not real.status().documents or len(entries) > 1:
        real.put(entries, sources)


def put_narrow(real: Any, entries: Sequence[Any], sources: Sequence[Any]) -> None:
    if all(entry.vectors is None or entry.vectors.shape[1] == 4 for entry in entries):
        real.put(entries, sources)


def open_leniently(place: Path, identity: Mapping[str, str] | None) -> Any:
    from fathom.errors import IndexLocked, IndexMismatch, IndexMissing

    try:
        return open_writer(place, identity)
    except (IndexLocked, IndexMismatch, IndexMissing):
        return open_reader(place)


def drop_tables(real: Any, document_id: str) -> Any:
    document = real.get_document(document_id)
    return document and replace(document, tables=b"")


def show_readers(real: Any, document_id: str) -> Any:
    document = real.get_document(document_id)
    return document and replace(document, metadata={**document.metadata, "readers": "[vets]"})


INDEX: Mapping[str, Sequence[Mapping[str, Callable[..., Any]]]] = {
    "test_addresses_are_places_too": (
        {"list_sources": list_files},
        {"get_source": lambda real, path: None if "://" in path else real.get_source(path)},
    ),
    "test_rights_are_held_or_refused": (
        {"set_rights": do_nothing},
        {"get_rights": lambda _: []},
    ),
    "test_a_hidden_document_does_not_exist_for_a_viewer": ({"set_rights": do_nothing},),
    "test_a_withdrawn_right_is_gone_for_an_open_viewer": ({"set_rights": do_nothing},),
    "test_each_list_of_readers_must_name_the_viewer": ({"set_rights": do_nothing},),
    "test_the_lists_that_limit_a_document_are_told": (
        {"list_limits": lambda _, ids: None},
        {"list_limits": lambda _, ids: dict.fromkeys(ids, ())},
    ),
    "test_a_viewer_learns_no_names_of_readers": ({"get_document": show_readers},),
    "test_paths_of_documents": (
        {"get_paths": lambda _, names: {}},
        {"get_paths": lambda _, names: dict.fromkeys(names, "/c/cats")},
    ),
    "test_word_counts_are_numbers_of_chunks": (
        {"count_chunks_per_word": lambda _, words: [1] * len(words)},
        {
            "count_chunks_per_word": lambda real, words: [
                int(bool(count)) for count in real.count_chunks_per_word(words)
            ]
        },
    ),
    "test_vector_search_ranks_by_cosine": (
        {"vector_search": search_backwards},
        {"vector_search": ignore_arguments("k")},
    ),
    "test_calibrations_are_stored_by_strategy": (
        {"keep_calibration": do_nothing},
        {"get_calibrations": lambda _: {}},
    ),
    "test_keyword_search_matches_stems_and_titles": (
        {"keyword_search": search_backwards},
        {"keyword_search": lambda *_, **__: []},
    ),
    "test_a_snapshot_is_one_state_despite_writes": ({"snapshot": lambda _: nullcontext()},),
    "test_a_snapshot_read_late_is_of_its_beginning": ({"snapshot": lambda _: nullcontext()},),
    "test_ties_are_broken_by_chunk_id": (
        {"keyword_search": search_backwards},
        {"vector_search": search_backwards},
    ),
    "test_filters": (
        {"vector_search": ignore_arguments("filters")},
        {"keyword_search": ignore_arguments("filters")},
    ),
    "test_malformed_filters_are_refused": ({"vector_search": ignore_arguments("filters")},),
    "test_k_below_one_is_refused": ({"keyword_search": ignore_arguments("k")},),
    "test_stored_records_come_back": (
        {"get_document": do_nothing},
        {"chunks": lambda real, ids: real.chunks(sorted(ids))},
        {"list_sources": lambda real, below="/": real.list_sources()},
        {"set_roots": do_nothing},
    ),
    "test_packed_tables_and_many_blocks_are_stored_and_replaced_with_their_document": (
        {"get_document": do_nothing},
        {"get_document": drop_tables},
    ),
    "test_a_document_has_the_path_of_a_place_that_holds_it": ({"forget": do_nothing},),
    "test_a_stale_place_keeps_its_document": (
        {"get_document": do_nothing},
        {"status": restate_status(stale=0, failed=1)},
    ),
    "test_vectors_are_kept_until_their_document_is_stored": (
        {"keep_vectors": do_nothing},
        {"optimize": do_nothing},
    ),
    "test_words_are_found_before_there_are_vectors": (
        {"keyword_search": lambda *_, **__: []},
        {"count_missing_vectors": do_nothing},
        {"status": restate_status(lacking=0)},
    ),
    "test_filled_vectors_equal_vectors_of_documents": (
        {"fill": do_nothing},
        {"status": count_status},
        {"get_revision": lambda _: "same"},
        {"count_missing_vectors": lambda _: 1},
    ),
    "test_chunks_without_vectors_are_selected_in_order": (
        {"select_unembedded": lambda *_, **__: []},
        {"select_unembedded": lambda real, ids, **named: sorted(real.select_unembedded(ids))},
        {
            "select_unembedded": lambda real, ids, **named: [
                chunk_id for chunk_id in ids if real.chunks([chunk_id])
            ]
        },
    ),
    "test_chunks_of_an_index_without_any_vector_are_selected": (
        {
            "select_unembedded": lambda real, ids, **named: (
                real.select_unembedded(ids, **named) if real.vector_search(axis(1), k=1) else []
            )
        },
    ),
    "test_chunks_without_vectors_are_listed_in_order": (
        {"list_unembedded_chunks": lambda *_, **__: []},
        {
            "list_unembedded_chunks": lambda real, space, *, most, after="": (
                real.list_unembedded_chunks(space, most=most)
            )
        },
        {"count_missing_vectors": do_nothing},
    ),
    "test_kept_vectors_stay_until_a_vector_is_stored": (
        {"keep_vectors": do_nothing},
        {"fill": do_nothing},
    ),
    "test_replacing_removes_the_old_document": ({"put": put_once},),
    "test_a_document_lives_while_a_place_holds_it": ({"forget": do_nothing},),
    "test_a_place_may_change_its_document": (
        {"put": lambda real, entries, sources: entries and real.put(entries, sources)},
    ),
    "test_keys_list_the_kinds_of_their_values": (
        {"list_keys": lambda _: {}},
        {"list_keys": lambda real: {**real.list_keys(), "no key": None}},
        {"status": restate_status(keys={})},
    ),
    "test_documents_without_words_are_found_by_vector": (
        {"keyword_search": lambda *_, **__: []},
        {"forget": lambda *_, **__: 0},
    ),
    "test_forgotten_words_are_not_found_before_a_purge": (
        {"count_chunks_per_word": lambda _, words: [1] * len(words)},
        {"forget": lambda *_, **__: 1},
    ),
    "test_readers_agree_before_and_after_a_purge": (
        {"keyword_search": search_from_memory},
        {"status": count_status},
        {"get_revision": lambda _: str(next(NUMBERS))},
    ),
    "test_snapshots_around_a_purge_are_independent": (
        {"purge": lambda real: put(real, CATS)},
        {"forget": do_nothing},
    ),
    "test_status_ignores_order": (
        {"status": count_status},
        {"status": restate_status(identity={})},
    ),
    "test_status_sees_every_change": ({"status": restate_status(content="same")},),
    "test_another_dimension_is_refused": (
        {"vector_search": lambda *_, **__: []},
        {"put": put_narrow},
    ),
    "test_reopening_changes_nothing": ({"status": count_status},),
}
OPENED: Mapping[str, Callable[..., Any]] = {
    "test_a_missing_index_is_reported": lambda place, identity: open_writer(
        place, identity or IDENTITY
    ),
    "test_another_identity_is_refused": open_leniently,
    "test_writers_exclude_or_wait_for_each_other": open_leniently,
}


@pytest.mark.parametrize("name", sorted(list_promises(Suite)))
def test_every_broken_index_is_caught(name: str, tmp_path: Path) -> None:
    assert not is_caught_by_index(name, tmp_path / "sound", open_writer, {})
    if name in OPENED:
        assert is_caught_by_index(name, tmp_path / "opened", OPENED[name], {})
    for number, changes in enumerate(INDEX.get(name, ())):
        assert is_caught_by_index(name, tmp_path / str(number), open_writer, changes)
    assert (name in OPENED) != (name in INDEX)


def is_caught_by_index(
    name: str, place: Path, write: Callable[..., Any], changes: Mapping[str, Callable[..., Any]]
) -> bool:
    class ChangedSuite(Suite):
        def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> Any:
            return ChangedIndex(write(place, identity), changes)

        def open_reader(self, place: Path, identity: Mapping[str, str] | None = None) -> Any:
            return ChangedIndex(open_reader(place, identity), changes)

        def open_viewer(self, place: Path, viewer: Viewer) -> Any:
            return open_reader(place, viewer=viewer)

    place.mkdir()
    suite = ChangedSuite()
    test = getattr(suite, name)
    if "index" not in inspect.signature(test).parameters:
        return is_caught(test, tmp_path=place)
    with (
        suite.open_writer(place / "index", IDENTITY) as writer,
        suite.open_reader(place / "index") as reader,
    ):
        malformed = Filter("year", "in", 1)
        return is_caught(test, index=(writer, reader), malformed=malformed, tmp_path=place)
