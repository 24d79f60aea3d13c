"""The borders of spans: names without offices, and the words of abbreviations."""

import pytest
from tests.factories import hit_of

from fathom.agents.reader.borders import drop_office, find_abbreviation, find_expansion
from fathom.agents.reader.local import LocalReader
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Span


@pytest.mark.parametrize(
    ("question", "answer", "name"),
    [
        ("Dinas apakah yang dikepalai Wira?", "Kepala Dinas Ikan Bali", "Dinas Ikan Bali"),
        ("Ketua partai apakah Okada?", "Ketua Partai Maju", "Partai Maju"),
        ("Di pulau manakah letaknya?", "pantai barat Pulau Sumbawa", "Pulau Sumbawa"),
        ("Apa nama badan itu?", "auditor Badan Pengawas", "Badan Pengawas"),
        ("Siapakah Kepala PT Laut Bali?", "Kepala PT Laut Bali Rita", "Rita"),
        ("Siapa nama Sekjen departemen itu?", "Sekjen Departemen Ana Sari", "Ana Sari"),
        ("Who is the head coach of Vale?", "head coach Ada Hill", "Ada Hill"),
        # These stay: no office stands before the name, or nothing of the name would be left.
        ("Apakah nama festival itu?", "East West Festival Lumen", "East West Festival Lumen"),
        ("Siapakah sultan pertama?", "Sultan Ali Syah", "Sultan Ali Syah"),
        ("Siapa ketua itu?", "Ketua", "Ketua"),
        ("Siapakah Ketua LIPI?", "Ketua, Umar", "Ketua, Umar"),
        ("Who is the owner?", "the owner of a boat", "the owner of a boat"),
        ("Partai apakah yang menang?", "Partai Maju", "Partai Maju"),
        ("Which party won?", "Party Forward", "Party Forward"),
    ],
)  # fmt: skip
def test_an_office_that_the_question_sets_apart_is_no_part_of_a_name(
    question: str, answer: str, name: str
) -> None:
    text = f"Kata {answer} kemarin."
    span = Span(5, 5 + len(answer))
    assert drop_office(question, text, span).cut(text) == name


@pytest.mark.parametrize(
    ("question", "letters"),
    [
        ("Apakah kepanjangan dari BKSDA?", "BKSDA"),
        ("GAM kepanjangan dari apa?", "GAM"),
        ("What does HMO stand for?", "HMO"),
        ("What is the full form of HMO?", "HMO"),
        ("Apa singkatan dari Kepolisian Sektor?", ""),
        ("What does the flag stand for?", ""),
        ("Who leads the HMO?", ""),
    ],
)
def test_the_question_names_the_abbreviation(question: str, letters: str) -> None:
    assert find_abbreviation(question) == letters


@pytest.mark.parametrize(
    ("text", "letters", "words"),
    [
        ("Kepala Balai Konservasi Alam (BKA) hadir.", "BKA", "Balai Konservasi Alam"),
        ("Badan Riset dan Rekayasa bekerja.", "BRR", "Badan Riset dan Rekayasa"),
        ("The Office for the Harbours of Vale.", "OHV", "Office for the Harbours of Vale"),
        ("Perserikatan Bangsa-Bangsa bersidang.", "PBB", "Perserikatan Bangsa-Bangsa"),
        ("The HMO met. Hilda, Mina, Otto came.", "HMO", ""),
        ("Harbour Mooring", "HMO", ""),
        ("", "HMO", ""),
    ],
)  # fmt: skip
def test_words_in_a_row_spell_an_abbreviation(text: str, letters: str, words: str) -> None:
    span = find_expansion(text, letters)
    assert (span.cut(text) if span else "") == words


def test_the_words_of_an_abbreviation_are_the_answer_wherever_they_stand() -> None:
    def script(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, "a club" if "club" in chunk.text else "Office", 0.5)

    hits = [
        hit_of("The HMO is a club.", document="a"),
        hit_of("The Harbour Mooring Office (HMO) is old.", document="b", rank=2),
    ]
    reader = LocalReader(pairs=ScriptedCrossReader(script))
    draft = reader.draft(Question("What does HMO stand for?"), hits)
    assert draft.short_answer == "Harbour Mooring Office"
    assert [item.hit.chunk.document_id for item in draft.evidence] == ["b"]
    other = reader.draft(Question("What does HMX stand for?"), hits)
    assert other.short_answer == "a club"


def test_a_text_without_end_takes_linear_time() -> None:
    # It would take minutes if the words were followed from each place to the end.
    assert find_expansion("Aa " * 200_000, "AAAAAAAB") is None
