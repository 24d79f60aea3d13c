import pytest
from tests.factories import hit_of

from fathom.agents.short_answer import detect_aggregate, fill_short_answer
from fathom.question.question import Question
from fathom.types import Claim, Draft, Evidence, Span


def make_draft(text: str, short: str = "") -> Draft:
    evidence = Evidence(hit=hit_of(text), span=Span(0, len(text)), support=0.9)
    return Draft(evidence=(evidence,), short_answer=short, confidence=0.9)


@pytest.mark.parametrize(
    ("question", "aggregate"),
    [
        ("What is the average age?", None),  # does not ask for a number in so many words
        ("How high is the average fee?", "average"),
        ("How much was paid in total?", "total"),
        ("About how many people live there?", "estimate"),
        ("How many people live there?", None),
        ("Who is the average voter?", None),
        ("Berapa rata-rata usia pemain?", "average"),
        ("Berapa jumlah keseluruhan kasus?", "total"),
        ("Sekitar berapa orang yang hadir?", "estimate"),
    ],
)
def test_requested_aggregates_are_recognised(question: str, aggregate: str | None) -> None:
    assert detect_aggregate(Question(question)) == aggregate


@pytest.mark.parametrize(
    ("question", "text", "before", "after"),
    [
        # The result, not its parts.
        ("Berapa rata-rata usia?", "Usia 22, 25, 30 tahun, rata-rata 25.7 tahun.", "22", "25.7"),
        ("Berapa rata-rata kasus?", "2018: 50, 2019: 55, rata-rata ~52.5 kasus.", "50", "52.5"),
        ("How high is the average fee?", "Fees of 3 and 5; on average 4 crowns.", "3", "4"),
        ("How much was it in total?", "$20 and $30, a total of $50.", "$20", "$50"),
        ("How much was it in total?", "It took 20 and 30, 50 in all.", "20", "50"),
        ("Berapa totalnya?", "Ada 5 dan 6, totalnya 11.", "5", "5"),  # no cue of its own
        ("Berapa total biaya?", "Biaya 5 juta dan 6 juta, total 11 juta.", "5 juta", "11 juta"),
        (
            "Roughly how many live there?",
            "In 2018 some left; about 3,559 live there.",
            "2018",
            "3,559",
        ),
        # Words for an outcome, where the aggregate itself is not named.
        ("Berapa total biaya?", "Biaya naik dari 5 juta menjadi 12 juta.", "5 juta", "12 juta"),
        ("Berapa jumlah kasus?", "Ada 50 di Oslo, 30 di Bergen, sehingga 80.", "50", "80"),
        ("How much was it in total?", "They paid $20, then $30, resulting in $50.", "$20", "$50"),
        ("How many live there?", "It grew from 50, which makes 80.", "50", "50"),  # no aggregate
        ("How much was it in total?", "It became 5, then became 6.", "5", "5"),
        # The unit that a figure lacks.
        ("How much does a permit cost?", "A permit costs $40 a year.", "40", "$40"),
        ("Berapa pertumbuhannya?", "Ekonomi tumbuh 5,2 persen.", "5,2", "5,2 persen"),
        ("How much is it?", "It is 5 million USD.", "5", "5 million USD"),
        ("How long did it take?", "It took 3 days.", "3", "3 days"),
        ("Berapa lama?", "Selama 3 bulan.", "3", "3 bulan"),
        ("How long did it take?", "It took 3 days, and 3 came.", "3", "3"),
        ("How much is it?", "It is 5 kg, or 5 tons.", "5", "5"),  # two units
        ("How much is it?", "It is 5 kg; 5 were there.", "5", "5"),
        ("How many kg is it?", "It is 5 kg.", "5", "5"),  # the question has it
        ("How long are the holidays?", "They last 14 days.", "14", "14 days"),
        ("What percentage came?", "It was 5 %.", "5", "5"),
        ("How many rooms are there?", "After 3 days there are 3 rooms.", "3", "3"),
        # Two results, or none: unsure.
        ("How high is the average?", "The average was 4, then the average was 6.", "5", "5"),
        ("How high is the average?", "It was 4.", "4", "4"),
        # Missing ones are filled where there is only one of the kind.
        ("When was it built?", "It was built on 3 May 1901 in Oslo.", "", "3 May 1901"),
        ("Kapan dibangun?", "Gedung itu dibangun pada 1901.", "", "1901"),
        ("When was it built?", "Begun in 1899, it was built by 1901.", "", ""),
        ("Who built it?", "It was built by Ada Lovelace.", "", "Ada Lovelace"),
        ("Who built it with Ada?", "Ada and a friend, Bob Cole, did.", "", "Bob Cole"),
        ("How many rooms are there?", "There are 40 rooms.", "", "40"),
        ("Which song is it?", 'The song is "Let It Be".', "", "Let It Be"),
        ("Is it open?", "It is open on Monday.", "", ""),
        # What is there stays.
        ("When was it built?", "It was built in 1901.", "around 1900", "around 1900"),
    ],
)
def test_short_answers_are_extracted(question: str, text: str, before: str, after: str) -> None:
    assert fill_short_answer(Question(question), make_draft(text, before)).short_answer == after


def test_sentences_of_a_model_precede_the_quotes() -> None:
    claimed = Draft(
        evidence=make_draft("It cost 3.").evidence,
        claims=(Claim(text="In total 9.", evidence=(0,)),),
    )
    assert fill_short_answer(Question("How much was it in total?"), claimed).short_answer == "9"


def test_no_other_field_changes() -> None:
    before = make_draft("Fees of 3 and 5; on average 4.", "3")
    after = fill_short_answer(Question("How high is the average fee?"), before)
    assert (after.evidence, after.claims, after.confidence) == (
        before.evidence,
        before.claims,
        before.confidence,
    )
    assert fill_short_answer(Question("Who?"), Draft()) == Draft()
