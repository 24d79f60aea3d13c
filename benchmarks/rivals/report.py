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


def _compute_rate(result: Result, measured_round: Mapping[str, float]) -> float:
    return float(result["documents"] / (result["embedding_s"] + measured_round["ingest_s"]))


def _get_value(key: str) -> Measure:
    return lambda _result, measured_round: measured_round[key]


COLUMNS: Sequence[tuple[str, Measure, str]] = (
    ("documents/s in, embedding included", _compute_rate, ".0f"),
    ("s in, embedding apart", _get_value("ingest_s"), ".1f"),
    ("s from start to first hit", _get_value("first_hit_s"), ".2f"),
    ("MB at most, ingesting", _get_value("ingest_mb"), ".0f"),
    ("MB at most, searching", _get_value("search_mb"), ".0f"),
    ("hybrid p50 ms", _get_value("p50_ms"), ".1f"),
    ("p95 ms", _get_value("p95_ms"), ".1f"),
    ("p50 ms, embedding apart", _get_value("own_p50_ms"), ".1f"),
    ("nDCG@10", _get_value("ndcg"), ".3f"),
    ("answers/s", _get_value("answers_a_second"), ".1f"),
    ("questions answered", _get_value("said"), ".0f"),
    ("MB at most, answering", _get_value("answer_mb"), ".0f"),
)
RATIOS: Sequence[tuple[str, Measure]] = (
    ("hybrid p50", _get_value("p50_ms")),
    ("hybrid p50, embedding apart", _get_value("own_p50_ms")),
    ("time to ingest", lambda result, one: 1 / _compute_rate(result, one)),
    ("time to ingest, embedding apart", _get_value("ingest_s")),
    ("start to first hit", _get_value("first_hit_s")),
    ("memory, searching", _get_value("search_mb")),
    ("answers per second", _get_value("answers_a_second")),
)


def read_files(folder: Path) -> list[Result]:
    """Return the result files of a folder."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]


def rewrite_page(page: Path, folder: Path) -> None:
    """Write the tables of the result files between the marks of the page.

    Raises:
        ValueError: If the page has no marks.
    """
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    page.write_text(
        f"{before}{START}\n{format_results(read_files(folder))}{END}{after}", encoding="utf-8"
    )


def format_results(results: Sequence[Result]) -> str:
    """Return tables of figures and of ratios, one pair for each size."""
    parts = []
    for size in sorted({entry["documents"] for entry in results}):
        by_system = {entry["system"]: entry for entry in results if entry["documents"] == size}
        systems = [by_system[name] for name in NAMES if name in by_system]
        parts += [_format_heading(size, systems), _format_figures(systems)]
        if OURS in by_system and len(systems) > 1:
            parts.append(
                _format_ratios(
                    by_system[OURS], [system for system in systems if system is not by_system[OURS]]
                )
            )
    return "\n".join(parts)


def _format_heading(size: int, systems: Sequence[Result]) -> str:
    rounds = [measured_round for system in systems for measured_round in system["rounds"]]
    cores = max(measured_round["cores"] for measured_round in rounds)
    loads = [measured_round["load"] for measured_round in rounds]
    counts = {len(system["rounds"]) for system in systems}
    told_rounds = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    busy = " **The machine was busy with other work.**" if median(loads) > cores else ""
    first = systems[0]
    return (
        f"### {size:,} documents\n\n"
        f"{first['questions']} questions, {told_rounds} rounds; load {min(loads):.1f} to "
        f"{max(loads):.1f} on {cores:.0f} cores.{busy} Embedding with {first['embedder']} took "
        f"{first['embedding_s']:.0f} s, once for all. {first['date']}, {first['commit']}, "
        f"{first['machine']}. Medians of the rounds:\n"
    )


def _format_figures(systems: Sequence[Result]) -> str:
    rows = []
    for system in systems:
        cells = [
            format(
                median(measure(system, measured_round) for measured_round in system["rounds"]), form
            )
            for _, measure, form in COLUMNS
        ]
        rows.append([_format_name(system), *cells])
    return _format_table(["system", *(title for title, _, _ in COLUMNS)], rows)


def _format_ratios(ours: Result, others: Sequence[Result]) -> str:
    rows = []
    for title, measure in RATIOS:
        cells = []
        for other in others:
            ratios = [
                measure(other, theirs) / measure(ours, ours_round)
                for ours_round, theirs in zip(ours["rounds"], other["rounds"], strict=False)
            ]
            cells.append(f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        rows.append([title, *cells])
    head = "Times as much as Fathom in the same round: the median, and the least and the most:\n"
    return f"{head}\n{_format_table(['', *(NAMES[entry['system']] for entry in others)], rows)}"


def _format_name(result: Result) -> str:
    version = list(result["versions"].items())[0 if result["system"] == OURS else 1][1]
    return f"{NAMES[result['system']]} {version}"


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
