import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")

from pathlib import Path  # noqa: E402

from tests.training import tiny  # noqa: E402
from training.cross_reader.model import Encoder  # noqa: E402
from training.encoder import PackedModel, build_tokenizer  # noqa: E402
from training.encoder_check import Line, embed, make_sentences  # noqa: E402

from training import encoder, encoder_check  # noqa: E402

PACKED = PackedModel(pieces=[], scores=np.zeros(0, np.float32), tensors={})


def test_there_are_enough_sentences_in_six_languages() -> None:
    groups = make_sentences()

    assert len(groups) == 6
    assert sum(len(set(texts)) for texts in groups.values()) >= 186
    assert sum(map(len, groups.values())) >= 200
    assert not any("{" in text for texts in groups.values() for text in texts)


def test_questions_are_embedded_as_e5_does() -> None:
    network = Encoder(tiny.make_weights(), 0.5)
    tokens = build_tokenizer(tiny.PIECES, [-2.0] * len(tiny.PIECES))

    (vector,) = embed(network, tokens, ["the Rhine"])

    ids = torch.tensor([[0, *tokens.encode("query: the Rhine").ids, 2]])
    with torch.no_grad():
        mean = network(ids, torch.zeros_like(ids), torch.ones_like(ids).bool())[0].mean(0)
    np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


def make_line(language: str, lowest: float) -> Line:
    return Line(language, (lowest, 0.999), (0.98, 0.99), (10.0, 11.0), 0.01)


@pytest.mark.parametrize("lowest", [0.995, 0.98])
def test_a_language_that_disagrees_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lowest: float
) -> None:
    lines = [make_line("English", 0.999), make_line("German", lowest)]
    monkeypatch.setattr(encoder_check, "compare_encoders", lambda wheel, packed, count: iter(lines))

    if lowest < encoder_check.LEAST:
        with pytest.raises(SystemExit, match=r"^German: below 0\.99"):
            encoder._check_model(Path("w"), PACKED, 10)
    else:
        encoder._check_model(Path("w"), PACKED, 10)

    output = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in output[2:]] == ["English", "German"]
    assert f"{lowest:.4f}" in output[-1]
