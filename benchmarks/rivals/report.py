"""The part of docs/speed.md on rivals, written from the result files alone."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

START, END = "<!-- rivals -->", "<!-- end of rivals -->"
OURS = "fathom"
NAMES = {
    "fathom": "Fathom",
    "langchain": "LangChain",
    "llamaindex": "LlamaIndex",
    "haystack": "Haystack",
    "txtai": "txtai",
}

Result = Mapping[str, Any]
Measure = Callable[[Result, Mapping[str, float]], float]


def _rate(result: Result, one: Mapping[str, float]) -> float:
    return float(result["documents"] / (result["embedding_s"] + one["ingest_s"]))


def _of(key: str) -> Measure:
    return lambda _result, one: one[key]


COLUMNS: Sequence[tuple[str, Measure, str]] = (
    ("documents/s in, embedding included", _rate, ".0f"),
    ("s in, embedding apart", _of("ingest_s"), ".1f"),
    ("s from start to first hit", _of("first_hit_s"), ".2f"),
    ("MB at most, ingesting", _of("ingest_mb"), ".0f"),
    ("MB at most, searching", _of("search_mb"), ".0f"),
    ("hybrid p50 ms", _of("p50_ms"), ".1f"),
    ("p95 ms", _of("p95_ms"), ".1f"),
    ("p50 ms, embedding apart", _of("own_p50_ms"), ".1f"),
    ("nDCG@10", _of("ndcg"), ".3f"),
    ("answers/s", _of("answers_a_second"), ".1f"),
    ("questions answered", _of("said"), ".0f"),
    ("MB at most, answering", _of("answer_mb"), ".0f"),
)
RATIOS: Sequence[tuple[str, Measure]] = (
    ("hybrid p50", _of("p50_ms")),
    ("hybrid p50, embedding apart", _of("own_p50_ms")),
    ("time to ingest", lambda result, one: 1 / _rate(result, one)),
    ("time to ingest, embedding apart", _of("ingest_s")),
    ("start to first hit", _of("first_hit_s")),
    ("memory, searching", _of("search_mb")),
    ("answers per second", _of("answers_a_second")),
)


def read(folder: Path) -> list[Result]:
    """The result files of a folder."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]


def rewrite(page: Path, folder: Path) -> None:
    """Put what the result files tell between the marks of the page.

    Raises:
        ValueError: If the page has no marks.
    """
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    page.write_text(f"{before}{START}\n{told(read(folder))}{END}{after}", encoding="utf-8")


def told(results: Sequence[Result]) -> str:
    """Tables of figures and of ratios, one pair for each size."""
    parts = []
    for size in sorted({each["documents"] for each in results}):
        here = {each["system"]: each for each in results if each["documents"] == size}
        systems = [here[name] for name in NAMES if name in here]
        parts += [_heading(size, systems), _figures(systems)]
        if OURS in here and len(systems) > 1:
            parts.append(
                _ratios(here[OURS], [system for system in systems if system is not here[OURS]])
            )
    return "\n".join(parts)


def _heading(size: int, systems: Sequence[Result]) -> str:
    rounds = [one for system in systems for one in system["rounds"]]
    cores = max(one["cores"] for one in rounds)
    loads = [one["load"] for one in rounds]
    counts = {len(system["rounds"]) for system in systems}
    told_rounds = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    busy = " **The machine was busy with other work.**" if median(loads) > cores else ""
    return (
        f"### {size:,} documents\n\n"
        f"{systems[0]['questions']} questions, {told_rounds} rounds; load {min(loads):.1f} to "
        f"{max(loads):.1f} on {cores:.0f} cores.{busy}"
        f" Embedding took {systems[0]['embedding_s']:.0f} s, once for all. Medians of the rounds:\n"
    )


def _figures(systems: Sequence[Result]) -> str:
    rows = []
    for system in systems:
        cells = [
            format(median(measure(system, one) for one in system["rounds"]), form)
            for _, measure, form in COLUMNS
        ]
        rows.append([_called(system), *cells])
    return _table(["system", *(title for title, _, _ in COLUMNS)], rows)


def _ratios(ours: Result, others: Sequence[Result]) -> str:
    rows = []
    for title, measure in RATIOS:
        cells = []
        for other in others:
            found = [
                measure(other, theirs) / measure(ours, own)
                for own, theirs in zip(ours["rounds"], other["rounds"], strict=False)
            ]
            cells.append(f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})")
        rows.append([title, *cells])
    head = "Times as much as Fathom in the same round: the median, and the least and the most:\n"
    return f"{head}\n{_table(['', *(NAMES[each['system']] for each in others)], rows)}"


def _called(result: Result) -> str:
    version = list(result["versions"].items())[0 if result["system"] == OURS else 1][1]
    return f"{NAMES[result['system']]} {version}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
