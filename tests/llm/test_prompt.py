from pathlib import Path

import pytest

from fathom.errors import SettingsError
from fathom.llm.base import Message
from fathom.llm.prompt import Prompt

PROMPT = Prompt.compose(
    "guide",
    task="You guide $most visitors.",
    language="Speak their language.",
    unsure="If you do not know, say null.",
    example="Question: Where is the lighthouse of Sandholm?",
    reply='{"answer": "It stands on the northern rock of Sandholm."}',
)


def test_instructions_precede_the_question() -> None:
    request = PROMPT.build_request("Question: Where?", rule="Be kind.", values={"most": 4})
    instructions, question = request.messages
    assert instructions.role == "system"
    assert instructions.text.startswith(
        "You guide 4 visitors.\nSpeak their language.\nIf you do not"
    )
    assert instructions.text.endswith('of Sandholm."}\nBe kind.')
    assert question == Message("user", "Question: Where?")
    assert (request.prompt, request.agent) == (f"guide {PROMPT.version}", "guide")


def test_another_text_is_another_version(tmp_path: Path) -> None:
    file = tmp_path / "guide.txt"
    file.write_text("Guide $most people. It costs $$5.\n")
    mine = PROMPT.replace_from_file(file)
    assert mine.version != PROMPT.version
    assert mine.id == f"guide {mine.version} ({file})"
    assert mine.build_request("?", values={"most": 2}).messages[0].text == (
        "Guide 2 people. It costs $5."
    )
    again = tmp_path / "again.txt"
    again.write_text(PROMPT.text)
    assert PROMPT.replace_from_file(again).version == PROMPT.version


def test_a_byte_order_mark_is_no_part_of_a_prompt(tmp_path: Path) -> None:
    file = tmp_path / "guide.txt"
    file.write_text(PROMPT.text, encoding="utf-8-sig")
    assert PROMPT.replace_from_file(file).text == PROMPT.text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"Guide them.", "lacks the placeholder $most"),
        (b"Guide $most or $least.", "has the unknown placeholder $least"),
        (b"Guide $most for $5.", "holds a $ without a name; write $$ for a dollar sign"),
        (b" \n", "must hold 1 to 40000 characters"),
        (b"\xff$most", "cannot be read: is not UTF-8 text"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_an_invalid_prompt_file_is_named(
    tmp_path: Path, text: bytes | None, complaint: str
) -> None:
    file = tmp_path / "mine.txt"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(SettingsError) as caught:
        PROMPT.replace_from_file(file)
    assert str(caught.value).startswith(f"llm.prompts: {str(file)!r} {complaint}")
    assert "\n" not in str(caught.value)


def test_words_copied_from_the_example_are_detected_unless_asked_about(tmp_path: Path) -> None:
    request = PROMPT.build_request("Question: Where?", values={"most": 4})
    leaked = {"answer": [{"text": "They say it stands on  the Northern rock, or so."}]}
    assert request.find_copied_phrase(leaked) == "it stands on the"
    assert request.find_copied_phrase({"answer": "On the northern hill."}) == ""
    assert request.find_copied_phrase({"answer": "You guide 4 visitors, if you do not know."}) == ""
    about = PROMPT.build_request("It stands on the northern rock, where?", values={"most": 4})
    assert about.find_copied_phrase(leaked) == ""
    plain = request.without_example
    assert "You guide 4 visitors" in plain.messages[0].text
    assert "Sandholm" not in plain.messages[0].text
    assert plain.find_copied_phrase(leaked) == ""
    file = tmp_path / "mine.txt"
    file.write_text("Guide $most. For example: It stands on the northern rock.")
    assert (
        PROMPT.replace_from_file(file)
        .build_request("?", values={"most": 4})
        .find_copied_phrase(leaked)
    )
