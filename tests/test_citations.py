"""Each citation opens at a place that holds its quote."""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

from fathom.documents.decode import decode_text
from fathom.engine import Engine
from fathom.serving.cli.document_view import format_place_view, parse_place, serialize_place
from fathom.serving.cli.terminal import replace_controls
from fathom.settings.tree import AskSettings, IndexSettings, Settings
from fathom.testing.doubles import HashingEmbedder
from fathom.text.sentences import split
from fathom.types import Citation, Document

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
DOCUMENTS = ROOT.parent / "shared" / "data" / "documents"
PAGED = {".pdf", ".pptx", ".xlsx"}
LINED = {".md", ".txt", ".rst"}
ANSWERS = 100


def questions(engine: Engine) -> Iterator[str]:
    """Those of the samples, and one about what stands inside each document."""
    for line in (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)["text"]
    for summary in list(engine.documents.list()):
        text = engine.documents.get(summary.id).text
        sentences = split(text)
        words = sentences[len(sentences) // 2].cut(text).split()
        yield f"What is said about {' '.join(words[:9])[:200]}?"


def citations(index: Path, *folders: Path) -> Iterator[tuple[Engine, tuple[Citation, ...]]]:
    """Those of each answer that has some."""
    # Whatever is quoted must open, however sure the answer is.
    settings = Settings(index=IndexSettings(directory=index), ask=AskSettings(min_confidence=0))
    with Engine(settings, embedder=HashingEmbedder(64)) as engine:
        engine.ingest(folders)
        for question in questions(engine):
            found = engine.ask(question).citations
            if found:
                yield engine, found


def test_every_citation_of_the_samples_opens_at_its_quote(tmp_path: Path) -> None:
    found = list(opened(citations(tmp_path, SAMPLES / "corpus")))
    assert len(found) >= 50
    assert {PurePath(each.path).suffix for each in found} >= PAGED | LINED


@pytest.mark.slow
@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the shared documents are not here")
def test_every_citation_of_100_answers_opens_at_its_quote(tmp_path: Path) -> None:
    answers = list(citations(tmp_path, SAMPLES / "corpus", DOCUMENTS))
    assert len(answers) >= ANSWERS
    assert len(list(opened(iter(answers)))) >= ANSWERS


def opened(found: Iterator[tuple[Engine, tuple[Citation, ...]]]) -> Iterator[Citation]:
    """All citations, each once it has been opened."""
    for engine, cited in found:
        for citation in cited:
            check(engine, citation)
            yield citation


def check(engine: Engine, citation: Citation) -> None:
    assert citation.verified
    assert citation.title
    assert Path(citation.path.removesuffix(f"#{citation.document}")).is_file()
    document = engine.documents.get(citation.path)
    by_line = format_place_view(document, parse_place(document, str(citation.line)), styled=False)
    marked = [line.partition("  ")[2] for line in by_line.split("\n") if line.startswith(">")]
    assert replace_controls(citation.quote).split("\n")[0] in "\n".join(marked), (citation, by_line)
    found = serialize_place(document, parse_place(document, f"{citation.start}-{citation.end}"))
    assert found["text"] == citation.quote
    assert found["page"] == citation.page
    assert citation.page or PurePath(citation.path).suffix not in PAGED
    check_file(citation, document)


def check_file(citation: Citation, document: Document) -> None:
    """The line is that of the file itself, in an editor."""
    if PurePath(citation.path).suffix in LINED and document.lines:
        assert citation.line is not None
        file = re.split(r"\r\n?|\n", decode_text(Path(citation.path).read_bytes()))
        first = re.findall(r"[^\W\d]+", citation.quote)[0]  # lists may be numbered by RST alone
        assert first in file[citation.line - 1], (citation, file[citation.line - 1])
