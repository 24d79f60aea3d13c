"""Questions that a model writes are kept only if it answers them alike when asked again."""

import gzip
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from training.cross_reader.rows import parse_row
from training.questions.ask import Endpoint, ask_passages, read_lines
from training.questions.mistypes import mistype
from training.questions.passages import Passage, drop_shared, list_limits, read_sources
from training.questions.prompts import UNANSWERABLE, build_request, draw_kinds
from training.questions.replies import Pair, agrees, explain_refusal, place_answer, read_pairs
from training.questions.rows import judge_reply, write_rows

TEXT = (
    "The ferry from Sulby leaves at 7:40 and at 16:10. Bicycles are carried for 3 crowns; dogs "
    "travel free of charge. The harbour office sells tickets until ten minutes before departure."
)
AROUND = [
    (
        "Ferries > Winter",
        "In winter the ferry leaves at 9:00 only, and the harbour office is shut.",
    ),
    (
        "Ferries > Freight",
        "Freight is taken on Tuesdays, by the office at the northern quay alone.",
    ),
    ("Ferries > Dogs", "A dog that travels free of charge must wear a lead on the whole ferry."),
    ("Ferries > Lost", "Lost things are kept for a month at the office of the harbour in Sulby."),
]
PASSAGE: dict[str, Any] = {
    "id": "17",
    "kind": "manuals",
    "lang": "en",
    "title": "Ferries > Summer",
    "text": TEXT,
    "package": "ferries",
    "licence": "MIT",
    "document": "ferries/summer.html",
    "around": AROUND,
}
WRITTEN = """Q1 (fact): What does a boat ride cost for my poodle?
A1: free of charge
Q2 (number): How long before the trip does the office stop selling?
A2: ten
   minutes
Q3 (list): Which things cost 3 crowns?
A3: bags
Q4 (unanswerable): How long does the crossing take?
A4: none"""


def test_a_reply_is_read_with_the_kinds_that_were_asked_for() -> None:
    pairs = read_pairs(WRITTEN, ["fact", "number", "list"])

    assert [(pair.kind, " ".join(pair.answer.split())) for pair in pairs] == [
        ("fact", "free of charge"),
        ("number", "ten minutes"),
        ("list", "bags"),
        (UNANSWERABLE, ""),
    ]


def test_a_last_question_that_the_model_answers_itself_is_not_unanswerable() -> None:
    reply = WRITTEN.replace("A4: none", "A4: 40 minutes")

    assert [pair.kind for pair in read_pairs(reply, ["a", "b", "c"])] == ["a", "b", "c"]


def test_kinds_depend_on_the_passage_alone_and_fit_its_text() -> None:
    assert draw_kinds("17", "manuals", TEXT) == draw_kinds("17", "manuals", TEXT)
    drawn = {kind for name in range(300) for kind in draw_kinds(str(name), "wiki", "no digit here")}

    assert not drawn & {"number", "list", "option", "may"}
    assert {"fact", "definition", "keywords"} <= drawn


def test_an_indonesian_passage_is_asked_about_in_indonesian() -> None:
    request = build_request("1", "manuals", "id", "Feri", "Feri berangkat pukul 7.")

    assert "Setiap pertanyaan menyebut pokoknya" in request[-1][1]


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (Pair(kind="fact", question="When does the ship go in the evening?", answer="16:10"), ""),
        (Pair(kind="fact", question="When does the ship go?", answer="18:10"), "not in the text"),
        (Pair(kind="fact", question="What time is in the passage?", answer="16:10"), "points"),
        (
            Pair(kind="fact", question="Is the fare 3 crowns or more?", answer="3 crowns"),
            "answer in",
        ),
        (
            Pair(
                kind="fact",
                question="Does the harbour office sell tickets until ten minutes before it?",
                answer="dogs",
            ),
            "",
        ),
        (
            Pair(
                kind="fact",
                question="office sells tickets until ten minutes before departure",
                answer="dogs",
            ),
            "copied",
        ),
        (Pair(kind="fact", question="Do dogs pay?", answer="No"), "yes or no"),
        (Pair(kind="yes-no", question="Do dogs pay?", answer="No"), ""),
        (
            Pair(
                kind="unanswerable",
                question="What is the fine for mooring at the quay without a permit?",
            ),
            "repeats an example",
        ),
    ],
)
def test_a_question_is_dropped_with_its_reason(pair: Pair, reason: str) -> None:
    refusal = explain_refusal(pair, "Ferries", TEXT)

    assert refusal.startswith(reason)
    assert bool(refusal) == bool(reason)


def test_an_answer_is_found_whatever_its_case_spaces_and_quotation_marks() -> None:
    place = place_answer('"Free of\n charge".', TEXT)

    assert place is not None
    assert TEXT[slice(*place)] == "free of charge"
    assert place_answer("7:4", TEXT) is None


def test_yes_and_no_must_be_given_again() -> None:
    pair = Pair(kind="yes-no", question="Do dogs pay?", answer="No")

    assert agrees(pair, "No, they do not.")
    assert not agrees(pair, "Yes")
    assert not agrees(pair, "unanswerable")


def test_rows_have_the_answer_at_its_place_and_a_wrong_text_without_it() -> None:
    reply = {
        "written": WRITTEN,
        "again": {
            "What does a boat ride cost for my poodle?": ["Free of charge."],
            "How long before the trip does the office stop selling?": ["7:40"],
            "How long does the crossing take?": ["unanswerable", "unanswerable"],
        },
    }
    counts: Counter[str] = Counter()
    rows = list(
        judge_reply({**PASSAGE, "id": _name_with(["fact", "number", "how-to"])}, reply, counts)
    )

    parsed = [parse_row(row) for row in rows]
    assert [row and (row.answerable, row.group) for row in parsed] == [
        (True, "generated"),
        (False, "generated"),
        (False, "generated"),
    ]
    assert [row and row.text[slice(*row.spans[0])] for row in parsed[:1]] == ["free of charge"]
    assert "free of charge" not in rows[1]["context"]
    assert rows[1]["context"] != TEXT
    assert counts["dropped: another answer: number"] == 1
    assert counts["dropped: not in the text"] == 1


def _name_with(kinds: list[str]) -> str:
    """Return the name of a passage for which these kinds are drawn."""
    names = (str(number) for number in range(100_000))
    return next(name for name in names if draw_kinds(name, "manuals", TEXT) == kinds)


def test_an_unanswerable_question_is_dropped_if_a_neighbour_answers_it() -> None:
    reply = {
        "written": WRITTEN,
        "again": {"How long does the crossing take?": ["unanswerable", "an hour"]},
    }
    counts: Counter[str] = Counter()

    assert list(judge_reply(PASSAGE, reply, counts)) == []
    assert counts["dropped: answerable"] == 1


def test_a_slip_changes_one_longer_word_and_always_in_the_same_way() -> None:
    question = "Where do I buy tickets?"

    assert mistype(question, 5) == mistype(question, 5) != question
    assert mistype("how is it", 5) == "how is it"


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of a model that answers every question with the dogs' fare."""

    class Model(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = asked["messages"][-1]["content"]
            words = WRITTEN if "Q1" in prompt else "free of charge"
            body = json.dumps({"choices": [{"message": {"content": words}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_run_that_was_cut_off_goes_on_where_it_stopped(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    passages, replies = tmp_path / "passages.jsonl.gz", tmp_path / "raw.jsonl.gz"
    with gzip.open(passages, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps({**PASSAGE, "id": str(name)}) + "\n" for name in range(6))
    with closing(Endpoint(address, "")) as endpoint:
        ask_passages(passages, replies, endpoint, open_requests=2, most=4)
        replies.write_bytes(replies.read_bytes()[:-9])
        left = len(read_lines(replies))

        ask_passages(passages, replies, endpoint, open_requests=2)

    assert sorted(entry["id"] for entry in read_lines(replies)) == list("012345")
    assert f"{6 - left} of {6 - left} passages" in capsys.readouterr().out
    write_rows(passages, replies, tmp_path)
    rows = read_lines(tmp_path / "rows.jsonl.gz")
    assert {row["question"] for row in rows if row["kind"] not in ("typo", "wrong text")} == {
        "What does a boat ride cost for my poodle?"
    }


def test_passages_that_share_a_run_of_words_with_a_reported_text_are_dropped() -> None:
    source = read_sources()[0]
    texts = [TEXT, " ".join(f"word{number}" for number in range(40)), "other " * 3]
    passages = [
        Passage(
            **{**PASSAGE, "id": str(place), "text": text, "package": source.package, "around": ()}
        )
        for place, text in enumerate(texts)
    ]

    kept = drop_shared(passages, [f"Well. {TEXT[:60]}"], list_limits())
    assert [passage.id for passage in kept] == ["1", "2"]
    assert [p.id for p in drop_shared([*kept, kept[0]], [], list_limits())] == ["1", "2"]


def test_every_source_of_files_has_a_licence_and_a_known_language_and_kind() -> None:
    for source in read_sources():
        assert source.licence
        assert source.lang in {"en", "id"}
        assert re.fullmatch("manuals|options|laws", source.kind)
        assert parse_row(
            {
                "source": f"generated-{source.kind}-{source.lang}",
                "question": "?",
                "title": "",
                "context": "x",
                "task": "span",
                "is_impossible": True,
                "answers": [],
            }
        )


def test_an_answer_in_words_of_the_text_is_kept_as_it_is_given_again() -> None:
    written = "Q1 (fact): What does a boat ride cost for my poodle?\nA1: dogs free of charge"
    question = "What does a boat ride cost for my poodle?"
    reply = {"written": written, "again": {question: ["travel free of charge"]}}
    counts: Counter[str] = Counter()

    rows = list(judge_reply(PASSAGE, reply, counts))

    assert [row["answers"][0]["text"] for row in rows if row["answers"]] == [
        "travel free of charge"
    ]
    reply = {"written": written, "again": {question: ["dogs are free of charge"]}}
    assert list(judge_reply(PASSAGE, reply, counts)) == []
    assert counts["dropped: not in the text"] == 1
