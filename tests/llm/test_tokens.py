import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.llm.base import Message
from fathom.llm.tokens import TokenCount, count_tokens, cut_text, limit_prompt_tokens, limit_tokens
from fathom.llm.tokens import count_prompt_tokens as likely_prompt_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),  # 0.8
        ("the pump", 2),  # 0.8 + 0.8
        ("maintenance", 4),  # 0.8 + 7 * 0.33 = 3.11
        ("1927", 4),  # one for each digit
        ("a, b.", 3),  # 0.8 + 0.6 + 0.8 + 0.6 = 2.8
        ("東京", 2),  # 2 * 0.8 = 1.6
    ],
)
def test_tokens_are_counted_as_by_hand(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


# Counted once with a byte-level BPE of 131,072 entries (Tekken, 2409).
@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("東京は日本の首都であり、人口は約1400万人です。" * 5, 90),
        ("Москва является столицей России и крупнейшим городом страны." * 5, 60),
        ("0x7f3a9b" * 30, 240),
        ("!@#$%^&*()" * 20, 180),
        ("😀🎉🚀" * 40, 480),
    ],
)
def test_the_bound_holds_where_the_estimate_is_poor(text: str, true: int) -> None:
    assert limit_tokens(text) >= true


@given(st.text())
def test_the_estimate_is_at_most_the_bound_and_the_bound_at_most_the_bytes(text: str) -> None:
    assert count_tokens(text) <= limit_tokens(text) <= len(text.encode("utf-8", "replace"))


@given(st.lists(st.text(alphabet="ab c1,\né東"), max_size=30))
def test_parts_count_like_the_whole(parts: list[str]) -> None:
    count = TokenCount()
    for part in parts:
        last = count.add(part)
        assert last == count.total

    # A run of spaces that is cut between two parts weighs a little more or less.
    assert abs(count.total - count_tokens("".join(parts))) <= 1 + len(parts)


@given(st.text(), st.integers(0, 50))
def test_cutting_keeps_a_start_within_the_tokens(text: str, tokens: int) -> None:
    cut = cut_text(text, tokens)

    assert text.startswith(cut)
    assert count_tokens(cut) <= tokens
    assert cut == text or count_tokens(text) > tokens


def test_a_conversation_has_a_fixed_overhead() -> None:
    messages = (Message("system", "the pump"), Message("user", "1927"))

    assert likely_prompt_tokens(messages) == 3 + 2 * 4 + 2 + 4
    assert likely_prompt_tokens(messages, "a") == 3 + 2 * 4 + 2 + 4 + 1
    assert limit_prompt_tokens(messages) == 3 + 2 * 4 + 3 + 4  # 1.5 * 1.6 = 2.4; 4 bytes
