from pathlib import Path

from tests.making import engine_at, ingested

from fathom.retrieval.keyword import stands


def test_a_word_stands_where_it_stands_as_it_is(tmp_path: Path) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        index = engine.reader()
        assert stands("mooring", index)
        assert stands("Permit", index)
        assert not stands("permits", index)  # its stem does
        assert index.word_counts(["permits"]) != [0]
        assert not stands("lighthouse", index)
