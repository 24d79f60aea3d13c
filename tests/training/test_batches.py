from dataclasses import replace

from training.cross_reader.batches import Blocks, Limits, estimate_tokens
from training.cross_reader.rows import Row


def make_rows(group: str, count: int, words: int = 20) -> list[Row]:
    return [
        Row(
            source=group, group=group, question=f"{group}{n}?", title="", text="word " * (words + n)
        )
        for n in range(count)
    ]


ROWS = [*make_rows("a", 10), *make_rows("b", 7, words=60)]
SHARES = {"a": 4, "b": 2, "absent": 3}
LIMITS = Limits(one=100, several=150)


def list_block(number: int, seed: int = 1) -> list[list[Row]]:
    return list(Blocks(ROWS, SHARES, seed, LIMITS).batches(number, tokens=200))


def test_a_block_is_the_same_after_a_restart() -> None:
    blocks = Blocks(ROWS, SHARES, 1, LIMITS)
    batches = [list(blocks.batches(number, tokens=200)) for number in range(5)]

    assert batches == [list_block(number) for number in range(5)]
    assert batches != [list_block(number, seed=2) for number in range(5)]


def test_a_block_holds_the_share_of_every_group() -> None:
    drawn = [row.group for batch in list_block(3) for row in batch]

    assert sorted(drawn) == ["a"] * 4 + ["b"] * 2


def test_a_group_is_used_up_before_a_row_returns() -> None:
    drawn = [
        row.question
        for n in range(5)
        for batch in list_block(n)
        for row in batch
        if row.group == "a"
    ]

    assert sorted(drawn[:10]) == sorted(row.question for row in ROWS if row.group == "a")
    assert sorted(drawn[10:]) == sorted(row.question for row in ROWS if row.group == "a")


def test_batches_keep_to_their_tokens() -> None:
    for batch in list_block(0):
        longest = max(min(estimate_tokens(row), 100) for row in batch)
        assert len(batch) == 1 or len(batch) * longest <= 200


def test_texts_put_together_may_be_longer() -> None:
    single = ROWS[0]
    several = replace(single, parts=((0, 5), (5, 10)))
    blocks = Blocks(ROWS, SHARES, 1, LIMITS)

    assert (LIMITS.of(single), LIMITS.of(several)) == (100, 150)
    assert blocks.limit([single, single]) == 100
    assert blocks.limit([single, several]) == 150
