from dataclasses import replace

import pytest
from tests.making import hit_of

from fathom.question.requirements import Requirements, count_items
from fathom.types import Alternative, Claim, Draft, Evidence, Hit, Span

NADAL = "Nadal won the US Open in New York in 2017."
ABOUT_2018 = "Djokovic won the US Open in New York in 2018."


def quoting(hit: Hit, short: str = "") -> Draft:
    evidence = Evidence(hit=hit, span=Span(0, len(hit.chunk.text)), support=0.9)
    return Draft(evidence=(evidence,), short_answer=short, confidence=0.9)


def lacking(question: str, text: str, short: str = "", *others: Hit) -> tuple[list[str], bool]:
    hit = hit_of(text)
    gap = Requirements.of(question, least=0.6).find_gap(quoting(hit, short), [hit, *others])
    assert bool(gap.description) == bool(gap.missing or gap.kind or gap.items)
    return [each.text for each in gap.missing], gap.kind


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
def test_names_and_times_must_stand_in_the_evidence(
    question: str, text: str, missing: list[str]
) -> None:
    assert lacking(question, text)[0] == missing


def test_another_year_or_name_in_its_place_contradicts() -> None:
    def contradicted(question: str, text: str) -> bool:
        found = Requirements.of(question, least=0.6)
        return bool(found.find_gap(quoting(hit_of(text)), []).contradicted)

    assert contradicted("Siapa juara US Open 2017?", ABOUT_2018)
    assert not contradicted("Siapa juara US Open 2017?", "Nadal won the US Open that year.")
    assert contradicted("Who designed the Harbour Bridge?", "The Mill Bridge was by Benning.")
    assert not contradicted("Who is Ada Vale?", "She was mayor of Elm.")


def test_a_time_must_be_cited_and_a_name_may_stand_beside() -> None:
    led = hit_of("Fees of Oslo for 2017.", document="d1", rank=2)
    assert lacking("What did it cost in Oslo in 2017?", "It cost 40 crowns.", "", led)[0] == [
        "2017"
    ]


def test_what_tells_of_the_cited_document_by_its_title_counts_for_names() -> None:
    other = hit_of("Fees are those of Ada Vale.", document="d2", rank=2)
    assert lacking("Where was Ada Vale born?", "She was born in Elm.")[0] == ["Ada Vale"]
    named = replace(other, chunk=replace(other.chunk, title="Vale"))
    assert lacking("Where was Ada Vale born?", "She was born in Elm.", "", named)[0] == []


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
    ],
)
def test_the_answer_must_be_of_the_kind_asked_for(
    question: str, text: str, short: str, *, other: bool
) -> None:
    assert lacking(question, text, short)[1] is other


def test_a_list_with_fewer_items_than_asked_for_lacks_the_rest() -> None:
    def lacks(question: str, short: str) -> int:
        draft = quoting(hit_of("Everest, K2."), short)
        return Requirements.of(question, least=0.6).find_gap(draft, []).items

    assert lacks("Sebutkan 3 gunung tertinggi di dunia", "Everest, K2") == 1
    assert lacks("Sebutkan 2 gunung tertinggi di dunia", "Everest and K2") == 0
    assert lacks("Sebutkan gunung tertinggi di dunia", "Everest") == 0


def test_items_are_parts_of_the_short_answer_or_quotes_or_sentences() -> None:
    evidence = tuple(
        Evidence(hit=hit_of(document=f"d{n}"), span=Span(0, 9), support=0.9) for n in range(3)
    )
    assert count_items(Draft(evidence=evidence)) == 3
    assert count_items(Draft(evidence=evidence, claims=(Claim(text="One.", evidence=(0,)),))) == 1
    assert count_items(Draft(evidence=evidence[:1], short_answer="a, b, c and d")) == 4
    assert count_items(Draft()) == 0


def test_what_only_another_reading_rests_on_is_no_evidence_of_the_answer() -> None:
    own, rival = (
        Evidence(hit=hit_of(text, document=name), span=Span(0, len(text)), support=0.9)
        for name, text in (("d1", ABOUT_2018), ("d2", NADAL))
    )
    other = Alternative(text="Nadal", evidence=(1,))
    draft = Draft(evidence=(own, rival), alternatives=(other,), confidence=0.9)
    gap = Requirements.of("Siapa juara US Open 2017?", least=0.6).find_gap(draft, [])
    assert [each.text for each in gap.missing] == ["2017"]


def test_without_evidence_everything_is_missing() -> None:
    required = Requirements.of("Siapa juara US Open 2017?", least=0.6)
    assert required.find_gap(Draft(), []).missing == required.anchors
    assert required.can_be_met_by(hit_of(NADAL))
    assert not required.can_be_met_by(hit_of(ABOUT_2018))


def test_what_leads_from_one_document_to_the_next_counts_in_any_number_of_hops() -> None:
    def page(title: str, text: str) -> Hit:
        hit = hit_of(text, document=title)
        return replace(hit, chunk=replace(hit.chunk, title=title))

    cited = page("Elmton (town)", "It was founded in 1300.")
    vale = page("Ada Vale", "Vale was born in Elmton.")
    film = page("The Ferry", "A film of 1994 by Ada Vale.")
    asked = "When was the town founded where the director of The Ferry of 1994 was born?"
    required = Requirements.of(asked, least=0.6)
    draft = quoting(cited, "1300")
    assert [each.text for each in required.find_gap(draft, [cited, film]).missing] != []
    assert required.find_gap(draft, [cited, vale, film]).missing == ()


def test_of_two_to_choose_from_the_evidence_may_be_about_one() -> None:
    asked = "Which is older, Mill Bridge or Harbour Bridge?"
    assert Requirements.of(asked, least=0.6).anchors == ()
    assert Requirements.of("Is Mill Bridge old?", least=0.6).anchors != ()
