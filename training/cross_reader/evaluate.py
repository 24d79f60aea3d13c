"""Calibrate an exported cross-reader and measure it.

    python -m training.cross_reader.evaluate --data DATA --model FOLDER --out FIGURES.json

Every row is read by Fathom's own reader, from the files that are shipped. The calibration is fitted
on development rows in the languages that the reader is for: on answerable and twisted questions, on
the best wrong texts among them, and on half of the claims. Reported are the sets that nothing was
learned from, each question with its gold document, and the other development rows. `--sample`
bounds the time it takes.
"""

import argparse
import json
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from training.cross_reader.calibrate import calibration_of
from training.cross_reader.composed import composed
from training.cross_reader.development import (
    Ranking,
    development_rows,
    gold_rows,
    rankings,
    wrong_texts,
)
from training.cross_reader.figures import (
    Read,
    answer_figures,
    claim_figures,
    rounded,
    yesno_figures,
)
from training.cross_reader.mining import mined
from training.cross_reader.rows import WRITTEN, Row, number_of
from training.cross_reader.sources import RANKED, SHARES
from training.cross_reader.squad import auroc, ndcg
from training.cross_reader.yesno import asked

from fathom.evaluation.calibration_metrics import calibration_error
from fathom.models.cross_reader import OnnxCrossReader
from fathom.models.reader_loading import load_shipped_reader
from fathom.models.reading import SCORES, PairScores, ReadingCalibration
from fathom.question.question import Question
from fathom.types import Chunk, Span

LANGUAGES = ("en", "id")
REPORTED = ("squad-fresh", "idk-mrc-retrieval", "facqa-id")
CLAIMS = ("mnli", "snli", "scitail", "conflictqa", "wice", "expertqa", "indonli")
GROUPS = (
    *("yesno", "yesno-made", "yesno-id", "composed", "nq", "odd", "informal", "indonesian"),
    *("written", "written-id"),
)
_LONGEST = 1200  # characters of a document that are reranked
_MIXES = tuple(step / 10 for step in range(11))

Figures = dict[str, float]


def chunk_of(title: str, text: str) -> Chunk:
    """A text as a chunk of its own."""
    return Chunk(
        id="0#0", document_id="0", text=text, span=Span(0, len(text)), ordinal=0, title=title
    )


def read_of(row: Row, raw: PairScores) -> Read:
    """The scores of a pass, without those of all its spans."""
    spans = raw.build_reading(ReadingCalibration(), 1).spans
    pair = (raw.relevance, raw.answerable, raw.yes, raw.no, raw.neither, *map(float, raw.support))
    answer = spans[0].span.cut(row.text) if spans else ""
    return Read(row, answer, raw.margin, dict(zip(SCORES, pair, strict=True)))


@dataclass(frozen=True, slots=True)
class Model:
    """A reader that reads so many rows of a set at most, always the same ones."""

    reader: OnnxCrossReader
    most: int

    def read(self, rows: Sequence[Row]) -> list[Read]:
        """A reading of every row that has a token."""
        found = []
        for row in self.sample(rows):
            (raw,) = self.reader.score_pairs(row.question, [chunk_of(row.title, row.text)])
            found += [read_of(row, raw)] if raw else []
        return found

    def sample(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that are read of `rows`."""
        return random.Random(1).sample(rows, self.most) if len(rows) > self.most else list(rows)


@dataclass(frozen=True, slots=True)
class Judge:
    """What the readings say under a calibration."""

    law: ReadingCalibration

    def measure_answerability(self, read: Read) -> float:
        """Probability that the row holds an answer."""
        return self.law.compute_answerable(read.scores["answerable"], read.margin)

    def supported(self, read: Read) -> float:
        """Probability that the row supports the claim."""
        scores = np.asarray([read.scores[name] for name in SCORES[5:]], dtype=np.float32)
        return self.law.compute_support(scores)[0]


def fitted(model: Model, development: Sequence[Row]) -> list[Read]:
    """The readings that the calibration is fitted on."""
    rows: list[Row] = []
    for group in ("squad", "indonesian", *sorted(WRITTEN)):
        gold = model.sample([row for row in development if row.group == group])
        wrong = list(mined(gold))
        rows += [*gold, *random.Random(1).sample(wrong, min(len(wrong), len(gold) // 2))]
    claims = [row for row in development if row.support and _is_fitted(row)]
    return [*Model(model.reader, len(rows)).read(rows), *model.read(claims)]


def _is_fitted(claim: Row) -> bool:
    """Half of the claims; of WiCE, which has few, none."""
    return number_of(claim.question) % 2 == 0 and not claim.source.startswith("wice")


def gold_figures(reads: Sequence[Read], judge: Judge) -> Figures:
    """Answers and answerability of rows."""
    found: Figures = {"rows": len(reads), **answer_figures(reads, judge.measure_answerability)}
    known = [read for read in reads if read.row.answerable is not None]
    true = [bool(read.row.answerable) for read in known]
    error = calibration_error([judge.measure_answerability(read) for read in known], true)
    return found if error is None else {**found, "answerable, calibration error": error}


def wrong_figures(has: Sequence[Read], wrong: Sequence[Read], judge: Judge) -> Figures:
    """How well gold documents are told from the best-ranked wrong ones of the whole corpus."""
    both = (has, wrong)
    return {
        "wrong texts": len(wrong),
        "AUROC wrong texts": auroc(
            *([judge.measure_answerability(read) for read in each] for each in both)
        ),
        "AUROC wrong texts, relevance": auroc(
            *([read.scores["relevance"] for read in each] for each in both)
        ),
    }


def reported(model: Model, data: Path, name: str, judge: Judge) -> Figures:
    """Figures of a set that nothing was learned from."""
    reads = model.read(gold_rows(data / name))
    found = gold_figures(reads, judge)
    if name == "squad-fresh":
        has = [read for read in reads if read.row.answerable]
        rows = [read.row for read in has[: model.most // 2]]
        wrong = Model(model.reader, len(rows)).read(list(wrong_texts(data, rows)))
        found |= wrong_figures(has, wrong, judge)
    return found


def rerank_figures(
    reader: OnnxCrossReader, found: Sequence[Ranking], law: ReadingCalibration
) -> Figures:
    """nDCG@10 of the first stage, of relevance, and of every mix of the two."""
    values: dict[str, list[float]] = {}
    for ranking in found:
        chunks = [chunk_of(d["title"], d["text"][:_LONGEST]) for d in ranking.documents]
        passes = reader.score_pairs(ranking.question, chunks)
        relevance = [law.compute_relevance(raw.relevance) if raw else 0.0 for raw in passes]
        best = max(ranking.scores) or 1.0
        for mix in _MIXES:
            scores = [
                mix * own + (1 - mix) * score / best
                for own, score in zip(relevance, ranking.scores, strict=True)
            ]
            order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
            ids = [str(ranking.documents[place]["_id"]) for place in order]
            values.setdefault(f"nDCG@10 mix {mix}", []).append(ndcg(ids, ranking.relevant))
    return {"questions": len(found), **{name: fmean(each) for name, each in values.items()}}


def figures(
    model: Model, data: Path, rerank: int, languages: Collection[str] = LANGUAGES
) -> Iterator[tuple[str, object]]:
    """The calibration, fitted on questions in these languages, then the figures of every set."""
    development = development_rows(data, frozenset(SHARES))
    own = [row for row in development if Question(row.question).language in languages]
    law = calibration_of(fitted(model, own))
    judge = Judge(law)
    yield "calibration", asdict(law)
    for name in REPORTED:
        yield name, rounded(reported(model, data, name, judge))
    unseen = [row for row in development if row.support and not _is_fitted(row)]
    for name in CLAIMS:
        own = [row for row in unseen if row.source.startswith(name)]
        yield f"claims {name}", rounded(claim_figures(model.read(own), judge.supported))
    rows = [*development, *composed(development), *asked(unseen)]
    for name in GROUPS:
        reads = model.read([row for row in rows if row.group == name])
        found = {**gold_figures(reads, judge), **yesno_figures(reads)}
        yield f"development {name}", rounded(found)
    held = frozenset(row.title for row in development if row.group == "squad")
    for name, titles in (("squad-retrieval", held), *((name, frozenset()) for name in RANKED)):
        if rerank:
            found = rerank_figures(model.reader, rankings(data / name, rerank, titles), law)
            yield f"rerank {name}", rounded(found)


def main() -> None:
    """Read the arguments, measure and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder that `export` wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, choices=LANGUAGES)
    parser.add_argument("--sample", type=int, default=10_000, help="rows of a set at most")
    parser.add_argument("--rankings", type=int, default=0, help="questions a set to rerank")
    parser.add_argument("--runtime", default="onnxruntime")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    reader = load_shipped_reader(
        str(arguments.model), runtime=arguments.runtime, threads=arguments.threads
    )
    report: dict[str, object] = {"sample": arguments.sample}
    model = Model(reader, arguments.sample)
    for name, found in figures(model, arguments.data, arguments.rankings, arguments.languages):
        report[name] = found
        print(name, json.dumps(found), flush=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
