"""What RM3 words do to BM25: python experiments/feedback_table.py DATASET INDEX [QUESTIONS].

INDEX holds the data set, ingested with the default settings.
"""

import sys
from pathlib import Path

from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.records import Records
from fathom.evaluation.rows import Row, row_of
from fathom.evaluation.runner import record_retriever
from fathom.retrieval.base import Retriever
from fathom.retrieval.expansion import Feedback
from fathom.retrieval.feedback import KeywordFeedback
from fathom.retrieval.keyword import KeywordRetriever
from fathom.settings import Settings
from fathom.text.content_words import ContentTerms

# Hits believed, words added, repeats of the query.
TRIED = ((10, 10, 1), (10, 10, 3), (10, 10, 6), (5, 10, 3), (5, 5, 6))


def measured(dataset: Dataset, retriever: Retriever, queries: int | None) -> Row:
    asked = dataset.sample(queries, judged=True)
    return row_of(record_retriever(dataset, asked, retriever, Records()))


def main(folder: Path, place: Path, queries: int | None) -> None:
    dataset = load(folder)
    with Engine(Settings.model_validate({"index": {"directory": place}})) as engine:
        keyword = engine.retriever("keyword")
        assert isinstance(keyword, KeywordRetriever)
        rows = {"BM25": measured(dataset, keyword, queries)}
        for hits, count, repeats in TRIED:
            feedback = Feedback(words=ContentTerms().words, hits=hits, count=count)
            ranker = KeywordFeedback(index=keyword.index, feedback=feedback, repeats=repeats)
            name = f"{hits} hits, {count} words, query x {repeats}"
            rows[name] = measured(dataset, ranker, queries)
            print(name, dict(rows[name].measures), file=sys.stderr, flush=True)
    for name, row in rows.items():
        print(f"| {name} | {row.measures['nDCG@10']:.3f} | {row.measures['R@5']:.3f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
