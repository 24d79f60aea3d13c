"""The promises of `import fathom`: its names, plain arguments, threads, tasks and streams."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Unpack

import pytest
from tests.factories import FEES, QUESTION, engine_at, index_fees

import fathom
from fathom.engine import AskOptions, Engine
from fathom.errors import IndexMismatch, SettingsError, UsageError
from fathom.testing.doubles import HashingEmbedder
from fathom.text import analyzer
from fathom.types import Answer, Filter

NAMES = [
    "Answer", "Budget", "Chunk", "Citation", "Conflict", "Document", "Engine", "FathomError",
    "Filter", "FinalEvent", "Hit", "IndexCorrupt", "IndexLocked", "IndexMismatch", "IndexMissing",
    "Interrupted", "Listener", "MalformedReply", "ModelError", "ModelRefused", "ModelUnavailable",
    "Place", "RunError", "RunEvent", "Settings", "SettingsError", "Step", "StepEnd", "StepEvent",
    "StepStart", "StreamEvent", "TextEvent", "Trace", "Usage", "UsageError", "load_settings",
]  # fmt: skip
TOPICS = ("mooring permit", "harbour ferry", "library card", "fishing licence")
QUESTIONS = [f"How much does a {topic} cost?" for topic in TOPICS]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_at(index_fees(tmp_path)) as opened:
        yield opened


def test_the_public_names_are_these() -> None:
    assert fathom.__all__ == NAMES
    assert [name for name in NAMES if getattr(fathom, name) is None] == []
    assert set(NAMES) <= set(dir(fathom))
    with pytest.raises(AttributeError, match=r"fathom.*'Nothing'"):
        _ = fathom.Nothing


@pytest.mark.parametrize(
    ("statement", "unneeded"),
    [
        ("import fathom", ["numpy", "pydantic", "asyncio"]),
        (
            "from fathom import Engine",
            ["numpy", "pydantic", "pydantic_core", "onnxruntime", "langgraph", "fathom.agents"],
        ),
        ("import fathom.serving.cli", ["numpy", "pydantic", "asyncio", "hashlib", "fathom.engine"]),
    ],
)
def test_importing_loads_only_what_is_needed(statement: str, unneeded: list[str]) -> None:
    code = f"import sys; {statement}; print([m for m in {unneeded} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["ask", "aask", "ask_stream", "aask_stream", "search", "ingest"])
def test_every_option_has_a_name(name: str, engine: Engine) -> None:
    signature = inspect.signature(getattr(engine, name))
    for parameter in signature.parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_POSITIONAL
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            assert parameter.annotation == Unpack[AskOptions]


def test_paths_and_filters_may_be_strings(tmp_path: Path) -> None:
    (tmp_path / "fees.md").write_text(f"# Fees\n\n{FEES}\n")
    settings = {"retrieval": {"k": 3}}
    opened = Engine.open(str(tmp_path / "index"), settings)
    with Engine(opened.settings, embedder=HashingEmbedder(64)) as engine:
        assert engine.settings.retrieval.k == 3
        assert engine.ingest(str(tmp_path / "fees.md")).documents == 1
        assert engine.search("permit", retriever="keyword", filters=["file=fees.md"])
        assert (
            engine.search("permit", retriever="keyword", filters=[Filter("file", "=", "x")]) == []
        )
        with pytest.raises(UsageError, match="key=value"):
            engine.search("permit", filters=["file"])
        assert engine.documents.remove(str(tmp_path / "fees.md")) == 1
    with pytest.raises(SettingsError, match=r"did you mean 'retrieval.k'"):
        Engine.open(tmp_path, {"retrieval.kk": 3})


def test_settings_of_the_command_line_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fathom.toml").write_text("[retrieval]\nk = 7\n")
    monkeypatch.setenv("FATHOM_ASK__CHUNKS", "3")
    settings = fathom.load_settings(tmp_path)
    assert (settings.retrieval.k, settings.ask.chunks) == (7, 3)
    assert Engine.open(tmp_path / "here", settings).directory == tmp_path / "here"


def test_a_question_can_be_asked_inside_a_running_loop(engine: Engine) -> None:
    async def cell() -> Answer:
        return engine.ask(QUESTION)

    assert asyncio.run(cell()).answer == engine.ask(QUESTION).answer


def test_a_stream_ends_with_the_answer(engine: Engine) -> None:
    *steps, final = engine.ask_stream(QUESTION)
    assert isinstance(final, fathom.FinalEvent)
    assert describe_answer(final.answer) == describe_answer(engine.ask(QUESTION))
    names = [event.name for event in steps if isinstance(event, fathom.StepEvent)]
    assert {"search", "read", "finalize"} <= set(names)
    assert engine.trace(str(final.answer.trace_id)).origin.question == QUESTION


def test_a_stream_pairs_the_ends_of_repeated_steps_with_their_starts(engine: Engine) -> None:
    *events, final = engine.ask_stream(QUESTION, strategy="mao")
    assert isinstance(final, fathom.FinalEvent)
    starts = [event.id for event in events if isinstance(event, fathom.StepStart)]
    ends = [event.id for event in events if isinstance(event, fathom.StepEnd)]
    trace = engine.trace(str(final.answer.trace_id))
    assert ends == [step.id for step in trace.steps]
    assert sorted(starts) == sorted(ends)
    assert len(set(starts)) == len(starts)
    assert any(id_.endswith("#2") for id_ in starts)


def test_an_index_opened_unchecked_is_checked_before_a_question(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    other = Engine(engine_at(folder).settings, embedder=HashingEmbedder(32))
    with other:
        assert len(list(other.documents.list())) == 1
        assert other.search("permit", retriever="keyword")
        for _ in range(2):
            with pytest.raises(IndexMismatch, match="dimension"):
                other.ask(QUESTION)
        assert len(list(other.documents.list())) == 1


def test_an_index_of_an_older_analyzer_is_refused_until_it_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(analyzer, "VERSION", "1")
        folder = index_fees(tmp_path)
    engine = engine_at(folder)
    with engine:
        assert len(list(engine.documents.list())) == 1
        for _ in range(2):
            with pytest.raises(IndexMismatch, match=r"analyzer\.version '1'.*ingest --rebuild"):
                engine.search("permit", retriever="keyword")
        engine.ingest(rebuild=True)
        assert engine.search("permit", retriever="keyword")


def test_a_rebuilt_index_is_opened_again(tmp_path: Path) -> None:
    folder = index_fees(tmp_path)
    with engine_at(folder) as reader, engine_at(folder) as writer:
        before = reader.ask(QUESTION)
        (folder / "corpus" / "fees.md").write_text("# Fees\n\nA mooring permit costs 55 crowns.\n")
        writer.ingest([folder / "corpus"], rebuild=True)
        after = reader.ask(QUESTION)
    assert "40 crowns" in before.citations[0].quote
    assert "55 crowns" in after.citations[0].quote
    assert after.warnings == ()


def test_concurrent_questions_get_the_same_answers_as_sequential_ones(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, topic in enumerate(TOPICS, start=3):
        (corpus / f"{number}.md").write_text(
            f"# Fees\n\nA {topic} costs {number}0 crowns a year.\n"
        )
    with engine_at(tmp_path) as engine:
        engine.ingest(corpus)
        alone = [describe_answer(engine.ask(question)) for question in QUESTIONS]
        with ThreadPoolExecutor(8) as threads, engine_at(tmp_path) as writer:
            writing = threads.submit(write_documents, writer, corpus)
            threaded = list(threads.map(engine.ask, QUESTIONS * 16))
            together = asyncio.run(ask_all(engine, QUESTIONS * 16))
            writing.result()
        assert len(list(engine.documents.list())) == len(TOPICS) + 5
    assert [describe_answer(answer) for answer in threaded] == alone * 16
    assert [describe_answer(answer) for answer in together] == alone * 16


async def ask_all(engine: Engine, questions: list[str]) -> list[Answer]:
    return await asyncio.gather(*map(engine.aask, questions))


def write_documents(writer: Engine, corpus: Path) -> None:
    for number in range(5):
        (corpus / f"note-{number}.txt").write_text(f"Storm number {number} broke a window.\n")
        writer.ingest(corpus)


def describe_answer(answer: Answer) -> tuple[Any, ...]:
    quotes = [(Path(citation.path).name, citation.quote) for citation in answer.citations]
    return answer.status, answer.answer, quotes
