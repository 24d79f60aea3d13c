"""Factories that tests of several rooms share."""

import importlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from fathom.documents.base import Builder, ParsedDocument
from fathom.documents.block_lookup import select_blocks
from fathom.documents.parse import parse_bytes
from fathom.engine import Engine
from fathom.llm.role_models import Connect
from fathom.models.reading import Reading
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder, reading
from fathom.types import Chunk, Hit, Span

FEES = "A mooring permit costs 40 crowns a year. It is paid at the harbour office."
NOBODY = 65534
SAMPLES = Path(__file__).parent.parent / "samples"
QUESTION = "How much does a mooring permit cost?"


def hit_of(
    text: str = FEES, *, document: str = "d1", rank: int = 1, start: int = 0, title: str = "Fees"
) -> Hit:
    """Return a hit whose chunk holds `text`."""
    chunk = Chunk(
        id=f"{document}#0",
        document_id=document,
        text=text,
        span=Span(start, start + len(text)),
        ordinal=0,
        title=title,
    )
    return Hit(chunk=chunk, score=1 / rank, rank=rank, retriever="hybrid")


def read_fees(question: str, chunk: Chunk) -> Reading:
    """Read a question about the fee as a cross-reader would: only `FEES` answers it."""
    if "40 crowns" in chunk.text:
        return reading(chunk, "40 crowns", 0.95, supported=0.95, unrelated=0.04)
    return reading(chunk, relevance=0.02, answerable=0.02)


def chunk_of(
    parsed: ParsedDocument,
    *,
    document: str = "d1",
    start: int = 0,
    upto: int | None = None,
    ordinal: int = 0,
) -> Chunk:
    """Return a range of a parsed document as a chunk with its blocks."""
    span = Span(start, len(parsed.text) if upto is None else upto)
    return Chunk(
        id=f"{document}#{ordinal}",
        document_id=document,
        text=span.cut(parsed.text),
        span=span,
        ordinal=ordinal,
        blocks=select_blocks(parsed.blocks, span),
    )


def hit_with(builder: Builder, **part: Any) -> Hit:
    """Return a hit over the text of a builder; `part` holds arguments of `chunk_of`."""
    return Hit(chunk=chunk_of(builder.build(), **part), score=1.0, rank=1, retriever="hybrid")


def engine_at(folder: Path, **sections: Any) -> Engine:
    """Open an engine over `folder / "index"`, with an embedder and a pair reader that load nothing.

    `connect` among the sections gives language models; see `Engine`.
    """
    connect: Connect | None = sections.pop("connect", None)
    tree = {"index": {"directory": folder / "index"}, **sections}
    settings = Settings.model_validate(tree)
    return Engine(settings, embedder=HashingEmbedder(64), cross_reader=OVERLAP, connect=connect)


def index_fees(folder: Path) -> Path:
    """Index one document about fees in the folder and return the folder."""
    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "fees.md").write_text(f"# Fees\n\n{FEES}\n")
    with engine_at(folder) as engine:
        engine.ingest([corpus])
    return folder


def reply(text: str, quote: str, *, chunk: int = 1, answerable: bool = True) -> str:
    """Return the JSON that a language model sends to the reader."""
    sentences = [{"quotes": [{"chunk": chunk, "quote": quote}], "text": text}]
    answer = {"sentences": sentences, "short_answer": "40 crowns"}
    return json.dumps({"answer": answer if answerable else None}, ensure_ascii=False)


def quote_first_sentence(messages: list[dict[str, str]]) -> str:
    """Answer the reader's prompt with the first sentence of its first chunk."""
    body = re.split(r"=== [0-9a-f]{16} ===", messages[1]["content"])[1]
    text = body.split("\n", 2)[-1].strip()
    first = re.split(r"(?<=[.!?])\s", text)[0][:300].strip()
    return reply(first, first)


@contextmanager
def open_public_folder() -> Iterator[Path]:
    """Yield an empty folder that other users can reach, unlike the temporary folders of pytest."""
    with TemporaryDirectory(prefix="fathom-test-") as folder:
        yield Path(folder)


@contextmanager
def drop_privileges(folder: Path) -> Iterator[None]:
    """Run the body of a `with` block as a user whom file permissions stop.

    Permissions do not stop root, so root becomes the user nobody, who gets `folder`.
    """
    if os.geteuid():
        yield
        return
    # Python's own files may be closed to that user, so what an ingestion imports is imported first.
    importlib.import_module("fathom.assembly.worker")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, group)
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(group, group, group)
        os.setgroups(groups)


def list_open_sockets() -> set[str]:
    """Return the open sockets of this process, by their names in /proc."""
    sockets = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            sockets.add(target)
    return sockets


def disable_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ingestion parse files in this process, for tests that are not about the sandbox."""
    monkeypatch.setattr(
        "fathom.ingest.ingest.read_file", lambda path, *_: parse_bytes(path.read_bytes(), path.name)
    )
    monkeypatch.setattr("fathom.ingest.read_ahead.begin_file", lambda *_: None)
    monkeypatch.setattr("fathom.ingest.read_ahead.check_large_file", lambda *_: None)
    monkeypatch.setattr("fathom.documents.sandbox.parent.Sandbox", lambda _: nullcontext())
