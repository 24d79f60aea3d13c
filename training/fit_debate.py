"""The confidence of the leading reading of a debate: PYTHONPATH=. python training/fit_debate.py en.

Needs the cross-readers and the evaluation data (`SHARED_DATA`, default ../shared/data). The
development questions of `chosen.toml`'s entry "debate-law" are searched as `maf` does, and where
their best documents give different answers the local agents debate. The law is a logistic fit of
"the leading reading is right" in the agents' own sureness, the share of the agents and the margin
over the next reading, none of which may lower it; every debate counts once, and an unanswerable
question is never right. Prints the law, and the calibration error on what was fitted and on the
other questions.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from training.fit_span_reader import choose_questions, fit_logistic

from fathom.agents.debate.debate import Debate, DebateLaw, DebateOutcome
from fathom.agents.reader.base import compute_logit
from fathom.engine import Engine
from fathom.evaluation.calibration_metrics import auroc, calibration_error
from fathom.evaluation.datasets import DatasetQuestion, load
from fathom.evaluation.runner import build_filters
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.settings import IndexSettings, Settings
from fathom.settings.maf import MafSettings
from fathom.settings.tree import ModelSettings
from fathom.strategies.maf import select_best_per_document
from fathom.testing.doubles import run_context
from fathom.text.answer_scores import is_right
from fathom.types import Hit, Query

SETS = {
    "en": ("ramdocs", "squad-retrieval", "hotpotqa-200"),
    "id": ("idk-mrc-retrieval", "facqa-id"),
}
DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))


class HeldDebate(NamedTuple):
    """A question, and the outcome of its debate."""

    question: DatasetQuestion
    debated: DebateOutcome

    @property
    def row(self) -> tuple[float, float, float, float]:
        """The input of the law."""
        done = self.debated
        return compute_logit(done.sure), done.share, done.margin, 1.0

    @property
    def right(self) -> bool:
        """True if the leading reading is right."""
        question, short = self.question, self.debated.draft.short_answer
        return question.answerable and is_right(short, question.answers, question.wrong or ())


def hold_debates(engine: Engine, questions: Sequence[DatasetQuestion]) -> Iterator[HeldDebate]:
    """Yield the debates, where there is anything to debate."""
    settings, debate = engine.settings.get_section(MafSettings), Debate.of(engine.assembly)
    for question in questions:
        parsed = Question(question.text)
        retriever = engine.retriever(settings.foreign_retriever if parsed.is_foreign else "vector")
        query = Query(text=question.text, filters=build_filters(question))
        hits = select_best_per_document(
            retriever.retrieve(query, k=settings.vor_k), settings.agents
        )
        with run_context() as context:
            done = asyncio.run(_hold_debate(debate, parsed, hits, context))
        if done is not None:
            yield HeldDebate(question, done)


async def _hold_debate(
    debate: Debate, question: Question, hits: Sequence[Hit], context: RunContext
) -> DebateOutcome | None:
    if not await debate.answers_differ(question, hits, context):
        return None
    return await debate.hold(question, hits, context)


def fit_law(debates: Sequence[HeldDebate]) -> DebateLaw:
    """Fit the law; a slope below 0 is dropped and the others are fitted again."""
    rows = np.asarray([debate.row for debate in debates])
    right = np.asarray([debate.right for debate in debates], dtype=float)
    used = [0, 1, 2, 3]
    while True:
        slopes = fit_logistic(rows[:, used], right, np.ones(len(rows)))
        below = [
            (slope, at) for slope, at in zip(slopes, used, strict=True) if slope < 0 and at < 3
        ]
        if not below:
            break
        used.remove(min(below)[1])
    fitted = dict(zip(used, (round(float(slope), 2) for slope in slopes), strict=True))
    return DebateLaw(
        sure=fitted.get(0, 0.0),
        share=fitted.get(1, 0.0),
        margin=fitted.get(2, 0.0),
        offset=fitted[3],
    )


def report(name: str, law: DebateLaw, group: Sequence[HeldDebate]) -> None:
    """Print one line: the number of debates, the number right, and the quality of the law."""
    if not group:
        print(f"{name}: no debates")
        return
    sure = [law(entry.debated.sure, entry.debated.share, entry.debated.margin) for entry in group]
    right = [entry.right for entry in group]
    area, error = auroc(sure, right), calibration_error(sure, right)
    print(
        f"{name}: {len(group)} debates, right {np.mean(right):.3f}, mean confidence "
        f"{np.mean(sure):.3f}, ECE {error or 0:.3f}, AUROC {area or 0:.3f}"
    )


def main() -> None:
    """Fit and print the law of a language."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=SETS)
    parser.add_argument("--questions", type=int, default=150, help="of each set and half, at most")
    parser.add_argument("--model", default="shipped", help="the cross-reader: a name or a folder")
    parser.add_argument("--indexes", type=Path, help="where the indexes are, or will be kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fitted, others = {}, {}
        for name in SETS[arguments.language]:
            dataset = load(DATA / name)
            settings = Settings(
                index=IndexSettings(directory=(arguments.indexes or Path(folder)) / name),
                models=ModelSettings(cross_reader=arguments.model),
            )
            with Engine(settings) as engine:
                if not settings.index.directory.exists():
                    engine.ingest([dataset.corpus])
                fitted[name] = list(
                    hold_debates(
                        engine, choose_questions(dataset, arguments.questions, fitted=True)
                    )
                )
                others[name] = list(
                    hold_debates(
                        engine, choose_questions(dataset, arguments.questions, fitted=False)
                    )
                )
    law = fit_law([entry for group in fitted.values() for entry in group])
    print(law)
    for name in SETS[arguments.language]:
        report(f"{name}, fitted", law, fitted[name])
        report(f"{name}, others", law, others[name])


if __name__ == "__main__":
    main()
