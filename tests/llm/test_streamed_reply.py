from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.llm.streamed_reply import AnswerText


def read(*parts: str) -> tuple[str, str]:
    text = AnswerText()
    shown = "".join(text.add(part) for part in parts) + text.end()
    return shown, text.answer


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
def test_answer_without_reasoning(parts: list[str], answer: str) -> None:
    shown, whole = read(*parts)

    assert whole == answer
    assert shown.strip() == answer


def test_a_lonely_closing_tag_ends_reasoning_too() -> None:
    assert read("France, so", "</think>Paris")[1] == "Paris"


@given(st.text(alphabet="ab <"), st.text(alphabet="cd \n"), st.lists(st.integers(0, 60)))
def test_where_the_parts_are_cut_changes_nothing(thought: str, said: str, cuts: list[int]) -> None:
    whole = f"<think>{thought}</think>{said}"
    edges = sorted({0, len(whole), *(min(c, len(whole)) for c in cuts)})
    parts = [whole[a:b] for a, b in pairwise(edges)]

    assert read(*parts)[1] == said.strip()
