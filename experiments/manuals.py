"""Answers to questions on real manuals, graded by rules: python experiments/manuals.py.

Asks the questions of `manuals/` as a user would, with default settings, and prints a grade for each
question and a table by kind and by language. `--show FILE` writes question, gold answer, answer and
quotes one under the other, to be read by eye, which is what counts: rules cannot see that an answer
says the right thing in other words, or that it stands in a sentence that says something else. What
a person made of them (`--eye FILE`, lines of an id and a grade) is printed beside it.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.evaluation.datasets import map_documents
from fathom.evaluation.records import Record
from fathom.settings import Settings
from fathom.text.answer_scores import YES_NO

SET = Path(__file__).parent.parent / "manuals"
RIGHT, PARTLY, WRONG, REFUSED = GRADES = ("right", "partly", "wrong", "refused")
"""The grades of an answerable question. One without an answer is `right` if it is refused, else
`wrong`."""

_ROFF = re.compile(r"\\f[A-Z]")
_WORD = re.compile(r"-{0,2}\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """The expected answer of a question of the set.

    Attributes:
        items: All that a complete answer names, each in one of several wordings. A question with
            one answer has one item.
        quotes: What the answer rests on, word for word in one of the documents.
        documents: Names of the documents in which it stands.
    """

    id: str
    text: str
    kind: str
    language: str
    answerable: bool
    items: tuple[tuple[str, ...], ...]
    quotes: tuple[str, ...]
    documents: tuple[str, ...]

    @property
    def yes_or_no(self) -> str:
        """The word expected first, if any."""
        return self.items[0][0] if self.kind == "yes-no" else ""


def read_golds(folder: Path) -> Iterator[Gold]:
    """Return the questions of a set, in order."""
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        metadata: Mapping[str, Any] = row["metadata"]
        items = metadata.get("items") or ([row["answers"]] if row["answers"] else [])
        yield Gold(
            id=row["_id"],
            text=row["text"],
            kind=metadata["type"],
            language=metadata["language"],
            answerable=metadata["answerable"],
            items=tuple(map(tuple, items)),
            quotes=tuple(metadata.get("quotes", ())),
            documents=tuple(metadata.get("relevant", ())),
        )


def split_words(text: str) -> list[str]:
    """Return the visible words of a text, options with their hyphens, without roff's fonts."""
    return _WORD.findall(_ROFF.sub("", text).replace("\\-", "-").casefold())


def contains_words(text: str, wanted_words: str) -> bool:
    """Return whether the words occur in the text one after the other."""
    there, sought = split_words(text), split_words(wanted_words)
    places = range(len(there) - len(sought) + 1)
    return bool(sought) and any(there[at : at + len(sought)] == sought for at in places)


def grade_answer(gold: Gold, record: Record) -> str:
    """Return one of `GRADES`, by rules.

    Right is an answer that names every item and cites a document in which they stand; partly right
    one that names some, cites other documents, or only quotes what the answer rests on.
    """
    if not gold.answerable:
        return WRONG if record.is_answered else RIGHT
    if not record.is_answered:
        return REFUSED
    cited = any(citation.document in record.relevant for citation in record.citations)
    if gold.yes_or_no:
        return _grade_yes_no(gold, record, cited=cited)
    count = sum(any(_states(record, option) for option in item) for item in gold.items)
    if count == len(gold.items) and cited:
        return RIGHT
    return PARTLY if count or _quotes_gold(gold, record) else WRONG


def _grade_yes_no(gold: Gold, record: Record, *, cited: bool) -> str:
    first = split_words(record.compared_text)[:1]
    if first == [gold.yes_or_no]:
        return RIGHT if cited else PARTLY
    if set(first) & YES_NO:
        return WRONG
    return PARTLY if _quotes_gold(gold, record) else WRONG


def _states(record: Record, wanted_words: str) -> bool:
    return contains_words(record.short_answer, wanted_words) or contains_words(
        record.plain_text, wanted_words
    )


def _quotes_gold(gold: Gold, record: Record) -> bool:
    quotes = [citation.quote for citation in record.citations]
    return any(contains_words(quote, gold_quote) for quote in quotes for gold_quote in gold.quotes)


def collect_records(folder: Path, records: Path, more: Sequence[str]) -> dict[str, Record]:
    """Return the records of all questions; missing ones are asked by `fathom eval`."""
    command = [
        "eval",
        str(folder),
        "--strategy",
        Settings().ask.strategy,
        "--records",
        str(records),
        *more,
    ]
    subprocess.run(
        [sys.executable, "-m", "fathom", *command],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (file,) = (records / folder.resolve().name).glob("*.jsonl")
    rows = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    return {record.question: record for record in map(Record.from_json, rows)}


def format_page(
    golds: Sequence[Gold], records: Mapping[str, Record], grades: Mapping[str, str]
) -> Iterator[str]:
    """Yield all questions with their answers, for review."""
    names = {identity: name for name, identity in map_documents(SET / "documents").items()}
    for gold in golds:
        record = records[gold.id]
        yield f"## {gold.id} [{gold.kind}, {gold.language}] {grades[gold.id]}: {gold.text}"
        yield f"gold   {' | '.join(' / '.join(item) for item in gold.items) or '(no answer)'}"
        yield f"       {', '.join(gold.documents)}: {' ... '.join(gold.quotes)}"
        sure = "" if record.confidence is None else f" ({record.confidence:.2f})"
        status = "tentative" if record.tentative else record.status
        yield f"said   {status}{sure}: {record.short_answer}"
        yield from (f"       {line}" for line in record.plain_text.splitlines())
        for citation in record.citations:
            where = names.get(citation.document, citation.document)
            yield f"quote  {where}: {' '.join(citation.quote.split())}"
        yield ""


def format_table(golds: Sequence[Gold], grades: Mapping[str, str]) -> Iterator[str]:
    """Yield the number of questions with each grade, by kind and by language."""
    keys: tuple[Callable[[Gold], str], ...] = (
        lambda gold: gold.kind,
        lambda gold: f"{gold.language}, {'answerable' if gold.answerable else 'no answer'}",
        lambda gold: "answerable" if gold.answerable else "no answer",
    )
    yield f"| {'questions':<22} |   n | " + " | ".join(f"{grade:>7}" for grade in GRADES) + " |"
    yield f"|{'-' * 24}|----:|" + "|".join(["--------:"] * len(GRADES)) + "|"
    for key in keys:
        for name in sorted({key(gold) for gold in golds}):
            counter = Counter(grades[gold.id] for gold in golds if key(gold) == name)
            counts = " | ".join(f"{counter[grade]:>7}" for grade in GRADES)
            yield f"| {name:<22} | {counter.total():>3} | {counts} |"


def read_grades(file: Path) -> dict[str, str]:
    """Return grades by question, from lines such as `m001 partly and why`."""
    lines = (line.split() for line in file.read_text("utf-8").splitlines() if line.strip())
    return {line[0]: line[1] for line in lines}


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, grade and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, default=Path(".work/manuals"))
    parser.add_argument("--show", type=Path, help="write answers to be read by eye here")
    parser.add_argument("--eye", type=Path, help="grades of a person, to be shown beside")
    parser.add_argument("--save", type=Path, help="write ids and grades here, no texts")
    parser.add_argument("--set", action="append", default=[], help="a setting, as of fathom eval")
    options = parser.parse_args(arguments)
    golds = list(read_golds(SET))
    records = collect_records(
        SET, options.records, [part for assignment in options.set for part in ("--set", assignment)]
    )
    grades = {gold.id: grade_answer(gold, records[gold.id]) for gold in golds}
    eye = read_grades(options.eye) if options.eye else {}
    for gold in golds:
        print(f"{gold.id}  {grades[gold.id]:<8} {eye.get(gold.id, ''):<8} {gold.text}")
    tentative = [gold for gold in golds if records[gold.id].tentative]
    for name, grades_given, graded in (
        ("by rules", grades, golds),
        ("by rules, of these tentative", grades, tentative),
        ("by eye", eye, golds),
        ("by eye, of these tentative", eye, tentative),
    ):
        if grades_given and graded:
            print(f"\n{name}\n", *format_table(graded, grades_given), sep="\n")
    if options.show:
        options.show.write_text("\n".join(format_page(golds, records, grades)), encoding="utf-8")
    if options.save:
        options.save.write_text(
            "".join(format_saved(golds, records, grades, eye)), encoding="utf-8"
        )
    return 0


def format_saved(
    golds: Sequence[Gold],
    records: Mapping[str, Record],
    grades: Mapping[str, str],
    eye: Mapping[str, str],
) -> Iterator[str]:
    """Yield a line for each question: its id, its outcome and its grade."""
    for gold in golds:
        record = records[gold.id]
        row = {"_id": gold.id, "status": record.status, "confidence": record.confidence}
        row |= {"tentative": True} if record.tentative else {}
        row |= {"rules": grades[gold.id]} | ({"eye": eye[gold.id]} if gold.id in eye else {})
        yield json.dumps(row) + "\n"


if __name__ == "__main__":
    sys.exit(main())
