import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")

from training.cross_reader.encode import UNKNOWN, encode, to_batch, window  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402

from fathom.models.pair import PairTokens  # noqa: E402
from fathom.models.tokens import WordPiece  # noqa: E402

RESOURCES = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources"
TOKENS = PairTokens(WordPiece.read(RESOURCES / "vocab.txt"))
TEXT = "one two three four five six seven eight nine ten"


def row(answer: str | None, text: str = TEXT) -> Row:
    if answer is None:
        return Row(source="s", group="g", question="which?", title="", text=text, answerable=False)
    start = text.index(answer)
    return Row(
        source="s",
        group="g",
        question="which?",
        title="",
        text=text,
        spans=((start, start + len(answer)),),
        answerable=True,
    )


def test_the_gold_span_is_where_the_answer_stands() -> None:
    item = encode(TOKENS, row("three four"), limit=64, draw=None)
    ((start, end),) = item.spans

    # [CLS] which ? [SEP] one two three four
    assert (start, end) == (6, 7)


@pytest.mark.parametrize("seed", range(20))
def test_a_window_holds_the_answer(seed: int) -> None:
    item = encode(TOKENS, row("eight nine"), limit=9, draw=random.Random(seed))
    ((start, end),) = item.spans

    assert len(item.pair.ids) == 9
    assert [item.pair.ids[place] for place in range(start, end + 1)] == TOKENS.placed(
        "eight nine"
    ).ids


def test_windows_without_an_answer_lie_anywhere() -> None:
    found = {window(10, 4, (), random.Random(seed)) for seed in range(200)}

    assert found == set(range(7))


def test_an_answer_longer_than_the_window_is_met_at_its_start() -> None:
    assert 0 <= window(10, 3, ((2, 8),), random.Random(1)) <= 7


def test_no_answer_is_the_null_span() -> None:
    batch = to_batch(TOKENS, [row(None), row("two")], limit=64, seed=1)

    assert batch.starts.nonzero().tolist() == [[0, 0], [1, 5]]
    assert batch.ends.nonzero().tolist() == [[0, 0], [1, 5]]
    assert batch.answerable.tolist() == [0, 1]
    assert batch.relevant.tolist() == [UNKNOWN, UNKNOWN]


def test_spans_may_stand_in_the_chunk_and_at_cls_only() -> None:
    batch = to_batch(TOKENS, [row("two", "one two"), row("two")], limit=64, seed=1)

    # [CLS] which ? [SEP] one two [SEP], padded.
    assert batch.places[0].nonzero().flatten().tolist() == [0, 4, 5]
    assert batch.mask[0].sum() == 7
