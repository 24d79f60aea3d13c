"""Measure an exported cross-reader on development rows.

    python -m training.cross_reader.evaluate --data DATA --model MODEL.onnx --out FIGURES.json

Fits the calibration on the development articles that are not reported and on watched rows, then
reports on the others. `--sample` and `--rankings` bound the time it takes.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from training.cross_reader.calibrate import logistic, temperature
from training.cross_reader.development import (
    Ranking,
    development_rows,
    is_reported,
    rankings,
    wrong_texts,
)
from training.cross_reader.rows import Row, number_of
from training.cross_reader.sources import RANKED
from training.cross_reader.squad import auroc, balanced_accuracy, exact, f1, ndcg

from fathom.models.cross_reader import CrossReader, load_cross_reader
from fathom.models.reading import Calibration, Pass, Reading
from fathom.types import Chunk, Span

VOCABULARY = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources" / "vocab.txt"
_GROUPS = frozenset({"squad", "nli", "claims", "yesno"})
_LONGEST = 1200  # characters of a document that are reranked
_MIXES = tuple(step / 10 for step in range(11))


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A development row with what the model made of it."""

    row: Row
    raw: Pass
    reading: Reading

    @property
    def margin(self) -> float:
        """The best span's margin over the null span, bounded."""
        return max(-30.0, min(30.0, -self.reading.no_answer))

    @property
    def answer(self) -> str:
        """The best span's text."""
        spans = self.reading.spans
        return spans[0].span.cut(self.row.text) if spans else ""

    @property
    def golds(self) -> list[str]:
        """The acceptable answers; the empty one where there is none."""
        return [self.row.text[start:end] for start, end in self.row.spans] or [""]


def chunk_of(title: str, text: str) -> Chunk:
    """A text as a chunk of its own."""
    return Chunk(
        id="0#0", document_id="0", text=text, span=Span(0, len(text)), ordinal=0, title=title
    )


def read_all(reader: CrossReader, rows: Sequence[Row]) -> list[Read]:
    """Read every row that has a token."""
    found = []
    for row in rows:
        raw = reader.passes(row.question, [chunk_of(row.title, row.text)])[0]
        if raw is not None:
            found.append(Read(row=row, raw=raw, reading=raw.reading(reader.calibration, 1)))
    return found


def calibrated(gold: Sequence[Read], wrong: Sequence[Read], claims: Sequence[Read]) -> Calibration:
    """The laws that turn scores into probabilities."""
    known = [*gold, *wrong]
    answerable = logistic(
        [(read.raw.answerable, read.margin) for read in known],
        [bool(read.row.answerable) for read in known],
    )
    judged = [read for read in known if read.row.relevant is not None]
    relevance = logistic(
        [(read.raw.relevance,) for read in judged], [bool(read.row.relevant) for read in judged]
    )
    return Calibration(
        answerable=(answerable[0], answerable[1], answerable[2]),
        relevance=(relevance[0], relevance[1]),
        support=temperature(
            [read.raw.support.tolist() for read in claims], [read.row.support for read in claims]
        ),
    )


def reading_figures(gold: Sequence[Read], threshold: float) -> dict[str, float]:
    """EM and F1 with the gold paragraph, with and without the right to say nothing."""
    has = [read for read in gold if read.row.answerable]
    none = [read for read in gold if not read.row.answerable]
    said = [(r.answer if r.reading.answerable >= threshold else "", r) for r in gold]
    return {
        "rows": len(gold),
        "has-answer EM": fmean(exact(read.answer, read.golds) for read in has),
        "has-answer F1": fmean(f1(read.answer, read.golds) for read in has),
        "EM with null": fmean(exact(answer, read.golds) for answer, read in said),
        "F1 with null": fmean(f1(answer, read.golds) for answer, read in said),
        "AUROC twisted": auroc(_answerable(has), _answerable(none)),
        "AUROC twisted, answerable head": auroc(_head(has), _head(none)),
        "AUROC twisted, span margin": auroc([r.margin for r in has], [r.margin for r in none]),
    }


def best_threshold(gold: Sequence[Read]) -> float:
    """The probability from which on answering gives the best F1, as SQuAD 2.0 picks it."""
    tried = sorted({round(read.reading.answerable, 2) for read in gold})
    return max(tried, key=lambda value: reading_figures(gold, value)["F1 with null"])


def wrong_figures(gold: Sequence[Read], wrong: Sequence[Read]) -> dict[str, float]:
    """How well gold paragraphs are told from the best-ranked wrong ones."""
    has = [read for read in gold if read.row.answerable]
    return {
        "wrong rows": len(wrong),
        "AUROC wrong chunks": auroc(_answerable(has), _answerable(wrong)),
        "AUROC wrong chunks, relevance": auroc(
            [read.raw.relevance for read in has], [read.raw.relevance for read in wrong]
        ),
    }


def _answerable(reads: Sequence[Read]) -> list[float]:
    return [read.reading.answerable for read in reads]


def _head(reads: Sequence[Read]) -> list[float]:
    return [read.raw.answerable for read in reads]


def support_figures(claims: Sequence[Read], threshold: float) -> dict[str, float]:
    """Supported against the rest, and all three where the label names one."""
    true = [read.row.support == (0,) for read in claims]
    named = [read for read in claims if len(read.row.support) == 1]
    return {
        "rows": len(claims),
        "balanced accuracy": balanced_accuracy(
            [read.reading.supported >= threshold for read in claims], true
        ),
        "AUROC": auroc(
            [r.reading.supported for r, t in zip(claims, true, strict=True) if t],
            [r.reading.supported for r, t in zip(claims, true, strict=True) if not t],
        ),
        "three-way accuracy": fmean(
            int(read.raw.support.argmax()) == read.row.support[0] for read in named
        )
        if named
        else 0.0,
    }


def yesno_figures(reads: Sequence[Read]) -> dict[str, float]:
    """Yes against no."""
    said = [read.reading.yes >= 0.5 for read in reads]
    true = [read.row.yesno == 0 for read in reads]
    return {"rows": len(reads), "balanced accuracy": balanced_accuracy(said, true)}


def rerank_figures(reader: CrossReader, found: Sequence[Ranking]) -> dict[str, float]:
    """nDCG@10 of the first stage, of relevance, and of every mix of the two."""
    values: dict[str, list[float]] = {}
    for ranking in found:
        asked = reader.asking(ranking.question, spans=1)
        chunks = [chunk_of(d["title"], d["text"][:_LONGEST]) for d in ranking.documents]
        relevance = [reading.relevance for reading in asked.read(chunks)]
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


def sample(rows: Sequence[Row], count: int) -> list[Row]:
    """At most `count` rows, always the same ones."""
    return random.Random(1).sample(list(rows), count) if len(rows) > count else list(rows)


def figures(settings: argparse.Namespace) -> dict[str, object]:
    """All figures of the model."""
    rows = development_rows(settings.data, _GROUPS)
    plain = _load(settings, Calibration())
    squad = [row for row in rows if row.group == "squad"]
    claims = [row for row in rows if row.support]
    half = [row for row in claims if number_of(row.question) % 2]
    fitted = sample([row for row in squad if not is_reported(row)], settings.sample)
    aside = sample([row for row in fitted if row.answerable], settings.sample // 2)
    law = calibrated(
        read_all(plain, fitted),
        read_all(plain, list(wrong_texts(settings.data, aside))),
        read_all(plain, sample([row for row in claims if row not in half], settings.sample)),
    )
    reader = _load(settings, law)
    threshold = best_threshold(read_all(reader, fitted))
    shown = sample([row for row in squad if is_reported(row)], settings.sample)
    gold = read_all(reader, shown)
    asked = sample([row for row in shown if row.answerable], settings.sample // 2)
    report: dict[str, object] = {
        "calibration": asdict(law),
        "threshold": threshold,
        "reading": reading_figures(gold, threshold),
        "wrong": wrong_figures(gold, read_all(reader, list(wrong_texts(settings.data, asked)))),
        "yesno": yesno_figures(read_all(reader, sample(_yesno(rows), settings.sample))),
    }
    for name in ("mnli", "snli", "scitail", "conflictqa", "wice", "expertqa"):
        own = sample([row for row in half if row.source.startswith(name)], settings.sample)
        report[f"support {name}"] = support_figures(read_all(reader, own), 0.5)
    if settings.rankings:
        titles = frozenset(row.title for row in squad)
        found = rankings(settings.data / "squad-retrieval", settings.rankings, titles)
        report["rerank squad-retrieval"] = rerank_figures(reader, found)
        for name in RANKED:
            found = rankings(settings.data / name, settings.rankings)
            report[f"rerank {name}"] = rerank_figures(reader, found)
    return report


def _yesno(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.group == "yesno" and row.yesno in (0, 1)]


def _load(settings: argparse.Namespace, law: Calibration) -> CrossReader:
    return load_cross_reader(
        settings.model, VOCABULARY, law, runtime=settings.runtime, threads=settings.threads
    )


def main() -> None:
    """Read the arguments, measure and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=10_000)
    parser.add_argument("--rankings", type=int, default=0, help="questions a set to rerank")
    parser.add_argument("--runtime", default="onnxruntime")
    parser.add_argument("--threads", type=int, default=2)
    settings = parser.parse_args()
    report = figures(settings)
    settings.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
