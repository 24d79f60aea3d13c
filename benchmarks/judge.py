"""How well the local judge tells citations apart: python benchmarks/judge.py.

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


def pair_of(question: DatasetQuestion, text: str) -> Pair | None:
    """Claim, right and wrong quote; None where one sentence holds all, or none does."""
    terms = ContentTerms()
    claim = f"{question.text} {question.answers[0]}"
    answers = [answer.casefold() for answer in question.answers]

    def holds(span: Span) -> bool:
        return any(answer in span.cut(text).casefold() for answer in answers)

    right = [span for span in split(text) if holds(span)]
    others = [span for span in split(text) if not holds(span)]
    if len(right) != 1 or not others:
        return None
    wrong = max(others, key=lambda s: (len(terms(claim) & terms(s.cut(text))), -s.start))
    return claim, right[0].cut(text), wrong.cut(text)


def pairs_of(dataset: Dataset, count: int) -> list[Pair]:
    """Those of a sample of the judged questions; where more than one is right, none is taken."""
    texts = {row["_id"]: row["text"] for _, row in read_rows(dataset.corpus)}
    asked = dataset.sample(count, judged=True)
    found = (pair_of(each, texts[min(dataset.qrels[each.id])]) for each in asked)
    return [pair for pair in found if pair]


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=450)
    settings = parser.parse_args()
    found = pairs_of(load(DATA / "squad-fresh"), settings.questions)
    judge = LocalJudge(pairs=load_shipped_reader())
    right = judge.score_pairs([(claim, quote) for claim, quote, _ in found])
    wrong = judge.score_pairs([(claim, quote) for claim, _, quote in found])
    value = auroc([*right, *wrong], [*(True for _ in right), *(False for _ in wrong)])
    better = [float(a > b) for a, b in zip(right, wrong, strict=True)]
    low, high = bootstrap_interval(better)
    share = sum(better) / len(better)
    print(f"| {len(found)} | {value:.3f} | {share:.3f} [{low:.3f}, {high:.3f}] |")


if __name__ == "__main__":
    main()
