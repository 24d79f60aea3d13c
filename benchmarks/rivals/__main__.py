"""Fathom beside LangChain, LlamaIndex, Haystack and txtai: `make rivals`.

Every system gets the same documents, questions and embedder (see `corpus`, `embedder`, `systems`).
The vectors are made once. Then, in rounds, each system in turn ingests into an empty folder, and
fresh processes open it, one to search and one to answer the questions; whoever came first in one
round comes last in the next. After each the result file of that system and size is written, so that
a run that was stopped goes on where it was; results of other versions or questions are measured
anew. At the end the part of docs/speed.md that tells of it is written from the result files.

`--small` shows in a few minutes that it works and writes nothing but its own results.
"""

import argparse
import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.hardening.outcomes import describe_machine, read_commit
from benchmarks.rivals.corpus import Corpus, load
from benchmarks.rivals.embedder import EMBEDDER, Table
from benchmarks.rivals.environments import PINS, list_versions, prepare_python
from benchmarks.rivals.report import rewrite_page

from fathom.evaluation.ir_metrics import ndcg

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "docs" / "speed.md"
LIMIT = 3600  # seconds that one job of a worker may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a comparison.

    Attributes:
        dataset: A BEIR folder.
        rounds: How often each system is measured at each size.
        work: Where environments, vectors and indexes lie.
        results: Where the result files lie.
        origin: The commit, the date and the machine of this run; a result file names those of its
            last round.
    """

    dataset: Path
    sizes: Sequence[int]
    questions: int
    rounds: int
    systems: Sequence[str]
    work: Path
    results: Path
    origin: Mapping[str, str]


def parse_plan(arguments: Sequence[str] | None = None) -> Plan:
    """Return the plan of these arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--dataset", type=Path, default=ROOT / "../shared/data/scale-100k")
    parser.add_argument("--documents", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--systems", nargs="+", choices=list(PINS), default=list(PINS))
    parser.add_argument("--work", type=Path, default=ROOT / ".work" / "rivals")
    parser.add_argument("--small", action="store_true", help="300 documents, 2 rounds")
    options = parser.parse_args(arguments)
    return Plan(
        dataset=options.dataset,
        sizes=[300] if options.small else options.documents,
        questions=20 if options.small else options.questions,
        rounds=2 if options.small else options.rounds,
        systems=options.systems,
        work=options.work,
        results=options.work / "small" if options.small else RESULTS,
        origin={
            "commit": read_commit(),
            "date": datetime.now(UTC).date().isoformat(),
            "machine": describe_machine(),
        },
    )


def run(plan: Plan) -> None:
    """Run the missing measurements and write them on the page.

    Raises:
        SystemExit: If there is no data set, or if an environment or a worker fails.
    """
    if not (plan.dataset / "corpus.jsonl.gz").exists():
        raise SystemExit(f"rivals: no data set at {str(plan.dataset)!r}: name one with --dataset")
    pythons = {name: prepare_python(name, plan.work / "env") for name in plan.systems}
    for size in plan.sizes:
        corpus = load(plan.dataset, size, plan.questions)
        place = plan.work / str(len(corpus.documents))
        table = Table(place / "table", list(corpus.documents.values()))
        table.fill(float("inf"))
        for number in range(plan.rounds):
            turn = number % len(plan.systems)
            for name in [*plan.systems[turn:], *plan.systems[:turn]]:
                run_step(plan, corpus, table.seconds, name, pythons[name], number)
    if plan.results == RESULTS:
        rewrite_page(PAGE, RESULTS)


def run_step(
    plan: Plan, corpus: Corpus, embedding_s: float, name: str, python: Path, number: int
) -> None:  # fmt: skip
    """Run one round of one system, unless its result file has it already."""
    file = plan.results / f"{name}-{len(corpus.documents)}.json"
    head = {
        "system": name,
        "documents": len(corpus.documents),
        "questions": len(corpus.questions),
        "versions": list_versions(name),
        "embedder": EMBEDDER,
        "embedding_s": round(embedding_s, 2),
    }
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    rounds = stored["rounds"] if stored.items() >= head.items() else []
    if len(rounds) > number:
        return
    rounds.append(measure_round(plan, corpus, name, python))
    print(name, len(corpus.documents), json.dumps(rounds[-1]), flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    text = json.dumps({**head, **plan.origin, "rounds": rounds}, indent=1) + "\n"
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def measure_round(plan: Plan, corpus: Corpus, name: str, python: Path) -> dict[str, float]:
    """Return the figures of one round."""
    place = plan.work / str(len(corpus.documents))
    folder = place / name
    shutil.rmtree(folder, ignore_errors=True)
    worker = [str(python), "-m", "benchmarks.rivals.worker", name, str(folder)]
    ingested = run_worker([*worker, "ingest", str(place / "table")], corpus.documents)
    questions = list(corpus.questions.values())
    served = run_worker([*worker, "serve"], questions)
    answered = run_worker([*worker, "answer"], questions)
    searches, answers = served.pop("found"), answered.pop("answers_s")
    whole = np.asarray([search["seconds"] for search in searches]) * 1000
    overhead = whole - np.asarray([search["embedding_s"] for search in searches]) * 1000
    quality = [
        ndcg(10, search["names"], corpus.relevant[question])
        for question, search in zip(corpus.questions, searches, strict=True)
    ]
    figures = ingested | served | answered
    figures |= {
        "p50_ms": float(np.median(whole)),
        "p95_ms": float(np.percentile(whole, 95)),
        "own_p50_ms": float(np.median(overhead)),
        "answer_p50_ms": float(np.median(answers)) * 1000,
        "answers_a_second": len(answers) / sum(answers),
        "ndcg": float(np.mean(quality)),
        "load": os.getloadavg()[0],
        "cores": os.cpu_count() or 0,
        "at": time.time(),
    }
    return {key: round(value, 4) for key, value in figures.items()}


def run_worker(command: Sequence[str], worker_input: object) -> dict[str, Any]:
    """Run a worker on its input and return its output.

    Raises:
        SystemExit: If it fails; its last lines are told.
    """
    surroundings = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "HF_HUB_OFFLINE": "1",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
    }
    done = subprocess.run(
        command,
        input=json.dumps(worker_input),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=surroundings,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-15:])
        raise SystemExit(f"rivals: {' '.join(command[2:])} failed:\n{last}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    run(parse_plan())
