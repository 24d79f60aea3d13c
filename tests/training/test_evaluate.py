import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.training import tiny
from training.cross_reader import evaluate
from training.cross_reader.development import Ranking
from training.cross_reader.evaluate import (
    CLAIMS,
    GROUPS,
    REPORTED,
    Judge,
    Model,
    figures,
    fitted,
    rerank_figures,
    wrong_figures,
)
from training.cross_reader.rows import Row, is_development, number_of
from training.cross_reader.sources import RANKED

from fathom.models.cross_reader import OnnxCrossReader
from fathom.models.reading import ReadingCalibration
from fathom.models.runtime import Ids, Output

RHINE, IT = tiny.PIECES.index("▁Rhine"), tiny.PIECES.index("▁it")
HELD = [f"held {n}" for n in range(400) if number_of(f"held {n}") % 16 == 12]
TEXT = "the town {n} lies on the Rhine"


class RhineRuntime:
    """Says that the Rhine is the answer where it is read; supports claims with "it" in the text."""

    name = "rhine"
    precision = "fp32"
    inputs = frozenset({"input_ids", "token_type_ids"})

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        ids, chunk = inputs["input_ids"], inputs["token_type_ids"] == 1
        found = (ids == RHINE) & chunk
        scores = np.zeros((len(ids), 8))
        scores[:, 0] = scores[:, 1] = np.where(found.any(axis=1), 2.0, -2.0)
        scores[:, 5] = np.where(((ids == IT) & chunk).any(axis=1), 2.0, -2.0)
        spans = np.where(found, 2.0, -2.0)
        spans[:, 0] = 0.0
        return np.hstack([scores, spans, spans, spans]).astype(np.float32)


@pytest.fixture
def reader(tmp_path: Path) -> OnnxCrossReader:
    return OnnxCrossReader(RhineRuntime(), tiny.pairs(tmp_path), ReadingCalibration())


def row(text: str, **known: object) -> Row:
    base = {"source": "squad-dev", "group": "squad", "question": "which river?", "title": ""}
    return Row(**base | {"text": text} | known)  # type: ignore[arg-type]


def answered(n: int) -> Row:
    text = TEXT.format(n=n)
    start = text.index("Rhine")
    known = {"question": f"which river {n}?", "title": HELD[n % len(HELD)], "relevant": True}
    return row(text, spans=((start, start + 5),), answerable=True, **known)


def claim(n: int, source: str = "snli-dev") -> Row:
    text = f"it lies {n}" if n % 2 else f"the town {n}"
    label = (0,) if n % 2 else (2,)
    return row(text, source=source, group="nli", question=f"claim {n}", support=label)


def test_a_reading_keeps_the_answer_and_the_scores(reader: OnnxCrossReader) -> None:
    (read,) = Model(reader, 5).read([answered(1)])

    assert read.answer == "Rhine"
    assert read.margin == 4.0
    assert read.scores["answerable"] == 2.0


def test_rows_without_a_token_are_left_out_and_a_sample_stays_the_same(
    reader: OnnxCrossReader,
) -> None:
    rows = [answered(n) for n in range(30)]

    assert Model(reader, 5).read([row("   ")]) == []
    assert Model(reader, 5).sample(rows) == Model(reader, 5).sample(rows)
    assert len(Model(reader, 5).read(rows)) == 5
    assert Model(reader, 50).sample(rows) == rows


def test_the_calibration_is_fitted_on_gold_and_wrong_texts_and_half_of_the_claims(
    reader: OnnxCrossReader,
) -> None:
    none = [row("it lies on the town", question=f"which one {n}?", answerable=False) for n in "ab"]
    others = [
        row(f"{name}{name} lies", question=f"which {name}?", spans=((0, 2),), answerable=True)
        for name in "abcdefghijkl"
    ]
    claims = [claim(n) for n in range(40)]
    wice = [claim(n, "wice-claim-dev") for n in range(40)]

    reads = fitted(Model(reader, 100), [*none, *others, *claims, *wice])

    read = [each.row for each in reads]
    assert {*none, *others} <= {*read}
    mined = [each for each in read if each.group == "mined"]
    assert len(mined) == (len(none) + len(others)) // 2
    assert all(each.answerable is False for each in mined)
    assert {each for each in read if each.support} == {
        each for each in claims if number_of(each.question) % 2 == 0
    }


def test_gold_is_told_from_wrong_by_the_law(reader: OnnxCrossReader) -> None:
    model = Model(reader, 50)
    has, wrong = model.read([answered(1)]), model.read([row("one two"), row("three")])
    turned = Judge(ReadingCalibration(answerable=(-1.0, 0.0, 0.0)))

    assert wrong_figures(has, wrong, Judge(ReadingCalibration()))["AUROC wrong texts"] == 1.0
    assert wrong_figures(has, wrong, turned)["AUROC wrong texts"] == 0.0
    assert wrong_figures(has, wrong, turned)["AUROC wrong texts, relevance"] == 1.0


def test_rankings_are_mixed_with_relevance(reader: OnnxCrossReader) -> None:
    documents = [
        {"_id": "wrong", "title": "", "text": "one two three"},
        {"_id": "right", "title": "", "text": TEXT},
    ]
    ranking = Ranking(
        question="which river?",
        documents=documents,
        scores=[2.0, 1.0],
        relevant=frozenset({"right"}),
    )

    found = rerank_figures(reader, [ranking], ReadingCalibration())

    assert found["nDCG@10 mix 1.0"] == 1.0
    assert found["nDCG@10 mix 0.0"] == pytest.approx(0.63, abs=0.01)


def write_lines(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))


def write_sets(data: Path) -> None:
    """A little of everything: development rows, the reported sets, and the corpus."""
    spans = [
        {
            "title": HELD[n % len(HELD)],
            "context": TEXT.format(n=n),
            "question": f"which river {n}?",
            "answers": [{"text": "Rhine", "answer_start": TEXT.format(n=n).index("Rhine")}],
            "is_impossible": False,
            "source": "squad-dev",
        }
        for n in range(20)
    ]
    twisted = [
        {**span, "question": f"not {span['question']}", "answers": [], "is_impossible": True}
        for span in spans
    ]
    made = [claim(n) for n in range(2000)]
    nli = [
        {
            "title": "",
            "context": each.text,
            "question": each.question,
            "source": "snli-dev",
            "task": "nli",
            "label": "supported" if each.support == (0,) else "unrelated",
        }
        for each in made
        if is_development(each)
    ]
    assert len(nli) > 20
    write_lines(data / "reader-train" / "reader_train.jsonl.gz", [*spans, *twisted, *nli])
    corpus = [{"_id": f"d{n}", "title": HELD[0], "text": TEXT.format(n=n)} for n in range(30)]
    corpus += [
        {"_id": f"w{n}", "title": HELD[0], "text": f"town {n} on the river"} for n in range(30)
    ]
    for name in (*REPORTED, "squad-retrieval", *RANKED):
        known = {"answerable": True, "paragraph": "d1"}
        queries = [
            {"_id": f"q{n}", "text": "which river?", "answers": ["Rhine"], "metadata": known}
            for n in range(4)
        ]
        write_lines(data / name / "corpus.jsonl.gz", corpus)
        write_lines(data / name / "queries.jsonl.gz", queries)
        lines = "".join(f"q{n}\td1\t1\n" for n in range(4))
        (data / name / "qrels.tsv").write_text("q\td\ts\n" + lines)


def test_every_set_is_told_as_soon_as_it_is_known(tmp_path: Path, reader: OnnxCrossReader) -> None:
    write_sets(tmp_path)

    told = dict(figures(Model(reader, 30), tmp_path, 2))

    assert list(told) == [
        "calibration",
        *REPORTED,
        *(f"claims {name}" for name in CLAIMS),
        *(f"development {name}" for name in GROUPS),
        *(f"rerank {name}" for name in ("squad-retrieval", *RANKED)),
    ]
    fresh = told["squad-fresh"]
    assert isinstance(fresh, dict)
    assert (fresh["rows"], fresh["has-answer F1"], fresh["has-answer EM"]) == (4, 1.0, 1.0)
    assert fresh["AUROC wrong texts, relevance"] == 1.0
    assert "AUROC wrong texts" not in told["facqa-id"]  # type: ignore[operator]
    snli = told["claims snli"]
    assert isinstance(snli, dict)
    assert snli["supported, AUROC"] == 1.0


def test_the_command_writes_what_it_tells(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reader: OnnxCrossReader,
) -> None:
    write_sets(tmp_path)
    monkeypatch.setattr(evaluate, "load_shipped_reader", lambda name, **known: reader)
    command = ["evaluate", "--data", str(tmp_path), "--model", "m", "--sample", "10"]
    monkeypatch.setattr("sys.argv", [*command, "--out", str(tmp_path / "figures.json")])

    evaluate.main()

    report = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    told = [line.split(" {")[0] for line in capsys.readouterr().out.splitlines()]
    assert list(report) == ["sample", *told]
    assert report["calibration"].keys() == {"relevance", "answerable", "support"}
