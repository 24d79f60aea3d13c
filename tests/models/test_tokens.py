import gzip
import json
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from fathom.models.tokens import WordPiece

VOCABULARY = Path(__file__).parents[2] / "src/fathom/models/resources/vocab.txt"
SHARED = Path(os.environ.get("SHARED_DATA", "../shared/data"))
# Unicode moved these to another class after the tables of `tokenizers` were made.
MOVED = "\u166d\u1734\u1885\u1886"


@pytest.fixture(scope="module")
def tokens() -> WordPiece:
    return WordPiece.read(VOCABULARY)


@pytest.fixture(scope="module")
def oracle() -> Tokenizer:
    words = VOCABULARY.read_text(encoding="utf-8").splitlines()
    ids = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = [(mark, ids[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=marks)
    return tokenizer


def make_small_tokenizer() -> WordPiece:
    words = ["un", "##aff", "##able", "runn", "##ing", "!", "e", "run", "##a"]
    return WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])


def test_the_longest_match_comes_first() -> None:
    #           un ##aff ##able     runn ##ing  !
    assert make_small_tokenizer().encode("unaffable running!", 99) == [2, 4, 5, 6, 7, 8, 9, 3]


def test_a_word_without_pieces_is_one_unknown() -> None:
    assert make_small_tokenizer().encode("unx run", 99) == [2, 1, 11, 3]


def test_case_and_accents_are_dropped() -> None:
    assert make_small_tokenizer().encode("RÜN É", 99) == [2, 11, 10, 3]


@pytest.mark.parametrize(("letters", "pieces"), [(100, 100), (101, 1)])
def test_words_of_more_than_100_characters_are_unknown(letters: int, pieces: int) -> None:
    tokens = make_small_tokenizer()

    assert tokens.count("e" + "a" * (letters - 1)) == pieces
    assert (tokens.encode("e" + "a" * (letters - 1), 99)[1] == 1) is (pieces == 1)


def test_the_limit_includes_the_marks() -> None:
    assert make_small_tokenizer().encode("! " * 50, 5) == [2, 9, 9, 9, 3]
    assert make_small_tokenizer().encode("unaffable", 4) == [2, 4, 5, 3]
    assert make_small_tokenizer().encode("!", 2) == [2, 3]
    assert make_small_tokenizer().encode("!", 3) == [2, 9, 3]


def test_a_mark_spelt_out_in_a_text_is_plain_letters(tokens: WordPiece) -> None:
    ids = tokens.encode("[SEP]", 99)

    assert len(ids) == 2 + tokens.count("[ sep ]")
    assert ids.count(102) == 1


def test_the_number_of_remembered_words_is_bounded(tokens: WordPiece) -> None:
    fresh = WordPiece.read(VOCABULARY)
    text = " ".join(f"q{number}" for number in range(150_000))

    assert fresh.count(text) == tokens.count(text)
    assert len(fresh._words) <= 1 << 16


def test_a_long_word_takes_linear_time(tokens: WordPiece) -> None:
    assert tokens.count("a" * 1_000_000) == 1
    assert tokens.count("é" * 1_000_000) == 1
    assert tokens.count("!" * 1_000_000) == 1_000_000


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_every_settled_character_is_split_as_by_tokenizers(
    tokens: WordPiece, oracle: Tokenizer, step: int
) -> None:
    # Python's own tables grow with every release; what Unicode 3.2 knew is settled everywhere.
    characters = [
        char
        for char in map(chr, range(0x110000))
        if unicodedata.ucd_3_2_0.category(char) not in {"Cn", "Cs"} and char not in MOVED
    ]
    assert len(characters) > 90_000
    characters = characters[::step]
    texts = [f"pre{char}fix {char}" for char in characters]
    wrong = [
        char
        for char, text, right in zip(characters, texts, oracle.encode_batch(texts), strict=True)
        if tokens.encode(text, 99) != right.ids
    ]

    assert wrong == []


settled = st.characters(exclude_categories=["Cs"]).filter(
    lambda char: unicodedata.ucd_3_2_0.category(char) != "Cn" and char not in MOVED
)
pieces = st.one_of(
    st.text(settled, max_size=12),
    st.sampled_from(
        ["running", "Überraschung", "naïve", "1,024.5", "e-mail", "東京", "\u0301", "\t"]
    ),
)


@given(st.lists(pieces, max_size=12).map("".join))
def test_any_text_is_split_as_by_tokenizers(
    tokens: WordPiece, oracle: Tokenizer, text: str
) -> None:
    ids = oracle.encode(text).ids

    assert tokens.encode(text, 10_000) == ids
    assert tokens.count(text) == len(ids) - 2


@pytest.mark.parametrize("name", ["squad-retrieval", "idk-mrc-retrieval", "techqa-130"])
def test_real_texts_are_split_as_by_tokenizers(
    name: str, tokens: WordPiece, oracle: Tokenizer
) -> None:
    corpus = SHARED / name / "corpus.jsonl.gz"
    if not corpus.is_file():
        pytest.skip(f"{corpus} is not here")
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(300), lines, strict=False)]

    assert [tokens.encode(text, 10**6) for text in texts] == [oracle.encode(t).ids for t in texts]
