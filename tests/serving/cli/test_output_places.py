"""Paths of citations link to their files."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.serving.cli.test_output import ANSWER, CITATION

from fathom.serving.cli.output import link_citations, shorten_path


def test_a_link_leads_to_the_file_of_a_record_or_to_the_web_page() -> None:
    record = replace(CITATION, path="/c/corpus.jsonl#d1")
    assert link_citations(replace(ANSWER, citations=(record,))) == {
        "/c/corpus.jsonl#d1": "file:///c/corpus.jsonl"
    }
    page = replace(CITATION, document="web:https://a.example", path="", source="web")
    links = link_citations(replace(ANSWER, citations=(page,)))
    assert links == {"https://a.example": "https://a.example"}


def test_a_path_below_the_working_directory_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shorten_path(str(tmp_path / "a" / "b.md")) == "a/b.md"
    assert shorten_path("/elsewhere/b.md") == "/elsewhere/b.md"
    assert shorten_path(f"{tmp_path}2/b.md") == f"{tmp_path}2/b.md"
