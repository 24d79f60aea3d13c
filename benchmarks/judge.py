"""The accuracy of the local judge on citations: python benchmarks/judge.py.

Of answerable questions of squad-fresh (below SHARED_DATA, default ../shared/data), whose articles
nothing was learned from: the claim is the question with its answer; the right quote is the one
sentence that holds the answer, the wrong one that sentence of the same chunk which shares most
words with the claim. Printed: AUROC of support, right against wrong, and how often the right one
has more.
"""

import argparse
import os
from pathlib import Path

from fathom.agents.judge import LocalJudge
from fathom.evaluation.calibration_metrics import auroc
from fathom.evaluation.datasets import Dataset, DatasetQuestion, load, read_rows
from fathom.evaluation.statistics import bootstrap_interval
from fathom.models.reader_loading import load_shipped_reader
from fathom.text.content_words import ContentTerms
from fathom.text.sentences import split
from fathom.types import Span

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))


Pair = tuple[str, str, str]


def make_pair(question: DatasetQuestion, text: str) -> Pair | None:
    """Return claim, right and wrong quote; None if one sentence holds all, or none does."""
    terms = ContentTerms()
    claim = f"{question.text} {question.answers[0]}"
    answers = [answer.casefold() for answer in question.answers]

    def is_right(span: Span) -> bool:
        return any(answer in span.cut(text).casefold() for answer in answers)

    right = [span for span in split(text) if is_right(span)]
    others = [span for span in split(text) if not is_right(span)]
    if len(right) != 1 or not others:
        return None
    wrong = max(others, key=lambda s: (len(terms(claim) & terms(s.cut(text))), -s.start))
    return claim, right[0].cut(text), wrong.cut(text)


def make_pairs(dataset: Dataset, count: int) -> list[Pair]:
    """Yield the pairs of a sample of the judged questions with one right document."""
    texts = {row["_id"]: row["text"] for _, row in read_rows(dataset.corpus)}
    sample = dataset.sample(count, judged=True)
    pairs = (make_pair(question, texts[min(dataset.qrels[question.id])]) for question in sample)
    return [pair for pair in pairs if pair]


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=450)
    settings = parser.parse_args()
    pairs = make_pairs(load(DATA / "squad-fresh"), settings.questions)
    judge = LocalJudge(pairs=load_shipped_reader())
    right = judge.score_pairs([(claim, quote) for claim, quote, _ in pairs])
    wrong = judge.score_pairs([(claim, quote) for claim, _, quote in pairs])
    value = auroc([*right, *wrong], [*(True for _ in right), *(False for _ in wrong)])
    better = [float(a > b) for a, b in zip(right, wrong, strict=True)]
    low, high = bootstrap_interval(better)
    share = sum(better) / len(better)
    print(f"| {len(pairs)} | {value:.3f} | {share:.3f} [{low:.3f}, {high:.3f}] |")


if __name__ == "__main__":
    main()
