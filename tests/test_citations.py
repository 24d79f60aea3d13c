"""Citations that open at a place holding their quote."""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

from fathom.documents.decode import decode_text
from fathom.engine import Engine
from fathom.models.reading import CrossReader
from fathom.serving.cli.document_view import format_place_view, parse_place, serialize_place
from fathom.serving.invisible import replace_controls
from fathom.settings.tree import AskSettings, IndexSettings, Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder
from fathom.text.sentences import split
from fathom.types import Citation, Document

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
DOCUMENTS = ROOT.parent / "shared" / "data" / "documents"
PAGED = {".pdf", ".pptx", ".xlsx"}
LINED = {".md", ".txt", ".rst"}
ANSWERS = 100


def build_questions(engine: Engine) -> Iterator[str]:
    """Return the questions of the samples, and one about the text inside each document."""
    for line in (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)["text"]
    for summary in list(engine.documents.list()):
        text = engine.documents.get(summary.id).text
        sentences = split(text)
        words = sentences[len(sentences) // 2].cut(text).split()
        yield f"What is said about {' '.join(words[:9])[:200]}?"


def ask_questions(
    index: Path, *folders: Path, cross_reader: CrossReader | None = None
) -> Iterator[tuple[Engine, tuple[Citation, ...]]]:
    """Yield the engine and the citations of each answer; by default the shipped model reads."""
    # Whatever is quoted must open, however sure the answer is.
    settings = Settings(index=IndexSettings(directory=index), ask=AskSettings(min_confidence=0))
    with Engine(settings, embedder=HashingEmbedder(64), cross_reader=cross_reader) as engine:
        engine.ingest(folders)
        for question in build_questions(engine):
            citations = engine.ask(question).citations
            if citations:
                yield engine, citations


def test_every_citation_of_the_samples_opens_at_its_quote(samples: Path) -> None:
    # What the shipped model cites is opened where it answers the questions of the samples.
    answers = ask_questions(samples / "index", SAMPLES / "corpus", cross_reader=OVERLAP)
    citations_of_samples = list(open_citations(answers))
    assert len(citations_of_samples) >= 50
    suffixes = {PurePath(citation.path).suffix for citation in citations_of_samples}
    assert suffixes >= (PAGED | LINED) - {".rst"}  # cited by the shipped model


@pytest.mark.slow
@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the shared documents are not here")
def test_every_citation_of_100_answers_opens_at_its_quote(tmp_path: Path) -> None:
    answers = list(ask_questions(tmp_path, SAMPLES / "corpus", DOCUMENTS))
    assert len(answers) >= ANSWERS
    assert len(list(open_citations(iter(answers)))) >= ANSWERS


def open_citations(answers: Iterator[tuple[Engine, tuple[Citation, ...]]]) -> Iterator[Citation]:
    """Yield all citations, each after opening it."""
    for engine, cited in answers:
        for citation in cited:
            check_citation(engine, citation)
            yield citation


def check_citation(engine: Engine, citation: Citation) -> None:
    assert citation.verified
    assert citation.title
    assert Path(citation.path.removesuffix(f"#{citation.document}")).is_file()
    document = engine.documents.get(citation.path)
    by_line = format_place_view(
        document, parse_place(document, str(citation.line)), context=10, styled=False
    )
    marked = [line.partition("  ")[2] for line in by_line.split("\n") if line.startswith(">")]
    assert replace_controls(citation.quote).split("\n")[0] in "\n".join(marked), (citation, by_line)
    place = serialize_place(document, parse_place(document, f"{citation.start}-{citation.end}"))
    assert place["text"] == citation.quote
    assert place["page"] == citation.page
    assert citation.page or PurePath(citation.path).suffix not in PAGED
    check_file(citation, document)


def check_file(citation: Citation, document: Document) -> None:
    """Check that the line is that of the file itself, as an editor counts."""
    if PurePath(citation.path).suffix in LINED and document.lines:
        assert citation.line is not None
        file = re.split(r"\r\n?|\n", decode_text(Path(citation.path).read_bytes()))
        first = re.findall(r"[^\W\d]+", citation.quote)[0]  # lists may be numbered by RST alone
        assert first in file[citation.line - 1], (citation, file[citation.line - 1])


def test_each_side_of_a_conflict_has_the_date_of_its_document(tmp_path: Path) -> None:
    corpus = tmp_path / "documents"
    corpus.mkdir()
    for name, day, fee in (("fees", "2024-03-01", 48), ("letter", "2025-06-30", 95)):
        (corpus / f"{name}.md").write_text(
            f"---\ndate: {day}\n---\n# Market stalls\n\n"
            f"A permit for a market stall costs {fee} dollars a year. It may be renewed by mail.\n"
        )
    (corpus / "tour.md").write_text("# Tours\n\nA tour of the market halls takes two hours.\n")
    with Engine(Settings(index=IndexSettings(directory=tmp_path / "index"))) as engine:
        engine.ingest([corpus])
        answer = engine.ask("What does a market stall permit cost?")
        assert engine.replay(str(answer.trace_id)).same
        tour = engine.ask("How long does a tour of the market halls take?")
    dates = {citation.n: citation.date for citation in answer.citations}
    assert sorted(dates.values()) == ["2024-03-01", "2025-06-30"]
    sides = [
        (conflict.answer[:2], *map(dates.get, conflict.citations)) for conflict in answer.conflicts
    ]
    assert sides == [("48", "2024-03-01"), ("95", "2025-06-30")]
    assert [citation.date for citation in tour.citations] == [""]
