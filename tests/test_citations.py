"""Each citation opens at a place that holds its quote."""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

from fathom.documents.decode import decode
from fathom.documents.sentences import split
from fathom.engine import Engine
from fathom.models.hashing import HashingEmbedder
from fathom.serving.opened import opened_json, opened_text, place_of
from fathom.serving.terminal import plain
from fathom.settings import AskSettings, IndexSettings, Settings
from fathom.types import Answer, Citation, Document

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
DOCUMENTS = ROOT.parent / "shared" / "data" / "documents"
PAGED = {".pdf", ".pptx", ".xlsx"}
LINED = {".md", ".txt", ".rst"}
ANSWERS = 100

Asked = tuple[Engine, list[Answer]]


def questions(engine: Engine) -> Iterator[str]:
    """Those of the samples, and one about what stands inside each document."""
    for line in (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)["text"]
    for summary in list(engine.documents()):
        text = engine.document(summary.id).text
        sentences = split(text)
        words = sentences[len(sentences) // 2].cut(text).split()
        yield f"What is said about {' '.join(words[:9])[:200]}?"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    if not DOCUMENTS.is_dir():
        pytest.skip("the shared documents are not here: 100 answers need them")
    index = tmp_path_factory.mktemp("citations")
    # Whatever is quoted must open, however sure the answer is.
    settings = Settings(index=IndexSettings(directory=index), ask=AskSettings(min_confidence=0))
    with Engine(settings, embedder=HashingEmbedder(64)) as engine:
        engine.ingest([SAMPLES / "corpus", DOCUMENTS])
        yield engine, [engine.ask(question) for question in questions(engine)]


def test_every_citation_of_100_answers_opens_at_its_quote(asked: Asked) -> None:
    engine, answers = asked
    cited = [answer.citations for answer in answers if answer.citations]
    assert len(cited) >= ANSWERS
    for citation in (each for citations in cited for each in citations):
        check(engine, citation)
    assert {
        PurePath(each.path).suffix for citations in cited for each in citations
    } >= PAGED | LINED


def check(engine: Engine, citation: Citation) -> None:
    assert citation.verified
    assert citation.title
    assert Path(citation.path.removesuffix(f"#{citation.document}")).is_file()
    document = engine.document(citation.path)
    by_line = opened_text(document, place_of(document, str(citation.line)), styled=False)
    marked = [line.partition("  ")[2] for line in by_line.split("\n") if line.startswith(">")]
    assert plain(citation.quote).split("\n")[0] in "\n".join(marked), (citation, by_line)
    found = opened_json(document, place_of(document, f"{citation.start}-{citation.end}"))
    assert found["text"] == citation.quote
    assert found["page"] == citation.page
    assert citation.page or PurePath(citation.path).suffix not in PAGED
    check_file(citation, document)


def check_file(citation: Citation, document: Document) -> None:
    """The line is that of the file itself, in an editor."""
    if PurePath(citation.path).suffix in LINED and document.lines:
        assert citation.line is not None
        file = re.split(r"\r\n?|\n", decode(Path(citation.path).read_bytes()))
        first = re.findall(r"[^\W\d]+", citation.quote)[0]  # lists may be numbered by RST alone
        assert first in file[citation.line - 1], (citation, file[citation.line - 1])
