"""The reranking table of docs/answers.md: PYTHONPATH=. python experiments/rerank_table.py.

For each data set below SHARED_DATA (default ../shared/data) with judgements: nDCG@10 of the hybrid
retriever, and of its best 24 chunks reranked with several weights of relevance; the gain with its
paired bootstrap interval (95 %). Only the half of the questions on which no constant is fitted, and
of squad-retrieval only articles that version 1 of the cross-reader did not learn from.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from retrieval_table import names
from training.fit_span_reader import chosen

from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, Question, load
from fathom.evaluation.statistics import bootstrap_interval
from fathom.measures.ir_metrics import MEASURES
from fathom.retrieval.rerank import Reranker
from fathom.settings import IndexSettings, ModelSettings, Settings
from fathom.types import Hit

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
DEPTH = 24


def judged(dataset: Dataset, count: int) -> list[Question]:
    """Up to `count` judged questions that were not learned from, always the same."""
    own = chosen(dataset, len(dataset.questions), fitted=False)
    found = [each for each in own if each.id in dataset.qrels]
    return found[:count]


def documents(hits: Sequence[Hit]) -> list[str]:
    """The documents of the hits, best first; each once."""
    return list(dict.fromkeys(hit.chunk.document_id for hit in hits))


def gains(dataset: Dataset, engine: Engine, questions: Sequence[Question]) -> dict[str, object]:
    """nDCG@10 of the first stage and of every weight."""
    rankings: dict[float, dict[str, list[str]]] = {weight: {} for weight in (0.0, *WEIGHTS)}
    for question in questions:
        hits = engine.search(question.text, k=DEPTH, retriever="hybrid")
        for weight, ranking in rankings.items():
            reranker = Reranker(pairs=engine.assembly.cross_reader, weight=weight, most=DEPTH)
            _, found = reranker.reranked(question.text, hits, keep=DEPTH)
            ranking[question.id] = documents(found)
    values = {
        weight: [MEASURES["nDCG@10"](found, dataset.qrels[q]) for q, found in ranking.items()]
        for weight, ranking in rankings.items()
    }
    before = values.pop(0.0)
    rows: dict[str, object] = {"questions": len(questions), "hybrid": fmean(before)}
    for weight, after in values.items():
        differences = [new - old for new, old in zip(after, before, strict=True)]
        rows[str(weight)] = [fmean(differences), *bootstrap_interval(differences)]
    return rows


def table(rows: dict[str, dict[str, object]]) -> str:
    heads = " | ".join(f"{weight}" for weight in WEIGHTS)
    lines = [
        f"| data set | questions | hybrid | {heads} |",
        "|---|---|---|" + "---|" * len(WEIGHTS),
    ]
    for name, found in rows.items():
        cells = [name, str(found["questions"]), f"{found['hybrid']:.3f}"]
        for weight in WEIGHTS:
            gain, low, high = found[str(weight)]  # type: ignore[misc]
            cells.append(f"{gain:+.3f} [{low:+.3f}, {high:+.3f}]")  # type: ignore[has-type]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", help="by default all with judgements")
    parser.add_argument("--indexes", type=Path, help="folder with an index of each set in it")
    parser.add_argument("--questions", type=int, default=100, help="of each set")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", type=Path, help="rows that are there are not computed again")
    arguments = parser.parse_args()
    file: Path | None = arguments.json
    rows = json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.sets or names():
            if name in rows:
                continue
            dataset = load(DATA / name)
            place = (arguments.indexes or Path(folder)) / name
            settings = Settings(
                index=IndexSettings(directory=place),
                models=ModelSettings(threads=arguments.threads),
            )
            with Engine(settings) as engine:
                if not place.exists():
                    engine.ingest([dataset.corpus])
                rows[name] = gains(dataset, engine, judged(dataset, arguments.questions))
            print(table({name: rows[name]}), flush=True)
            if file:
                file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
