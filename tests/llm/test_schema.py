import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from fathom.llm.schema import (
    AtMost,
    EachOf,
    OneOf,
    build_schema,
    drop_bounds,
    measure_longest_reply,
    number_items,
    shrink_schema,
)


class CitedChunk(BaseModel):
    """A text and the number of the chunk it is from."""

    chunk: Annotated[int, OneOf("chunk")]
    text: Annotated[str, Field(max_length=2_000), AtMost(9, least=1)] = ""


class CitedAnswer(BaseModel):
    cited: Annotated[list[CitedChunk], Field(min_length=1), AtMost(3)]


class CompleteReply(BaseModel):
    answer: CitedAnswer | None
    agents: Annotated[list[Annotated[int, OneOf("agent")]], AtMost(9)] = Field(default_factory=list)
    scores: Annotated[list[Annotated[float, OneOf("share")]], EachOf("chunk")]


CHOICES: dict[str, Any] = {"chunk": number_items(2), "agent": (), "share": (0.0, 0.5, 1.0)}


def test_every_field_is_required_bounded_and_chosen_from_the_shown_values() -> None:
    cited = {
        "type": "object",
        "properties": {
            "chunk": {"enum": [1, 2]},
            "text": {"type": "string", "minLength": 1, "maxLength": 9},
        },
        "required": ["chunk", "text"],
    }
    items = {"type": "array", "items": cited, "minItems": 1, "maxItems": 3}
    answer = {"type": "object", "properties": {"cited": items}, "required": ["cited"]}
    scores = {"type": "array", "items": {"enum": [0.0, 0.5, 1.0]}, "minItems": 2, "maxItems": 2}
    assert build_schema(CompleteReply, CHOICES) == {
        "title": "CompleteReply",
        "type": "object",
        "properties": {
            "answer": {"anyOf": [answer, {"type": "null"}]},
            "agents": {"type": "array", "items": {}, "maxItems": 0},
            "scores": scores,
        },
        "required": ["answer", "agents", "scores"],
    }


def test_no_more_items_are_requested_than_there_are_choices() -> None:
    schema = build_schema(CompleteReply, {**CHOICES, "agent": number_items(4)})
    assert schema["properties"]["agents"] == {
        "type": "array",
        "items": {"enum": [1, 2, 3, 4]},
        "maxItems": 4,
    }


def test_missing_choices_are_an_error() -> None:
    with pytest.raises(KeyError, match="chunk"):
        build_schema(CitedChunk, {})


def test_a_reply_is_read_leniently() -> None:
    read = CitedChunk.model_validate({"chunk": 7, "text": "longer than nine"})
    assert (read.chunk, read.text) == (7, "longer than nine")


def test_bounds_can_be_left_out() -> None:
    plain = drop_bounds(build_schema(CompleteReply, CHOICES))
    assert plain["properties"]["scores"] == {"type": "array", "items": {"enum": [0.0, 0.5, 1.0]}}
    assert plain["properties"]["answer"]["anyOf"][0]["properties"]["cited"]["items"] == {
        "type": "object",
        "properties": {"chunk": {"enum": [1, 2]}, "text": {"type": "string"}},
        "required": ["chunk", "text"],
    }
    assert plain["required"] == ["answer", "agents", "scores"]


def get_cited_schema(schema: dict[str, Any]) -> dict[str, Any]:
    cited: dict[str, Any] = schema["properties"]["answer"]["anyOf"][0]["properties"]["cited"]
    return cited


class TextReply(BaseModel):
    answer: CitedAnswer | None
    word: Annotated[str, AtMost(120)] = ""


def test_a_reply_may_be_no_longer_than_there_is_room() -> None:
    schema = build_schema(TextReply, {"chunk": number_items(2)})
    whole = {"answer": {"cited": [{"chunk": 2, "text": "x" * 9}] * 3}, "word": "x" * 120}
    written = len(json.dumps(whole, separators=(",", ":")))
    assert written <= measure_longest_reply(schema) <= written + 10
    assert shrink_schema(schema, measure_longest_reply(schema)) == schema

    fewer = shrink_schema(schema, measure_longest_reply(schema) - 1)
    assert get_cited_schema(fewer)["maxItems"] == 2
    assert fewer["properties"]["word"] == schema["properties"]["word"]

    least = shrink_schema(schema, 10)  # not to be had: no list is empty, no text is cut to nothing
    assert get_cited_schema(least)["maxItems"] == 1
    assert get_cited_schema(least)["items"]["properties"]["text"]["maxLength"] == 9
    assert least["properties"]["word"]["maxLength"] == 40
    assert shrink_schema(least, 10) == least
    assert get_cited_schema(schema)["maxItems"] == 3  # what was given is not changed


def test_an_unbounded_text_stays_unbounded() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    assert shrink_schema(schema, 1) == schema
