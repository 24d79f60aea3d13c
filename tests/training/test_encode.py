from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")

import random  # noqa: E402
from dataclasses import replace  # noqa: E402

from tests.training import tiny  # noqa: E402
from training.cross_reader.encode import UNKNOWN, Batch, Encoded, Encoder, choose_window  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402

TEXT = "one two three four five six seven eight nine ten"
SEVERAL = "one two.\ntown : three four"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(tiny.write_tokenizer(tmp_path_factory.mktemp("tokens")))


def make_row(answer: str | None, text: str = TEXT, **fields: object) -> Row:
    base = {"source": "s", "group": "g", "question": "which?", "title": "", "text": text}
    if answer is None:
        return Row(**base, answerable=False, **fields)  # type: ignore[arg-type]
    start = text.index(answer)
    spans = ((start, start + len(answer)),)
    return Row(**base, spans=spans, answerable=True, **fields)  # type: ignore[arg-type]


def list_pieces(item: Encoded, first: int, last: int) -> list[str]:
    return [tiny.PIECES[item.pair.ids[place]] for place in range(first, last + 1)]


def make_batch(encoder: Encoder, rows: list[Row]) -> Batch:
    return encoder.batch(rows, limit=64, seed=1)


def test_the_gold_span_is_that_of_the_answer(encoder: Encoder) -> None:
    item = encoder.row(make_row("three four"), limit=64, seed=None)
    ((start, end),) = item.spans

    # <s> which ? </s> one two three four
    assert (start, end) == (6, 7)
    assert list_pieces(item, start, end) == ["▁three", "▁four"]


@pytest.mark.parametrize("seed", range(20))
def test_a_window_contains_the_answer(encoder: Encoder, seed: int) -> None:
    item = encoder.row(make_row("eight nine"), limit=9, seed=seed)
    ((start, end),) = item.spans

    assert len(item.pair.ids) == 9
    assert list_pieces(item, start, end) == ["▁eight", "▁nine"]


def test_a_row_is_cut_alike_for_the_same_seed(encoder: Encoder) -> None:
    cut = [encoder.row(make_row(None), limit=9, seed=seed).pair.ids for seed in (1, 1, *range(9))]

    assert cut[0] == cut[1]
    assert len({tuple(ids) for ids in cut}) > 1
    assert list_pieces(encoder.row(make_row(None), limit=9, seed=None), 4, 4) == ["▁one"]


def test_windows_without_an_answer_are_anywhere() -> None:
    starts = {choose_window(10, 4, (), random.Random(seed)) for seed in range(200)}

    assert starts == set(range(7))


def test_an_answer_longer_than_the_window_is_cut_at_its_start() -> None:
    assert 0 <= choose_window(10, 3, ((2, 8),), random.Random(1)) <= 7


def test_no_answer_is_the_null_span_and_unknown_is_none(encoder: Encoder) -> None:
    unknown = Row(source="s", group="g", question="it", title="", text=TEXT, support=(1, 2))

    batch = make_batch(encoder, [make_row(None), make_row("two"), unknown])

    assert batch.starts.nonzero().tolist() == [[0, 0], [1, 5]]
    assert batch.ends.nonzero().tolist() == [[0, 0], [1, 5]]
    assert batch.answerable.tolist() == [0, 1, UNKNOWN]
    assert batch.relevant.tolist() == [UNKNOWN] * 3
    assert batch.support.tolist() == [[False] * 3, [False] * 3, [False, True, True]]


def test_spans_are_in_the_chunk_or_at_the_mark(encoder: Encoder) -> None:
    batch = make_batch(encoder, [make_row("two", "one two"), make_row("two")])

    # <s> which ? </s> one two </s>, padded.
    assert batch.places[0].nonzero().flatten().tolist() == [0, 4, 5]
    assert batch.mask[0].sum() == 7
    assert batch.kinds[0].tolist() == [0, 0, 0, 0, 1, 1, 1, *[0] * (len(batch.kinds[0]) - 7)]
    assert batch.ids[0, 7:].tolist() == [1] * (len(batch.ids[0]) - 7)


def test_evidence_tokens_are_marked(encoder: Encoder) -> None:
    parts = ((0, 8), (9, len(SEVERAL)))
    needed = make_row("four", SEVERAL, parts=parts, rests=(parts[1],))
    broken = make_row(None, SEVERAL, parts=parts)

    batch = make_batch(encoder, [needed, broken])

    # <s> which ? </s> one two . town : three four </s>
    assert batch.rests[0].tolist() == [UNKNOWN] * 4 + [0, 0, 0, 1, 1, 1, 1] + [UNKNOWN]
    assert set(batch.rests[1].tolist()) == {UNKNOWN}


def test_parts_outside_the_window_are_left_out(encoder: Encoder) -> None:
    parts = ((0, 13), (14, len(TEXT)))

    item = encoder.row(make_row("two", parts=parts, rests=parts), limit=7, seed=None)

    # Room for two tokens, both of the first part.
    assert item.parts == ((4, 5, True),)


def test_processes_split_texts_into_the_same_tokens(encoder: Encoder, tmp_path: Path) -> None:
    rows = [make_row("two"), make_row("two", "one two")]

    forked = Encoder(tiny.write_tokenizer(tmp_path), rows, workers=2)

    for item in rows:
        assert forked.row(item, limit=64, seed=3) == encoder.row(item, limit=64, seed=3)


def test_a_cached_question_is_read_like_a_new_one(tmp_path: Path) -> None:
    sample = replace(make_row("two"), question="one two? " * 40, title="town")

    remembered = Encoder(tiny.write_tokenizer(tmp_path), [sample]).row(sample, limit=128, seed=None)

    pairs = tiny.write_tokenizer(tmp_path)
    head = pairs.build_head(sample.question, sample.title)
    assert remembered.pair == pairs.build_row(head, pairs.locate_tokens(sample.text))


def test_a_batch_moves_to_a_device_whole(encoder: Encoder) -> None:
    moved = make_batch(encoder, [make_row("two")]).move_to("meta")

    assert moved.ids.device.type == moved.support.device.type == "meta"
