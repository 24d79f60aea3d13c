"""The calibration and the measurement of an exported cross-reader.

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
from training.cross_reader.calibrate import fit_reading_calibration
from training.cross_reader.composed import compose_rows
from training.cross_reader.development import (
    Ranking,
    find_wrong_texts,
    make_rankings,
    read_development_rows,
    read_gold_rows,
)
from training.cross_reader.figures import (
    Read,
    compute_answer_figures,
    compute_claim_figures,
    compute_yesno_figures,
    round_figures,
)
from training.cross_reader.mining import mine_wrong
from training.cross_reader.rows import WRITTEN, Row, hash_to_number
from training.cross_reader.sources import RANKED, SHARES
from training.cross_reader.squad import compute_auroc, compute_ndcg
from training.cross_reader.yesno import make_yesno

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
    *("written", "written-id", "generated", "generated-id"),
)
_LONGEST = 1200  # characters of a document that are reranked
_MIXES = tuple(step / 10 for step in range(11))

Figures = dict[str, float]


def make_chunk(title: str, text: str) -> Chunk:
    """Return a text as a chunk."""
    return Chunk(
        id="0#0", document_id="0", text=text, span=Span(0, len(text)), ordinal=0, title=title
    )


def make_read(row: Row, raw: PairScores) -> Read:
    """Return the scores of a pass, without those of all its spans."""
    spans = raw.build_reading(ReadingCalibration(), 1).spans
    pair = (raw.relevance, raw.answerable, raw.yes, raw.no, raw.neither, *map(float, raw.support))
    answer = spans[0].span.cut(row.text) if spans else ""
    return Read(row, answer, raw.margin, dict(zip(SCORES, pair, strict=True)))


@dataclass(frozen=True, slots=True)
class Model:
    """A reader that reads a limited, reproducible number of rows of a set."""

    reader: OnnxCrossReader
    most: int

    def read(self, rows: Sequence[Row]) -> list[Read]:
        """Return a reading of every row that has a token."""
        reads = []
        for row in self.sample(rows):
            (raw,) = self.reader.score_pairs(row.question, [make_chunk(row.title, row.text)])
            reads += [make_read(row, raw)] if raw else []
        return reads

    def sample(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows to read of `rows`."""
        return random.Random(1).sample(rows, self.most) if len(rows) > self.most else list(rows)


@dataclass(frozen=True, slots=True)
class Judge:
    """The verdicts of the readings under a calibration."""

    law: ReadingCalibration

    def measure_answerability(self, read: Read) -> float:
        """Return the probability that the row holds an answer."""
        return self.law.compute_answerable(read.scores["answerable"], read.margin)

    def measure_support(self, read: Read) -> float:
        """Return the probability that the row supports the claim."""
        scores = np.asarray([read.scores[name] for name in SCORES[5:]], dtype=np.float32)
        return self.law.compute_support(scores)[0]


def collect_fitting_reads(model: Model, development: Sequence[Row]) -> list[Read]:
    """Return the readings for fitting the calibration."""
    rows: list[Row] = []
    for group in ("squad", "indonesian", *sorted(WRITTEN)):
        gold = model.sample([row for row in development if row.group == group])
        wrong = list(mine_wrong(gold))
        rows += [*gold, *random.Random(1).sample(wrong, min(len(wrong), len(gold) // 2))]
    claims = [row for row in development if row.support and _is_fitted(row)]
    return [*Model(model.reader, len(rows)).read(rows), *model.read(claims)]


def _is_fitted(claim: Row) -> bool:
    """Return whether the claim is in the half for fitting; of WiCE, which has few, none is."""
    return hash_to_number(claim.question) % 2 == 0 and not claim.source.startswith("wice")


def compute_gold_figures(reads: Sequence[Read], judge: Judge) -> Figures:
    """Return figures of answers and answerability of rows."""
    figures: Figures = {
        "rows": len(reads),
        **compute_answer_figures(reads, judge.measure_answerability),
    }
    labelled = [read for read in reads if read.row.answerable is not None]
    true = [bool(read.row.answerable) for read in labelled]
    error = calibration_error([judge.measure_answerability(read) for read in labelled], true)
    return figures if error is None else {**figures, "answerable, calibration error": error}


def compute_wrong_figures(has: Sequence[Read], wrong: Sequence[Read], judge: Judge) -> Figures:
    """Return how well gold documents are separated from the best-ranked wrong ones."""
    both = (has, wrong)
    return {
        "wrong texts": len(wrong),
        "AUROC wrong texts": compute_auroc(
            *([judge.measure_answerability(read) for read in group] for group in both)
        ),
        "AUROC wrong texts, relevance": compute_auroc(
            *([read.scores["relevance"] for read in group] for group in both)
        ),
    }


def compute_reported(model: Model, data: Path, name: str, judge: Judge) -> Figures:
    """Return the figures of a set outside of the training data."""
    reads = model.read(read_gold_rows(data / name))
    figures = compute_gold_figures(reads, judge)
    if name == "squad-fresh":
        has = [read for read in reads if read.row.answerable]
        rows = [read.row for read in has[: model.most // 2]]
        wrong = Model(model.reader, len(rows)).read(list(find_wrong_texts(data, rows)))
        figures |= compute_wrong_figures(has, wrong, judge)
    return figures


def compute_rerank_figures(
    reader: OnnxCrossReader, rankings: Sequence[Ranking], law: ReadingCalibration
) -> Figures:
    """Return nDCG@10 of the first stage, of relevance, and of every mix of the two."""
    values: dict[str, list[float]] = {}
    for ranking in rankings:
        chunks = [make_chunk(d["title"], d["text"][:_LONGEST]) for d in ranking.documents]
        passes = reader.score_pairs(ranking.question, chunks)
        relevance = [law.compute_relevance(raw.relevance) if raw else 0.0 for raw in passes]
        best = max(ranking.scores) or 1.0
        for mix in _MIXES:
            scores = [
                mix * share + (1 - mix) * score / best
                for share, score in zip(relevance, ranking.scores, strict=True)
            ]
            order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
            ids = [str(ranking.documents[place]["_id"]) for place in order]
            values.setdefault(f"nDCG@10 mix {mix}", []).append(compute_ndcg(ids, ranking.relevant))
    return {"questions": len(rankings), **{name: fmean(scores) for name, scores in values.items()}}


def compute_figures(
    model: Model, data: Path, rerank: int, languages: Collection[str] = LANGUAGES
) -> Iterator[tuple[str, object]]:
    """Yield the calibration for these languages, then the figures of every set."""
    development = read_development_rows(data, frozenset(SHARES))
    in_languages = [row for row in development if Question(row.question).language in languages]
    law = fit_reading_calibration(collect_fitting_reads(model, in_languages))
    judge = Judge(law)
    yield "calibration", asdict(law)
    for name in REPORTED:
        yield name, round_figures(compute_reported(model, data, name, judge))
    unseen = [row for row in development if row.support and not _is_fitted(row)]
    for name in CLAIMS:
        in_languages = [row for row in unseen if row.source.startswith(name)]
        yield (
            f"claims {name}",
            round_figures(compute_claim_figures(model.read(in_languages), judge.measure_support)),
        )
    rows = [*development, *compose_rows(development), *make_yesno(unseen)]
    for name in GROUPS:
        reads = model.read([row for row in rows if row.group == name])
        part = {**compute_gold_figures(reads, judge), **compute_yesno_figures(reads)}
        yield f"development {name}", round_figures(part)
    held = frozenset(row.title for row in development if row.group == "squad")
    for name, titles in (("squad-retrieval", held), *((name, frozenset()) for name in RANKED)):
        if rerank:
            part = compute_rerank_figures(
                model.reader, make_rankings(data / name, rerank, titles), law
            )
            yield f"rerank {name}", round_figures(part)


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
    for name, part in compute_figures(
        model, arguments.data, arguments.rankings, arguments.languages
    ):
        report[name] = part
        print(name, json.dumps(part), flush=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
