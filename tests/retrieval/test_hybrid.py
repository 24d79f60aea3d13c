"""What the fused ranking adds: a definition comes first where one is asked for."""

from pathlib import Path

from tests.retrieval.hits import hit

from fathom.engine import Engine
from fathom.retrieval.hybrid import definitions_first


def test_what_defines_the_term_comes_first_and_keeps_its_order() -> None:
    hits = [
        hit("The levy is paid at the levy office.", document="a", score=0.9, rank=1),
        hit("Who owes a levy pays it.", document="b", score=0.8, rank=2),
        hit("2. Levy (or due) means what a ship pays.", document="c", score=0.7, rank=3),
        hit("A quay is a wall.", document="d", score=0.6, rank=4),
    ]
    ordered = definitions_first(hits, "levy")
    assert [each.chunk.document_id for each in ordered] == ["a", "c", "b", "d"]
    assert [each.rank for each in ordered] == [1, 2, 3, 4]
    scores = [each.score for each in ordered]
    assert scores == sorted(scores, reverse=True)
    assert definitions_first([], "levy") == []


def test_a_definition_is_found_among_many_mentions(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(14):
        text = (
            f"Berth levy {number}: the berth levy of berth {number}, a levy, is paid to the berth."
        )
        (corpus / f"mention-{number}.txt").write_text(text, encoding="utf-8")
    defined = "Words used here.\n\nBerth levy means what a ship pays each day for lying at a wall."
    (corpus / "words.txt").write_text(defined, encoding="utf-8")
    with Engine.open(tmp_path / "index", {"offline": True}) as engine:
        engine.ingest([corpus])
        (first,) = engine.search("What does berth levy mean?", k=1)
        assert first.chunk.path.endswith("words.txt")
        mentions = engine.search("berth levy", k=5)
        assert not any(hit.chunk.path.endswith("words.txt") for hit in mentions)
        answer = engine.ask("What does berth levy mean?")
        assert answer.citations[0].quote.startswith("Berth levy means what a ship pays")
