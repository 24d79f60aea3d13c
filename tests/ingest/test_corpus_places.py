"""Places of records and of lines that contain none."""

from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.documents.base import RecordFailure
from fathom.index.base import SourceRecord
from fathom.ingest.corpus_places import CorpusPlaces, build_place, find_file
from fathom.ingest.workers.work import build_line_place, build_record_place


def make_empty(line: int, record: str | None) -> RecordFailure:
    return RecordFailure(
        line=line, record=record, outcome="empty", reason=f"line {line} holds no text"
    )


def test_a_record_occupies_its_place_once() -> None:
    with CorpusPlaces() as places:
        places.add("/f#2")
        assert (len(places), "/f#2" in places, "/f#3" in places) == (0, True, False)
        assert places.add_record("/f#2")
        assert not places.add_record("/f#2")
        assert places.add_record("/f#3")
        assert len(places) == 2


def test_the_first_bad_line_occupies_a_place_unless_a_record_does() -> None:
    with CorpusPlaces() as places:
        for line, name in enumerate(("b", "a", "c", "a"), start=8):
            places.defer(f"/f#{name}", make_empty(line, name))
        places.add_record("/f#c")
        assert list(places.iterate_unread()) == [
            ("/f#a", make_empty(9, "a"), True),
            ("/f#a", make_empty(11, "a"), False),
            ("/f#b", make_empty(8, "b"), True),
            ("/f#c", make_empty(10, "c"), False),
        ]
        assert "/f#b" in places


def test_no_record_occupies_the_place_of_a_line() -> None:
    assert build_place(make_empty(7, None), "/f") == build_line_place("/f", 7) == "/f#(line 7)"
    names = ["7", "(line 7)", "_(line 7)", "__(line 7)", "(record 7)", "_(record 7)", "(line x)"]
    places = {build_record_place("/f", name) for name in names}
    assert len(places) == len(names)
    assert not places & {build_line_place("/f", 7), build_line_place("/f", 7, "record")}
    assert places > {"/f#7", "/f#(line x)"}


@pytest.mark.parametrize(
    ("place", "document", "file"),
    [
        ("/f#a", "a", "/f"),
        ("/f#a#b", "a#b", "/f"),
        ("/f#x/../../keys", "x/../../keys", "/f"),
        ("/f#_(line 1)", "(line 1)", "/f"),
        ("/f#g.md", "00112233445566aa", "/f#g.md"),
        ("/g#a", "a", "/g#a"),  # no corpus
    ],
)
def test_the_id_of_a_document_tells_where_its_record_begins(
    tmp_path: Path, place: str, document: str, file: str
) -> None:
    with engine_at(tmp_path) as engine, engine.index.open_writer({}) as writer:
        corpus = SourceRecord(path="/f", digest="d", outcome="ok")
        writer.put([], [corpus, SourceRecord(path="/g", digest="d", outcome="failed")])
        assert find_file(writer, place, document) == file
