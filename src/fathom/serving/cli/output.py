"""The output of the command line: one JSON object, or plain text for people."""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.config import SettingValue
from fathom.index.base import DocumentSummary, IndexStatus, SpaceStatus, is_address
from fathom.index.filters import COLUMNS
from fathom.index.traces import TraceSummary
from fathom.serving.brief import Brief, serialize_brief
from fathom.serving.cli.errors import dump_json
from fathom.serving.cli.terminal import (
    add_links,
    is_terminal,
    replace_breaks,
)
from fathom.serving.invisible import replace_controls
from fathom.serving.shapes import Shortener, format_address
from fathom.serving.wording import (
    ENGLISH,
    list_readings,
    name_document,
    name_place,
    pick_short_answer,
)
from fathom.types import PARTIAL_LIST, VERIFIED, Answer, Citation, Document, Hit, Place
from fathom.usage import Usage


def format_place(place: Place) -> str:
    """Return a place in one line: title, section and page, then path and line."""
    name = name_place(place)
    line = f":{place.line}" if place.line else ""
    return replace_breaks(f"{name} ({shorten_path(place.path)}{line})" if place.path else name)


def shorten_path(path: str) -> str:
    """Return a path relative to the working directory if it is below it, else unchanged."""
    inside = path.removeprefix(f"{Path.cwd()}{os.sep}")
    return inside or path


def link_citations(answer: Answer) -> dict[str, str]:
    """Return the link targets of the paths and web addresses in an answer, by their texts."""
    links = {}
    for citation in answer.citations:
        if citation.source == "web":
            address = citation.document.removeprefix("web:")
            links[address] = address
        elif citation.path:
            links[shorten_path(citation.path)] = make_file_link(citation.path, citation.document)
    return links


def link_places(places: Sequence[Place], hits: Sequence[Hit]) -> dict[str, str]:
    """Return the link targets of the paths in a list of hits, by their texts."""
    return {
        shorten_path(place.path): make_file_link(place.path, hit.chunk.document_id)
        for place, hit in zip(places, hits, strict=True)
        if place.path
    }


def link_excerpts(excerpts: "Excerpts") -> dict[str, str]:
    """Return the link targets of the paths in excerpts, by their texts."""
    return {
        excerpt.path: make_file_link(excerpt.place.path, excerpt.hit.chunk.document_id)
        for excerpt in excerpts.excerpts
    }


def make_file_link(path: str, document: str) -> str:
    """Return the URL of the file that a document was read from."""
    if is_address(path):
        return path
    return Path(path.removesuffix(f"#{document}")).absolute().as_uri()


if TYPE_CHECKING:  # only single commands need these, which take a while to import
    from fathom.documents.lines import Heading, MatchingLine
    from fathom.ingest.outdated import OutdatedFile
    from fathom.ingest.report import IngestReport
    from fathom.llm.prompt import Prompt
    from fathom.retrieval.excerpts import Excerpts
    from fathom.serving.cli.doctor import Check
    from fathom.strategies.run import Replay


def show(text: str, links: Mapping[str, str] | None = None) -> None:
    """Print text without invisible characters.

    Args:
        text: The text, which may come from a document.
        links: Link targets by the words that become links if stdout is a terminal.
    """
    printable = replace_controls(text)
    if links and is_terminal():
        printable = add_links(printable, links)
    sys.stdout.write(printable + "\n")


def show_json(value: object) -> None:
    """Print one JSON object; dataclasses become objects of their fields."""
    sys.stdout.write(dump_json(value, default=_convert_value) + "\n")


def show_outcome(value: object, text: str, *, as_json: bool) -> None:
    """Print the outcome of a command: one JSON object if `as_json`, else text for people."""
    show_json(value) if as_json else show(text)


def _convert_value(value: object) -> Any:  # noqa: ANN401 - any value that JSON can hold
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def format_answer(answer: Answer, *, seconds: float | None = None) -> str:
    """Return the text of an answer with its citations, or of the reason why there is none.

    The short answer comes first, then the documents that disagree, then the whole answer.

    Args:
        answer: The answer.
        seconds: The seconds that the user has waited; by default those of the question alone.
    """
    lines = []
    if answer.standalone_question not in {None, answer.question}:
        lines += [f"{ENGLISH.understood}: {answer.standalone_question}", ""]
    if answer.status == "answered":
        first, *rest = (*_format_short_answer(answer), *_format_disagreement(answer), answer.answer)
        lines += [f"{ENGLISH.unsure}: {first}" if answer.tentative else first, *rest, ""]
        if answer.stop_reason == PARTIAL_LIST:
            lines += [ENGLISH.partial, ""]
    elif answer.status == "failed":
        lines += [f"No answer: {answer.stop_reason}", ""]
    else:
        reason = ENGLISH.reasons.get(answer.stop_reason, answer.stop_reason)
        lines += [f"{ENGLISH.unknown}: {reason}.", ""]
        if answer.citations:
            lines.append(f"{ENGLISH.nearest}:")
    lines += [_format_citation(citation) for citation in answer.citations]
    lines.append(f"  {_format_confidence(answer)}, {_format_usage(answer.usage, seconds)}")
    lines += [f"  warning: {warning}" for warning in answer.warnings]
    if answer.trace_id:
        lines.append(f"  trace {answer.trace_id[:12]}")
    return "\n".join(lines)


def format_brief(brief: Brief) -> str:
    """Return a short answer in a few lines, with quotes, their places and the probability.

    A refusal has the nearest sentences instead.
    """
    answer = brief.answer
    if brief.nearest is not None:
        reason = answer.stop_reason.replace("_", " ")
        head = "No answer" if answer.status == "failed" else ENGLISH.unknown
        return "\n".join([f"{head}: {reason}.", *_list_excerpts(brief.nearest)])
    shape = serialize_brief(brief)
    text = " ".join(shape["answer"].split())
    lines = [f"{ENGLISH.unsure}: {text}" if answer.tentative else text]
    lines += [f"other documents: {' '.join(other.split())}" for other in shape["others"]]
    quotes = ((quote["at"], " ".join(quote["quote"].split())) for quote in shape["quotes"])
    bare: list[str] = []
    for at, words in _group_by_place(quotes):
        # An answer of whole sentences already contains its quotes.
        shown = [f'"{quote}"' for quote in words if quote not in text]
        if shown:
            lines.append(f"{' '.join(shown)}  {at}")
        else:
            bare.append(at)
    lines += filter(None, [_join_addresses(bare)])
    return "\n".join([*lines, _format_probability(answer)])


def _join_addresses(addresses: Sequence[str]) -> str:
    """Join addresses to one line; repeat no path of the address before."""
    parts: list[str] = []
    former = ""
    for address in addresses:
        path, colon, line = address.rpartition(":")
        parts.append(f":{line}" if colon and path == former else address)
        former = path
    return " ".join(parts)


def _group_by_place(texts: Iterable[tuple[str, str]]) -> Iterable[tuple[str, Sequence[str]]]:
    """Group texts by place; keep the order of both."""
    groups: dict[str, list[str]] = {}
    for place, text in texts:
        groups.setdefault(place, []).append(text)
    return groups.items()


def _format_probability(answer: Answer) -> str:
    """Return the confidence of an answer without the questions of its calibration."""
    if answer.confidence is None or answer.phase == VERIFIED:
        return _format_confidence(answer)
    return f"P(right) {answer.confidence:.2f}"


def _format_confidence(answer: Answer) -> str:
    """Return the confidence of an answer, and the questions of its calibration."""
    has_ended_early = answer.status == "failed" or answer.stop_reason == "budget"
    if answer.confidence is None and has_ended_early and not answer.citations:
        return "no confidence: no answer was drafted"
    if answer.confidence is None:
        return "confidence unknown: not calibrated for these settings (fathom calibrate)"
    # The check of a person says more than a probability.
    if answer.phase == VERIFIED:
        return "verified by a person"
    by = f" (calibrated on {answer.calibration})" if answer.calibration else ""
    return f"confidence {answer.confidence:.2f}{by}"


def _format_short_answer(answer: Answer) -> list[str]:
    """Return the short answer and a blank line, or nothing if it is the whole answer."""
    short = pick_short_answer(answer)
    return [short, ""] if short else []


def _format_disagreement(answer: Answer) -> list[str]:
    """Return the readings with their documents; nothing if the documents agree."""
    conflicting = list_readings(answer)
    if not conflicting:
        return []
    names = {
        citation.n: ", ".join(filter(None, (name_document(citation), citation.date)))
        for citation in answer.citations
    }
    return [
        f"{ENGLISH.differing}:",
        *(
            f"  {', '.join(f'{names[n]} [{n}]' for n in side.citations)}: "
            f"{' '.join(side.answer.split())}{f' ({ENGLISH.refuted})' if side.refuted else ''}"
            for side in conflicting
        ),
        "",
    ]


def _format_citation(citation: Citation) -> str:
    quote = " ".join(citation.quote.split())
    if citation.source == "web":
        name = replace_breaks(f"{citation.title} ({citation.document}, from the web)")
        return f'  [{citation.n}] {name}: "{quote}"'
    return f'  [{citation.n}] {format_place(citation.place)}: "{quote}"'


def _format_usage(usage: Usage, seconds: float | None) -> str:
    waited = f"{usage.seconds if seconds is None else seconds:.2f} s"
    if not usage.llm_calls:
        return waited
    cost = "cost unknown" if usage.cost_usd is None else f"{usage.cost_usd:.6f} USD"
    return f"{waited}, {usage.llm_calls} calls, {usage.tokens} tokens, {cost}"


def serialize_prompt(prompt: "Prompt") -> dict[str, Any]:
    """Return a prompt in the shape of `config prompts --json`."""
    return {
        "name": prompt.name,
        "version": prompt.version,
        "source": prompt.source or None,
        "placeholders": sorted(prompt.placeholders),
        "text": prompt.text,
    }


def format_prompts(prompts: "Sequence[Prompt]") -> str:
    """Return a line for each prompt: name, version, and source."""
    return "\n".join(
        f"{prompt.name:<20} {prompt.version}  {prompt.source or 'shipped'}" for prompt in prompts
    )


def format_replay(replayed: "Replay") -> str:
    """Return the outcome of a replay: the missing calls, or the comparison and the answer."""
    if replayed.missing:
        missing = "\n".join(f"  {call}" for call in (*replayed.missing, *replayed.prompts))
        return f"no answer: the record lacks these calls; ask the question again\n{missing}"
    head = "the same answer, byte for byte" if replayed.same else f"differs: {replayed.difference}"
    return f"{head}\n\n{format_answer(replayed.answer)}" if replayed.answer else head


def format_traces(traces: Sequence[TraceSummary]) -> str:
    """Return a line for each trace, newest first."""
    lines = [
        f"{trace.id[:12]}  {trace.started_at[:19]}  {trace.strategy:<8} {trace.status:<9} "
        f"{' '.join(trace.question.split())[:80]}"
        for trace in traces
    ]
    return "\n".join(lines) or "no traces"


def format_hits(hits: Sequence[Hit], places: Sequence[Place]) -> str:
    """Return hits with whole chunks: a line with the place, then the text."""
    if not hits:
        return "nothing found"
    return "\n\n".join(
        f"{hit.rank:>3}. {format_place(place)}  ({hit.score:.4f}, {hit.chunk.id})\n{hit.chunk.text}"
        for hit, place in zip(hits, places, strict=True)
    )


def format_excerpts(excerpts: "Excerpts") -> str:
    """Return excerpts: a line with the place, then the text; at last the counts of the rest."""
    if not excerpts.hits:
        return "nothing found"
    left = _format_left(excerpts.hits_left, excerpts.chars_left)
    return "\n".join([*_list_excerpts(excerpts), left])


def leave_room(chars: int, hits: Sequence[Hit]) -> int:
    """Return the number of characters that remain for excerpts above the line with the counts.

    Args:
        chars: The number of characters of the whole output.
        hits: The hits.
    """
    line = _format_left(len(hits), sum(len(hit.chunk.text) for hit in hits))
    return max(chars - len(line) - 1, 1)


def _format_left(hits: int, chars: int) -> str:
    return f"({hits} hits, {chars} chars more: --chars N)"


def _list_excerpts(excerpts: "Excerpts") -> list[str]:
    texts = (
        (replace_breaks(f"{excerpt.at}  {excerpt.name}".rstrip()), excerpt.text)
        for excerpt in excerpts.excerpts
    )
    return ["\n".join([head, *map(_indent, parts)]) for head, parts in _group_by_place(texts)]


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def format_outline(document: Document, headings: "Sequence[Heading]", shorten: Shortener) -> str:
    """Return a line for each heading, indented by its depth, with its line or page."""
    if not headings:
        return f"{replace_breaks(shorten(document.path))} has no headings"
    return "\n".join(
        replace_breaks(
            f"{format_address(heading.place, shorten)}  {'  ' * heading.depth}{heading.text}"
        )
        for heading in headings
    )


def format_matching_lines(
    lines: "Sequence[MatchingLine]", shorten: Shortener, *, has_more: bool
) -> str:
    """Return matching lines after their places; several lines of a page have one place."""
    texts = ((replace_breaks(format_address(line.place, shorten)), line.text) for line in lines)
    entries = [
        "\n  ".join([f"{at}  {first}", *rest]) for at, (first, *rest) in _group_by_place(texts)
    ]
    if has_more:
        entries.append("(there are more; --most N shows more)")
    return "\n".join(entries) or "nothing found"


def format_documents(documents: Iterable[DocumentSummary]) -> str:
    """Return a line for each document."""
    lines = [
        replace_breaks(
            f"{document.id}  {document.language:<3}  {document.chunks:>4} chunks  "
            f"{document.path}  {document.title}"
        )
        for document in documents
    ]
    return "\n".join(lines) or "no documents"


def format_outdated(outdated: "Sequence[OutdatedFile]") -> str:
    """Return a line for each file that has changed since ingestion, and the next step."""
    if not outdated:
        return "no file has changed since it was read"
    lines = [replace_breaks(f"{file.path}: {file.reason}") for file in outdated]
    count = "1 file differs" if len(outdated) == 1 else f"{len(outdated)} files differ"
    them = "it" if len(outdated) == 1 else "them"
    return "\n".join([*lines, f"{count}; `fathom ingest` reads {them} again"])


def format_status(status: IndexStatus) -> str:
    """Return the state of an index in a few lines."""
    size = sum(status.bytes_on_disk.values()) / 1e6
    lines = [
        f"{status.documents} documents, {status.chunks} chunks, {status.failed} places failed, "
        f"{status.stale} stale",
        f"revision {status.revision}, {size:.1f} MB on disk",
    ]
    if status.lacking:
        lines.append(
            f"{status.lacking} chunks have no vectors yet and are found only by shared words; "
            "`fathom ingest` adds the vectors"
        )
    lines += [f"  {key} = {value}" for key, value in status.identity.items()]
    lines += [f"vectors of {format_space(space, status.chunks)}" for space in status.spaces]
    lines.append(f"filter by {', '.join(COLUMNS)} (all documents)")
    lines += [
        f"  {name}: {' or '.join(key.kinds)} ({key.documents} documents)"
        for name, key in status.keys.items()
    ]
    return "\n".join(lines)


def format_space(space: SpaceStatus, chunks: int) -> str:
    """Return the state of a further vector space in one line."""
    if space.chunks < chunks:
        return f"{space.name}: {space.chunks} of {chunks} chunks; `fathom ingest` makes the rest"
    return f"{space.name}: all {chunks} chunks, {space.dimension} numbers each"


_MOST_NOTES = 20
"""The number of files that a report names because parts of them were left out, at most."""


def format_ingest_report(report: "IngestReport") -> str:
    """Return the counts of an ingestion, and lines about failed, partial and skipped files."""
    lines = [
        f"{report.new} new, {report.changed} changed, {report.unchanged} unchanged, "
        f"{report.removed} removed, {report.failed} failed, {report.skipped} skipped, "
        f"{report.stale} stale; "
        f"{report.chunks} chunks in {report.seconds:.1f} s"
    ]
    if report.filled:
        lines.append(f"{report.filled} vectors made of chunks that were stored before")
    bad_files = [file for file in report.files if file.is_bad]
    lines += [
        f"  {file.outcome:<13} {replace_breaks(f'{file.path}: {file.reason}')}"
        for file in bad_files
    ]
    if report.untold:
        lines.append(f"  and {report.untold} more of this kind")
    partial_files = [file for file in report.files if file.is_partial]
    lines += [
        f"  {'read in part':<13} {replace_breaks(f'{file.path}: {file.reason}')}"
        for file in partial_files[:_MOST_NOTES]
    ]
    if len(partial_files) > _MOST_NOTES:
        lines.append(f"  and {len(partial_files) - _MOST_NOTES} more of this kind")
    # Skipped files are only counted, because a folder may have thousands of pictures.
    kinds = Counter(file.reason for file in report.files if file.outcome == "skipped")
    lines += [f"  {'skipped':<13} {count} x {reason}" for reason, count in kinds.most_common()]
    return "\n".join(lines)


def format_settings(values: Sequence[SettingValue]) -> str:
    """Return a line for each setting, as in TOML, with its origin."""
    return "\n".join(
        f"{value.key} = {json.dumps(value.value)}  # {value.origin}" for value in values
    )


def format_checks(checks: "Sequence[Check]") -> str:
    """Return a line for each check."""
    return "\n".join(
        f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}" for check in checks
    )


_IMPORT_TIME = time.monotonic()


def measure_running_seconds() -> float:
    """Return the seconds since the process began.

    If the system does not know, they count from the import of this module.
    """
    try:
        # The command in brackets may contain any character; the 20th field after it is the start.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2]
        started = int(fields.split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORT_TIME
