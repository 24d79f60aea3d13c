"""Conversations as chat clients store them, and files that are not conversations."""

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

QUESTION = {"role": "user", "content": "Who designed the Mill Bridge?"}
ANSWER = {"role": "assistant", "content": "Clara Benning. [1]"}
TURNS = (
    DialogueTurn(role="user", content="Who designed the Mill Bridge?"),
    DialogueTurn(role="assistant", content="Clara Benning. [1]"),
)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([QUESTION, ANSWER]),
        json.dumps({"model": "any", "messages": [QUESTION, ANSWER]}),
        f"{json.dumps(QUESTION)}\n\n{json.dumps(ANSWER)}\n",
        "\ufeff" + json.dumps([QUESTION, ANSWER], indent=2),
    ],
)
def test_the_forms_of_a_file_are_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "history.json"
    file.write_text(text, encoding="utf-8")
    assert load_dialogue(file) == TURNS


def test_a_single_turn_may_be_one_line(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text(json.dumps(QUESTION))
    assert load_dialogue(file) == TURNS[:1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", ":1: not JSON"),
        (f"{json.dumps(QUESTION)}\n{{", ":2: not JSON"),
        ("3", "expected a list of turns"),
        ('"text"', "expected a list of turns"),
        ('{"messages": {"role": "user"}}', "expected a list of turns"),
        ('["hello"]', "turn 1: expected an object"),
        (json.dumps([QUESTION, {"role": "king", "content": "x"}]), "turn 2: role is 'king'"),
        (json.dumps([{"content": "x"}]), "turn 1: role is None"),
        (json.dumps([{"role": "user", "content": 3}]), "turn 1: content must be a text"),
        ('[{"role": "user", "content": "\\ud800"}]', "turn 1: content is not UTF-8"),
        ("[" * 100_000, ":1: not JSON"),
    ],
)
def test_an_invalid_conversation_is_refused_in_one_line(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "history.json"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        load_dialogue(file)
    assert message in str(error.value)
    assert "history.json" in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_dialogue(tmp_path / "none.json")
    with pytest.raises(UsageError, match="directory"):
        load_dialogue(tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_dialogue(tmp_path / "bytes.json")


def test_only_spoken_turns_count_and_only_the_last_ones() -> None:
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
