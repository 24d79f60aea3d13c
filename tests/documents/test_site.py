"""The site of a document, and that a chunk keeps it through an index."""

from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.documents.site import find_site


@pytest.mark.parametrize(
    ("document", "path", "metadata", "site"),
    [
        ("https://en.example.org/wiki/A", "", {}, "en.example.org"),
        ("HTTP://Two.Example:80/x", "", {}, "two.example"),
        ("d1", "https://en.example.org/wiki/A", {}, "en.example.org"),
        ("d1", "notes/a.md", {"url": "https://one.example/a"}, "one.example"),
        ("https://one.example/a", "", {"domain": "Two.Example"}, "two.example"),
        ("d1", "", {"site": "Encyclopaedia", "url": "https://one.example/a"}, "encyclopaedia"),
        ("d1", "", {"url": "articles/a", "domain": 7}, ""),
        ("doc-17", "notes/a.md", {"year": 2020}, ""),
        ("file:///a", "", {}, ""),
        ("http://", "", {}, ""),
        ("http://[bad", "", {}, ""),
    ],
)
def test_the_site_is_that_of_the_metadata_or_the_host_of_an_address(
    document: str, path: str, metadata: dict[str, object], site: str
) -> None:
    assert find_site(document, path, metadata) == site


def test_a_hit_knows_the_site_that_the_metadata_name(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Fees", "text": "A permit costs 40 crowns.", '
        '"metadata": {"url": "https://one.example/fees"}}\n'
    )
    with engine_at(tmp_path) as engine:
        engine.ingest([tmp_path / "corpus.jsonl"])
        (hit,) = engine.search("permit")
    assert hit.chunk.site == "one.example"
