"""Our own development questions as data sets, `written-en` and `written-id`.

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

from training.cross_reader.rows import OWN, is_development, number_of, row_of

LANGUAGES = ("en", "id")
_ASKED = {"span": "factoid", "yesno": "yes-no"}
_SAID = {("yes", "en"): "yes", ("no", "en"): "no", ("yes", "id"): "ya", ("no", "id"): "tidak"}


def rows() -> Iterator[dict[str, Any]]:
    """All rows, as they are kept."""
    for path in sorted(OWN.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def passage_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A row's passage as a document of the set."""
    key = f"{raw['title']}\n{raw['context']}"
    return {
        "_id": f"p{number_of(key) % 10**12:012}",
        "title": raw["title"],
        "text": raw["context"],
        "metadata": {},
    }


def query_of(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """A row's question; None for a claim, and for what may be learned from."""
    row = row_of(raw)
    if row is None or raw["task"] not in _ASKED or not is_development(row):
        return None
    lang = raw["source"][-2:]
    answers = [answer["text"] for answer in raw["answers"]]
    if raw["task"] == "yesno":
        answers = [_SAID[raw["label"], lang]]
    about = {"type": _ASKED[raw["task"]], "lang": lang, "kind": raw["kind"]}
    return {
        "_id": f"w{number_of(raw['question'] + raw['context']) % 10**12:012}",
        "text": raw["question"],
        "answers": list(dict.fromkeys(answers)),
        "metadata": {**about, "answerable": bool(answers), "paragraph": passage_of(raw)["_id"]},
    }


def write(out: Path, lang: str) -> int:
    """Write corpus, questions and relevant passages of a language; how many questions there are."""
    raws = [raw for raw in rows() if raw["source"].endswith(lang)]
    passages = {each["_id"]: each for each in map(passage_of, raws)}
    queries = {each["_id"]: each for each in map(query_of, raws) if each}
    out.mkdir(parents=True, exist_ok=True)
    _lines(out / "corpus.jsonl.gz", passages.values())
    _lines(out / "queries.jsonl.gz", queries.values())
    judged = [
        f"{query['_id']}\t{query['metadata']['paragraph']}\t1"
        for query in queries.values()
        if query["answers"]
    ]
    head = "query-id\tcorpus-id\tscore"
    (out / "qrels.tsv").write_text("\n".join([head, *judged]) + "\n", encoding="utf-8")
    return len(queries)


def _lines(path: Path, items: Iterable[Mapping[str, Any]]) -> None:
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
