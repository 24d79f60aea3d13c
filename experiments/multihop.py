"""R@5 of the evidence: one look (hybrid) against hops over anchors and bridges, no language model.

    python experiments/multihop.py --indexes DIR [--sets musique-300 hotpotqa-200] [--reranked]

`DIR` holds an index of each set, made with the default settings. `read` is what `anchor` gives its
reader. Differences are against hybrid, question by question, with 95 % bootstrap intervals.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

from fathom.agents.anchors import anchors
from fathom.context import RunContext
from fathom.engine import Engine
from fathom.evaluation.datasets import load
from fathom.evaluation.statistics import bootstrap_interval
from fathom.ledger import Ledger
from fathom.measures.ir_metrics import MEASURES
from fathom.settings import Settings
from fathom.text.question_form import form_of
from fathom.tracing.recorder import Recorder
from fathom.tracing.trace import Origin
from fathom.types import Hit, Query
from fathom.usage import Budget

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
SHOWN = ("R@2", "R@5", "R@10", "nDCG@10")
DEPTH = 24


class Looks:
    """The systems over one index."""

    def __init__(self, engine: Engine, settings: Settings, *, reranked: bool) -> None:
        self._engine = engine
        self._own = settings.anchor
        self._parts = engine.assembly
        self._search = engine.assembly.search("hybrid")
        self._hops = self._parts.multihop(self._search)
        self._narrow = self._parts.context_selector
        self._reranker = self._parts.reranker if reranked else None

    async def __call__(self, question: str, context: RunContext) -> dict[str, Sequence[Hit]]:
        """The hits of every system."""
        own, query = self._own, Query(text=question)
        strong = [each.text for each in anchors(question) if each.score >= own.min_score]
        hybrid = await self._search(query, k=DEPTH, context=context)
        hops = await self._hops(query, strong[: own.workers], k=own.pool, context=context)
        pool = hops
        if self._reranker:
            pool = await self._reranker(question, hops, keep=own.pool, context=context)
        form = form_of(question)
        read = await self._narrow(
            question,
            pool,
            listing=form == "several",
            diversity=own.diversity_for(form),
            tokens=own.context,
            context=context,
        )
        return {"hybrid": hybrid, "hops": hops, "read": (*read, *pool)}


def asked(looks: Looks, questions: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Documents by system and question."""
    found: dict[str, dict[str, list[str]]] = {}
    with ThreadPoolExecutor(4) as executor:
        for name, text in questions.items():
            recorder = Recorder(Origin(question=text, strategy="multihop"))
            run = RunContext(ledger=Ledger(Budget()), scope=recorder, executor=executor)
            for system, hits in asyncio.run(looks(text, run)).items():
                documents = list(dict.fromkeys(hit.chunk.document_id for hit in hits))
                found.setdefault(system, {})[name] = documents
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=["musique-300", "hotpotqa-200"])
    parser.add_argument("--queries", type=int, default=None, help="only the first so many")
    parser.add_argument("--reranked", action="store_true", help="as config C")
    parser.add_argument("--set", nargs="*", default=[], dest="assignments", help="anchor.KEY=VALUE")
    arguments = parser.parse_args()
    own = {k: json.loads(v) for k, v in (each.split("=") for each in arguments.assignments)}
    for name in arguments.sets:
        index = {"directory": str(arguments.indexes / name)}
        settings = Settings.model_validate({"index": index, "anchor": own})
        dataset = load(DATA / name)
        questions = {each.id: each.text for each in dataset.judged[: arguments.queries]}
        with Engine(settings) as engine:
            looks = Looks(engine, settings, reranked=arguments.reranked)
            found = asked(looks, questions)
        values = {
            system: {
                name: [MEASURES[name](ranked[q], dataset.qrels[q]) for q in questions]
                for name in SHOWN
            }
            for system, ranked in found.items()
        }
        for system, measured in values.items():
            row: dict[str, object] = {"dataset": name, "system": system, "queries": len(questions)}
            for each in SHOWN:
                row[each] = round(fmean(measured[each]), 4)
            gains = [a - b for a, b in zip(measured["R@5"], values["hybrid"]["R@5"], strict=True)]
            low, high = bootstrap_interval(gains)
            row["R@5 gain"] = [round(fmean(gains), 4), round(low, 4), round(high, 4)]
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
