"""The retrieval table of docs/retrieval.md: python -m experiments.retrieval_table.

Each data set below SHARED_DATA (default ../shared/data) that has judgements is ingested with the
default settings and asked with each retriever. Resumable: indexes and vectors are kept in
--work, rows in experiments/results/retrieval.jsonl; a row that is there is not computed again.
"""

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.lab.cached_embedder import CachedEmbedder

from fathom.config import Layers, Settings
from fathom.engine import Engine
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.rows import score_system
from fathom.evaluation.runner import Session
from fathom.models.embedder import load_embedder

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results" / "retrieval.jsonl"
SYSTEMS = ("keyword", "vector", "hybrid")
# Their qrels are empty: nothing can be measured.
UNJUDGED = {"crag-sample", "indonesian-regulations"}


def list_datasets() -> list[str]:
    """Return the folders with a corpus and judgements, the largest corpus last."""
    parents = [file.parent for file in DATA.glob("*/corpus.jsonl.gz")]
    parents.sort(key=lambda folder: (folder / "corpus.jsonl.gz").stat().st_size)
    return [folder.name for folder in parents if folder.name not in UNJUDGED]


def read_rows(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    if not file.exists():
        return {}
    rows = map(json.loads, file.read_text().splitlines())
    return {(row["dataset"], row["system"]): row for row in rows}


def run_systems(
    dataset: Dataset, engine: Engine, file: Path, systems: list[str], setup: str
) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    for system in systems:
        row = asdict(score_system(Session(engine=engine, dataset=dataset).collect_rankings(system)))
        row |= {"commit": commit, "machine": platform.processor() or platform.machine()}
        row |= {"setup": setup}
        print(json.dumps({key: row[key] for key in ("dataset", "system", "measures")}), flush=True)
        with file.open("a") as out:
            out.write(json.dumps(row) + "\n")


def format_table(rows: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Yield nDCG@10 with intervals, and the gain of hybrid over the better part."""
    lines = [
        "| data set | questions | keyword | vector | hybrid [95 %] | gain | R@5 | R@100 | Hit@10 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in sorted({dataset for dataset, _ in rows}):
        of = {system: rows[name, system]["measures"] for system in SYSTEMS}
        hybrid = of["hybrid"]
        low, high = rows[name, "hybrid"]["intervals"]["nDCG@10"]
        gain = hybrid["nDCG@10"] - max(of["keyword"]["nDCG@10"], of["vector"]["nDCG@10"])
        cells = [name, str(rows[name, "hybrid"]["queries"])]
        cells += [f"{of[system]['nDCG@10']:.3f}" for system in ("keyword", "vector")]
        cells += [f"{hybrid['nDCG@10']:.3f} [{low:.3f}, {high:.3f}]", f"{gain:+.3f}"]
        cells += [f"{hybrid[measure]:.3f}" for measure in ("R@5", "R@100", "Hit@10")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def read_settings(folder: Path, assignments: Sequence[str]) -> Settings:
    """Return the settings in a folder with these assignments on top, constants too."""
    layers = Layers.load(cwd=folder, environment={}, assignments=assignments, constants=True)
    return layers.build_settings()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(".work"), help="indexes and vectors")
    parser.add_argument("--table", action="store_true", help="print the rows that are there")
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--set", nargs="*", default=[], dest="assignments")
    parser.add_argument("--ingest-only", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        print(format_table(read_rows(arguments.results)))
        return
    arguments.work.mkdir(parents=True, exist_ok=True)
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    models = read_settings(arguments.work, arguments.assignments).models
    inner = load_embedder(
        models.embedder, runtime=models.runtime, threads=models.threads, offline=True
    )
    embedder = CachedEmbedder(inner, arguments.work / f"vectors-{models.runtime}.db")
    for name in arguments.sets or list_datasets():
        done = read_rows(arguments.results)
        missing = [system for system in arguments.systems if (name, system) not in done]
        if not missing:
            continue
        place = arguments.work / name
        assignments = [f'index.directory="{place}"', *arguments.assignments]
        settings = read_settings(place, assignments)
        dataset = load(DATA / name)
        with Engine(settings, embedder=embedder) as engine:
            report = engine.ingest([dataset.corpus])
            print(name, report.documents, report.chunks, f"{report.seconds:.0f} s", flush=True)
            if not arguments.ingest_only:
                run_systems(
                    dataset, engine, arguments.results, missing, " ".join(arguments.assignments)
                )


if __name__ == "__main__":
    main()
