from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from fathom.llm.streamed_reply import AnswerText, StreamedReply


def read_parts(*parts: str) -> tuple[str, str]:
    text = AnswerText()
    streamed = "".join(text.add(part) for part in parts) + text.end()
    return streamed, text.answer


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (("a\ud83d", "\ude00b"), "a\U0001f600b"),
        (("\ud83d", "", "\ude00"), "\U0001f600"),
        (("a\ud83d", "b"), "a\ufffdb"),
        (("a\ud83d",), "a\ufffd"),
        (("a", "\ude00b"), "a\ufffdb"),
    ],
)
def test_a_divided_surrogate_pair_is_shown_whole(parts: tuple[str, ...], shown: str) -> None:
    reply = StreamedReply(100)
    streamed = [reply.add(AIMessageChunk(content=part)) for part in parts]
    assert "".join([*streamed, reply.end()]) == reply.answer == shown


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        (["Paris"], "Paris"),
        (["<think>France...</think>\n\nParis"], "Paris"),
        (["\n<th", "ink>Fra", "nce</thi", "nk>", "\n", "Paris"], "Paris"),
        (["<thinking>x</thinking>Paris"], "Paris"),
        (["<think>cut before it"], ""),
        (["<thunder> is a tag of its own"], "<thunder> is a tag of its own"),
        (["<thin"], "<thin"),
        (["The tag <think> is plain here"], "The tag <think> is plain here"),
        ([], ""),
    ],
)
def test_reasoning_is_removed_from_the_answer(parts: list[str], answer: str) -> None:
    streamed, whole = read_parts(*parts)

    assert whole == answer
    assert streamed.strip() == answer


def test_a_single_closing_tag_ends_reasoning_too() -> None:
    assert read_parts("France, so", "</think>Paris")[1] == "Paris"


@given(st.text(alphabet="ab <"), st.text(alphabet="cd \n"), st.lists(st.integers(0, 60)))
def test_the_division_into_parts_changes_nothing(
    thought: str, answer: str, cuts: list[int]
) -> None:
    whole = f"<think>{thought}</think>{answer}"
    edges = sorted({0, len(whole), *(min(c, len(whole)) for c in cuts)})
    parts = [whole[a:b] for a, b in pairwise(edges)]

    assert read_parts(*parts)[1] == answer.strip()
