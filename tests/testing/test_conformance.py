"""Each promise of each suite fails for a part that breaks it: what cannot fail tests nothing.

Those of fathom.testing.late_vectors_conformance are among those of indexes.
"""

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathom.agents.judge import LocalJudge
from fathom.agents.reader.local import LocalReader
from fathom.documents.base import ParsedDocument
from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.index.base import IndexStatus, Match
from fathom.index.embedded.opening import open_reader, open_writer
from fathom.models.base import Matrix
from fathom.runs.reservation import CostBound
from fathom.strategies.base import STRATEGIES
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
from fathom.testing.index_entries import CATS, IDENTITY, put
from fathom.types import Answer, Block, Draft, Evidence, Filter, Hit, Query, Span
from fathom.usage import Usage

NUMBERS = count()
FAILED = AssertionError, pytest.fail.Exception, FathomError, LookupError, ValueError, AttributeError
Index = IndexConformance


def caught(test: Callable[..., None], **known: Any) -> bool:
    """Whether a test of a suite fails, for one of the values it is tried with."""
    wanted = inspect.signature(test).parameters
    given = {name: value for name, value in known.items() if name in wanted}
    try:
        test(**given)
    except FAILED:
        return True
    return False


def promises(suite: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(suite) if name.startswith("test_")}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("conformance")
    (folder / "corpus").mkdir()
    for name, text in TEXTS.items():
        (folder / "corpus" / name).write_text(f"{text}\n", encoding="utf-8")
    with make_engine(folder / "index") as made:
        made.ingest(folder / "corpus")
        yield made


# Strategies: one that reads as `naive` does, and then says something else.

Said = Callable[[Answer], Answer]


def misquoted(answer: Answer) -> Answer:
    wrong = tuple(replace(citation, quote=f"{citation.quote}!") for citation in answer.citations)
    return replace(answer, citations=wrong)


class Broken(Naive):
    """See `change`; for a state that is shared by questions `asked`."""

    change: Callable[["Broken", Any, Any, Answer], Answer]
    asked: list[str] = []  # noqa: RUF012 - what it must not have
    name = "broken"

    async def finish(self, state: Any, context: Any) -> Answer:
        Broken.asked.append(state.query.text)
        await asyncio.sleep(0.01)
        answer = await super().finish(state, context)
        return type(self).change(self, state, context, answer)


def unpaid(strategy: Broken, state: Any, context: Any, answer: Answer) -> Answer:
    del strategy, state
    context.ledger.reserve(CostBound(retrievals=1)).settle(Usage(retrievals=1))
    return answer


def never_stopped(strategy: Broken, state: Any, context: Any, answer: Answer) -> Answer:
    del strategy, state, context
    return replace(answer, status="answered", stop_reason="answered")


def told_late(strategy: Broken, state: Any, context: Any, answer: Answer) -> Answer:
    del strategy, state, context
    return replace(answer, answer=Broken.asked[-1])


def said(change: Said) -> Callable[..., Answer]:
    return lambda _strategy, _state, _context, answer: change(answer)


STRATEGY: Mapping[str, Callable[..., Answer]] = {
    "test_quotes_are_verified_and_stand_in_the_document": said(misquoted),
    "test_answers_are_cited": said(lambda answer: replace(answer, citations=())),
    "test_equal_questions_have_equal_answers": said(
        lambda answer: replace(answer, short_answer=str(next(NUMBERS)))
    ),
    "test_concurrent_questions_get_the_same_answers": told_late,
    "test_the_steps_account_for_the_usage": unpaid,
    "test_a_run_replays_without_the_index": said(
        lambda answer: replace(answer, answer=str(time.perf_counter()))
    ),
    "test_the_budget_holds": never_stopped,
}


@pytest.mark.parametrize("name", sorted(promises(StrategyConformance)))
def test_strategies(name: str, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    made = type("Made", (Broken,), {"change": staticmethod(STRATEGY[name])})
    monkeypatch.setitem(STRATEGIES, "broken", made.of)  # type: ignore[attr-defined]
    engine._strategies.pop("broken", None)
    test = getattr(StrategyConformance(), name)
    assert not caught(test, engine=engine, strategy="naive", retrievals=0)
    assert caught(test, engine=engine, strategy="broken", retrievals=0)


# Retrievers: what `hybrid` finds, changed.


@dataclass(frozen=True)
class Changed:
    """A retriever that does something else with what is asked, or with what is found."""

    inner: Any
    ask: Callable[[Query, int], tuple[Query, int]] = lambda query, k: (query, k)
    give: Callable[[list[Hit], int], list[Hit]] = lambda hits, _: hits
    name: str = "hybrid"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        asked, most = self.ask(query, k)
        return self.give(self.inner.retrieve(asked, k=most), k)


def turned(hits: list[Hit], _: int) -> list[Hit]:
    scores = [hit.score for hit in hits]
    return [
        replace(hit, rank=rank, score=score)
        for rank, (hit, score) in enumerate(zip(hits[::-1], scores, strict=True), start=1)
    ]


def loud(hits: list[Hit], _: int) -> list[Hit]:
    return [replace(hit, chunk=replace(hit.chunk, text=hit.chunk.text.upper())) for hit in hits]


RETRIEVER: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "test_ranks_have_no_gaps_and_scores_never_grow": (
        {"give": lambda hits, _: [replace(hit, rank=hit.rank - 1) for hit in hits]},
        {"give": lambda hits, _: [replace(hit, score=hit.rank) for hit in hits]},
        {"give": lambda hits, _: [replace(hits[0], rank=n) for n in (1, 2)] if hits else []},
        {"ask": lambda query, _: (query, 4)},
    ),
    "test_hits_name_their_retriever": ({"name": "other"}, {"give": lambda *_: []}),
    "test_a_shorter_list_is_the_beginning_of_a_longer_one": ({"give": turned},),
    "test_the_same_query_gives_the_same_list": (
        {"give": lambda hits, _: [replace(hit, score=next(NUMBERS)) for hit in hits]},
    ),
    "test_every_hit_is_cut_from_its_document": ({"give": loud},),
    "test_filters_hold_for_every_hit": ({"ask": lambda query, k: (replace(query, filters=()), k)},),
    "test_malformed_requests_are_refused": (
        {"ask": lambda query, k: (query, max(k, 1))},
        {"ask": lambda query, k: (replace(query, filters=()), k)},
    ),
}


@pytest.mark.parametrize("name", sorted(promises(RetrieverConformance)))
def test_retrievers(name: str, engine: Engine) -> None:
    test = getattr(RetrieverConformance(), name)
    asked = {"engine": engine, "text": "bridge island winter", "k": 3}
    inner = engine.retriever("hybrid")
    assert not caught(test, retriever=Changed(inner), **asked)
    for change in RETRIEVER[name]:
        assert caught(test, retriever=Changed(inner, **change), **asked)


# Formats: text in paragraphs, as Markdown without a mark is, with something wrong.

WORDS = "Some words.\n\nMore of them.\n"


def parse(data: bytes) -> ParsedDocument:
    from fathom.documents.formats.markdown import parse as markdown

    return markdown(data)


def with_blocks(*spans: tuple[int, int]) -> Callable[[bytes], ParsedDocument]:
    blocks = tuple(Block(kind="paragraph", span=Span(*span)) for span in spans)
    return lambda data: replace(parse(data), blocks=blocks)


def damaged(data: bytes) -> ParsedDocument:
    if not data.startswith(b"Some"):
        raise ValueError("no words")
    return parse(data)


FORMAT: Mapping[str, Sequence[Callable[[bytes], Any]]] = {
    "test_every_example_gives_text": (lambda _: ParsedDocument(text=" \n"),),
    "test_blocks_lie_in_the_text_in_order_and_do_not_overlap": (
        with_blocks((0, 8), (4, 11)),
        with_blocks((4, 11), (0, 3)),
        with_blocks((0, 99)),
        with_blocks((0, 0)),
    ),
    "test_line_numbers_grow_with_the_text": (
        lambda data: replace(parse(data), lines=((0, 2), (4, 1))),
        lambda data: replace(parse(data), lines=((99, 1),)),
    ),
    "test_metadata_are_plain_values": (
        lambda data: replace(parse(data), metadata={"tags": ["a"]}),  # type: ignore[dict-item]
    ),
    "test_the_same_bytes_give_the_same_document": (
        lambda data: replace(parse(data), title=str(next(NUMBERS))),
    ),
    "test_the_sandbox_reads_it_too": (lambda data: replace(parse(data), title="Other"),),
    "test_torn_files_are_read_or_refused": (damaged, lambda _: None),
}


@pytest.mark.parametrize("name", sorted(promises(FormatConformance)))
def test_formats(name: str, tmp_path: Path) -> None:
    def suite(parser: Callable[[bytes], Any]) -> Any:
        values = {"ending": "md", "parse": staticmethod(parser), "examples": {"a": WORDS.encode()}}
        return type("Suite", (FormatConformance,), values)()

    assert not caught(getattr(suite(parse), name), tmp_path=tmp_path)
    for parser in FORMAT[name]:
        assert caught(getattr(suite(parser), name), tmp_path=tmp_path)


# Agents: the local reader and judge, with something wrong.

Drafted = Callable[[Draft, Sequence[Hit]], Draft]


@dataclass(frozen=True)
class ChangedReader:
    change: Drafted = lambda draft, _: draft
    records: bool = True

    async def read(self, question: str, hits: Sequence[Hit], context: Any) -> Draft:
        local = LocalReader(pairs=OVERLAP, sentences=2)
        if not self.records:
            return Draft()
        return self.change(await local.read(question, hits, context), hits)


def beyond(draft: Draft, hits: Sequence[Hit]) -> Draft:
    if not hits:
        return draft
    evidence = Evidence(hit=hits[0], span=Span(0, 9_999), support=0.5)
    return replace(draft, evidence=(evidence,))


READER: Mapping[str, Sequence[ChangedReader]] = {
    "test_evidence_lies_in_the_given_hits": (
        ChangedReader(beyond),
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


@pytest.mark.parametrize("name", sorted(promises(ReaderConformance)))
def test_readers(name: str) -> None:
    test = getattr(ReaderConformance(), name)
    assert not caught(test, reader=ChangedReader())
    for reader in READER[name]:
        assert caught(test, reader=reader)


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


@pytest.mark.parametrize("name", sorted(promises(JudgeConformance)))
def test_judges(name: str) -> None:
    test = getattr(JudgeConformance(), name)
    assert not caught(test, judge=ChangedJudge())
    for judge in JUDGE[name]:
        assert caught(test, judge=judge)


# Embedders: by hashing, with something wrong.


def embeds(change: Callable[[Matrix, Sequence[str]], Any]) -> HashingEmbedder:
    class Made(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            changed: Matrix = change(super().embed(texts), texts)
            return changed

    return Made(64)


def counts(number: Callable[[str], int]) -> HashingEmbedder:
    class Made(HashingEmbedder):
        def count(self, text: str) -> int:
            return number(text)

    return Made(64)


class Nameless(HashingEmbedder):
    @property
    def identity(self) -> Mapping[str, str]:
        return {"model": "some"}


def by_batch(vectors: Matrix, texts: Sequence[str]) -> Matrix:
    vectors[:, 0] += len(texts) / 1e6
    return vectors


EMBEDDER: Mapping[str, Sequence[HashingEmbedder]] = {
    "test_rows_are_float32_of_unit_length": (
        embeds(lambda vectors, _: vectors.astype(np.float64)),
        embeds(lambda vectors, _: 2 * vectors),
    ),
    "test_odd_texts_have_unit_vectors_too": (
        embeds(lambda v, texts: v * np.array([[bool(t.strip())] for t in texts], np.float32)),
    ),
    "test_no_texts_give_no_rows": (
        embeds(lambda vectors, _: vectors if len(vectors) else np.zeros((1, 64), np.float32)),
    ),
    "test_vectors_do_not_depend_on_the_batch": (embeds(by_batch),),
    "test_unequal_texts_differ": (embeds(lambda v, _: np.ones_like(v) / np.float32(8)),),
    "test_texts_with_shared_words_are_near": (
        embeds(lambda v, _: np.ones_like(v) / np.float32(8)),
    ),
    "test_count_grows_with_the_text": (
        counts(lambda text: 1 if text else 0),
        counts(lambda text: min(512, len(text.split()))),
    ),
    "test_identity_names_all_that_must_agree": (Nameless(64),),
}


@pytest.mark.parametrize("name", sorted(promises(EmbedderConformance)))
def test_embedders(name: str) -> None:
    suite = type("Suite", (EmbedderConformance,), {"ODD": ("", " \n", "!?", "🙂" * 9)})()
    test = getattr(suite, name)
    assert not caught(test, embedder=HashingEmbedder(64))
    for embedder in EMBEDDER[name]:
        assert caught(test, embedder=embedder)


# Indexes: the embedded one, with a method that does something else.


class ChangedIndex:
    """Calls `changes[name](real, *arguments)` instead of a method that stands there."""

    def __init__(self, real: Any, changes: Mapping[str, Callable[..., Any]]) -> None:
        self.real, self.changes = real, changes

    def __getattr__(self, name: str) -> Any:
        if name not in self.changes:
            return getattr(self.real, name)
        return lambda *given, **named: self.changes[name](self.real, *given, **named)

    def __enter__(self) -> "ChangedIndex":
        self.real.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.real.__exit__(*error)


def ignoring(*names: str) -> Callable[..., Any]:
    """A search without these of its arguments."""

    def search(real: Any, *given: Any, **named: Any) -> list[Match]:
        kept = {name: value for name, value in named.items() if name not in names}
        method = real.vector_search if isinstance(given[0], np.ndarray) else real.keyword_search
        found: list[Match] = method(*given, **({"k": 9} | kept))
        return found

    return search


def backwards(real: Any, *given: Any, **named: Any) -> list[Match]:
    found: list[Match] = ignoring()(real, *given, **named)
    return found[::-1]


def remembered(real: Any, text: str, **named: Any) -> list[Match]:
    """What was found first, whatever is purged since."""
    if text not in real.__dict__.setdefault("found", {}):
        real.found[text] = real.keyword_search(text, **named)
    found: list[Match] = real.found[text]
    return found


def restated(**values: Any) -> Callable[[Any], IndexStatus]:
    return lambda real: replace(real.status(), **values)


def counted(real: Any) -> IndexStatus:
    status: IndexStatus = replace(real.status(), content=str(next(NUMBERS)))
    return status


def nothing(*_: Any, **__: Any) -> Any:
    return 0


def once(real: Any, entries: Sequence[Any], sources: Sequence[Any]) -> None:
    if not real.status().documents or len(entries) > 1:
        real.put(entries, sources)


def narrow(real: Any, entries: Sequence[Any], sources: Sequence[Any]) -> None:
    if all(entry.vectors is None or entry.vectors.shape[1] == 4 for entry in entries):
        real.put(entries, sources)


def lenient(place: Path, identity: Mapping[str, str] | None) -> Any:
    from fathom.errors import IndexLocked, IndexMismatch, IndexMissing

    try:
        return open_writer(place, identity)
    except (IndexLocked, IndexMismatch, IndexMissing):
        return open_reader(place)


INDEX: Mapping[str, Sequence[Mapping[str, Callable[..., Any]]]] = {
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
        {"vector_search": backwards},
        {"vector_search": ignoring("k")},
    ),
    "test_calibrations_are_stored_by_strategy": (
        {"keep_calibration": nothing},
        {"get_calibrations": lambda _: {}},
    ),
    "test_keyword_search_matches_stems_and_titles": (
        {"keyword_search": backwards},
        {"keyword_search": lambda *_, **__: []},
    ),
    "test_a_snapshot_is_one_state_despite_writes": ({"snapshot": lambda _: nullcontext()},),
    "test_a_snapshot_read_late_is_of_its_beginning": ({"snapshot": lambda _: nullcontext()},),
    "test_ties_are_broken_by_chunk_id": (
        {"keyword_search": backwards},
        {"vector_search": backwards},
    ),
    "test_filters": (
        {"vector_search": ignoring("filters")},
        {"keyword_search": ignoring("filters")},
    ),
    "test_malformed_filters_are_refused": ({"vector_search": ignoring("filters")},),
    "test_k_below_one_is_refused": ({"keyword_search": ignoring("k")},),
    "test_stored_records_come_back": (
        {"get_document": nothing},
        {"chunks": lambda real, ids: real.chunks(sorted(ids))},
        {"list_sources": lambda real, below="/": real.list_sources()},
        {"set_roots": nothing},
    ),
    "test_a_document_has_the_path_of_a_place_that_holds_it": ({"forget": nothing},),
    "test_a_stale_place_keeps_its_document": (
        {"get_document": nothing},
        {"status": restated(stale=0, failed=1)},
    ),
    "test_vectors_are_kept_until_their_document_is_stored": (
        {"keep_vectors": nothing},
        {"optimize": nothing},
    ),
    "test_words_are_found_before_there_are_vectors": (
        {"keyword_search": lambda *_, **__: []},
        {"count_missing_vectors": nothing},
        {"status": restated(lacking=0)},
    ),
    "test_filled_vectors_equal_vectors_of_documents": (
        {"fill": nothing},
        {"status": counted},
        {"get_revision": lambda _: "same"},
        {"count_missing_vectors": lambda _: 1},
    ),
    "test_chunks_without_vectors_are_listed_in_order": (
        {"list_unembedded_chunks": lambda *_, **__: []},
        {
            "list_unembedded_chunks": lambda real, space, *, most, after="": (
                real.list_unembedded_chunks(space, most=most)
            )
        },
        {"count_missing_vectors": nothing},
    ),
    "test_kept_vectors_stay_until_a_vector_is_stored": (
        {"keep_vectors": nothing},
        {"fill": nothing},
    ),
    "test_replacing_removes_the_old_document": ({"put": once},),
    "test_a_document_lives_while_a_place_holds_it": ({"forget": nothing},),
    "test_a_place_may_change_its_document": (
        {"put": lambda real, entries, sources: entries and real.put(entries, sources)},
    ),
    "test_keys_list_the_kinds_of_their_values": (
        {"list_keys": lambda _: {}},
        {"list_keys": lambda real: {**real.list_keys(), "no key": None}},
        {"status": restated(keys={})},
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
        {"keyword_search": remembered},
        {"status": counted},
        {"get_revision": lambda _: str(next(NUMBERS))},
    ),
    "test_snapshots_around_a_purge_are_independent": (
        {"purge": lambda real: put(real, CATS)},
        {"forget": nothing},
    ),
    "test_status_ignores_order": ({"status": counted}, {"status": restated(identity={})}),
    "test_status_sees_every_change": ({"status": restated(content="same")},),
    "test_another_dimension_is_refused": (
        {"vector_search": lambda *_, **__: []},
        {"put": narrow},
    ),
    "test_reopening_changes_nothing": ({"status": counted},),
}
OPENED: Mapping[str, Callable[..., Any]] = {
    "test_a_missing_index_is_reported": lambda place, identity: open_writer(
        place, identity or IDENTITY
    ),
    "test_another_identity_is_refused": lenient,
    "test_writers_exclude_or_wait_for_each_other": lenient,
}


@pytest.mark.parametrize("name", sorted(promises(Index)))
def test_indexes(name: str, tmp_path: Path) -> None:
    assert not caught_by_index(name, tmp_path / "sound", open_writer, {})
    if name in OPENED:
        assert caught_by_index(name, tmp_path / "opened", OPENED[name], {})
    for number, changes in enumerate(INDEX.get(name, ())):
        assert caught_by_index(name, tmp_path / str(number), open_writer, changes)
    assert (name in OPENED) != (name in INDEX)


def caught_by_index(
    name: str, place: Path, write: Callable[..., Any], changes: Mapping[str, Callable[..., Any]]
) -> bool:
    class Suite(Index):
        def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> Any:
            return ChangedIndex(write(place, identity), changes)

        def open_reader(self, place: Path, identity: Mapping[str, str] | None = None) -> Any:
            return ChangedIndex(open_reader(place, identity), changes)

    place.mkdir()
    suite = Suite()
    test = getattr(suite, name)
    if "index" not in inspect.signature(test).parameters:
        return caught(test, tmp_path=place)
    with (
        suite.open_writer(place / "index", IDENTITY) as writer,
        suite.open_reader(place / "index") as reader,
    ):
        malformed = Filter("year", "in", 1)
        return caught(test, index=(writer, reader), malformed=malformed, tmp_path=place)
