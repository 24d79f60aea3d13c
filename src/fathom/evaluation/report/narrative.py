"""The sentences of a report, made from records only."""

from collections.abc import Sequence
from statistics import fmean

from fathom.evaluation.comparison import PairedTest, contrast, correct_for_all
from fathom.evaluation.records import Group, Record
from fathom.evaluation.report.curves import choose_headline, group_by_dataset
from fathom.evaluation.rows import score_questions
from fathom.evaluation.statistics import SIGNIFICANT


def compare_leaders(all_groups: Sequence[Group]) -> list[PairedTest]:
    """Test the system with the best mean on each data set against each other system.

    Each p is corrected for all tests.
    """
    return correct_for_all(
        [
            test
            for groups in group_by_dataset(all_groups).values()
            for test in _compare_leader(groups)
        ],
    )


def _compare_leader(groups: Sequence[Group]) -> list[PairedTest]:
    measure = choose_headline(groups)
    scores = {group[0].system: score_questions(measure, group) for group in groups}
    present = {name: by_question for name, by_question in scores.items() if by_question}
    if len(present) < 2:
        return []
    first = max(present, key=lambda name: fmean(present[name].values()))
    tests = []
    for name, theirs in present.items():
        paired = [(value, theirs[q]) for q, value in present[first].items() if q in theirs]
        if name != first and paired:
            tests.append(contrast(groups[0][0].dataset, measure, (first, name), paired))
    return tests


def describe_standings(tests: Sequence[PairedTest]) -> list[str]:
    """Return a sentence on the leader of each data set, and the systems that it beats or not."""
    by_leader: dict[tuple[str, str, str], list[PairedTest]] = {}
    for test in tests:
        by_leader.setdefault((test.dataset, test.measure, test.first), []).append(test)
    return [_describe_standing(*names, against) for names, against in by_leader.items()]


def _describe_standing(
    dataset: str, measure: str, first: str, against: Sequence[PairedTest]
) -> str:
    beaten = [test.second for test in against if test.p_holm < SIGNIFICANT]
    tied = [test.second for test in against if test.p_holm >= SIGNIFICANT]
    clauses = [f"it is better than {_join_names(beaten)}"] if beaten else []
    clauses += [f"{_join_names(tied)} cannot be told apart from it"] if tied else []
    return f"{first} has the highest {measure} on {dataset}: {'; '.join(clauses)}."


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(text for text in (", ".join(names[:-1]), names[-1]) if text)


def list_failures(groups: Sequence[Group]) -> list[Record]:
    """Return the records of failed runs."""
    return [record for group in groups for record in group if record.status == "failed"]


def describe_scope(asked_groups: Sequence[Group]) -> str:
    """Return a sentence on the systems, the number of their questions, and failed runs."""
    counts = [
        _count_questions(name, groups) for name, groups in group_by_dataset(asked_groups).items()
    ]
    names = dict.fromkeys(group[0].system for group in asked_groups)
    failed = len(list_failures(asked_groups))
    runs = sum(map(len, asked_groups))
    if not asked_groups:
        return ""
    broken = f"; {failed} of {runs} runs failed and count as wrong" if failed else ""
    did = "ranked the documents for" if asked_groups[0][0].is_ranking else "answered"
    return f"{', '.join(names)} {did} {', '.join(counts)}{broken}."


def _count_questions(name: str, groups: Sequence[Group]) -> str:
    count = len({record.question for group in groups for record in group})
    return f"{count} question{'' if count == 1 else 's'} of {name}"
