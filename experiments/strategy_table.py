"""The table of answers in docs/measures.md: python experiments/strategy_table.py.

Every strategy is asked a seeded sample of the questions of each data set below SHARED_DATA
(default ../shared/data) and leaves one record per question in --records; the table is made of
the records. Resumable: a question that has a record is not asked again, unless --fresh; a larger
--queries goes on after a smaller one. Records hold texts of the data sets: keep them out of the
repository.
"""

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.config import Layers
from fathom.engine import Engine
from fathom.evaluation.comparison import COMPARED, compare
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.findings import Findings
from fathom.evaluation.page import page
from fathom.evaluation.records import Record
from fathom.evaluation.report import HEADLINES, row_of, rows_by, table
from fathom.serving.asked import answers, engine_for

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
SETS = (
    "squad-retrieval",
    "hotpotqa-200",
    "musique-300",
    "ramdocs",
    "multihoprag-partial",
    "idk-mrc-retrieval",
    "k8s-docs",
    "facqa-id",
)


def named() -> list[str]:
    """Every strategy there is."""
    from fathom.strategies.base import STRATEGIES

    return list(STRATEGIES)


def measured(options: argparse.Namespace, dataset: Dataset) -> dict[str, list[Record]]:
    """The records of each strategy on a data set."""

    @contextmanager
    def build(place: Path | None) -> Iterator[Engine]:
        kept = [f'index.directory="{place or options.indexes / dataset.name}"']
        # The traces are read at once; an index that others use is not written to.
        given = [*kept, "trace.enabled=false", *options.assignments]
        layers = Layers.load(cwd=options.indexes, environment={}, assignments=given)
        with Engine(layers.settings()) as engine:
            yield engine

    with engine_for(dataset, options.indexes / dataset.name, build) as engine:
        return {
            name: answers(dataset, engine, name, queries=options.queries, folder=options.records)
            for name in options.strategies
        }


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--strategies", nargs="*", default=None, help="by default all")
    parser.add_argument("--queries", type=int, default=100, help="of each data set")
    parser.add_argument("--indexes", type=Path, default=Path(".work"), help="an index per set")
    parser.add_argument("--records", type=Path, default=Path(".work/records"))
    parser.add_argument("--fresh", action="store_true", help="drop the records that are there")
    parser.add_argument("--against", default="naive", help="what the others are compared with")
    parser.add_argument("--measures", nargs="*", default=list(HEADLINES))
    parser.add_argument("--by", nargs="*", default=[], choices=["phase", "kind"])
    parser.add_argument("--html", type=Path, help="a report with plots")
    parser.add_argument("--set", nargs="*", default=[], dest="assignments")
    options = parser.parse_args()
    options.strategies = options.strategies or named()
    return options


def main() -> None:
    options = asked()
    options.indexes.mkdir(parents=True, exist_ok=True)
    if options.fresh:
        for name in options.sets:
            shutil.rmtree(options.records / name, ignore_errors=True)
    rows, pairs = [], []
    groups: list[list[Record]] = []
    for name in options.sets:
        found = measured(options, load(DATA / name))
        rows += [row_of(records) for records in found.values()]
        groups += found.values()
        print(table(rows[-len(found) :], options.measures), flush=True)
        for field in options.by:
            parts = [row for records in found.values() for row in rows_by(records, field)]
            print(f"\n{table(parts, options.measures)}\n", flush=True)
        base = found.get(options.against)
        pairs += [(each, base) for key, each in found.items() if base and key != options.against]
    print(f"\n{table(rows, options.measures)}\n")
    tested = [name for name in COMPARED if name in options.measures]
    comparisons = compare(pairs, tested)
    for each in comparisons:
        print(f"- {each.sentence}")
    if options.html:
        report = page(Findings(rows=rows, answered=groups, comparisons=comparisons))
        options.html.write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
