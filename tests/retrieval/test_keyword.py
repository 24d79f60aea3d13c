from pathlib import Path

from tests.factories import engine_at, index_fees

from fathom.retrieval.keyword import has_exact_word


def test_a_query_word_is_matched_as_written(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        index = engine.reader()
        assert has_exact_word("mooring", index)
        assert has_exact_word("Permit", index)
        assert not has_exact_word("permits", index)  # its stem does
        assert index.count_chunks_per_word(["permits"]) != [0]
        assert not has_exact_word("lighthouse", index)
