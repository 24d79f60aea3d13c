"""Places of records and of lines that hold none."""

from fathom.index.corpus_places import CorpusPlaces


def test_a_record_has_a_place_once_also_where_a_line_had_it_before() -> None:
    with CorpusPlaces() as places:
        assert places.add("/f#2", is_record=False)
        assert places.add("/f#2", is_record=False)
        assert (len(places), "/f#2" in places, "/f#3" in places) == (1, True, False)
        assert places.add("/f#2", is_record=True)
        assert not places.add("/f#2", is_record=True)
        assert not places.add("/f#2", is_record=False)
        assert places.add("/f#3", is_record=True)
        assert places.add("/f#4", is_record=False)
        assert len(places) == 3
