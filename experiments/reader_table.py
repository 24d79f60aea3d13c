"""The reading table of docs/answers.md: PYTHONPATH=. python experiments/reader_table.py.

Asks questions of a data set below SHARED_DATA (default ../shared/data) and lets two readers read
the same best hits: the one that Fathom uses, and the sentence reader that came before it. Only
questions the cross-reader was not made with: squad-fresh, whose articles nothing was learned from,
and the odd half of any set, on which no constant is fitted.

EM and F1: short answers of answerable questions, as if every question were answered. At a
coverage: each reader answers that share of the answerable questions, those it is surest of;
"wrong" is the share of all answerable ones whose quotes then do not hold an accepted answer,
"false" the share of the unanswerable ones answered at the same confidence.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from sentence_reader import SentenceReader
from training.fit_span_reader import chosen

from fathom.agents.reader import LocalReader
from fathom.engine import Engine
from fathom.evaluation.datasets import Question, load
from fathom.evaluation.statistics import bootstrap_interval
from fathom.measures.calibration_metrics import auroc, calibration_error
from fathom.measures.qa_metrics import exact_match, f1, is_right
from fathom.settings import IndexSettings, ModelSettings, Settings
from fathom.text.content_words import ContentTerms
from fathom.types import Draft

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
COVERAGES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a reader made of a question."""

    question: Question
    draft: Draft
    read: int

    @property
    def right(self) -> bool:
        """Whether its quotes hold an accepted answer."""
        quotes = " ".join(item.quote for item in self.draft.evidence)
        return self.question.answerable and is_right(quotes, self.question.answers)

    @property
    def short(self) -> str:
        """Its short answer, or its best quote."""
        own = self.draft.short_answer
        return own or " ".join(item.quote for item in self.draft.evidence[:1])


def asked(
    engine: Engine, questions: Sequence[Question], chunks: int
) -> tuple[list[Said], list[Said]]:
    """What the span reader and the sentence reader say."""
    spans = LocalReader(pairs=engine.assembly.cross_reader)
    sentences = SentenceReader(embedder=engine.embedder, terms=ContentTerms())
    new, old = [], []
    for question in questions:
        hits = engine.search(question.text, k=chunks)
        seen, draft = spans.looked(question.text, hits)
        new.append(Said(question=question, draft=draft, read=len(seen)))
        before = sentences.draft(question.text, hits)
        old.append(Said(question=question, draft=before, read=len(hits)))
    return new, old


def figures(said: Sequence[Said]) -> dict[str, object]:
    """One reader's figures."""
    has = [each for each in said if each.question.answerable]
    none = [each.draft.confidence for each in said if not each.question.answerable]
    f1s = [f1(each.short, each.question.answers) for each in has]
    low, high = bootstrap_interval(f1s)
    found: dict[str, object] = {
        "answerable": len(has),
        "unanswerable": len(none),
        "EM": fmean(exact_match(each.short, each.question.answers) for each in has),
        "F1": fmean(f1s),
        "F1 interval": [low, high],
        "chunks read": fmean(each.read for each in said),
        "AUROC right": auroc([each.draft.confidence for each in said], [e.right for e in said]),
        "ECE": calibration_error([e.draft.confidence for e in said], [e.right for e in said]),
    }
    by_confidence = sorted(has, key=lambda each: (-each.draft.confidence, each.question.id))
    for coverage in COVERAGES:
        kept = by_confidence[: round(coverage * len(has))]
        floor = kept[-1].draft.confidence
        found[f"at {coverage}"] = {
            "confidence": floor,
            "wrong": sum(not each.right for each in kept) / len(has),
            "false": sum(each >= floor for each in none) / len(none) if none else None,
        }
    return found


def table(rows: Sequence[tuple[str, str, dict[str, object]]]) -> str:
    heads = [f"wrong / false at {coverage:.0%}" for coverage in COVERAGES]
    lines = [
        f"| data set | reader | questions | F1 [95 %] | EM | AUROC | ECE | {' | '.join(heads)} |",
        "|---|---|---|---|---|---|---|" + "---|" * len(COVERAGES),
    ]
    for name, reader, found in rows:
        low, high = found["F1 interval"]  # type: ignore[misc]
        cells = [name, reader, f"{found['answerable']} + {found['unanswerable']}"]
        cells += [f"{found['F1']:.3f} [{low:.3f}, {high:.3f}]", f"{found['EM']:.3f}"]  # type: ignore[has-type]
        cells += [f"{found['AUROC right']:.2f}", f"{found['ECE']:.2f}"]
        for coverage in COVERAGES:
            at: dict[str, float | None] = found[f"at {coverage}"]  # type: ignore[assignment]
            false = "-" if at["false"] is None else f"{at['false']:.2f}"
            cells.append(f"{at['wrong']:.2f} / {false}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=["squad-fresh"])
    parser.add_argument("--indexes", type=Path, help="folder with an index of each set in it")
    parser.add_argument("--questions", type=int, default=300, help="of each set")
    parser.add_argument("--chunks", type=int, default=8)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--fitted", action="store_true", help="what the constants were fitted on")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.sets:
            dataset = load(DATA / name)
            place = (arguments.indexes or Path(folder)) / name
            settings = Settings(
                index=IndexSettings(directory=place),
                models=ModelSettings(threads=arguments.threads),
            )
            with Engine(settings) as engine:
                if not place.exists():
                    engine.ingest([dataset.corpus])
                questions = [
                    each
                    for each in chosen(dataset, arguments.questions, fitted=arguments.fitted)
                    if each.answers or not each.answerable
                ]
                new, old = asked(engine, questions, arguments.chunks)
            rows += [(name, "spans", figures(new)), (name, "sentences", figures(old))]
            print(table(rows[-2:]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
