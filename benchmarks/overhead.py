"""The cost of graph, ledger and trace per question, besides searching and reading.

    python benchmarks/overhead.py [--questions 200] [--json FILE]

Asks the questions of `samples/` through `Engine.ask`, and by calling retriever, reader and index
directly. Prints what the first way costs more, as time of this process on a core and as wall time
(which other work on the machine disturbs), the size of the traces, and how far runs overran a
deadline of 50 ms. Embedder and pair reader are ones without weights: what is measured does not
depend on them.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from fathom.agents.reader.local import LocalReader
from fathom.engine import Engine
from fathom.models.reading import NOTHING, Reading, ReadSpan
from fathom.question.question import Question
from fathom.settings import Settings
from fathom.testing.doubles import HashingEmbedder
from fathom.types import Chunk, Span
from fathom.usage import Budget

SAMPLES = Path(__file__).parent.parent / "samples"
DEADLINE_S = 0.05
FIRST = Span(0, 4)


class EmptyReader:
    """A pair reader that reads nothing: the first word is as likely an answer as not."""

    def open_session(self, *_: object, **__: object) -> Self:
        """Open a session, which is the reader itself."""
        return self

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """Return the same reading for every chunk."""
        return [replace(NOTHING, spans=(ReadSpan(span=FIRST, score=0.5),)) for _ in chunks]

    def score(self, *_: object) -> float:
        """Return the same score for every answer."""
        return 0.5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    questions = [texts[number % len(texts)] for number in range(arguments.questions)]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.model_validate({"index": {"directory": Path(folder) / "index"}})
        with Engine(settings, embedder=HashingEmbedder(), cross_reader=EmptyReader()) as engine:
            engine.ingest([SAMPLES / "corpus"])
            figures = measure_overhead(engine, questions)
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def measure_overhead(engine: Engine, questions: list[str]) -> dict[str, Any]:
    engine.ask(questions[0])
    bare, full = [], []
    for question in questions:  # in turns, so that other work on the machine hits both
        bare.append(_measure_ms(partial(ask_by_hand, engine, question)))
        full.append(_measure_ms(partial(engine.ask, question)))
    sizes = [
        len(engine.traces.get(question_or_trace.id).data)
        for question_or_trace in engine.traces.list(1_000)
    ]
    hurried = [
        _measure_ms(partial(_ask_hurriedly, engine, question_or_trace))[1]
        for question_or_trace in questions
    ]
    late = [ms - 1_000 * DEADLINE_S for ms in hurried]
    more = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(full, bare, strict=True)]
    return {
        "questions": len(questions),
        "overhead_ms_of_a_core": _format_spread([cpu for cpu, _ in more]),
        "overhead_ms_of_wall_time": _format_spread([wall for _, wall in more]),
        "trace_bytes": {"p50": int(statistics.median(sizes)), "max": max(sizes)},
        "overrun_of_50_ms": _format_spread(late) | {"max": round(max(late), 2)},
    }


def ask_by_hand(engine: Engine, question: str) -> None:
    """Do the work of `naive` without graph, ledger, threads, verification and trace."""
    hits = engine.search(question, k=engine.settings.ask.chunks)
    draft = LocalReader(pairs=engine.assembly.cross_reader).draft(Question(question), hits)
    for item in draft.evidence:
        engine.reader().get_document(item.hit.chunk.document_id)


def _ask_hurriedly(engine: Engine, question: str) -> None:
    engine.ask(question, budget=Budget(seconds=DEADLINE_S))


def _measure_ms(work: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return 1_000 * (time.process_time() - cpu), 1_000 * (time.perf_counter() - wall)


def _format_spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        f"p{share}": round(ordered[min(len(ordered) - 1, share * len(ordered) // 100)], 2)
        for share in (50, 95)
    }


if __name__ == "__main__":
    main()
