from dataclasses import replace

import pytest
from tests.scripted_pairs import ScriptedPairs

from fathom.documents.language import question_language
from fathom.models.by_language import ReaderByLanguage
from fathom.models.reading import NOTHING, CrossReader
from fathom.types import Chunk, Span

CHUNK = Chunk(id="d#0", document_id="d", text="x", span=Span(0, 1), ordinal=0)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("How long is a permit valid?", "en"),
        ("permit fee", "en"),
        ("", "en"),
        ("Kapan Su Dingfang lahir?", "id"),
        ("Siapakah presiden pertama?", "id"),
        ("Di mana Orléans?", "id"),
        ("Berapa lama izin berlaku?", "id"),
        ("When did Apa die?", "en"),
    ],
)
def test_the_language_of_a_question_is_told_by_few_words(question: str, language: str) -> None:
    assert question_language(question) == language


def test_each_language_has_its_reader_loaded_once_when_it_is_needed() -> None:
    loaded: list[str] = []

    def load(language: str) -> CrossReader:
        loaded.append(language)
        value = {"en": 0.25, "id": 0.75}[language]
        return ScriptedPairs(lambda _question, _chunk: replace(NOTHING, relevance=value))

    reader = ReaderByLanguage(load, question_language)

    assert loaded == []
    assert reader.session("Who is it?").read([CHUNK])[0].relevance == 0.25
    assert reader.session("Siapa dia?").read([CHUNK])[0].relevance == 0.75
    assert reader.session("Kapan?").read([CHUNK])[0].relevance == 0.75
    assert loaded == ["en", "id"]
