"""The web phase, measured with a local search server over real sockets."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks.web import is_withheld, main, run_search_server
from tests.factories import engine_at, hit_of, index_fees

from fathom.types import Hit

QUESTION = "Which enzyme unwinds a helix?"
PAGE = hit_of("The enzyme helicase unwinds a helix.", document="biology")
CORPUS = {
    "harbour.md": "# Harbour\n\nA mooring permit costs 40 crowns a year.\n",
    "mill.md": "# Mill\n\nThe mill of Elm was built by Eva Vale in 1835.\n",
    "ferry.md": "# Ferry\n\nThe ferry to Sandholm leaves at 9:15 on Sundays.\n",
    "library.md": "# Library\n\nThe library of Merrow opens at 10:00 on Saturdays.\n",
}
QUESTIONS = {
    "harbour.md": ("How much does a mooring permit cost?", "40 crowns"),
    "mill.md": ("Who built the mill of Elm?", "Eva Vale"),
    "ferry.md": ("When does the ferry to Sandholm leave?", "9:15"),
    "library.md": ("When does the library of Merrow open?", "10:00"),
}


def test_an_engine_asks_the_server_like_any_searxng(tmp_path: Path) -> None:
    queries: list[str] = []

    def find_pages(query: str) -> list[Hit]:
        queries.append(query)
        return [PAGE]

    index_fees(tmp_path)
    with run_search_server(find_pages) as address:
        web = {"provider": "searxng", "base_url": address}
        with engine_at(tmp_path, web=web) as engine:
            answer = engine.ask(QUESTION, strategy="maf")
    assert queries == [QUESTION]
    (citation,) = answer.citations
    assert (citation.source, citation.quote) == ("web", PAGE.chunk.text)
    assert citation.document == "web:https://pages.example/biology?at=0"


def test_one_command_shows_the_effect_of_the_web_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus").mkdir()
    for name, text in CORPUS.items():
        (tmp_path / "corpus" / name).write_text(text)
    rows = [
        {"_id": name, "text": text, "answers": [answer], "metadata": {"relevant": [name]}}
        for name, (text, answer) in QUESTIONS.items()
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(sys, "argv", ["web.py", "--dataset", str(tmp_path)])
    main()
    printed = capsys.readouterr().out
    table = {line.split(" | ")[0]: line.split(" | ")[1:] for line in printed.splitlines()}
    before, after = table["| without the web"], table["| with it"]
    assert before[3] == "0"
    assert int(after[3]) > 0
    assert int(after[0]) > int(before[0])  # what the web has is found there
    assert "abstained -> right: " in printed


def test_always_the_same_half_is_withheld() -> None:
    assert 70 < sum(is_withheld(str(number)) for number in range(200)) < 130
    assert [name for name in CORPUS if is_withheld(name)] == ["harbour.md"]
