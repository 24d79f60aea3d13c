"""The package's own development questions as data sets, `written-en` and `written-id`.

    python -m training.written_questions --out DATA

Of the rows in `training/written` those that no cross-reader learned from, asked of all passages
of their language there: laws of confidence are fitted on them beside sets of encyclopaedias and
news, since manuals and offices' documents are what people have.
"""

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from training.cross_reader.rows import OWN_FOLDER, hash_to_number, is_development, parse_row

LANGUAGES = ("en", "id")
_KINDS = {"span": "factoid", "yesno": "yes-no"}
_YES_NO_WORDS = {
    ("yes", "en"): "yes",
    ("no", "en"): "no",
    ("yes", "id"): "ya",
    ("no", "id"): "tidak",
}


def read_rows() -> Iterator[dict[str, Any]]:
    """Return all rows as stored."""
    for path in sorted(OWN_FOLDER.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def make_document(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's text as a document of the set."""
    key = f"{raw['title']}\n{raw['context']}"
    return {
        "_id": f"p{hash_to_number(key) % 10**12:012}",
        "title": raw["title"],
        "text": raw["context"],
        "metadata": {},
    }


def make_query(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a row's question; None for a claim, and for rows for training."""
    row = parse_row(raw)
    if row is None or raw["task"] not in _KINDS or not is_development(row):
        return None
    lang = raw["source"][-2:]
    answers = [answer["text"] for answer in raw["answers"]]
    if raw["task"] == "yesno":
        answers = [_YES_NO_WORDS[raw["label"], lang]]
    about = {"type": _KINDS[raw["task"]], "lang": lang, "kind": raw["kind"]}
    return {
        "_id": f"w{hash_to_number(raw['question'] + raw['context']) % 10**12:012}",
        "text": raw["question"],
        "answers": list(dict.fromkeys(answers)),
        "metadata": {**about, "answerable": bool(answers), "paragraph": make_document(raw)["_id"]},
    }


def write(out: Path, lang: str) -> int:
    """Write corpus, questions and relevant texts of a language; return the number of questions."""
    raws = [raw for raw in read_rows() if raw["source"].endswith(lang)]
    passages = {entry["_id"]: entry for entry in map(make_document, raws)}
    queries = {entry["_id"]: entry for entry in map(make_query, raws) if entry}
    out.mkdir(parents=True, exist_ok=True)
    _write_lines(out / "corpus.jsonl.gz", passages.values())
    _write_lines(out / "queries.jsonl.gz", queries.values())
    judged = [
        f"{query['_id']}\t{query['metadata']['paragraph']}\t1"
        for query in queries.values()
        if query["answers"]
    ]
    head = "query-id\tcorpus-id\tscore"
    (out / "qrels.tsv").write_text("\n".join([head, *judged]) + "\n", encoding="utf-8")
    return len(queries)


def _write_lines(path: Path, items: Iterable[Mapping[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


def main() -> None:
    """Read the arguments and write the set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    for lang in LANGUAGES:
        folder = out / f"written-{lang}"
        print(f"{folder}: {write(folder, lang)} questions")


if __name__ == "__main__":
    main()
