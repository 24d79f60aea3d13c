"""The outline of a trace: a tree of its steps for people to read."""

import unicodedata
from collections import defaultdict

from fathom.jsonable import Json, dump_canonical
from fathom.runs.trace import Step, Trace
from fathom.usage import Usage

VALUE_CHARS = 160
"""The largest number of characters of an input or output that are shown."""


def format_tree(trace: Trace) -> str:
    """Return a trace as plain text: a head, the steps as a tree, and the answer.

    Texts of documents, models and servers are shown without control characters, so that they cannot
    control a terminal.
    """
    children: dict[str, list[Step]] = defaultdict(list)
    # The records are in the order in which they ended, but people read steps by their start.
    for step in sorted(trace.steps, key=lambda step: step.started_at):
        children[step.parent].append(step)
    origin = trace.origin
    head = [
        f"trace {trace.id}  {trace.started_at}",
        f"question: {_make_safe(origin.question)}",
        f"strategy {_make_safe(origin.strategy)}, index {_make_safe(origin.index_revision)}, "
        f"settings {origin.settings_hash[:12]}, seed {origin.seed}",
        f"spent {_format_usage(trace.usage)}, events {len(trace.events)}",
    ]
    if not trace.is_replayable:
        head.append("not replayable: some events were too large to be kept")
    lines = head + _format_branch(children, "", "") + _format_answer(trace.answer)
    return "\n".join(lines)


def to_json(trace: Trace) -> str:
    """Return a trace as one JSON object: `id`, and `lines` with the stored records in order."""
    lines = ",".join(trace.data.decode().split("\n"))
    return f'{{"id":"{trace.id}","lines":[{lines}]}}'


def _format_branch(children: dict[str, list[Step]], parent: str, indent: str) -> list[str]:
    """Return the lines of the steps inside a step (`parent`), and of the steps inside them."""
    lines: list[str] = []
    steps = children[parent]
    for step in steps:
        last = step is steps[-1]
        lines.append(f"{indent}{'└─' if last else '├─'} {_format_title(step)}")
        inner_indent = f"{indent}{'   ' if last else '│  '}"
        bar = "│  " if children.get(step.id) else "   "
        lines += [f"{inner_indent}{bar}{line}" for line in _format_details(step)]
        lines += _format_branch(children, step.id, inner_indent)
    return lines


def _format_title(step: Step) -> str:
    """Return the line of a step: its name, agent, verdict and usage."""
    agent = f" ({_make_safe(step.agent)})" if step.agent else ""
    verdict = f" -> {_make_safe(step.verdict)}" if step.verdict else ""
    spent = step.usage + Usage(seconds=step.seconds - step.usage.seconds)
    return f"{_make_safe(step.name)}{agent}{verdict}  {_format_usage(spent)}"


def _format_details(step: Step) -> list[str]:
    """Return the lines of a step's inputs, outputs, reason and error."""
    lines = [
        f"in  {_make_safe(name)}: {_format_value(value)}" for name, value in step.inputs.items()
    ]
    lines += [
        f"out {_make_safe(name)}: {_format_value(value)}" for name, value in step.outputs.items()
    ]
    if step.reason:
        lines.append(f"because {_make_safe(step.reason)}")
    if step.error:
        lines.append(f"broken off: {_make_safe(step.error)}")
    return lines


def _format_answer(answer: Json) -> list[str]:
    """Return the line of the answer: its status with its text or stop reason."""
    if not isinstance(answer, dict):
        return [f"answer: {_format_value(answer)}"]
    text = answer.get("answer") or answer.get("stop_reason") or ""
    return [f"{_make_safe(str(answer.get('status', 'answer')))}: {_make_safe(str(text))}"]


def _format_usage(usage: Usage) -> str:
    """Return a usage as text; counts of zero are left out."""
    parts = [f"{usage.seconds:.3f} s"]
    if usage.llm_calls:
        cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.6f}"
        parts.append(f"{usage.llm_calls} calls, {usage.tokens} tokens, {cost}")
    if usage.retrievals:
        parts.append(f"{usage.retrievals} retrievals")
    return ", ".join(parts)


def _format_value(value: Json) -> str:
    """Return a value on one line of at most `VALUE_CHARS` characters and an ellipsis."""
    text = value if isinstance(value, str) else dump_canonical(value)
    short = _make_safe(text)
    return short if len(short) <= VALUE_CHARS else f"{short[:VALUE_CHARS]}…"


def _make_safe(text: str) -> str:
    """Return a text on one line, without characters that control a terminal."""
    # Control characters and separators of lines become blanks. Format characters (bidi marks, zero
    # width), surrogates, private and unassigned characters are dropped.
    spaced = (" " if unicodedata.category(c) in {"Cc", "Zl", "Zp"} else c for c in text)
    visible = (c for c in spaced if unicodedata.category(c) not in {"Cf", "Cs", "Co", "Cn"})
    return " ".join("".join(visible).split())
