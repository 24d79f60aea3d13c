import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.question.clauses import LONGEST_QUESTION, MOST_QUESTIONS, build_chain, find_mentions

CHAINS = (
    # relative clauses
    (
        "Who founded the company that distributed the film Harbour Lights?",
        "What is the company that distributed the film Harbour Lights?",
        "Who founded #1?",
    ),
    (
        "When was the institute that owned The Mariner founded?",
        "What is the institute that owned The Mariner?",
        "When was #1 founded?",
    ),
    (
        "What league was the team that Ana Silva was a member of in?",
        "What is the team that Ana Silva was a member of?",
        "What league was #1 in?",
    ),
    (
        "Which county shares a border with the county where the singer of Blue Tide was born?",
        "Who is the singer of Blue Tide?",
        "What is the county where #1 was born?",
        "Which county shares a border with #2?",
    ),
    (
        "When did the first mosque in the capital of the Marshall Islands open?",
        "What is the capital of the Marshall Islands?",
        "When did the first mosque in #1 open?",
    ),
    # where a thing is from is no name of its own
    (
        "Who created the Norwegian comedy series in which Ana Silva plays a clerk named Berit?",
        "What is the norwegian comedy series in which Ana Silva plays a clerk named Berit?",
        "Who created #1?",
    ),
    (
        "What kind of unit was led by the Danish general who marched north to take Hamar?",
        "Who is the danish general who marched north to take Hamar?",
        "What kind of unit was led by #1?",
    ),
    (
        "When did the country containing Lom leave the union?",
        "What is the country containing Lom?",
        "When did #1 leave the union?",
    ),
    (
        "On what channel is the station that Ana Silva is on broadcast?",
        "What is the station that Ana Silva is on?",
        "On what channel is #1 broadcast?",
    ),
    (
        "When does the rain begin in the city where Norway's national laboratory is located?",
        "What is the city where Norway's national laboratory is located?",
        "When does the rain begin in #1?",
    ),
    (
        "What is the county where Hamar is located named after?",
        "What is the county where Hamar is located?",
        "What is #1 named after?",
    ),
    (
        "Who rules the county where Hamar Prison can be found?",
        "What is the county where Hamar Prison can be found?",
        "Who rules #1?",
    ),
    (
        "What country was the author of Blue Tide a citizen of?",
        "Who is the author of Blue Tide?",
        "What country was #1 a citizen of?",
    ),
    # what somebody is to somebody
    (
        "Who is the spouse of the creator of Absolute Zero?",
        "Who is the creator of Absolute Zero?",
        "Who is the spouse of #1?",
    ),
    (
        "What team was Nora Berg's husband on?",
        "Who is Nora Berg's husband?",
        "What team was #1 on?",
    ),
    (
        'The director of the comedy "Big Stone" is based in what city?',
        'Who is the director of the comedy "Big Stone"?',
        "#1 is based in what city?",
    ),
    # the question word in the clause at the end
    (
        "Night Tide is the debut album of a South Korean boy group that was formed by who?",
        "Night Tide is the debut album of which South Korean boy group?",
        "#1 was formed by who?",
    ),
    # Indonesian
    (
        "Di mana sutradara film Laskar Pelangi lahir?",
        "Siapa sutradara film Laskar Pelangi?",
        "Di mana #1 lahir?",
    ),
    (
        "Siapa presiden pertama negara yang beribu kota Nairobi?",
        "Apa negara yang beribu kota Nairobi?",
        "Siapa presiden pertama #1?",
    ),
    (
        "Berapa jumlah penduduk kota tempat Chairil Anwar lahir?",
        "Apa kota tempat Chairil Anwar lahir?",
        "Berapa jumlah penduduk #1?",
    ),
)
PLAIN = (
    "Who wrote Dune?",
    "What is the capital of France?",
    "How much does a mooring permit cost?",
    "Who is the director of Harbour Lights?",
    "Siapa penulis Laskar Pelangi?",
    "Kapan Indonesia merdeka?",
    "Ana Silva was involved in the murder of which heir to the throne of Norway?",
    # What a question asks for is no thing of its own, and neither is a name in full.
    "Which city is the largest city in Norway?",
    "Which is one of the parks located in Oslo?",
    "What two railroads have railyards in the city of Oslo?",
    "🙂",
    "",
)


@pytest.mark.parametrize("row", CHAINS, ids=lambda row: row[0])
def test_a_nested_question_becomes_a_chain(row: tuple[str, ...]) -> None:
    assert build_chain(row[0]) == row[1:]


@pytest.mark.parametrize("question", PLAIN)
def test_a_plain_question_stays_unchanged(question: str) -> None:
    assert build_chain(question) == (question,)


def test_names_quotes_and_slots_are_mentions() -> None:
    text = 'Did #1 sing "blue tide" for Ana Silva?'
    assert [span.cut(text) for span in find_mentions(text)] == ["#1", '"blue tide"', "Ana Silva"]


@given(st.text(max_size=200), st.integers(2, MOST_QUESTIONS))
def test_a_chain_is_bounded_and_its_slots_refer_backwards(text: str, most: int) -> None:
    parts = build_chain(text.replace("#", ""), most)
    assert 1 <= len(parts) <= most
    for place, part in enumerate(parts):
        assert all(f"#{number}" not in part for number in range(place + 1, MOST_QUESTIONS + 1))


@pytest.mark.parametrize("words", ["the company that ", "Oslo of the ", "a", "Acme's "])
def test_a_text_of_any_length_takes_linear_time(words: str) -> None:
    assert build_chain(words * 10_000) == (words * 10_000,)
    assert build_chain(words * (LONGEST_QUESTION // len(words)))
