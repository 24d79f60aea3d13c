"""Rows for the cross-reader from the model's replies: kept questions, and wrong texts for them."""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.questions.ask import read_lines
from training.questions.mistypes import mistype
from training.questions.prompts import UNANSWERABLE, draw_kinds
from training.questions.replies import (
    Pair,
    agrees,
    choose_place,
    explain_refusal,
    is_refused,
    read_pairs,
    read_yesno,
)
from training.questions.wrong import WrongTexts

_TYPOS = 10  # of so many questions one is mistyped
Row = dict[str, Any]


def write_rows(passages: Path, replies: Path, out: Path) -> str:
    """Write `rows.jsonl.gz` and `counts.json`; return the counts in words.

    Args:
        passages: One passage a line.
        replies: What the model wrote about each.
        out: The folder to write to.
    """
    by_id = {entry["id"]: entry for entry in read_lines(passages)}
    counts: Counter[str] = Counter()
    with gzip.open(out / "rows.jsonl.gz", "wt", encoding="utf-8") as lines:
        for reply in read_lines(replies):
            if reply["id"] in by_id:
                for row in judge_reply(by_id[reply["id"]], reply, counts):
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    text = json.dumps(dict(counts.most_common()), indent=1)
    (out / "counts.json").write_text(text + "\n", encoding="utf-8")
    return text


def judge_reply(
    passage: Mapping[str, Any], reply: Mapping[str, Any], counts: Counter[str]
) -> Iterator[Row]:
    """Yield the rows of the questions about a passage that pass all checks.

    Args:
        passage: What was asked about.
        reply: What the model wrote, and what it answered when it was asked again.
        counts: Counts what is kept and why the others are dropped.
    """
    text = passage["text"]
    kinds = draw_kinds(passage["id"], passage["kind"], text)
    counts["passages"] += 1
    wrong: WrongTexts | None = None
    for pair in read_pairs(reply["written"], kinds):
        again = reply["again"].get(pair.question, ())
        place = choose_place(pair, again, text) if pair.answer else None
        reason = explain_refusal(pair, passage["title"], text)
        reason = reason or _explain_disagreement(pair, again)
        if pair.kind not in ("yes-no", UNANSWERABLE) and not place:
            reason = reason or "not in the text"
        if reason:
            counts[f"dropped: {reason}"] += 1
            continue
        counts[f"kept: {pair.kind}"] += 1
        wrong = wrong or WrongTexts(passage)
        for row in _make_rows(passage, pair, place, wrong):
            counts[f"rows: {row['source']}"] += 1
            yield row


def _explain_disagreement(pair: Pair, again: Sequence[str]) -> str:
    """Return why a question is dropped by what it was answered; empty if it is kept."""
    if not again:
        return "not asked again"
    if pair.kind == UNANSWERABLE:
        return "" if all(map(is_refused, again)) else "answerable"
    return "" if agrees(pair, again[0]) else f"another answer: {pair.kind}"


def _make_rows(
    passage: Mapping[str, Any], pair: Pair, place: tuple[int, int] | None, wrong: WrongTexts
) -> Iterator[Row]:
    question, kind = pair.question, pair.kind
    if _hash(question) % _TYPOS == 0:
        question, kind = mistype(question, _hash(question)), "typo"
    row = {
        "source": f"generated-{passage['kind']}-{passage['lang']}",
        "question": question,
        "title": passage["title"],
        "context": passage["text"],
        "kind": kind,
        "document": passage["document"],
        "package": passage["package"],
    }
    if pair.kind == "yes-no":
        yield {**row, "task": "yesno", "label": read_yesno(pair.answer), "answers": []}
        return
    answers = []
    if place:
        answers = [{"text": passage["text"][slice(*place)], "answer_start": place[0]}]
    yield {**row, "task": "span", "is_impossible": not answers, "answers": answers}
    text = wrong.find(pair.question, answers[0]["text"]) if answers else None
    if text:
        negative = {**row, "title": text[0], "context": text[1], "kind": "wrong text"}
        yield {**negative, "task": "span", "is_impossible": True, "answers": []}


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
