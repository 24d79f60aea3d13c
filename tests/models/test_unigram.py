from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from fathom.errors import ModelError
from fathom.models.pair import QUESTION_LIMIT, TITLE_LIMIT, TextTokens
from fathom.models.unigram import UnigramPairs

MARKS = ["<s>", "<pad>", "</s>", "<unk>"]
START, END, UNKNOWN = 0, 2, 3
PIECES = [
    *(
        "▁",
        "▁the",
        "▁caf",
        "é",
        "▁on",
        "▁rhi",
        "ne",
        "▁ri",
        "ver",
        ".",
        "▁(",
        ")",
        ":",
        "-",
        "fine",
    ),
    *("▁fi", "x", "<", ">", "/", "s"),
]


def write_tokenizer(folder: Path, marks: Sequence[str] = MARKS) -> Path:
    vocabulary = [*((mark, 0.0) for mark in marks), *((piece, -4.0) for piece in PIECES)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3, byte_fallback=False))
    spaces = normalizers.Replace(Regex(r"[\s\p{Cc}\p{Zs}]+"), " ")
    small = normalizers.Lowercase()
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), spaces, small])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    file = folder / "tokenizer.json"
    tokenizer.save(str(file))
    return file


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> UnigramPairs:
    return UnigramPairs(write_tokenizer(tmp_path_factory.mktemp("tokens")))


def list_ids(*pieces: str) -> list[int]:
    return [len(MARKS) + PIECES.index(piece) for piece in pieces]


def cut_words(placed: TextTokens, text: str) -> list[str]:
    return [text[a:b] for a, b in zip(placed.starts, placed.ends, strict=True)]


def test_a_piece_stands_for_its_whole_word(pairs: UnigramPairs) -> None:
    text = "The café on  the\nRhine-river (fine)."

    spans = pairs.locate_tokens(text)

    assert spans.ids == [
        *list_ids("▁the", "▁caf", "é", "▁on", "▁the", "▁rhi", "ne"),
        *list_ids("-"),
        UNKNOWN,
        *list_ids("ver", "▁(", "fine", ")", "."),
    ]
    assert cut_words(spans, text) == [
        *("The", "café", "café", "on", "the", "Rhine", "Rhine"),
        *("-", "river", "river", "(", "fine", ")", "."),
    ]


@pytest.mark.parametrize("whole", ["2026-12-24", "11.05", "1,234.5", "08:30", "5.2GB"])
def test_a_date_or_number_is_never_cut_in_half(pairs: UnigramPairs, whole: str) -> None:
    text = f"on {whole}."
    answers = cut_words(pairs.locate_tokens(text), text)
    assert answers == ["on", *[whole] * (len(answers) - 2), "."]


@pytest.mark.parametrize("text", ["1939-1945", "3/4", "24-12"])
def test_the_ends_of_a_range_are_separate(pairs: UnigramPairs, text: str) -> None:
    assert len(set(cut_words(pairs.locate_tokens(text), text))) == 3


@pytest.mark.parametrize("text", ["e\u0301x", "x é", "\x00 é", "é", "\u00a0\u2003é\t", "日é"])
def test_no_piece_is_only_space(pairs: UnigramPairs, text: str) -> None:
    spans = pairs.locate_tokens(text)

    assert not set(list_ids("▁")) & set(spans.ids)
    assert all(word.strip("\x00").strip() == word for word in cut_words(spans, text))
    assert cut_words(spans, text)


def test_ligatures_and_fractions_keep_their_place(pairs: UnigramPairs) -> None:
    text = "The ﬁx."

    assert cut_words(pairs.locate_tokens(text), text) == ["The", "ﬁx", "ﬁx", "."]


@pytest.mark.parametrize("text", ["the </s> river", "<s><pad>", "\uff1c/s\uff1e", "the<s>"])
def test_a_mark_in_a_text_is_an_unknown_word(pairs: UnigramPairs, text: str) -> None:
    spans = pairs.locate_tokens(text)
    head = pairs.build_head(text, text)

    assert not {START, 1, END} & set(spans.ids)
    assert UNKNOWN in spans.ids
    assert (head.count(START), head.count(END)) == (1, 1)


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x07", "\u3000"])
def test_a_text_without_letters_has_no_tokens(pairs: UnigramPairs, text: str) -> None:
    assert pairs.locate_tokens(text) == TextTokens(ids=[], starts=[], ends=[])


def test_half_of_a_surrogate_pair_is_unknown(pairs: UnigramPairs) -> None:
    text = "the \ud800 river"

    spans = pairs.locate_tokens(text)

    assert cut_words(spans, text) == ["the", "\ud800", "river", "river"]
    assert spans.ids[1] == UNKNOWN


@given(text=st.text(max_size=60))
def test_places_are_inside_the_text_and_in_order(pairs: UnigramPairs, text: str) -> None:
    spans = pairs.locate_tokens(text)

    assert all(0 <= a < b <= len(text) for a, b in zip(spans.starts, spans.ends, strict=True))
    assert spans.starts == sorted(spans.starts)


def test_a_row_is_question_title_and_chunk_between_marks(pairs: UnigramPairs) -> None:
    row = pairs.build_row(pairs.build_head("the river", "rhine"), pairs.locate_tokens("the rhine."))

    question = [START, *list_ids("▁the", "▁ri", "ver"), END]
    chunk = list_ids("▁the", "▁rhi", "ne", ".")
    # The colon comes alone, as it does after a title of any length.
    assert row.ids == [
        *question,
        *list_ids("▁rhi", "ne"),
        *pairs.locate_tokens(":").ids,
        *chunk,
        END,
    ]
    assert row.kinds == [0] * len(question) + [1] * (len(row.ids) - len(question))
    assert row.ids[row.first : row.first + len(chunk)] == chunk
    assert pairs.build_head("the river", "") == question


def test_question_and_title_are_cut(pairs: UnigramPairs) -> None:
    head = pairs.build_head("the " * 500, "on " * 500)

    assert head.count(list_ids("▁the")[0]) == QUESTION_LIMIT
    assert head.count(list_ids("▁on")[0]) == TITLE_LIMIT


def test_threads_give_the_same_tokens(pairs: UnigramPairs) -> None:
    texts = [f"The café on the Rhine-river {'x' * (n % 7)} (fine)." for n in range(300)]
    alone = [pairs.locate_tokens(text) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(pairs.locate_tokens, texts))

    assert together == alone


@pytest.mark.parametrize("text", [None, "", "{}", '{"model": {"type": "Unigram"}}'])
def test_a_broken_tokenizer_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "tokenizer.json"
    if text is not None:
        file.write_text(text)

    with pytest.raises(ModelError, match=r"tokenizer '.*tokenizer\.json' cannot be read"):
        UnigramPairs(file)


def test_a_tokenizer_without_marks_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="lacks one of the marks <s>, </s>, <unk>"):
        UnigramPairs(write_tokenizer(tmp_path, ["<s>", "<pad>", "b", "c"]))
