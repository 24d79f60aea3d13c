"""The debate table of docs/strategies/maf.md: python experiments/debate_table.py --indexes DIR.

DIR/ramdocs is an index of SHARED_DATA/ramdocs (default ../shared/data) with the default settings.
Each question is answered from its own documents alone, one agent a document, all local:

single   what the reader makes of all chunks at once, with the other answers that it gives
vote     the answer that most agents give in the first round
first    every answer of the first round, side by side: no debate
debate   the readings that the debate holds

RAMDocs-EM (Wang et al. 2025): every gold answer is given, and no wrong one. "right" is the share
of the readings given that are gold answers. Constants were chosen on the questions whose id has an
even hash ("tuned"); the others were left aside ("held out"). Intervals are paired, 95 % (BCa).
"""

import argparse
import asyncio
import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from fathom.agents.aggregator import LocalAggregator
from fathom.agents.debater import Position
from fathom.assembly import Assembly
from fathom.config import Layers
from fathom.context import RunContext
from fathom.engine import Engine
from fathom.evaluation.datasets import Question, load
from fathom.evaluation.runner import filters_of
from fathom.evaluation.statistics import bca_interval
from fathom.ledger import Ledger
from fathom.measures.qa_metrics import all_and_only, is_right
from fathom.strategies.maf import spoken_for
from fathom.text.answer_match import cluster_answers
from fathom.tracing.recorder import Recorder
from fathom.tracing.trace import Origin
from fathom.types import Draft, Hit, Query
from fathom.usage import Budget

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
SYSTEMS = ("single", "vote", "first", "debate")


def readings_of(draft: Draft) -> list[str]:
    first = [draft.short_answer] if draft.short_answer else []
    return [*first, *(other.text for other in draft.alternatives)]


def voted(question: str, positions: Sequence[Position]) -> list[str]:
    """The answer of most agents; of equally many, of those that are surer."""
    found = cluster_answers(question, [each.answer for each in positions])
    if not found:
        return []
    best = max(found, key=lambda each: (len(each), sum(positions[at].score for at in each)))
    return [max((positions[at] for at in best), key=lambda each: each.score).answer]


async def answered(
    question: str, hits: Sequence[Hit], parts: Assembly, context: RunContext
) -> dict[str, Any]:
    """The readings of every system."""
    agents = spoken_for(hits, len(hits))
    first = [await parts.debater.speak(question, hit, None, [], context) for hit in agents]
    union = LocalAggregator().readings(question, first)
    return {
        "single": readings_of(await parts.reader.read(question, hits, context)),
        "vote": voted(question, first),
        "first": [each.answer for each in union if not each.refuted],
        "debate": readings_of((await parts.debate.hold(question, agents, context)).draft),
    }


def rows_of(engine: Engine, questions: Sequence[Question]) -> list[dict[str, Any]]:
    parts, retriever = engine.assembly, engine.retriever("hybrid")
    rows = []
    with ThreadPoolExecutor(1) as executor:
        for number, question in enumerate(questions, start=1):
            query = Query(text=question.text, filters=filters_of(question))
            hits = retriever.retrieve(query, k=200)
            origin = Origin(question=question.text, strategy="debate")
            run = RunContext(ledger=Ledger(Budget()), scope=Recorder(origin), executor=executor)
            said = asyncio.run(answered(question.text, hits, parts, run))
            digest = int(hashlib.sha256(question.id.encode()).hexdigest(), 16)
            half = "held out" if digest % 2 else "tuned"
            rows.append({"question": question.id, "half": half, "said": said})
            if number % 25 == 0:
                print(f"{number} of {len(questions)}", flush=True)
    return rows


def scored(row: dict[str, Any], question: Question, system: str) -> dict[str, float]:
    said = row["said"][system]
    right = [float(is_right(each, question.answers, question.wrong or ())) for each in said]
    return {
        "RAMDocs-EM": all_and_only(said, question.answers, question.wrong or ()),
        "readings": float(len(said)),
        "right": fmean(right) if right else 0.0,
    }


def table(rows: Sequence[dict[str, Any]], questions: Sequence[Question]) -> str:
    known = {question.id: question for question in questions}
    scores = {
        system: [scored(row, known[row["question"]], system) for row in rows] for system in SYSTEMS
    }
    lines = [
        "| system | all | tuned | held out | debate gains | readings | right |",
        "|---|---|---|---|---|---|---|",
    ]
    for system in SYSTEMS:
        em = [each["RAMDocs-EM"] for each in scores[system]]
        gains = [best["RAMDocs-EM"] - own for best, own in zip(scores["debate"], em, strict=True)]
        low, high = bca_interval(gains)
        halves = [
            100 * fmean(value for value, row in zip(em, rows, strict=True) if row["half"] == half)
            for half in ("tuned", "held out")
        ]
        gain = f"{100 * fmean(gains):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        cells = [system, f"{100 * fmean(em):.1f}", *(f"{half:.1f}" for half in halves)]
        cells += ["" if system == "debate" else gain]
        cells += [f"{fmean(each['readings'] for each in scores[system]):.2f}"]
        cells += [f"{fmean(each['right'] for each in scores[system]):.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--indexes", type=Path, default=Path(".work"))
    parser.add_argument("--results", type=Path, help="default: DIR/debate.json")
    parser.add_argument("--table", action="store_true", help="print the rows that are there")
    parser.add_argument("--set", nargs="*", default=[], dest="assignments")
    arguments = parser.parse_args()
    file = arguments.results or arguments.indexes / "debate.json"
    questions = load(DATA / "ramdocs").questions
    if not arguments.table:
        place = arguments.indexes / "ramdocs"
        assignments = [f'index.directory="{place}"', *arguments.assignments]
        settings = Layers.load(cwd=place, environment={}, assignments=assignments).settings()
        with Engine(settings) as engine:
            rows = rows_of(engine, questions)
        file.write_text(json.dumps(rows, ensure_ascii=False, indent=0))
    print(table(json.loads(file.read_text()), questions))


if __name__ == "__main__":
    main()
