"""What a report says in plain sentences, from records only."""

from collections.abc import Sequence
from statistics import fmean

from fathom.evaluation.comparison import SIGNIFICANT, PairedTest, contrast, corrected
from fathom.evaluation.records import Group, Record
from fathom.evaluation.report.curves import by_dataset, headline
from fathom.evaluation.rows import values


def leaders(answered: Sequence[Group]) -> list[PairedTest]:
    """On each data set the system with the best mean, tested against each of the others.

    The p values are corrected for all of them together.
    """
    return corrected(
        [made for groups in by_dataset(answered).values() for made in _led(groups)],
    )


def _led(groups: Sequence[Group]) -> list[PairedTest]:
    measure = headline(groups)
    found = {group[0].system: values(measure, group) for group in groups}
    kept = {name: each for name, each in found.items() if each}
    if len(kept) < 2:
        return []
    first = max(kept, key=lambda name: fmean(kept[name].values()))
    made = []
    for name, theirs in kept.items():
        both = [(value, theirs[q]) for q, value in kept[first].items() if q in theirs]
        if name != first and both:
            made.append(contrast(groups[0][0].dataset, measure, (first, name), both))
    return made


def standings(led: Sequence[PairedTest]) -> list[str]:
    """One sentence for each data set: who is ahead of whom, and who cannot be told apart from it.

    Args:
        led: As from `leaders`.
    """
    found: dict[tuple[str, str, str], list[PairedTest]] = {}
    for each in led:
        found.setdefault((each.dataset, each.measure, each.first), []).append(each)
    return [_standing(*names, against) for names, against in found.items()]


def _standing(dataset: str, measure: str, first: str, against: Sequence[PairedTest]) -> str:
    behind = [each.second for each in against if each.p_holm < SIGNIFICANT]
    alike = [each.second for each in against if each.p_holm >= SIGNIFICANT]
    parts = [f"it is better than {_listed(behind)}"] if behind else []
    parts += [f"{_listed(alike)} cannot be told apart from it"] if alike else []
    return f"{first} has the highest {measure} on {dataset}: {'; '.join(parts)}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def failures(answered: Sequence[Group]) -> list[Record]:
    """The questions whose run failed; they count against their system."""
    return [record for group in answered for record in group if record.status == "failed"]


def scope(answered: Sequence[Group]) -> str:
    """What was asked of these strategies, or of these retrievers, in one sentence."""
    counts = [_count(name, groups) for name, groups in by_dataset(answered).items()]
    names = dict.fromkeys(group[0].system for group in answered)
    failed = len(failures(answered))
    runs = sum(map(len, answered))
    if not answered:
        return ""
    broken = f"; {failed} of {runs} runs failed and count as wrong" if failed else ""
    did = "ranked the documents for" if answered[0][0].ranks else "answered"
    return f"{', '.join(names)} {did} {', '.join(counts)}{broken}."


def _count(name: str, groups: Sequence[Group]) -> str:
    count = len({record.question for group in groups for record in group})
    return f"{count} question{'' if count == 1 else 's'} of {name}"
