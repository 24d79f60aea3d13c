"""Models of files, with the real one; the processor is slow, so prompts and replies are short."""

import json
from pathlib import Path

import pytest
from tests.llm.making import Run, soon
from tests.real_model import LOCAL, RealModel

from fathom.errors import UsageError
from fathom.llm.base import Call, Completion, Message
from fathom.llm.endpoint import endpoint_of
from fathom.llm.local import installed, local_file

PATIENT = 300.0
ASKED = (Message("user", "Name three colours of the rainbow."),)
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}, "seen": {"type": "boolean"}},
    "required": ["colour", "seen"],
    "additionalProperties": False,
}


def asked(**more: object) -> Call:
    return Call(ASKED, **{"max_tokens": 12, "deadline": soon(PATIENT), **more})  # type: ignore[arg-type]


def test_it_answers_the_same_again_streams_and_tells_its_own_counts(
    run: Run, real_model: RealModel
) -> None:
    chat, shown = real_model.chat(), list[str]()

    async def twice() -> list[Completion]:
        return [await chat.complete(asked(on_text=shown.append)), await chat.complete(asked())]

    first, again = run(twice())
    assert first.text
    assert (first.text, first.model, first.finish) == (again.text, "local:", "length")
    assert "".join(shown).strip() == first.text
    assert len(shown) > 3
    assert first.usage.completion_tokens == first.reported.completion == 12
    assert first.usage.prompt_tokens == first.reported.prompt


def test_a_schema_is_kept_by_the_server(run: Run, real_model: RealModel) -> None:
    done = run(real_model.chat().complete(asked(schema=SCHEMA, max_tokens=40)))
    assert set(json.loads(done.text)) == {"colour", "seen"}


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "cannot be read: No such file"), (b"hello", "is no GGUF file; name one")],
)
def test_what_is_no_file_of_weights_is_said_in_one_line(
    real_model: RealModel, tmp_path: Path, content: bytes | None, part: str
) -> None:
    file = tmp_path / "m.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=part) as caught:
        local_file(f"local:{file}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_it_is_at_no_address_that_a_user_could_give() -> None:
    assert endpoint_of(LOCAL, offline=True).base_url == ""
    with pytest.raises(UsageError, match=r"drop llm\.base_url"):
        endpoint_of(LOCAL, base_url="http://127.0.0.1:1/v1")


def test_what_is_installed_is_told(real_model: RealModel) -> None:
    assert f"{real_model.file.name} of 98 MB" in installed()
