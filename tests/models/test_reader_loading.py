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


def make_chunk(text: str, title: str = "") -> Chunk:
    return Chunk(
        id="d#0", document_id="d", text=text, span=Span(0, len(text)), ordinal=0, title=title
    )


@needs_model
@pytest.mark.parametrize(
    "question", ["", "why " * 10_000, "?!…", "👩‍👩‍👧", "أين تقع باريس؟", "\ud800"]
)
def test_unusual_pairs_are_read(shipped: OnnxCrossReader, question: str) -> None:
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
    readings = shipped.open_session(question).read([make_chunk(text, title=text) for text in texts])
    for text, read in zip(texts, readings, strict=True):
        assert 0 <= read.answerable <= 1
        assert all(0 <= span.span.start < span.span.end <= len(text) for span in read.spans)


@needs_model
def test_a_pair_is_read_alike_in_a_batch_and_alone(shipped: OnnxCrossReader, name: str) -> None:
    chunks = [make_chunk(text, "Fees") for text in TEXTS]
    assert len({len(shipped.tokenize(text)) for text in TEXTS[:2]}) == 1  # they share a batch
    together = shipped.open_session("What does a permit cost?").read(chunks)
    again = load_shipped_reader(name, threads=1)
    alone = [
        again.open_session("What does a permit cost?").read([text_chunk])[0]
        for text_chunk in chunks
    ]
    assert together == alone


@needs_model
@pytest.mark.parametrize("question", ["When was it made?", "Kapan dibuat?"])
def test_one_reader_reads_questions_of_both_languages(question: str) -> None:
    reader = load_shipped_reader(threads=1)
    text = make_chunk("Perahu dayung itu dibuat pada tahun 1990 di Bandung.")
    (reading,) = reader.open_session(question).read([text])
    assert reading.spans[0].span.cut(text.text) == "1990"


def test_the_shipped_reader_is_the_multilingual_one() -> None:
    assert read_card(SHIPPED) == read_card(MULTILINGUAL) != read_card(ENGLISH)


@needs_model
def test_both_runtimes_agree() -> None:
    pytest.importorskip("openvino")
    shipped = load_shipped_reader(ENGLISH, threads=1)
    chunks = [make_chunk(text, "Fees") for text in TEXTS]
    other = load_shipped_reader(ENGLISH, runtime="openvino", threads=1)
    pairs = zip(
        shipped.open_session("What does a permit cost?").read(chunks),
        other.open_session("What does a permit cost?").read(chunks),
        strict=True,
    )
    for first, two in pairs:
        assert first.relevance == pytest.approx(two.relevance, abs=0.1)
        assert first.answerable == pytest.approx(two.answerable, abs=0.1)
        assert first.supported == pytest.approx(two.supported, abs=0.1)


@pytest.mark.parametrize(
    "card", [None, "", "[]", json.dumps({"sha256": 1}), json.dumps(CARD), WRONG]
)
def test_a_folder_without_a_reader_names_the_next_step(tmp_path: Path, card: str | None) -> None:
    if card is not None:
        (tmp_path / "cross-reader.json").write_text(card)
    with pytest.raises(ModelError, match=r"cross-reader\.json.*reinstall fathom, or name a folder"):
        load_shipped_reader(str(tmp_path))


def write_card(folder: Path) -> None:
    card = CARD | {"calibration": {**CARD["calibration"], "support": 1}}  # type: ignore[dict-item]
    (folder / "cross-reader.json").write_text(json.dumps(card))


@needs_model
def test_a_folder_states_the_inputs_and_the_calibration_of_its_model(tmp_path: Path) -> None:
    card = json.loads((RESOURCES / "cross-reader.json").read_text())
    never = {"relevance": [0, -9], "answerable": [0, 0, -9], "support": 1}
    card |= {"tokenizer": "words.txt", "limit": 128, "alone": True, "calibration": never}
    (tmp_path / "cross-reader.json").write_text(json.dumps(card))
    (tmp_path / "cross-reader.onnx").symlink_to(RESOURCES / "cross-reader.onnx")
    (tmp_path / "words.txt").symlink_to(RESOURCES / "vocab.txt")
    chunks = [make_chunk(text) for text in TEXTS]

    reader = load_shipped_reader(str(tmp_path), threads=1)

    assert [read.answerable for read in reader.open_session("What?").read(chunks)] == [0.000123] * 3
    assert reader._shape == InputShape(limit=128, alone=True)


def test_a_model_that_does_not_match_its_card_is_refused(tmp_path: Path) -> None:
    write_card(tmp_path)
    (tmp_path / "cross-reader.onnx").write_bytes(b"something else")
    with pytest.raises(ModelError, match="is not the shipped one"):
        load_shipped_reader(str(tmp_path))


def test_a_missing_model_names_the_next_step(tmp_path: Path) -> None:
    write_card(tmp_path)
    with pytest.raises(ModelError, match=r"cross-reader\.onnx.*reinstall"):
        load_shipped_reader(str(tmp_path))
