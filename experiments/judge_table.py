"""How well the local judge tells citations apart: python experiments/judge_table.py.

Of answerable questions of the reported SQuAD development articles (below SHARED_DATA, default
../shared/data): the claim is the question with its answer; the right quote is the sentence that
holds the answer, the wrong one that sentence of the same chunk which shares most words with the
claim. Printed: AUROC of support, right against wrong, and how often the right one has more.
"""

import argparse
import os
import random
from pathlib import Path

from training.cross_reader.development import development_rows, is_reported
from training.cross_reader.rows import Row

from fathom.agents.content import ContentTerms
from fathom.agents.judge import LocalJudge
from fathom.documents.sentences import split
from fathom.evaluation.honesty import auroc
from fathom.evaluation.statistics import bootstrap_interval
from fathom.models.shipped import load_shipped_reader

DATA = Path(os.environ.get("SHARED_DATA", "../shared/data"))


def pair_of(row: Row) -> tuple[str, str, str] | None:
    """Claim, right and wrong quote; None for a chunk without another sentence."""
    start, end = row.spans[0]
    terms = ContentTerms()
    claim = f"{row.question} {row.text[start:end]}"
    spans = split(row.text)
    right = [span for span in spans if span.start <= start and end <= span.end]
    others = [s for s in spans if not any(s.start < b and a < s.end for a, b in row.spans)]
    if not right or not others:
        return None
    wrong = max(others, key=lambda s: (len(terms(claim) & terms(s.cut(row.text))), -s.start))
    return claim, right[0].cut(row.text), wrong.cut(row.text)


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=300)
    settings = parser.parse_args()
    rows = [
        row
        for row in development_rows(DATA, frozenset({"squad"}))
        if row.answerable and is_reported(row)
    ]
    rows = random.Random(1).sample(rows, min(len(rows), settings.questions))
    found = [pair for row in rows if (pair := pair_of(row))]
    judge = LocalJudge(pairs=load_shipped_reader())
    right = judge.scores([(claim, quote) for claim, quote, _ in found])
    wrong = judge.scores([(claim, quote) for claim, _, quote in found])
    value = auroc([*right, *wrong], [*(True for _ in right), *(False for _ in wrong)])
    better = [float(a > b) for a, b in zip(right, wrong, strict=True)]
    low, high = bootstrap_interval(better)
    share = sum(better) / len(better)
    print(f"| {len(found)} | {value:.3f} | {share:.3f} [{low:.3f}, {high:.3f}] |")


if __name__ == "__main__":
    main()
