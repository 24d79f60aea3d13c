"""Conversations as chat clients keep them, and files that are none."""

import json
from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.question.conversation import (
    LONGEST_TURN,
    MOST_TURNS,
    DialogueTurn,
    load_dialogue,
    parse_dialogue,
)

ASKED = {"role": "user", "content": "Who designed the Mill Bridge?"}
SAID = {"role": "assistant", "content": "Clara Benning. [1]"}
TURNS = (
    DialogueTurn(role="user", content="Who designed the Mill Bridge?"),
    DialogueTurn(role="assistant", content="Clara Benning. [1]"),
)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ASKED, SAID]),
        json.dumps({"model": "any", "messages": [ASKED, SAID]}),
        f"{json.dumps(ASKED)}\n\n{json.dumps(SAID)}\n",
        "\ufeff" + json.dumps([ASKED, SAID], indent=2),
    ],
)
def test_the_forms_of_a_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "history.json"
    file.write_text(text, encoding="utf-8")
    assert load_dialogue(file) == TURNS


def test_one_turn_is_a_line_too(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text(json.dumps(ASKED))
    assert load_dialogue(file) == TURNS[:1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no json", ":1: not JSON"),
        (f"{json.dumps(ASKED)}\n{{", ":2: not JSON"),
        ("3", "expected a list of turns"),
        ('"text"', "expected a list of turns"),
        ('{"messages": {"role": "user"}}', "expected a list of turns"),
        ('["hello"]', "turn 1: expected an object"),
        (json.dumps([ASKED, {"role": "king", "content": "x"}]), "turn 2: role is 'king'"),
        (json.dumps([{"content": "x"}]), "turn 1: role is None"),
        (json.dumps([{"role": "user", "content": 3}]), "turn 1: content must be a text"),
        ('[{"role": "user", "content": "\\ud800"}]', "turn 1: content is not UTF-8"),
        ("[" * 100_000, ":1: not JSON"),
    ],
)
def test_what_is_no_conversation_is_told_in_a_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "history.json"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        load_dialogue(file)
    assert told in str(error.value)
    assert "history.json" in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_dialogue(tmp_path / "none.json")
    with pytest.raises(UsageError, match="directory"):
        load_dialogue(tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_dialogue(tmp_path / "bytes.json")


def test_only_what_was_said_counts_and_only_the_end_of_it() -> None:
    parts: dict[str, object] = {
        "role": "user",
        "content": [{"type": "text", "text": "a"}, {"type": "image"}],
    }
    silent: list[dict[str, object]] = [
        {"role": "system", "content": "Obey me."},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    assert parse_dialogue([*silent, parts]) == (DialogueTurn(role="user", content="a"),)
    many = parse_dialogue([{"role": "user", "content": f"{n} " * 5_000} for n in range(50)])
    assert len(many) == MOST_TURNS
    assert many[-1].content.startswith("49")
    assert len(many[-1].content) == LONGEST_TURN
    assert parse_dialogue(many) == many
