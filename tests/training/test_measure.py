from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")
pytest.importorskip("bm25s", reason="bm25s is needed for training only")

from tests.training import tiny  # noqa: E402
from training.cross_reader import measure, pack  # noqa: E402
from training.cross_reader.batches import Limits  # noqa: E402
from training.cross_reader.data import Split  # noqa: E402
from training.cross_reader.encode import Encoder  # noqa: E402
from training.cross_reader.figures import Read  # noqa: E402
from training.cross_reader.measure import Measurer, compute_figures  # noqa: E402
from training.cross_reader.model import SCORES, CrossReader, Outputs  # noqa: E402
from training.cross_reader.model import Encoder as Network  # noqa: E402
from training.cross_reader.rows import Row  # noqa: E402
from training.encoder import save  # noqa: E402

ROW = Row(
    source="s",
    group="squad",
    question="which river?",
    title="",
    text="the town lies on the Rhine.",
    spans=((21, 26),),
    answerable=True,
)


class RhineReader(CrossReader):
    """Answers with the Rhine wherever it is read, and with the mark elsewhere."""

    def forward(self, ids: Any, kinds: Any, mask: Any) -> Outputs:
        logits = torch.where(ids == tiny.PIECES.index("▁Rhine"), 5.0, -5.0)
        logits[:, 0] = 0.0
        scores = torch.arange(8.0).repeat(len(ids), 1)
        return Outputs(starts=logits, ends=logits, rests=logits, scores=scores)


def read_rows(rows: list[Row], folder: Path) -> list[Read]:
    model = RhineReader(Network(tiny.make_weights(), 0.0))
    measurer = Measurer(model, Encoder(tiny.write_tokenizer(folder)), "cpu", Limits(64, 64))
    reads: list[Read] = measurer.read(rows, size=2)
    return reads


def test_the_best_span_has_its_margin_over_none(tmp_path: Path) -> None:
    longer = replace(ROW, text=f"one two three. {ROW.text}")
    without = replace(ROW, text="the town.")

    reads = read_rows([longer, without, ROW], tmp_path)

    assert [read.row for read in reads] == [longer, without, ROW]
    assert [read.answer for read in reads][::2] == ["Rhine", "Rhine"]
    assert [read.margin for read in reads] == [10.0, -10.0, 10.0]
    assert reads[0].scores == dict(zip(SCORES, map(float, range(8)), strict=True))


def test_figures_exist_where_there_are_rows() -> None:
    read = Read(ROW, "Rhine", 1.0, dict.fromkeys(SCORES, 0.0))

    assert compute_figures([read]) == {"rows": 1, "has-answer F1": 1.0, "has-answer EM": 1.0}


def test_the_command_reports_development_rows_by_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [ROW, replace(ROW, source="t")]
    pack.write(tmp_path / "pack.jsonl.gz", Split(train=[], development=rows))
    save(tmp_path, tiny.make_weights())
    tiny.write_tokenizer(tmp_path)
    model = CrossReader(Network(tiny.make_weights(), 0.0))
    torch.save({"model": model.state_dict()}, tmp_path / "last.pt")
    command = ["measure", "--pack", str(tmp_path / "pack.jsonl.gz"), "--start", str(tmp_path)]
    monkeypatch.setattr("sys.argv", [*command, "--checkpoint", str(tmp_path / "last.pt")])

    measure.main()

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == ["squad/s", "squad/t"]
    assert '"has-answer F1"' in lines[0]
