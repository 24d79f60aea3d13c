"""Follow-up questions by rule; covers fathom.question.antecedents too."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.question.antecedents import PriorQuestion
from fathom.question.conversation import DialogueTurn, parse_dialogue
from fathom.question.followup import complete_question

SAMPLES = Path(__file__).parent.parent.parent / "samples"
ROWS = [
    json.loads(line)
    for line in (SAMPLES / "followups.jsonl").read_text(encoding="utf-8").splitlines()
]


def make_turns(*texts: str) -> tuple[DialogueTurn, ...]:
    """Return questions and answers in turn."""
    return parse_dialogue(
        [
            {"role": "assistant" if n % 2 else "user", "content": text}
            for n, text in enumerate(texts)
            if text
        ]
    )


@pytest.mark.parametrize(
    ("before", "answer", "question", "standalone"),
    [
        # A part takes the place of its like.
        (
            "What is the capital of France?",
            "Paris.",
            "And Norway?",
            "What is the capital of Norway?",
        ),
        ("Apa ibu kota Prancis?", "Paris.", "Kalau Norwegia?", "Apa ibu kota Norwegia?"),
        (
            "How many visitors came in 2018?",
            "12.",
            "and in 2019?",
            "How many visitors came in 2019?",
        ),
        (
            "Berapa pengunjung pada tahun 2018?",
            "12.",
            "Dan pada 2019?",
            "Berapa pengunjung pada tahun 2019?",
        ),
        ("When does the pool open on Monday?", "", "What about Sundays?", None),
        # Another attribute of the same thing.
        (
            "Who is the chair of the Harbour Society?",
            "Ruth Adler.",
            "And who is the secretary?",
            "Who is the secretary of the Harbour Society?",
        ),
        (
            "What is the capital of Norway?",
            "Oslo.",
            "What is the population?",
            "What is the population of Norway?",
        ),
        (
            "How long is the warranty of the X200 pump?",
            "2 years.",
            "And the price?",
            "What is the price of the X200 pump?",
        ),
        (
            "When was the town hall built?",
            "1911.",
            "Who was the architect?",
            "Who was the architect (the town hall)?",
        ),
        (
            "Siapa ketua koperasi Maju Jaya?",
            "Budi.",
            "Dan siapa sekretarisnya?",
            "Siapa sekretaris koperasi Maju Jaya?",
        ),
        (
            "Jam berapa loket buka hari Senin?",
            "",
            "Kalau Sabtu?",
            "Jam berapa loket buka hari Sabtu?",
        ),
        (
            "What does the gauge show at stage 3?",
            "",
            "How about stage 1?",
            "What does the gauge show at stage 1?",
        ),
        (
            "What is the fee for an adult in summer?",
            "",
            "And for a child?",
            "What is the fee for a child in summer?",
        ),
        (
            "Berapa retribusi sampah organik?",
            "",
            "Bagaimana dengan sampah anorganik?",
            "Berapa retribusi sampah anorganik?",
        ),
        (
            "What is the capital of Norway?",
            "Oslo.",
            "and the population?",
            "What is the population of Norway?",
        ),
        ("What is the capital of Norway?", "Oslo.", "and peru?", "What is the capital of peru?"),
        ("How many men work at the depot?", "", "And women?", "How many women work at the depot?"),
        (
            "When was Albert Einstein born?",
            "1879.",
            "And his wife?",
            "When was Albert Einstein's wife born?",
        ),
        (
            "Berapa UMR di Jakarta pada tahun 2023?",
            "",
            "kalau di Bandung bagaimana?",
            "Berapa UMR di Bandung pada tahun 2023?",
        ),
        # Pronouns.
        (
            "Who designed the Mill Bridge?",
            "It was Clara Benning. [1]",
            "When was it opened?",
            "When was the Mill Bridge opened?",
        ),
        (
            "Who designed the Mill Bridge?",
            "It was Clara Benning. [1]",
            "Where was she born?",
            "Where was Clara Benning born?",
        ),
        (
            "Who is the head librarian?",
            "Petra Lund.",
            "What is her telephone number?",
            "What is Petra Lund's telephone number?",
        ),
        (
            "Siapa perancang Jembatan Merah?",
            "Ratna Widjaya.",
            "Di mana dia lahir?",
            "Di mana Ratna Widjaya lahir?",
        ),
        (
            "Kapan Jembatan Merah dibuka?",
            "1920.",
            "Siapa yang merancangnya?",
            "Siapa yang merancang Jembatan Merah?",
        ),
        (
            "Kapan Jembatan Merah dibuka?",
            "1920.",
            "Berapa panjang jembatan itu?",
            "Berapa panjang Jembatan Merah?",
        ),
        (
            "How many sandbags may a household collect?",
            "40.",
            "Where are they stored?",
            "Where are sandbags stored?",
        ),
        (
            "How do I apply for a SIUP licence?",
            "At the counter.",
            "How long does it take?",
            "How long does applying for a SIUP licence take?",
        ),
        (
            "Bagaimana cara mengurus NIB?",
            "Lewat OSS.",
            "Berapa lama prosesnya?",
            "Berapa lama proses mengurus NIB?",
        ),
        (
            "Who directed the film Jaws?",
            "",
            "Tell me more about it",
            "Tell me more about the film Jaws",
        ),
        # Places, things, and questions that leave out the rest.
        (
            "Who runs the depot in Kiln Road?",
            "",
            "How many lorries are kept there?",
            "How many lorries are kept in Kiln Road?",
        ),
        (
            "When was the Mill Bridge opened?",
            "1891.",
            "How long is the bridge?",
            "How long is the Mill Bridge?",
        ),
        ("When was the Mill Bridge closed?", "1937.", "Why?", "Why was the Mill Bridge closed?"),
        (
            "Can I borrow the sewing machine from the library?",
            "Yes.",
            "For how long?",
            "For how long can I borrow the sewing machine from the library?",
        ),
        ("Who directed the film Jaws?", "", "Who else?", "Who else directed the film Jaws?"),
        ("Kapan Jembatan Merah ditutup?", "1937.", "Kenapa?", "Kenapa Jembatan Merah ditutup?"),
        (
            "Kapan Jembatan Merah ditutup?",
            "1937.",
            "Dibuka lagi kapan?",
            "Dibuka lagi kapan (Jembatan Merah)?",
        ),
    ],
)
def test_a_follow_up_becomes_a_complete_question(
    before: str, answer: str, question: str, standalone: str | None
) -> None:
    expected = standalone or "When does the pool open on Sundays?"
    assert complete_question(question, make_turns(before, answer)) == expected


@pytest.mark.parametrize(
    ("before", "question", "standalone"),
    [
        ("Is there parking at the mill?", "How much is it?", "How much is parking at the mill?"),
        ("Is there parking at the mill?", "Can I swim there?", "Can I swim at the mill?"),
        (
            "Are there any lockers at the station?",
            "How big are they?",
            "How big are lockers at the station?",
        ),
        ("Is there a fee for it?", "How much is it?", "How much is the fee for it?"),
        ("Is there a fee for the permit?", "And the deadline?", "Is there the deadline?"),
        (
            "Will there still be a market on Sunday?",
            "When does it open?",
            "When does the market on Sunday open?",
        ),
        ("What is there to see at the mill?", "When was it built?", "When was the mill built?"),
        (
            "Is there a market on Sunday?",
            "How do I get there?",
            "How do I get there (the market on Sunday)?",
        ),
        ("Apakah ada parkir di kilang?", "Berapa harganya?", "Berapa harga parkir di kilang?"),
        ("Ada parkir di kilang?", "Berapa harganya?", "Berapa harga parkir di kilang?"),
        ("Ada parkir di kilang?", "Apa saja di sana?", "Apa saja di kilang?"),
        ("Apakah di kilang ada parkir?", "Berapa harganya?", "Berapa harga parkir di kilang?"),
        ("Ada berapa kamar di hotel?", "Berapa harganya?", "Berapa harga kamar di hotel?"),
        ("Apa tersedia sebuah loker?", "Berapa harganya?", "Berapa harga loker?"),
    ],
)
def test_a_thing_whose_existence_was_asked_for_is_the_topic(
    before: str, question: str, standalone: str
) -> None:
    assert complete_question(question, make_turns(before)) == standalone


def test_follow_ups_are_completed_one_after_another() -> None:
    history = make_turns("What is the capital of France?", "Paris.", "And Norway?", "Oslo.")
    assert complete_question("And Peru?", history) == "What is the capital of Peru?"
    assert complete_question("How large is it?", history) == "How large is the capital of Norway?"


@pytest.mark.parametrize(
    "question",
    [
        "Which company won the contract for the renewal of Weir Street?",
        "How much does a ticket for the Merrow swimming pool cost?",
        "Siapa koordinator sampah di kecamatan Pasar Lama?",
        "Berapa nomor darurat posko banjir di Tirtasari?",
        "How long does it take to renew a passport at the counter?",
        "parking permit residents",
        "thanks!",
        "Terima kasih",
        "  Who wrote Dune?  ",
    ],
)
def test_a_complete_question_stays_letter_for_letter(question: str) -> None:
    assert (
        complete_question(question, make_turns("Who designed the Mill Bridge?", "Clara Benning."))
        == question
    )
    assert complete_question(question, ()) == question


def test_a_question_about_something_else_is_left_alone() -> None:
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    pairs = [(text, texts[n - far]) for n, text in enumerate(texts) for far in (1, 7, 13, 22)]
    changed = [text for text, other in pairs if complete_question(text, make_turns(other)) != text]
    assert len(changed) <= len(pairs) / 50


@pytest.mark.parametrize(
    "question",
    [
        "Who figured out that his law of gravity had to be universal?",
        "What did the algae replace their chloroplast with?",
        "When the floods come, where are they measured?",
        "Which team that won the cup moved to Oslo?",
        "Why is it hard to know the number of infections?",
        "What is floridean?",
        "Apa itu karapas?",
        "Kapan PT PGN menaikkan harga jual gasnya?",
        "Di mana harimau Sumatera hidup saat ini?",
    ],
)
def test_pronouns_for_something_in_their_own_question_stay(question: str) -> None:
    conversations = (
        ("Who designed the Mill Bridge?", "Clara Benning."),
        ("Kapan Jembatan Merah dibuka?", ""),
    )
    for before in conversations:
        assert complete_question(question, make_turns(*before)) == question


def test_a_history_with_the_newest_question_is_accepted() -> None:
    history = make_turns("What is the capital of France?", "Paris.", "And Norway?")
    assert complete_question("And Norway?", history) == "What is the capital of Norway?"


def test_half_of_the_follow_ups_of_the_samples_are_completed() -> None:
    """The search figures are those of experiments.followups; this test compares letter for
    letter.
    """
    same = [
        row["_id"]
        for row in ROWS
        if complete_question(row["text"], parse_dialogue(row["history"])) == row["standalone"]
    ]
    assert len(same) >= len(ROWS) / 2
    fresh = [row for row in ROWS if row["metadata"]["kind"] == "new"]
    assert {row["_id"] for row in fresh} <= set(same)


def test_the_follow_ups_of_the_samples_are_split_and_labelled() -> None:
    splits = [row["metadata"]["split"] for row in ROWS]
    assert splits.count("held-out") == splits.count("development") == len(ROWS) / 2 >= 30
    assert sum(row["metadata"]["language"] == "id" for row in ROWS) == len(ROWS) / 3
    files = {file.name for file in (SAMPLES / "corpus").iterdir()}
    assert {name for row in ROWS for name in row["metadata"]["relevant"]} <= files


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Where does the gauge of the river Sorrel stand?", "the gauge of the river Sorrel"),
        ("How many apprentices does the office take in each September?", "the office"),
        ("Kapan empat teknisi dari Tirtasari tiba di Merrow?", "empat teknisi dari Tirtasari"),
        ("Who designed the Mill Bridge?", "the Mill Bridge"),
        ("Ada Lovelace lahir di mana?", "Ada Lovelace"),
        ("Why?", ""),
    ],
)
def test_the_topic_of_a_question_is_found(question: str, topic: str) -> None:
    assert PriorQuestion(question).topic == topic


@given(st.lists(st.text(max_size=80), max_size=4), st.text(min_size=1, max_size=80))
def test_no_conversation_causes_an_error(texts: list[str], question: str) -> None:
    completed = complete_question(question, make_turns(*texts))
    assert completed.strip() or not question.strip()
