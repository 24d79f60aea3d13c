import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.question.anchors import (
    MOST_ANCHORS,
    Anchor,
    find_anchors,
    find_contradicted,
    find_missing,
    select_required,
)

CASES = [
    # English
    ("Who is the father of Edward Baring?", ["entity: Edward Baring"]),
    ("Is the Bank of England older than Lloyds?", ["entity: Bank of England", "entity: Lloyds"]),
    ('Who sang "Let It Be" in 1970?', ["quoted: Let It Be", "year: 1970"]),
    ("Does 'The Verge' agree with Google's lawyers?", ["quoted: The Verge", "entity: Google"]),
    ("What was the revenue in Q1 2024?", ["quarter: Q1 2024"]),
    ("What was sold in the first quarter of 2024?", ["quarter: first quarter of 2024"]),
    # A time ends the name before it.
    ("What was the revenue of Apple Q1 2024?", ["entity: Apple", "quarter: Q1 2024"]),
    ("How much did Microsoft Q3 2023 bring in?", ["entity: Microsoft", "quarter: Q3 2023"]),
    (
        "What was the profit of Bank of America First Half 2022?",
        ["entity: Bank of America", "quarter: First Half 2022"],
    ),
    ("Who won the Battle of May 1940?", ["entity: Battle", "date: May 1940"]),
    (
        "How did the Olympics July 2021 Tokyo end?",
        ["entity: Olympics", "entity: Tokyo", "date: July 2021"],
    ),
    ("Who won 3-2 on 12 March 2019?", ["scoreline: 3-2", "date: 12 March 2019"]),
    ("What happened on March 12, 2019 in Rome?", ["entity: Rome", "date: March 12, 2019"]),
    ("What happened on 2019-03-12?", ["date: 2019-03-12"]),
    ("Who led in 2010-11?", ["year: 2010-11", "entity: led"]),
    ("Who was born in the 1990s?", ["year: 1990s", "entity: born"]),
    (
        "How many points per game did LeBron James average?",
        ["entity: LeBron James", "unit: per game"],
    ),
    ("What % voted for it in Ohio?", ["entity: Ohio", "unit: %"]),
    ("Who won Best Animated Feature 2004?", ["category: Best Animated Feature", "year: 2004"]),
    ("What does Get-ChildItem do?", ["identifier: Get-ChildItem"]),
    ("What is HTTP_PROXY for?", ["identifier: HTTP_PROXY"]),
    ("What does RFC 9110 obsolete?", ["identifier: RFC 9110"]),
    ("How do I use --force with git?", ["identifier: --force"]),
    ("Photosynthesis needs what?", ["entity: Photosynthesis"]),
    # Indonesian
    ("Siapa Menteri Kelautan dan Perikanan?", ["entity: Menteri Kelautan dan Perikanan"]),
    ("Dimana Raja Ataulf meninggal?", ["entity: Raja Ataulf"]),
    (
        "Berapa pendapatan PT Telkom pada kuartal I 2024?",
        ["entity: PT Telkom", "quarter: kuartal I 2024"],
    ),
    ("Berapa laba Telkom Semester I 2024?", ["entity: Telkom", "quarter: Semester I 2024"]),
    ("Berapa laba PT Astra Triwulan III 2022?", ["entity: PT Astra", "quarter: Triwulan III 2022"]),
    ("Dimana inspeksi itu, Kamis 8 September 2005?", ["date: 8 September 2005"]),
    ("Kapan 17 Agustus 1945 diperingati?", ["date: 17 Agustus 1945"]),
    (
        "Apa isi UU No. 11 Tahun 2020 tentang Cipta Kerja?",
        ["identifier: UU No. 11 Tahun 2020", "entity: Cipta Kerja"],
    ),
    ("Berapa persen penduduk Jawa?", ["entity: Jawa", "unit: persen"]),
    ("Berapa gol per pertandingan di Liga 1?", ["entity: Liga 1", "unit: per pertandingan"]),
    ("Siapa penulis \u201cLaskar Pelangi\u201d?", ["quoted: Laskar Pelangi"]),
    # Without capitals
    ("who won best animated feature 2004", ["entity: won best animated feature", "year: 2004"]),
    ("what is the ceo of bank mandiri", ["entity: bank mandiri", "entity: ceo"]),
    ("siapa presiden pertama indonesia", ["entity: presiden pertama indonesia"]),
    ("sebutkan 3 gunung tertinggi di dunia", ["entity: 3 gunung tertinggi", "entity: dunia"]),
    # Nothing
    ("", []),
    ("Who is it?", []),
    ("\U0001f642", []),
]


@pytest.mark.parametrize(("question", "expected"), CASES)
def test_anchors_of_questions(question: str, expected: list[str]) -> None:
    assert [f"{anchor.kind}: {anchor.text}" for anchor in find_anchors(question)] == expected


def test_names_are_more_distinctive_than_pronouns_and_numbers() -> None:
    def find_first(question: str) -> float:
        return find_anchors(question)[0].score

    assert find_first('Was "Let It Be" first?') > find_first("Was Edward Baring first?")
    assert find_first("Was Edward Baring first?") > find_first("was edward baring first?")
    assert find_first("Paris fell?") < find_first("When did Paris fall?")  # may be any word there


def test_at_most_six_distinct_anchors_are_found() -> None:
    question = "Did Ada, Bob, Cid, Dee, Eve, Fay, Gus or Ada win?"
    anchors = find_anchors(question)
    assert len(anchors) == MOST_ANCHORS == len({anchor.text for anchor in anchors})
    assert [anchor.text for anchor in anchors[:2]] == ["Ada", "Bob"]


@given(st.text(max_size=80))
def test_every_text_covers_its_own_anchors(text: str) -> None:
    anchors = find_anchors(text)
    assert len(anchors) <= MOST_ANCHORS
    assert all(anchor.text and 0 <= anchor.score <= 1 for anchor in anchors)


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        ("Who is Edward Baring?", "Baring, Edward: a banker", 1.0),
        ("Who is Edward Baring?", "Thomas Baring was a banker", 0.0),
        ("Who was Edward Baring in 1885?", "Edward Baring, banker", 0.5),
        ("Is the Bank of England old?", "England's bank is old", 1.0),
        ("What was sold in Q1 2024?", "in the first quarter of 2024", 1.0),
        ("Apa yang dijual pada kuartal I 2024?", "Q1 2024", 1.0),
        ("What was sold in Q1 2024?", "in the second quarter of 2024", 0.0),
        ("Berapa persen penduduk Jawa?", "56 % penduduk Jawa", 1.0),
        ("Who is it?", "anything", 1.0),
        # Other forms of the same
        ("Who led the EU?", "The European Union was led by him.", 1.0),
        ("Who led the European Union?", "The EU was led by him.", 1.0),
        ("What is in the V&A?", "Victoria and Albert Museum", 1.0),
        ("Siapa Muhammad Hosni Mubarak?", "Mubarak lahir di Mesir.", 1.0),
        ("Where did Tesla go from Gospic?", "Tesla left Gospi\u0107.", 1.0),
        ("Who was Percy Shelly?", "Percy Shelley wrote it.", 1.0),
        ("Kapan Merrow dan Bandung bertemu?", "Merrow dan Tirtasari bertemu.", 0.0),
        # "Jembatan" is short for the bridge of the text, and "Mubarak" for either of two.
        ("Siapa merancang Jembatan Kali?", "Jembatan ini dirancang olehnya.", 1.0),
        ("Siapa merancang Jembatan Kali?", "Jembatan Wai tua. Jembatan ini dirancang Budi.", 0.0),
        ("Who was Hosni Mubarak?", "Gamal Mubarak left. Mubarak was old.", 1.0),
        ("Who led in 1993?", "He led from 1990\u20131995.", 1.0),
        ("Who was it in 1997?", "He led from 1990 to 1995.", 0.0),
        ("Who led in 1993?", "He led in the 1990s.", 1.0),
        ("What happened on 8 September 2005?", "Kamis (8/9) jatuh.", 1.0),
        ("What happened on 8 September 2005?", "It fell on 8 September, as in 1990.", 1.0),
        ("What happened on 8 September 2005?", "It fell on 8 September 1990.", 0.0),
        ("What happened on 8 September 2005?", "It fell on 8/9/1990.", 0.0),
    ],
)
def test_coverage(question: str, text: str, share: float) -> None:
    anchors = find_anchors(question)
    assert len(find_missing(anchors, text)) == round((1 - share) * len(anchors))


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Who won in 2017?", "He won in 2018.", ["2017"]),
        ("Who won in 2017?", "He won that year.", []),
        ("Who won in 2017?", "In 2016 he lost, in 2017 he won.", []),
        ("Who designed the Harbour Bridge?", "The Mill Bridge is old.", ["Harbour Bridge"]),
        ("Who is Edward Baring?", "Thomas Baring was a banker.", ["Edward Baring"]),
        ("Who is Edward Baring?", "A banker of London.", []),
        ("Siapa koordinator Pasar Baru?", "Pasar Lama: Ibu Melati", ["Pasar Baru"]),
        # The name of the text goes on.
        ("Who founded Narbeck Mills?", "Wennes Mills of Corfen is old.", ["Narbeck Mills"]),
        ("Who founded Narbeck Mills?", "Wennes Paper of Corfen is old.", []),
    ],
)
def test_another_value_in_the_place_of_an_anchor_contradicts_it(
    question: str, text: str, expected: list[str]
) -> None:
    assert [anchor.text for anchor in find_contradicted(find_anchors(question), text)] == expected


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who won the US Open in 2017?", ["US Open", "2017"]),
        ("What was the Italian title of the book?", []),
        ("Where did Dr Jones teach?", ["Dr Jones"]),
        ("Is he a Dr?", []),
        ("How many km is it per game?", []),
        ("siapa presiden pertama indonesia", []),
    ],
)
def test_times_and_distinctive_names_are_required(question: str, names: list[str]) -> None:
    assert [anchor.text for anchor in select_required(find_anchors(question), 0.6)] == names


def test_missing_anchors_are_reported() -> None:
    paris, rome = (Anchor(kind="entity", text=text, score=1.0) for text in ("Paris", "Rome"))
    assert find_missing([paris, rome], "When in Rome") == (paris,)


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("It opened on 12/3.", True),
        ("It opened in 2019.", False),
        ("On 2019-03-12 it rained.", True),
    ],
)
def test_a_date_in_figures_is_looked_for_in_any_text(text: str, *, is_held: bool) -> None:
    anchor = Anchor(kind="date", text="2019-03-12", score=0.9)
    assert find_missing([anchor], text) == (() if is_held else (anchor,))


@pytest.mark.parametrize(
    "question",
    [
        "Am I allowed to smoke?",
        "Don't I need a permit?",
        "Don\u2019t I need a permit?",
        "Bolehkah saya merokok?",
    ],
)
def test_the_verb_that_begins_a_question_is_no_name(question: str) -> None:
    assert not [anchor for anchor in find_anchors(question) if anchor.text[0].isupper()]
