from dataclasses import replace

import pytest
from tests.factories import hit_of

from fathom.question.question import Question
from fathom.question.requirements import Requirements, count_items
from fathom.types import Alternative, Claim, Draft, Evidence, Hit, Span

NADAL = "Nadal won the US Open in New York in 2017."
ABOUT_2018 = "Djokovic won the US Open in New York in 2018."


def make_draft(hit: Hit, short: str = "") -> Draft:
    evidence = Evidence(hit=hit, span=Span(0, len(hit.chunk.text)), support=0.9)
    return Draft(evidence=(evidence,), short_answer=short, confidence=0.9)


def list_missing(question: str, text: str, short: str = "", *others: Hit) -> tuple[list[str], bool]:
    hit = hit_of(text)
    gap = Requirements.of(Question(question), least=0.6).find_gap(
        make_draft(hit, short), [hit, *others]
    )
    assert bool(gap.description) == bool(gap.missing or gap.kind or gap.items)
    return [anchor.text for anchor in gap.missing], gap.kind


@pytest.mark.parametrize(
    ("question", "text", "missing"),
    [
        ("Siapa juara US Open 2017?", NADAL, []),
        ("Siapa juara US Open 2017?", ABOUT_2018, ["2017"]),
        ("Who won the US Open in 2017?", ABOUT_2018, ["2017"]),
        ("Who won the US Open in 2017?", "Nadal won the Open of Rome in 2017.", ["US Open"]),
        ("Siapa juara Australian Open 2019?", "Osaka won the US Open 2019.", ["Australian Open"]),
        ("Who designed the Harbour Bridge?", "The Mill Bridge was by Benning.", ["Harbour Bridge"]),
    ],
)
def test_names_and_times_must_occur_in_the_evidence(
    question: str, text: str, missing: list[str]
) -> None:
    assert list_missing(question, text)[0] == missing


def test_another_year_or_name_in_its_place_contradicts() -> None:
    def is_contradicted(question: str, text: str) -> bool:
        requirements = Requirements.of(Question(question), least=0.6)
        return bool(requirements.find_gap(make_draft(hit_of(text)), []).contradicted)

    assert is_contradicted("Siapa juara US Open 2017?", ABOUT_2018)
    assert not is_contradicted("Siapa juara US Open 2017?", "Nadal won the US Open that year.")
    assert is_contradicted("Who designed the Harbour Bridge?", "The Mill Bridge was by Benning.")
    assert not is_contradicted("Who is Ada Vale?", "She was mayor of Elm.")


def test_a_time_must_be_in_the_quote_and_a_name_may_be_beside_it() -> None:
    led = hit_of("Fees of Oslo for 2017.", document="d1", rank=2)
    assert list_missing("What did it cost in Oslo in 2017?", "It cost 40 crowns.", "", led)[0] == [
        "2017"
    ]


def test_a_document_named_by_its_title_counts_for_names() -> None:
    other = hit_of("Fees are those of Ada Vale.", document="d2", rank=2)
    assert list_missing("Where was Ada Vale born?", "She was born in Elm.")[0] == ["Ada Vale"]
    named = replace(other, chunk=replace(other.chunk, title="Vale"))
    assert list_missing("Where was Ada Vale born?", "She was born in Elm.", "", named)[0] == []


@pytest.mark.parametrize(
    ("question", "text", "short", "other"),
    [
        ("Berapa pendapatan Apple Q1 2024?", "Apple Q1 2024: 119 miliar.", "119 miliar", True),
        ("Berapa pendapatan Apple Q1 2024?", "Apple Q1 2024: USD 119 miliar.", "119", False),
        ("How much does a permit cost?", "A permit costs 40 crowns.", "40", False),
        ("How much does a permit cost?", "A permit takes 40 days.", "40 days", True),
        ("How many people came?", "They came with 12 tonnes.", "12 tonnes", True),
        ("How many people came?", "There came 12 people.", "12", False),
        ("What percentage came?", "There came 12 people.", "12", True),
        ("Berapa persen yang datang?", "Yang datang 12 %.", "12", False),
        ("When was it?", "It was in May 1990.", "May 1990", False),
        ("Kapan itu?", "Itu 12 km jauhnya.", "12 km", True),
        # The unit stands beside the short answer.
        ("How many tons of dust are there?", "There are 182 million miles of it.", "182", True),
        ("How many tons of dust are there?", "There are 182 tons of it.", "182", False),
        ("How much does a permit cost?", "There are 6,840 street trees.", "6,840", True),
    ],
)
def test_the_answer_must_be_of_the_kind_asked_for(
    question: str, text: str, short: str, *, other: bool
) -> None:
    assert list_missing(question, text, short)[1] is other


def test_a_list_with_fewer_items_than_asked_for_is_incomplete() -> None:
    def has_gap(question: str, short: str) -> int:
        draft = make_draft(hit_of("Everest, K2."), short)
        return Requirements.of(Question(question), least=0.6).find_gap(draft, []).items

    assert has_gap("Sebutkan 3 gunung tertinggi di dunia", "Everest, K2") == 1
    assert has_gap("Sebutkan 2 gunung tertinggi di dunia", "Everest and K2") == 0
    assert has_gap("Sebutkan gunung tertinggi di dunia", "Everest") == 0


def test_items_are_parts_of_the_short_answer_or_quotes_or_sentences() -> None:
    evidence = tuple(
        Evidence(hit=hit_of(document=f"d{n}"), span=Span(0, 9), support=0.9) for n in range(3)
    )
    assert count_items(Draft(evidence=evidence)) == 3
    assert count_items(Draft(evidence=evidence, claims=(Claim(text="One.", evidence=(0,)),))) == 1
    assert count_items(Draft(evidence=evidence[:1], short_answer="a, b, c and d")) == 4
    assert count_items(Draft()) == 0


def test_evidence_of_another_reading_does_not_support_the_answer() -> None:
    supporting, rival = (
        Evidence(hit=hit_of(text, document=name), span=Span(0, len(text)), support=0.9)
        for name, text in (("d1", ABOUT_2018), ("d2", NADAL))
    )
    other = Alternative(text="Nadal", evidence=(1,))
    draft = Draft(evidence=(supporting, rival), alternatives=(other,), confidence=0.9)
    gap = Requirements.of(Question("Siapa juara US Open 2017?"), least=0.6).find_gap(draft, [])
    assert [anchor.text for anchor in gap.missing] == ["2017"]


def test_without_evidence_everything_is_missing() -> None:
    required = Requirements.of(Question("Siapa juara US Open 2017?"), least=0.6)
    assert required.find_gap(Draft(), []).missing == required.anchors
    assert required.can_be_met_by(hit_of(NADAL))
    assert not required.can_be_met_by(hit_of(ABOUT_2018))


def test_a_chain_of_documents_counts_for_any_number_of_hops() -> None:
    def make_page(title: str, text: str) -> Hit:
        hit = hit_of(text, document=title)
        return replace(hit, chunk=replace(hit.chunk, title=title))

    cited = make_page("Elmton (town)", "It was founded in 1300.")
    vale = make_page("Ada Vale", "Vale was born in Elmton.")
    film = make_page("The Ferry", "A film of 1994 by Ada Vale.")
    question = "When was the town founded where the director of The Ferry of 1994 was born?"
    required = Requirements.of(Question(question), least=0.6)
    draft = make_draft(cited, "1300")
    assert [anchor.text for anchor in required.find_gap(draft, [cited, film]).missing] != []
    assert required.find_gap(draft, [cited, vale, film]).missing == ()


def test_the_evidence_may_be_about_one_of_two_options() -> None:
    question = "Which is older, Mill Bridge or Harbour Bridge?"
    assert Requirements.of(Question(question), least=0.6).anchors == ()
    assert Requirements.of(Question("Is Mill Bridge old?"), least=0.6).anchors != ()
