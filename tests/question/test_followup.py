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


@pytest.mark.parametrize(
    ("before", "answer", "question", "standalone"),
    [
        (
            "What is the fee for a parking permit?",
            "It is 40 euros a year.",
            "How long does it take?",
            "How long does a parking permit take?",
        ),
        (
            "What is the fee for a parking permit?",
            "It is 40 euros a year.",
            "How long is it valid?",
            "How long is a parking permit valid?",
        ),
        (
            "What is the fee for a parking permit?",
            "It is 40 euros a year.",
            "How do I apply?",
            "How do I apply (a parking permit)?",
        ),
        (
            "What is the fee for a parking permit?",
            "It is 40 euros a year.",
            "Where can I get one?",
            "Where can I get a parking permit?",
        ),
        (
            "What is the fee for a parking permit?",
            "It is 40 euros a year.",
            "Can it be extended?",
            "Can a parking permit be extended?",
        ),
        (
            "When does the library open on Saturday?",
            "It opens at ten.",
            "How can I join?",
            "How can I join (the library)?",
        ),
        (
            "Does the mill have parking?",
            "Yes, for twenty cars.",
            "How much does it cost?",
            "How much does parking of the mill cost?",
        ),
        (
            "How many days of annual leave do employees get?",
            "25 days.",
            "And part-time staff?",
            "How many days of annual leave do part-time staff get?",
        ),
        (
            "How many days of annual leave do employees get?",
            "25 days.",
            "Can unused days be carried over?",
            "Can unused days be carried over (annual leave)?",
        ),
        (
            "How many days of annual leave do employees get?",
            "25 days.",
            "Who approves it?",
            "Who approves annual leave?",
        ),
        (
            "What was the revenue of Apple in 2023?",
            "383 billion dollars.",
            "What about net income?",
            "What was the net income of Apple in 2023?",
        ),
        (
            "How do I reset my password?",
            "Open the settings and choose Reset.",
            "How often must I do that?",
            "How often must I reset my password?",
        ),
        (
            "How do I reset my password?",
            "Open the settings and choose Reset.",
            "How long must it be?",
            "How long must my password be?",
        ),
        (
            "What is the warranty of the X200 printer?",
            "Two years.",
            "And the X300?",
            "What is the warranty of the X300 printer?",
        ),
        (
            "What is the warranty of the X200 printer?",
            "Two years.",
            "Does it print in color?",
            "Does the X200 printer print in color?",
        ),
        (
            "What is the warranty of the X200 printer?",
            "Two years.",
            "Does it cover the toner?",
            "Does the warranty of the X200 printer cover the toner?",
        ),
        (
            "What is the warranty of the X200 printer?",
            "Two years.",
            "What about toner cartridges?",
            "What is the warranty of toner cartridges?",
        ),
        (
            "Where is the meeting on Friday?",
            "In room 204.",
            "Who is attending?",
            "Who is attending (the meeting on Friday)?",
        ),
        (
            "Which supplier delivers the paper?",
            "Nordic Paper Ltd.",
            "What is their phone number?",
            "What is Nordic Paper Ltd's phone number?",
        ),
        (
            "Berapa biaya izin usaha?",
            "Rp 500.000.",
            "Berapa lama prosesnya?",
            "Berapa lama proses izin usaha?",
        ),
        (
            "Berapa biaya izin usaha?",
            "Rp 500.000.",
            "Siapa yang menerbitkannya?",
            "Siapa yang menerbitkan izin usaha?",
        ),
        (
            "Berapa biaya izin usaha?",
            "Rp 500.000.",
            "Apakah bisa diperpanjang?",
            "Apakah bisa diperpanjang (izin usaha)?",
        ),
        ("Kapan perpustakaan buka?", "Pukul 08.00.", "Kapan tutup?", "Kapan tutup (perpustakaan)?"),
        (
            "Kapan perpustakaan buka?",
            "Pukul 08.00.",
            "Apakah ada tempat parkir?",
            "Apakah ada tempat parkir (perpustakaan)?",
        ),
        (
            "Siapa direktur PT Maju?",
            "Budi Santoso.",
            "Dan sekretarisnya?",
            "Siapa sekretaris PT Maju?",
        ),
        (
            "Into which bin does garden waste go?",
            "The brown one.",
            "And paper?",
            "Into which bin does paper go?",
        ),
        (
            "What is the pay of apprentices in the third year?",
            "900.",
            "How many days of leave do they get then?",
            "How many days of leave do apprentices get in the third year?",
        ),
        (
            "What is the deadline for the tax return?",
            "31 July.",
            "What happens if I miss it?",
            "What happens if I miss the deadline for the tax return?",
        ),
        ("What is the price of salt?", "2.", "Did it rise?", "Did the price of salt rise?"),
        (
            "What is the deadline for the form?",
            "",
            "Can it be extended?",
            "Can the deadline for the form be extended?",
        ),
        (
            "Does the inn offer breakfast?",
            "Yes.",
            "Does it have a pool?",
            "Does the inn have a pool?",
        ),
        (
            "Does the health cover include dental care?",
            "",
            "Who pays for it?",
            "Who pays for the health cover?",
        ),
        (
            "Apa syarat pembuatan KTP?",
            "KK.",
            "Kalau hilang bagaimana?",
            "Bagaimana kalau hilang (pembuatan KTP)?",
        ),
        (
            "Who designed the bridges?",
            "Clara Benning.",
            "When were they opened?",
            "When were the bridges opened?",
        ),
        (
            "Kapan bus pertama ke Bandung?",
            "05.00.",
            "Kalau terakhir?",
            "Kapan bus terakhir ke Bandung?",
        ),
        (
            "What are the opening hours of the pool?",
            "8 to 20.",
            "And on Sundays?",
            "What are the opening hours of the pool on Sundays?",
        ),
        (
            "What are the opening hours of the pool?",
            "8 to 20.",
            "Does it have a sauna?",
            "Does the pool have a sauna?",
        ),
        (
            "How many tonnes of salt does the depot hold?",
            "300.",
            "Where is it?",
            "Where is the depot?",
        ),
        ("Does the fee include VAT?", "Yes.", "How much is it?", "How much is the fee?"),
        (
            "Siapa kepala dinas pendidikan?",
            "",
            "Dan wakilnya?",
            "Siapa wakil kepala dinas pendidikan?",
        ),
        (
            "Who is responsible for data protection?",
            "Olga Brandt.",
            "Since when?",
            "Since when is Olga Brandt responsible for data protection?",
        ),
        (
            "Who is responsible for data protection?",
            "Olga Brandt.",
            "And for IT security?",
            "Who is responsible for IT security?",
        ),
        (
            "Can employees work from home?",
            "Yes, two days a week.",
            "How many days?",
            "How many days can employees work from home?",
        ),
        (
            "Can employees work from home?",
            "Yes, two days a week.",
            "And interns?",
            "Can interns work from home?",
        ),
        (
            "Can employees work from home?",
            "Yes, two days a week.",
            "Is equipment provided?",
            "Is equipment provided (employees)?",
        ),
        (
            "When must invoices be paid?",
            "Within 30 days.",
            "What happens if they are late?",
            "What happens if invoices are late?",
        ),
        (
            "How long is the notice period?",
            "Three months.",
            "Does it apply to managers?",
            "Does the notice period apply to managers?",
        ),
        (
            "How long is the notice period?",
            "Three months.",
            "What about part-time employees?",
            "How long is the notice period for part-time employees?",
        ),
        (
            "What does the Basic plan cost?",
            "9 euros.",
            "Does that include VAT?",
            "Does the Basic plan include VAT?",
        ),
        (
            "Which form do I need for a refund?",
            "Form R2.",
            "Where can I find it?",
            "Where can I find the form for a refund?",
        ),
        (
            "What was decided about the playground?",
            "It will be renewed in spring.",
            "How much will it cost?",
            "How much will the playground cost?",
        ),
        (
            "Berapa gaji magang di kantor ini?",
            "Rp 2 juta.",
            "Berapa lama magangnya?",
            "Berapa lama magang di kantor ini?",
        ),
        (
            "Bagaimana cara mendaftar BPJS?",
            "Lewat aplikasi.",
            "Dokumen apa yang diperlukan?",
            "Dokumen apa yang diperlukan (mendaftar BPJS)?",
        ),
        (
            "Who teaches English?",
            "Mr Hall.",
            "In which room?",
            "In which room (Mr Hall teaches English)?",
        ),
        (
            "Do visitors need a badge?",
            "Yes.",
            "Where do they get it?",
            "Where do visitors get the badge?",
        ),
        (
            "Do visitors need a badge?",
            "Yes.",
            "Must it be returned?",
            "Must the badge be returned?",
        ),
        (
            "How do I install the printer driver?",
            "Run setup.exe.",
            "How do I uninstall it?",
            "How do I uninstall the printer driver?",
        ),
        (
            "Which insurance covers theft?",
            "The household insurance.",
            "And fire?",
            "Which insurance covers fire?",
        ),
        (
            "Is there a bus to the airport?",
            "Yes, line 9.",
            "And a train?",
            "Is there a train to the airport?",
        ),
        (
            "What was the budget for roads in 2023?",
            "4 million.",
            "Was it spent?",
            "Was the budget for roads in 2023 spent?",
        ),
        (
            "Apa saja jam kerja pegawai?",
            "08.00 sampai 16.00.",
            "Kalau hari Jumat?",
            "Apa saja jam kerja pegawai hari Jumat?",
        ),
        (
            "Siapa yang berhak menerima beasiswa?",
            "Mahasiswa tahun kedua.",
            "Bagaimana cara mendaftarnya?",
            "Bagaimana cara mendaftar beasiswa?",
        ),
    ],
)
def test_a_follow_up_asks_for_the_thing_that_fits_its_predicate(
    before: str, answer: str, question: str, standalone: str
) -> None:
    assert complete_question(question, make_turns(before, answer)) == standalone


def test_a_short_question_that_names_its_topic_stays() -> None:
    history = make_turns("When does the library open on Saturday?", "At ten.")
    for question in ("How do I reset my password?", "What is a SIUP licence?", "Who wrote Dune?"):
        assert complete_question(question, history) == question


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
