"""The outline of a trace: a tree that people can read."""

import unicodedata
from collections import defaultdict

from fathom.jsonable import Json, canonical
from fathom.runs.trace import Step, Trace
from fathom.usage import Usage

VALUE_CHARS = 160


def tree(trace: Trace) -> str:
    """Return the run as plain text: a head, its steps as a tree, its answer.

    All text of documents, models or servers in the trace is shown without control characters, so
    that it cannot steer a terminal.
    """
    children: dict[str, list[Step]] = defaultdict(list)
    # Records stand in the order of their ends, but people read steps by their begin.
    for step in sorted(trace.steps, key=lambda step: step.started_at):
        children[step.parent].append(step)
    origin = trace.origin
    head = [
        f"trace {trace.id}  {trace.started_at}",
        f"question: {_safe(origin.question)}",
        f"strategy {_safe(origin.strategy)}, index {_safe(origin.index_revision)}, "
        f"settings {origin.settings_hash[:12]}, seed {origin.seed}",
        f"spent {_spent(trace.usage)}, events {len(trace.events)}",
    ]
    if not trace.replayable:
        head.append("not replayable: some events were too large to be kept")
    lines = head + _branch(children, "", "") + _answer(trace.answer)
    return "\n".join(lines)


def to_json(trace: Trace) -> str:
    """Return one JSON object: `id`, and `lines`, the records as they are stored, in order."""
    lines = ",".join(trace.data.decode().split("\n"))
    return f'{{"id":"{trace.id}","lines":[{lines}]}}'


def _branch(children: dict[str, list[Step]], parent: str, indent: str) -> list[str]:
    lines: list[str] = []
    steps = children[parent]
    for step in steps:
        last = step is steps[-1]
        lines.append(f"{indent}{'└─' if last else '├─'} {_title(step)}")
        inner_indent = f"{indent}{'   ' if last else '│  '}"
        bar = "│  " if children.get(step.id) else "   "
        lines += [f"{inner_indent}{bar}{line}" for line in _details(step)]
        lines += _branch(children, step.id, inner_indent)
    return lines


def _title(step: Step) -> str:
    agent = f" ({_safe(step.agent)})" if step.agent else ""
    verdict = f" -> {_safe(step.verdict)}" if step.verdict else ""
    spent = step.usage + Usage(seconds=step.seconds - step.usage.seconds)
    return f"{_safe(step.name)}{agent}{verdict}  {_spent(spent)}"


def _details(step: Step) -> list[str]:
    lines = [f"in  {_safe(name)}: {_value(value)}" for name, value in step.inputs.items()]
    lines += [f"out {_safe(name)}: {_value(value)}" for name, value in step.outputs.items()]
    if step.reason:
        lines.append(f"because {_safe(step.reason)}")
    if step.error:
        lines.append(f"broken off: {_safe(step.error)}")
    return lines


def _answer(answer: Json) -> list[str]:
    if not isinstance(answer, dict):
        return [f"answer: {_value(answer)}"]
    text = answer.get("answer") or answer.get("stop_reason") or ""
    return [f"{_safe(str(answer.get('status', 'answer')))}: {_safe(str(text))}"]


def _spent(usage: Usage) -> str:
    parts = [f"{usage.seconds:.3f} s"]
    if usage.llm_calls:
        cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.6f}"
        parts.append(f"{usage.llm_calls} calls, {usage.tokens} tokens, {cost}")
    if usage.retrievals:
        parts.append(f"{usage.retrievals} retrievals")
    return ", ".join(parts)


def _value(value: Json) -> str:
    text = value if isinstance(value, str) else canonical(value)
    short = _safe(text)
    return short if len(short) <= VALUE_CHARS else f"{short[:VALUE_CHARS]}…"


def _safe(text: str) -> str:
    # Drops the Unicode categories of control, format (bidi marks, zero width), surrogates and
    # separators of lines.
    spaced = (" " if unicodedata.category(c) in {"Cc", "Zl", "Zp"} else c for c in text)
    visible = (c for c in spaced if unicodedata.category(c) not in {"Cf", "Cs", "Co", "Cn"})
    return " ".join("".join(visible).split())
