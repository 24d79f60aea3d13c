from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")

import random  # noqa: E402
from dataclasses import replace  # noqa: E402

from tests.training import tiny  # noqa: E402
from training.cross_reader.encode import UNKNOWN, Batch, Encoded, Encoder, window  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402

TEXT = "one two three four five six seven eight nine ten"
SEVERAL = "one two.\ntown : three four"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(tiny.pairs(tmp_path_factory.mktemp("tokens")))


def row(answer: str | None, text: str = TEXT, **known: object) -> Row:
    base = {"source": "s", "group": "g", "question": "which?", "title": "", "text": text}
    if answer is None:
        return Row(**base, answerable=False, **known)  # type: ignore[arg-type]
    start = text.index(answer)
    spans = ((start, start + len(answer)),)
    return Row(**base, spans=spans, answerable=True, **known)  # type: ignore[arg-type]


def pieces(item: Encoded, first: int, last: int) -> list[str]:
    return [tiny.PIECES[item.pair.ids[place]] for place in range(first, last + 1)]


def batch_of(encoder: Encoder, rows: list[Row]) -> Batch:
    return encoder.batch(rows, limit=64, seed=1)


def test_the_gold_span_is_where_the_answer_stands(encoder: Encoder) -> None:
    item = encoder.row(row("three four"), limit=64, seed=None)
    ((start, end),) = item.spans

    # <s> which ? </s> one two three four
    assert (start, end) == (6, 7)
    assert pieces(item, start, end) == ["▁three", "▁four"]


@pytest.mark.parametrize("seed", range(20))
def test_a_window_holds_the_answer(encoder: Encoder, seed: int) -> None:
    item = encoder.row(row("eight nine"), limit=9, seed=seed)
    ((start, end),) = item.spans

    assert len(item.pair.ids) == 9
    assert pieces(item, start, end) == ["▁eight", "▁nine"]


def test_a_row_is_cut_alike_for_the_same_seed(encoder: Encoder) -> None:
    cut = [encoder.row(row(None), limit=9, seed=seed).pair.ids for seed in (1, 1, *range(9))]

    assert cut[0] == cut[1]
    assert len({tuple(ids) for ids in cut}) > 1
    assert pieces(encoder.row(row(None), limit=9, seed=None), 4, 4) == ["▁one"]


def test_windows_without_an_answer_lie_anywhere() -> None:
    found = {window(10, 4, (), random.Random(seed)) for seed in range(200)}

    assert found == set(range(7))


def test_an_answer_longer_than_the_window_is_met_at_its_start() -> None:
    assert 0 <= window(10, 3, ((2, 8),), random.Random(1)) <= 7


def test_no_answer_is_the_null_span_and_unknown_is_none(encoder: Encoder) -> None:
    unknown = Row(source="s", group="g", question="it", title="", text=TEXT, support=(1, 2))

    batch = batch_of(encoder, [row(None), row("two"), unknown])

    assert batch.starts.nonzero().tolist() == [[0, 0], [1, 5]]
    assert batch.ends.nonzero().tolist() == [[0, 0], [1, 5]]
    assert batch.answerable.tolist() == [0, 1, UNKNOWN]
    assert batch.relevant.tolist() == [UNKNOWN] * 3
    assert batch.support.tolist() == [[False] * 3, [False] * 3, [False, True, True]]


def test_spans_may_stand_in_the_chunk_and_at_the_mark_only(encoder: Encoder) -> None:
    batch = batch_of(encoder, [row("two", "one two"), row("two")])

    # <s> which ? </s> one two </s>, padded.
    assert batch.places[0].nonzero().flatten().tolist() == [0, 4, 5]
    assert batch.mask[0].sum() == 7
    assert batch.kinds[0].tolist() == [0, 0, 0, 0, 1, 1, 1, *[0] * (len(batch.kinds[0]) - 7)]
    assert batch.ids[0, 7:].tolist() == [1] * (len(batch.ids[0]) - 7)


def test_the_texts_an_answer_rests_on_are_told_token_by_token(encoder: Encoder) -> None:
    parts = ((0, 8), (9, len(SEVERAL)))
    needed = row("four", SEVERAL, parts=parts, rests=(parts[1],))
    broken = row(None, SEVERAL, parts=parts)

    batch = batch_of(encoder, [needed, broken])

    # <s> which ? </s> one two . town : three four </s>
    assert batch.rests[0].tolist() == [UNKNOWN] * 4 + [0, 0, 0, 1, 1, 1, 1] + [UNKNOWN]
    assert set(batch.rests[1].tolist()) == {UNKNOWN}


def test_parts_outside_the_window_are_left_out(encoder: Encoder) -> None:
    parts = ((0, 13), (14, len(TEXT)))

    item = encoder.row(row("two", parts=parts, rests=parts), limit=7, seed=None)

    # Room for two tokens, both of the first part.
    assert item.parts == ((4, 5, True),)


def test_processes_cut_texts_into_the_same_tokens(encoder: Encoder, tmp_path: Path) -> None:
    rows = [row("two"), row("two", "one two")]

    forked = Encoder(tiny.pairs(tmp_path), rows, workers=2)

    for one in rows:
        assert forked.row(one, limit=64, seed=3) == encoder.row(one, limit=64, seed=3)


def test_a_remembered_question_is_read_as_a_new_one(tmp_path: Path) -> None:
    known = replace(row("two"), question="one two? " * 40, title="town")

    remembered = Encoder(tiny.pairs(tmp_path), [known]).row(known, limit=128, seed=None)

    pairs = tiny.pairs(tmp_path)
    head = pairs.build_head(known.question, known.title)
    assert remembered.pair == pairs.build_row(head, pairs.locate_tokens(known.text))


def test_a_batch_moves_whole(encoder: Encoder) -> None:
    moved = batch_of(encoder, [row("two")]).get_connections("meta")

    assert moved.ids.device.type == moved.support.device.type == "meta"
