"""Documents that the operator trusts decide a conflict with all others."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.factories import hit_of

from fathom.agents.reader.trusted_sources import TrustedSources
from fathom.engine import Engine
from fathom.settings.tree import Settings
from fathom.types import Answer

ASKED = "How much does a permit for a market stall cost?"
POLICY = (
    "Market stalls\n\nA permit for a market stall costs 48 dollars a year. "
    "It is issued by the trade office and may be renewed by mail.\n"
)
LETTER = (
    "Market stalls\n\nA permit for a market stall costs 95 dollars a year. "
    "It is issued by the trade office and may be renewed by mail.\n"
)
NEWER = "Version 8. It supersedes all earlier documents.\n\n" + LETTER


def ask(
    folder: Path, documents: Mapping[str, str], *trusted: str, strategy: str = "naive"
) -> Answer:
    for name, text in documents.items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    tree = {"index": {"directory": folder / "index"}, "sources": {"trusted": trusted}}
    with Engine(Settings.model_validate(tree)) as engine:
        engine.ingest([folder / "documents"])
        answer = engine.ask(ASKED, strategy=strategy)
        assert engine.replay(str(answer.trace_id)).same
        assert answer.calibration
    return answer


@pytest.mark.parametrize("strategy", ["naive", "adaptive"])
def test_a_trusted_document_decides_a_conflict(tmp_path: Path, strategy: str) -> None:
    documents = {"policies/fees.txt": POLICY, "uploads/letter.txt": LETTER}
    answer = ask(tmp_path, documents, "policies", strategy=strategy)
    assert "48" in answer.short_answer
    assert not answer.tentative
    assert [conflict.refuted for conflict in answer.conflicts] == [True]
    assert "95" in answer.conflicts[0].answer


def test_the_other_document_decides_where_it_is_the_trusted_one(tmp_path: Path) -> None:
    documents = {"policies/fees.txt": POLICY, "uploads/letter.txt": LETTER}
    answer = ask(tmp_path, documents, "uploads/*.txt")
    assert "95" in answer.short_answer
    assert not answer.tentative
    assert "48" in answer.conflicts[0].answer


@pytest.mark.parametrize("trusted", [(), ("policies", "uploads"), ("archive",)])
def test_without_a_difference_in_trust_a_conflict_is_open(
    tmp_path: Path, trusted: tuple[str, ...]
) -> None:
    documents = {"policies/fees.txt": POLICY, "uploads/letter.txt": LETTER}
    answer = ask(tmp_path, documents, *trusted)
    assert answer.disputed
    assert [conflict.refuted for conflict in answer.conflicts] == [False, False]


def test_a_trusted_document_may_supersede_others(tmp_path: Path) -> None:
    documents = {"archive/fees.txt": POLICY, "policies/fees.txt": NEWER}
    answer = ask(tmp_path, documents, "policies")
    assert "95" in answer.short_answer
    assert not answer.tentative


@pytest.mark.parametrize(
    ("pattern", "is_trusted"),
    [
        ("policies", True),
        ("policies/", True),
        ("fees-2025.pdf", True),
        ("policies/fees-*.pdf", True),
        ("/srv/policies", True),
        ("*/fees-202[0-9].pdf", True),
        ("policy", False),
        ("olicies", False),
        ("fees", False),
        ("/policies", False),
    ],
)
def test_a_pattern_names_a_folder_or_the_end_of_a_path(pattern: str, is_trusted: bool) -> None:
    chunk = replace(hit_of("Fees").chunk, path="/srv/policies/fees-2025.pdf")
    assert TrustedSources((pattern,)).is_trusted(chunk) == is_trusted


def test_nothing_of_the_web_is_trusted() -> None:
    chunk = replace(hit_of("Fees").chunk, path="policies/fees.txt", source="web")
    assert not TrustedSources(("*",)).is_trusted(chunk)


@pytest.mark.parametrize(
    ("pattern", "is_trusted"),
    [
        ("policies", False),
        ("*", False),
        ("fees.pdf", False),
        ("https://example.org/policies", True),
        ("https://example.org/*", True),
        ("https://example.com/policies", False),
    ],
)
def test_an_address_is_trusted_only_by_an_address(pattern: str, is_trusted: bool) -> None:
    chunk = replace(hit_of("Fees").chunk, path="https://example.org/policies/fees.pdf")
    assert TrustedSources((pattern,)).is_trusted(chunk) == is_trusted
