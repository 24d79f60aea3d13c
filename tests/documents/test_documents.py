"""Every real and hostile file gets the outcome that its list expects."""

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fathom.documents.base import ParsedDocument, ParseOutcome, ParseRefusal
from fathom.documents.ocr.availability import find_models
from fathom.documents.sandbox.parent import Sandbox, read_file

FOLDER = Path(os.environ.get("SHARED_DATA", "../shared/data")) / "documents"
PARENT_GROWTH_MB = 50
# Words that must be in the text, for files where "some text" would not prove much.
HOLDS = {
    "Question-Answering-RAG-UU_Nomor_40_Tahun_2004.pdf": "SISTEM JAMINAN SOSIAL NASIONAL",
    "docling-csv-too-many-columns.csv": "a | b | c | d | e",
    "docling-textbox.docx": "Chiayi",
    "gen-injection-hidden.html": "Employees have 12 days of leave.",
    "gen-path-traversal.docx": "normal text of a traversal document",
    "gen-pdf-as.docx": "This is really a PDF file",
    "gen-utf16le-bom.txt": "Überprüfung \u2013 naïve café",
    "markitdown-test_rss.xml": "The Official Microsoft Blog",
    "markitdown-test_notebook.ipynb": 'print("markitdown")',
    "pdfplumber-issue-71-duplicate-chars.pdf": "计算机科学与技术",
    "pypdf-r3-empty-password.pdf": "pdf encryption test",
    "sample-files-minimal-document.pdf": "Lorem ipsum dolor sit amet, consetetur",
    "tika-russian.cp866.txt": "Однажды, в студеную зимнюю пору",
    "tika-testHTMLNoisyMetaEncoding_1.html": "الاتحاد الجزائري",
    "tika-testHTML_charset_utf16le.html": "This is a sample text",
    "tika-testRTF.rtf": "Test d\u2019indexation Word",
}
REFUSED: dict[str, ParseOutcome] = {
    "gen-billion-laughs.docx": "failed",
    "gen-binary-as.md": "unsupported",
    "gen-empty.docx": "empty",
    "gen-whitespace.txt": "empty",
    "gen-zipbomb-300mb.docx": "failed",
    "markitdown-random.bin": "no_document",
    "pdfplumber-password-example.pdf": "encrypted",
    "pypdf-r3-user-password.pdf": "encrypted",
    # A grey picture without a letter.
    "sample-files-grayscale-image.pdf": "empty" if find_models() else "no_text_layer",
    "tika-testPPT_protected_passtika.pptx": "encrypted",
    "tika-testWORD_macros.doc": "unsupported",
}
if not find_models():
    REFUSED["tika-testOCR.docx"] = "no_text_layer"  # its text is a picture
# "clean error or partial text": both are right as long as they are one or the other.
EITHER = ("clean error", "refuse or cap")


def read_expectations() -> list[tuple[str, str]]:
    index = FOLDER / "index.csv"
    if not index.exists():
        return []
    with index.open(encoding="utf-8", newline="") as file:
        return [(row["file"], row["expected"]) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def read_outcome(name: str, sandbox: Sandbox) -> tuple[ParseOutcome, str]:
    """Return the outcome and the text or the reason."""
    try:
        (parsed,) = read_file(FOLDER / name, sandbox)
    except ParseRefusal as refusal:
        return refusal.outcome, refusal.reason
    assert isinstance(parsed, ParsedDocument)
    assert all(block.span.cut(parsed.text).strip() for block in parsed.blocks)
    return "ok", parsed.text


@pytest.mark.skipif(not read_expectations(), reason=f"{FOLDER} is not here; set SHARED_DATA")
def test_each_file_gets_its_expected_outcome_and_the_parent_stays_small(
    sandbox: Sandbox, count_probes: Callable[[int], None]
) -> None:
    resource = pytest.importorskip("resource", reason="this system limits no memory of a process")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wrong = {}
    for name, expected in read_expectations():
        count_probes(1)
        try:
            check_outcome(name, expected, *read_outcome(name, sandbox))
        except AssertionError as failure:
            wrong[name] = str(failure)
    assert wrong == {}
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < PARENT_GROWTH_MB


def check_outcome(name: str, expected: str, outcome: ParseOutcome, words: str) -> None:
    """Fail unless this is the outcome that the list of files expects."""
    assert "\n" not in words or outcome == "ok"
    assert words.strip()
    assert "\x00" not in words
    if name in REFUSED:
        assert outcome == REFUSED[name]
    elif expected.startswith(EITHER):
        assert outcome in {"ok", "empty", "no_text_layer", "failed", "unsupported"}
    else:
        assert not expected.startswith("refuse")
        assert find_models() or not expected.startswith("no text layer")
        assert outcome == "ok", words
    assert HOLDS.get(name, "") in words


@pytest.mark.skipif(not read_expectations(), reason=f"{FOLDER} is not here; set SHARED_DATA")
def test_hidden_text_is_not_read(sandbox: Sandbox) -> None:
    _, text = read_outcome("gen-injection-hidden.html", sandbox)
    assert text == "Leave policy\n\nEmployees have 12 days of leave."
