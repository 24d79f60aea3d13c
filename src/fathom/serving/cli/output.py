"""What the command line prints: one JSON object, or plain text for people."""

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
from fathom.index.base import DocumentSummary, IndexStatus, SpaceStatus
from fathom.index.filters import COLUMNS
from fathom.index.traces import TraceSummary
from fathom.serving.cli.ending import json_text
from fathom.serving.cli.terminal import is_terminal, linked, plain
from fathom.serving.wording import ENGLISH, called, place_name, readings, short_answer
from fathom.types import PARTIAL_LIST, VERIFIED, Answer, Citation, Hit, Place
from fathom.usage import Usage


def place_text(place: Place) -> str:
    """A place in one line: title, section and page, then path and line."""
    name = place_name(place)
    line = f":{place.line}" if place.line else ""
    return f"{name} ({near(place.path)}{line})" if place.path else name


def near(path: str) -> str:
    """A path as short as it can be given here: from the working directory if it lies below."""
    inside = path.removeprefix(f"{Path.cwd()}{os.sep}")
    return inside or path


def citation_links(answer: Answer) -> dict[str, str]:
    """Where the paths that `answer_text` names lead to."""
    links = {}
    for citation in answer.citations:
        if citation.source == "web":
            address = citation.document.removeprefix("web:")
            links[address] = address
        elif citation.path:
            links[near(citation.path)] = file_link(citation.path, citation.document)
    return links


def place_links(places: Sequence[Place], hits: Sequence[Hit]) -> dict[str, str]:
    """Where the paths that `hits_text` names lead to."""
    return {
        near(place.path): file_link(place.path, hit.chunk.document_id)
        for place, hit in zip(places, hits, strict=True)
        if place.path
    }


def file_link(path: str, document: str) -> str:
    """The address of the file that a document was read from."""
    return Path(path.removesuffix(f"#{document}")).absolute().as_uri()


if TYPE_CHECKING:  # only who answers, ingests or looks for faults needs them
    from fathom.index.ingest_report import IngestReport
    from fathom.index.outdated import Outdated
    from fathom.llm.prompt import Prompt
    from fathom.serving.cli.doctor import Check
    from fathom.strategies.run import Replay


def show(text: str, links: Mapping[str, str] | None = None) -> None:
    """Print text that may come from a document.

    Args:
        text: What to print.
        links: Addresses by the words that lead to them where stdout is a terminal.
    """
    shown = plain(text)
    if links and is_terminal():
        shown = linked(shown, links)
    sys.stdout.write(shown + "\n")


def show_json(value: object) -> None:
    """Print one JSON object; dataclasses become objects of their fields."""
    sys.stdout.write(json_text(value, default=_fields) + "\n")


def _fields(value: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def answer_text(answer: Answer, *, seconds: float | None = None) -> str:
    """An answer with its citations, or why there is none.

    Args:
        answer: What to show: the short answer first, then who disagrees, then the sentences.
        seconds: How long the user has waited; by default how long the question took.
    """
    lines = []
    if answer.standalone_question not in {None, answer.question}:
        lines += [f"{ENGLISH.understood}: {answer.standalone_question}", ""]
    if answer.status == "answered":
        lines += [*_short(answer), *_disagreeing(answer), answer.answer, ""]
        if answer.stop_reason == PARTIAL_LIST:
            lines += [ENGLISH.partial, ""]
    elif answer.status == "failed":
        lines += [f"No answer: {answer.stop_reason}", ""]
    else:
        reason = ENGLISH.reasons.get(answer.stop_reason, answer.stop_reason)
        lines += [f"{ENGLISH.unknown}: {reason}.", ""]
        if answer.citations:
            lines.append(f"{ENGLISH.nearest}:")
    lines += [_cited(citation) for citation in answer.citations]
    lines.append(f"  {_sureness(answer)}, {_spent(answer.usage, seconds)}")
    lines += [f"  warning: {warning}" for warning in answer.warnings]
    if answer.trace_id:
        lines.append(f"  trace {answer.trace_id[:12]}")
    return "\n".join(lines)


def _sureness(answer: Answer) -> str:
    """How sure an answer is, and what that rests on."""
    if answer.confidence is None:
        return "confidence unknown: not calibrated for these settings (fathom calibrate)"
    if answer.phase == VERIFIED:
        return "verified by a person"
    by = f" (calibrated on {answer.calibration})" if answer.calibration else ""
    return f"confidence {answer.confidence:.2f}{by}"


def _short(answer: Answer) -> list[str]:
    """The short answer and a line between, where it says less than the whole."""
    short = short_answer(answer)
    return [short, ""] if short else []


def _disagreeing(answer: Answer) -> list[str]:
    """Who says what, where the documents give different answers."""
    said = readings(answer)
    if not said:
        return []
    names = {each.n: called(each) for each in answer.citations}
    return [
        f"{ENGLISH.differing}:",
        *(
            f"  {', '.join(f'{names[n]} [{n}]' for n in each.citations)}: "
            f"{' '.join(each.text.split())}{f' ({ENGLISH.refuted})' if each.refuted else ''}"
            for each in said
        ),
        "",
    ]


def _cited(citation: Citation) -> str:
    quote = " ".join(citation.quote.split())
    if citation.source == "web":
        return f'  [{citation.n}] {citation.title} ({citation.document}, from the web): "{quote}"'
    place = Place(
        path=citation.path,
        title=citation.title,
        section=citation.section,
        page=citation.page,
        line=citation.line,
        recognised=citation.recognised,
    )
    return f'  [{citation.n}] {place_text(place)}: "{quote}"'


def _spent(usage: Usage, seconds: float | None) -> str:
    waited = f"{usage.seconds if seconds is None else seconds:.2f} s"
    if not usage.llm_calls:
        return waited
    cost = "cost unknown" if usage.cost_usd is None else f"{usage.cost_usd:.6f} USD"
    return f"{waited}, {usage.llm_calls} calls, {usage.tokens} tokens, {cost}"


def prompt_json(prompt: "Prompt") -> dict[str, Any]:
    """The shape of `config prompts --json`, for one of them."""
    return {
        "name": prompt.name,
        "version": prompt.version,
        "source": prompt.source or None,
        "placeholders": sorted(prompt.placeholders),
        "text": prompt.text,
    }


def prompts_text(prompts: "Sequence[Prompt]") -> str:
    """One prompt a line: name, version, and where it is from."""
    return "\n".join(
        f"{each.name:<20} {each.version}  {each.source or 'shipped'}" for each in prompts
    )


def replay_text(done: "Replay") -> str:
    """Whether a replay gave the same answer, and if not what differed first."""
    if done.missing:
        asked = "\n".join(f"  {each}" for each in (*done.missing, *done.prompts))
        return f"no answer: this would have to be asked anew\n{asked}"
    head = "the same answer, byte for byte" if done.same else f"differs: {done.difference}"
    return f"{head}\n\n{answer_text(done.answer)}" if done.answer else head


def traces_text(traces: Sequence[TraceSummary]) -> str:
    """One trace a line, newest first."""
    lines = [
        f"{each.id[:12]}  {each.started_at[:19]}  {each.strategy:<8} {each.status:<9} "
        f"{' '.join(each.question.split())[:80]}"
        for each in traces
    ]
    return "\n".join(lines) or "no traces"


def hits_text(hits: Sequence[Hit], places: Sequence[Place]) -> str:
    """Hits for people: a line of place and a few lines of text each."""
    if not hits:
        return "nothing found"
    parts = []
    for hit, place in zip(hits, places, strict=True):
        text = " ".join(hit.chunk.text.split())
        short = text if len(text) <= 300 else f"{text[:297]}..."
        head = f"{hit.rank:>3}. {place_text(place)}  ({hit.score:.4f}, {hit.chunk.id})"
        parts.append(f"{head}\n     {short}")
    return "\n".join(parts)


def documents_text(documents: Iterable[DocumentSummary]) -> str:
    """One line a document."""
    lines = [
        f"{each.id}  {each.language:<3}  {each.chunks:>4} chunks  {each.path}  {each.title}"
        for each in documents
    ]
    return "\n".join(lines) or "no documents"


def outdated_text(found: "Sequence[Outdated]") -> str:
    """One file a line that is no longer what was read of it, and how to go on."""
    if not found:
        return "every file is as it was read"
    lines = [f"{each.path}: {each.reason}" for each in found]
    return "\n".join([*lines, f"{len(found)} to look at; `fathom ingest` reads them again"])


def status_text(status: IndexStatus) -> str:
    """The state of an index in a few lines."""
    size = sum(status.bytes_on_disk.values()) / 1e6
    lines = [
        f"{status.documents} documents, {status.chunks} chunks, {status.failed} places failed, "
        f"{status.stale} stale",
        f"revision {status.revision}, {size:.1f} MB on disk",
    ]
    if status.lacking:
        lines.append(
            f"{status.lacking} chunks have no vectors yet and are found by words only; "
            "`fathom ingest` adds them"
        )
    lines += [f"  {key} = {value}" for key, value in status.identity.items()]
    lines += [f"vectors of {space_text(space, status.chunks)}" for space in status.spaces]
    lines.append(f"filter by {', '.join(COLUMNS)} (all documents)")
    lines += [
        f"  {name}: {' or '.join(key.kinds)} ({key.documents} documents)"
        for name, key in status.keys.items()
    ]
    return "\n".join(lines)


def space_text(space: SpaceStatus, chunks: int) -> str:
    """The state of a further vector space in one line."""
    if space.chunks < chunks:
        return f"{space.name}: {space.chunks} of {chunks} chunks; `fathom ingest` makes the rest"
    return f"{space.name}: all {chunks} chunks, {space.dimension} numbers each"


def ingest_text(report: "IngestReport") -> str:
    """What an ingestion did, and a line for each file that gave no document."""
    lines = [
        f"{report.new} new, {report.changed} changed, {report.unchanged} unchanged, "
        f"{report.removed} removed, {report.failed} failed, {report.skipped} skipped, "
        f"{report.stale} stale; "
        f"{report.chunks} chunks in {report.seconds:.1f} s"
    ]
    if report.filled:
        lines.append(f"{report.filled} vectors made of chunks that were stored before")
    bad = [file for file in report.files if file.is_bad]
    lines += [f"  {file.outcome:<13} {file.path}: {file.reason}" for file in bad]
    if report.untold:
        lines.append(f"  and {report.untold} more of this kind")
    kinds = Counter(file.reason for file in report.files if file.outcome == "skipped")
    lines += [f"  {'skipped':<13} {count} x {reason}" for reason, count in kinds.most_common()]
    return "\n".join(lines)


def settings_text(values: Sequence[SettingValue]) -> str:
    """One setting a line, as in TOML, with its origin."""
    return "\n".join(
        f"{value.key} = {json.dumps(value.value)}  # {value.origin}" for value in values
    )


def findings_text(findings: "Sequence[Check]") -> str:
    """One finding a line."""
    return "\n".join(
        f"{'ok  ' if each.ok else 'FAIL'} {each.name}: {each.detail}" for each in findings
    )


_IMPORTED = time.monotonic()


def seconds_running() -> float:
    """Seconds since the process began; where the system does not tell, since this was imported."""
    try:
        # The command in brackets may hold anything; the 20th field after it is the start.
        after = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2]
        begun = int(after.split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - begun
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORTED
