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
    collect_fitting_reads,
    compute_figures,
    compute_rerank_figures,
    compute_wrong_figures,
)
from training.cross_reader.rows import Row, hash_to_number, is_development
from training.cross_reader.sources import RANKED

from fathom.models.cross_reader import OnnxCrossReader
from fathom.models.reading import ReadingCalibration
from fathom.models.runtime import Ids, Output

RHINE, IT = tiny.PIECES.index("▁Rhine"), tiny.PIECES.index("▁it")
HELD_OUT = [f"held {n}" for n in range(400) if hash_to_number(f"held {n}") % 16 == 12]
TEXT = "the town {n} lies on the Rhine"


class RhineRuntime:
    """Answers with the Rhine where it is read; supports claims with "it" in the text."""

    name = "rhine"
    precision = "fp32"
    inputs = frozenset({"input_ids", "token_type_ids"})

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        ids, chunk = inputs["input_ids"], inputs["token_type_ids"] == 1
        matches = (ids == RHINE) & chunk
        scores = np.zeros((len(ids), 8))
        scores[:, 0] = scores[:, 1] = np.where(matches.any(axis=1), 2.0, -2.0)
        scores[:, 5] = np.where(((ids == IT) & chunk).any(axis=1), 2.0, -2.0)
        spans = np.where(matches, 2.0, -2.0)
        spans[:, 0] = 0.0
        return np.hstack([scores, spans, spans, spans]).astype(np.float32)


@pytest.fixture
def reader(tmp_path: Path) -> OnnxCrossReader:
    return OnnxCrossReader(RhineRuntime(), tiny.write_tokenizer(tmp_path), ReadingCalibration())


def make_row(text: str, **fields: object) -> Row:
    base = {"source": "squad-dev", "group": "squad", "question": "which river?", "title": ""}
    return Row(**base | {"text": text} | fields)  # type: ignore[arg-type]


def make_answered(n: int) -> Row:
    text = TEXT.format(n=n)
    start = text.index("Rhine")
    fields = {
        "question": f"which river {n}?",
        "title": HELD_OUT[n % len(HELD_OUT)],
        "relevant": True,
    }
    return make_row(text, spans=((start, start + 5),), answerable=True, **fields)


def make_claim(n: int, source: str = "snli-dev") -> Row:
    text = f"it lies {n}" if n % 2 else f"the town {n}"
    label = (0,) if n % 2 else (2,)
    return make_row(text, source=source, group="nli", question=f"claim {n}", support=label)


def test_a_reading_keeps_the_answer_and_the_scores(reader: OnnxCrossReader) -> None:
    (read,) = Model(reader, 5).read([make_answered(1)])

    assert read.answer == "Rhine"
    assert read.margin == 4.0
    assert read.scores["answerable"] == 2.0


def test_rows_without_a_token_are_left_out_and_the_sample_is_reproducible(
    reader: OnnxCrossReader,
) -> None:
    rows = [make_answered(n) for n in range(30)]

    assert Model(reader, 5).read([make_row("   ")]) == []
    assert Model(reader, 5).sample(rows) == Model(reader, 5).sample(rows)
    assert len(Model(reader, 5).read(rows)) == 5
    assert Model(reader, 50).sample(rows) == rows


def test_the_calibration_is_fitted_on_gold_and_wrong_texts_and_half_of_the_claims(
    reader: OnnxCrossReader,
) -> None:
    none = [
        make_row("it lies on the town", question=f"which one {n}?", answerable=False) for n in "ab"
    ]
    others = [
        make_row(f"{name}{name} lies", question=f"which {name}?", spans=((0, 2),), answerable=True)
        for name in "abcdefghijkl"
    ]
    claims = [make_claim(n) for n in range(40)]
    wice = [make_claim(n, "wice-claim-dev") for n in range(40)]

    reads = collect_fitting_reads(Model(reader, 100), [*none, *others, *claims, *wice])

    read = [read.row for read in reads]
    assert {*none, *others} <= {*read}
    mined = [read for read in read if read.group == "mined"]
    assert len(mined) == (len(none) + len(others)) // 2
    assert all(read.answerable is False for read in mined)
    assert {read for read in read if read.support} == {
        read for read in claims if hash_to_number(read.question) % 2 == 0
    }


def test_the_law_separates_gold_from_wrong_texts(reader: OnnxCrossReader) -> None:
    model = Model(reader, 50)
    has, wrong = (
        model.read([make_answered(1)]),
        model.read([make_row("one two"), make_row("three")]),
    )
    turned = Judge(ReadingCalibration(answerable=(-1.0, 0.0, 0.0)))

    assert (
        compute_wrong_figures(has, wrong, Judge(ReadingCalibration()))["AUROC wrong texts"] == 1.0
    )
    assert compute_wrong_figures(has, wrong, turned)["AUROC wrong texts"] == 0.0
    assert compute_wrong_figures(has, wrong, turned)["AUROC wrong texts, relevance"] == 1.0


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

    figures = compute_rerank_figures(reader, [ranking], ReadingCalibration())

    assert figures["nDCG@10 mix 1.0"] == 1.0
    assert figures["nDCG@10 mix 0.0"] == pytest.approx(0.63, abs=0.01)


def write_lines(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))


def write_sets(data: Path) -> None:
    """Write development rows, the reported sets, and the corpus."""
    spans = [
        {
            "title": HELD_OUT[n % len(HELD_OUT)],
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
    claims = [make_claim(n) for n in range(2000)]
    nli = [
        {
            "title": "",
            "context": claim.text,
            "question": claim.question,
            "source": "snli-dev",
            "task": "nli",
            "label": "supported" if claim.support == (0,) else "unrelated",
        }
        for claim in claims
        if is_development(claim)
    ]
    assert len(nli) > 20
    write_lines(data / "reader-train" / "reader_train.jsonl.gz", [*spans, *twisted, *nli])
    corpus = [{"_id": f"d{n}", "title": HELD_OUT[0], "text": TEXT.format(n=n)} for n in range(30)]
    corpus += [
        {"_id": f"w{n}", "title": HELD_OUT[0], "text": f"town {n} on the river"} for n in range(30)
    ]
    for name in (*REPORTED, "squad-retrieval", *RANKED):
        fields = {"answerable": True, "paragraph": "d1"}
        queries = [
            {"_id": f"q{n}", "text": "which river?", "answers": ["Rhine"], "metadata": fields}
            for n in range(4)
        ]
        write_lines(data / name / "corpus.jsonl.gz", corpus)
        write_lines(data / name / "queries.jsonl.gz", queries)
        lines = "".join(f"q{n}\td1\t1\n" for n in range(4))
        (data / name / "qrels.tsv").write_text("q\td\ts\n" + lines)


def test_every_set_is_reported_as_soon_as_it_is_measured(
    tmp_path: Path, reader: OnnxCrossReader
) -> None:
    write_sets(tmp_path)

    reported = dict(compute_figures(Model(reader, 30), tmp_path, 2))

    assert list(reported) == [
        "calibration",
        *REPORTED,
        *(f"claims {name}" for name in CLAIMS),
        *(f"development {name}" for name in GROUPS),
        *(f"rerank {name}" for name in ("squad-retrieval", *RANKED)),
    ]
    fresh = reported["squad-fresh"]
    assert isinstance(fresh, dict)
    assert (fresh["rows"], fresh["has-answer F1"], fresh["has-answer EM"]) == (4, 1.0, 1.0)
    assert fresh["AUROC wrong texts, relevance"] == 1.0
    assert "AUROC wrong texts" not in reported["facqa-id"]  # type: ignore[operator]
    snli = reported["claims snli"]
    assert isinstance(snli, dict)
    assert snli["supported, AUROC"] == 1.0


def test_the_command_writes_what_it_prints(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reader: OnnxCrossReader,
) -> None:
    write_sets(tmp_path)
    monkeypatch.setattr(evaluate, "load_shipped_reader", lambda name, **options: reader)
    command = ["evaluate", "--data", str(tmp_path), "--model", "m", "--sample", "10"]
    monkeypatch.setattr("sys.argv", [*command, "--out", str(tmp_path / "figures.json")])

    evaluate.main()

    report = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    printed = [line.split(" {")[0] for line in capsys.readouterr().out.splitlines()]
    assert list(report) == ["sample", *printed]
    assert report["calibration"].keys() == {"relevance", "answerable", "support"}
