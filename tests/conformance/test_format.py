"""The shipped parsers pass the conformance suite of formats, each on the samples of its format."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from fathom.documents.base import ParsedDocument
from fathom.documents.formats.markdown import parse as parse_markdown
from fathom.documents.formats.sniff import detect_format
from fathom.testing import FormatConformance

SAMPLES = Path(__file__).parent.parent.parent / "samples" / "corpus"
FILES = sorted(file for file in SAMPLES.iterdir() if file.suffix != ".jsonl")


class TestFormats(FormatConformance):
    @pytest.fixture(params=FILES, ids=lambda file: file.name, autouse=True)
    def example(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        file: Path = request.param
        data = file.read_bytes()
        parse: Callable[[bytes], ParsedDocument] = detect_format(data, file.name).load()
        monkeypatch.setattr(TestFormats, "ending", file.suffix[1:], raising=False)
        monkeypatch.setattr(TestFormats, "parse", staticmethod(parse), raising=False)
        monkeypatch.setattr(TestFormats, "examples", {file.name: data}, raising=False)


class TestMarkdown(FormatConformance):
    # As authors write a suite: mypy checks these attributes too.
    ending = "md"
    parse = staticmethod(parse_markdown)
    examples: ClassVar = {"a heading": b"# Ferry\n\nThe ferry sails at noon.\n"}
