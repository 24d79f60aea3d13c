"""The tables of Fathom beside frameworks with the same language model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, median

from benchmarks.plain_rag.replies import OURS, SYSTEMS, GradedReply

from fathom.evaluation.calibration_metrics import auroc, calibration_error
from fathom.evaluation.statistics import bootstrap_interval, randomisation_p

Group = Sequence[GradedReply]


def format_tables(replies: Group) -> str:
    """Return the tables of each model and data set, and those of all data sets of a model."""
    parts: list[str] = []
    for model in sorted({reply.model for reply in replies}):
        of_model = [reply for reply in replies if reply.model == model]
        by_set = {
            name: [reply for reply in of_model if reply.dataset == name]
            for name in sorted({reply.dataset for reply in of_model})
        }
        groups = by_set | ({"all sets": of_model} if len(by_set) > 1 else {})
        parts += [
            f"{model}, {name}: {format_table(pair)}"
            for name, group in groups.items()
            for pair in pair_systems(group)
        ]
        runs = {
            name: [reply for reply in group if reply.system == OURS and reply.run is not None]
            for name, group in groups.items()
        }
        parts.append(f"{model}, runs of Fathom:\n{format_runs(runs)}")
    return "\n\n".join(parts)


def pair_systems(replies: Group) -> Iterator[Group]:
    """Yield the replies of Fathom and of one framework, for each framework; else all replies.

    So a framework that was asked less does not take questions from the table of another.
    """
    rivals = [
        name for name in SYSTEMS if name != OURS and name in {reply.system for reply in replies}
    ]
    for rival in rivals:
        yield [reply for reply in replies if reply.system in {OURS, rival}]
    if not rivals:
        yield replies


def format_table(replies: Group) -> str:
    """Return the table of all systems over the questions that each has answered."""
    by_system = {
        system: {
            (reply.dataset, reply.question): reply for reply in replies if reply.system == system
        }
        for system in SYSTEMS
    }
    by_system = {system: rows for system, rows in by_system.items() if rows}
    shared = set.intersection(*(set(rows) for rows in by_system.values()))
    groups = {system: [rows[key] for key in sorted(shared)] for system, rows in by_system.items()}
    lines = [
        f"{len(shared)} questions",
        "| system | F1 | 95 % | has-answer F1 | right | wrong | not sure | tokens | p50 s | "
        "cited | Fathom's F1 beside it, p | wrong, p | tokens, p |",
        "|" + "---|" * 13,
        *(
            f"| {system} | {_format_measures(group)} | {_compare(groups.get(OURS), group)} |"
            for system, group in groups.items()
            if group
        ),
    ]
    return "\n".join(lines)


def _format_measures(group: Group) -> str:
    low, high = bootstrap_interval([reply.f1 for reply in group])
    answerable = [reply for reply in group if reply.answerable]
    return (
        f"{fmean(reply.f1 for reply in group):.3f} | {low:.3f} to {high:.3f} | "
        f"{_average(answerable, lambda reply: reply.f1)} | "
        f"{fmean(reply.right for reply in group):.3f} | "
        f"{fmean(reply.is_wrong for reply in group):.3f} | "
        f"{fmean(reply.is_tentative for reply in group):.3f} | "
        f"{fmean(reply.tokens for reply in group):.0f} | "
        f"{_format_median(group)} | "
        f"{_average(answerable, lambda reply: reply.cited)}"
    )


def _compare(ours: Group | None, theirs: Group) -> str:
    """Return the difference in F1 and the ratios of wrong answers and tokens, each with its p."""
    if ours is None or theirs[0].system == OURS:
        return " |  | "

    def test(measure: Callable[[GradedReply], float]) -> float:
        pairs = zip(ours, theirs, strict=True)
        return randomisation_p([measure(our) - measure(their) for our, their in pairs])

    difference = fmean(our.f1 - their.f1 for our, their in zip(ours, theirs, strict=True))
    wrong = _divide(sum(reply.is_wrong for reply in ours), sum(reply.is_wrong for reply in theirs))
    tokens = _divide(sum(reply.tokens for reply in ours), sum(reply.tokens for reply in theirs))
    return (
        f"{difference:+.3f}, {test(lambda reply: reply.f1):.3f} | "
        f"{wrong} times, {test(lambda reply: reply.is_wrong):.3f} | "
        f"{tokens} times, {test(lambda reply: reply.tokens):.3f}"
    )


def format_runs(runs: Mapping[str, Group]) -> str:
    """Return a row for each group of Fathom's runs: its cost, its quotes and its confidence.

    ECE and AUROC are those of P(right) over the answers that were shown. Prompt and seconds of
    "asked" are those of the runs that asked the model.
    """
    return "\n".join(
        [
            "| questions | asked | prompt | prompt, asked | p50 s, asked | calls | invalid | "
            "quotes | verbatim | overshoots | ECE | AUROC |",
            "|" + "---|" * 12,
            *(f"| {name}: {len(group)} | {_format_run(group)} |" for name, group in runs.items()),
        ]
    )


def _format_run(group: Group) -> str:
    runs = [reply.run for reply in group if reply.run is not None]
    asked = [reply for reply in group if reply.run is not None and reply.run.calls]
    shown = [
        (reply.run.confidence, reply.right)
        for reply in group
        if reply.answered and reply.run is not None
    ]
    confidences, right = [pair[0] for pair in shown], [pair[1] for pair in shown]
    ece, area = calibration_error(confidences, right), auroc(confidences, right)
    cells = [
        f"{len(asked) / max(len(group), 1):.2f}",
        f"{fmean([run.prompt for run in runs] or [0]):.0f}",
        f"{fmean([reply.run.prompt for reply in asked if reply.run] or [0]):.0f}",
        _format_median(asked),
        *(str(sum(getattr(run, name) for run in runs)) for name in ("calls", "invalid", "quotes")),
        *(str(sum(getattr(run, name) for run in runs)) for name in ("verbatim", "overshoot")),
        "" if ece is None else f"{ece:.3f}",
        "" if area is None else f"{area:.3f}",
    ]
    return " | ".join(cells)


def _average(group: Group, measure: Callable[[GradedReply], float]) -> str:
    return f"{fmean(measure(reply) for reply in group):.3f}" if group else ""


def _format_median(group: Group) -> str:
    """Return the median of the seconds; a dash if the model of a reply ran on another machine."""
    seconds = [reply.seconds for reply in group if reply.seconds is not None]
    return f"{median(seconds or [0]):.1f}" if len(seconds) == len(group) else "-"


def _divide(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}" if theirs else "-"
