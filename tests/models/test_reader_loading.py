import json
from pathlib import Path

import pytest

from fathom.errors import ModelError
from fathom.models.cross_reader import InputShape, OnnxCrossReader
from fathom.models.reader_loading import (
    ENGLISH,
    MULTILINGUAL,
    SHIPPED,
    load_shipped_reader,
    read_card,
)
from fathom.types import Chunk, Span

RESOURCES = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources"
needs_model = pytest.mark.skipif(
    not (RESOURCES / "cross-reader.onnx").exists(), reason="the cross-reader's file is not there"
)
CARD = {"sha256": "0" * 64, "calibration": {"relevance": [1, 0], "answerable": [1, 0, 0]}}
WRONG = json.dumps(
    {
        "sha256": "0",
        "calibration": {"relevance": [1, 0], "answerable": [1, 0, 0], "support": "much"},
    }
)
TEXTS = (
    "The mooring permit costs 40 crowns a year.",
    "The mooring permit costs 55 crowns a year.",
    "It opens at nine.",
)


@pytest.fixture(scope="module", params=[ENGLISH, MULTILINGUAL])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def shipped(name: str) -> OnnxCrossReader:
    return load_shipped_reader(name, threads=1)


def chunk(text: str, title: str = "") -> Chunk:
    return Chunk(
        id="d#0", document_id="d", text=text, span=Span(0, len(text)), ordinal=0, title=title
    )


@needs_model
@pytest.mark.parametrize(
    "question", ["", "why " * 10_000, "?!…", "👩‍👩‍👧", "أين تقع باريس؟", "\ud800"]
)
def test_odd_pairs_are_read(shipped: OnnxCrossReader, question: str) -> None:
    texts = [
        "",
        "  \n",
        "...!?",
        "👩‍👩‍👧 🇩🇪",
        "باريس هي عاصمة فرنسا",
        "\ud800 x",
        "a" * 5000,
        "\x00\u202e",
    ]
    found = shipped.open_session(question).read([chunk(text, title=text) for text in texts])
    for text, read in zip(texts, found, strict=True):
        assert 0 <= read.answerable <= 1
        assert all(0 <= span.span.start < span.span.end <= len(text) for span in read.spans)


@needs_model
def test_a_pair_reads_the_same_beside_others_and_alone(shipped: OnnxCrossReader, name: str) -> None:
    chunks = [chunk(text, "Fees") for text in TEXTS]
    assert len({len(shipped.tokenize(text)) for text in TEXTS[:2]}) == 1  # they share a batch
    together = shipped.open_session("What does a permit cost?").read(chunks)
    again = load_shipped_reader(name, threads=1)
    alone = [again.open_session("What does a permit cost?").read([each])[0] for each in chunks]
    assert together == alone


@needs_model
@pytest.mark.parametrize("asked", ["When was it made?", "Kapan dibuat?"])
def test_one_reader_reads_questions_of_both_languages(asked: str) -> None:
    reader = load_shipped_reader(threads=1)
    text = chunk("Perahu dayung itu dibuat pada tahun 1990 di Bandung.")
    (found,) = reader.open_session(asked).read([text])
    assert found.spans[0].span.cut(text.text) == "1990"


def test_the_shipped_one_is_the_multilingual_one() -> None:
    assert read_card(SHIPPED) == read_card(MULTILINGUAL) != read_card(ENGLISH)


@needs_model
def test_both_runtimes_agree() -> None:
    pytest.importorskip("openvino")
    shipped = load_shipped_reader(ENGLISH, threads=1)
    chunks = [chunk(text, "Fees") for text in TEXTS]
    other = load_shipped_reader(ENGLISH, runtime="openvino", threads=1)
    pairs = zip(
        shipped.open_session("What does a permit cost?").read(chunks),
        other.open_session("What does a permit cost?").read(chunks),
        strict=True,
    )
    for one, two in pairs:
        assert one.relevance == pytest.approx(two.relevance, abs=0.1)
        assert one.answerable == pytest.approx(two.answerable, abs=0.1)
        assert one.supported == pytest.approx(two.supported, abs=0.1)


@pytest.mark.parametrize(
    "card", [None, "", "[]", json.dumps({"sha256": 1}), json.dumps(CARD), WRONG]
)
def test_a_folder_without_a_reader_says_what_to_do(tmp_path: Path, card: str | None) -> None:
    if card is not None:
        (tmp_path / "cross-reader.json").write_text(card)
    with pytest.raises(ModelError, match=r"cross-reader\.json.*reinstall fathom, or name a folder"):
        load_shipped_reader(str(tmp_path))


def write_card(folder: Path) -> None:
    card = CARD | {"calibration": {**CARD["calibration"], "support": 1}}  # type: ignore[dict-item]
    (folder / "cross-reader.json").write_text(json.dumps(card))


@needs_model
def test_a_folder_says_what_its_model_takes_and_how_it_is_calibrated(tmp_path: Path) -> None:
    card = json.loads((RESOURCES / "cross-reader.json").read_text())
    never = {"relevance": [0, -9], "answerable": [0, 0, -9], "support": 1}
    card |= {"tokenizer": "words.txt", "limit": 128, "alone": True, "calibration": never}
    (tmp_path / "cross-reader.json").write_text(json.dumps(card))
    (tmp_path / "cross-reader.onnx").symlink_to(RESOURCES / "cross-reader.onnx")
    (tmp_path / "words.txt").symlink_to(RESOURCES / "vocab.txt")
    chunks = [chunk(text) for text in TEXTS]

    reader = load_shipped_reader(str(tmp_path), threads=1)

    assert [read.answerable for read in reader.open_session("What?").read(chunks)] == [0.000123] * 3
    assert reader._shape == InputShape(limit=128, alone=True)


def test_another_model_than_the_cards_is_refused(tmp_path: Path) -> None:
    write_card(tmp_path)
    (tmp_path / "cross-reader.onnx").write_bytes(b"something else")
    with pytest.raises(ModelError, match="is not the shipped one"):
        load_shipped_reader(str(tmp_path))


def test_a_missing_model_says_what_to_do(tmp_path: Path) -> None:
    write_card(tmp_path)
    with pytest.raises(ModelError, match=r"cross-reader\.onnx.*reinstall"):
        load_shipped_reader(str(tmp_path))
