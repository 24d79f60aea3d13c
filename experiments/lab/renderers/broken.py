"""Failed runs: they count against their arm and are listed."""

from collections import Counter
from collections.abc import Iterator

from experiments.lab.results import Results

from fathom.evaluation.report.blocks import ReportBlock, Sentences


def list_failures(results: Results) -> Iterator[ReportBlock]:
    """Yield a line for each arm and data set with a failed run; nothing without failures.

    Args:
        results: What is shown.
    """
    lines = []
    for cell in results.cells:
        failed = [record for record in cell.records if record.status == "failed"]
        if failed:
            # What follows the colon may hold words of the data set.
            why = Counter(record.stop_reason.partition(":")[0] for record in failed)
            text = ", ".join(f"{reason} ({count})" for reason, count in why.most_common())
            lines.append(
                f"{cell.arm.name} on {cell.set}: {len(failed)} of {len(cell.records)} runs failed "
                f"and count as wrong: {text}"
            )
    if lines:
        yield Sentences(title="Failed", lines=tuple(lines))
