"""The training texts of the query encoder: questions, claims, sentences, keywords; no labels.

    python -m training.query_encoder.texts --pack PACK --data DATA --out RUN

Writes `RUN/texts.jsonl.gz`, in an order drawn once, and the manifest `RUN/learned.json.gz`. PACK is
that of the cross-reader (see `training/cross_reader/pack.py`), DATA the folder of the data sets, of
which the questions without documents are read. No question of a data set with documents, of those
that are reported least of all, is learned from.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from research.contamination import Manifest, fingerprint_all, write_manifest
from training.cross_reader import pack
from training.cross_reader.data import normalize
from training.cross_reader.lines import read_lines
from training.cross_reader.rows import Row, hash_to_number

from fathom.text.content_words import ContentTerms
from fathom.text.sentences import split

TEXTS, LEARNED = "texts.jsonl.gz", "learned.json.gz"
OPEN = "openqa-questions"
# Of rows, those whose questions are asked by people; others were put together from them.
QUESTION_SOURCES = frozenset(
    {"squad", "wiki", "informal", "nq", "odd", "sentences", "nli", "claims", "yesno"}
    | {"indonesian", "indonesian-nli"}
)
INDONESIAN = 0.3  # the share that is kept; the shipped encoder was made for English
KEYWORDS, SLIPS = 0.15, 0.1  # of the questions, also so many as keywords, and with a slip
SENTENCES = 0.3  # of the texts, from so many one sentence
SHORT, LONGEST, LONG = 14, 36, 0.15  # words; of texts that are not short, so many are kept
DEVELOPMENT = 40  # one text in so many is kept to measure on


def read_reported(data: Path) -> frozenset[str]:
    """Return the words of all questions of data sets that have documents."""
    files = sorted(data.glob("*/queries.jsonl.gz"))
    return frozenset(normalize(line["text"]) for file in files for line in read_lines(file))


def list_questions(rows: Iterable[Row], data: Path, draw: random.Random) -> list[str]:
    """Return questions and claims, each once."""
    unique: dict[str, None] = {}
    for row in rows:
        if row.group in QUESTION_SOURCES and row.question not in unique:
            if row.group.startswith("indonesian") and draw.random() > INDONESIAN:
                continue
            unique[row.question] = None
    for file in sorted((data / OPEN).glob("*.jsonl.gz")):
        unique.update(dict.fromkeys(line["text"] for line in read_lines(file)))
    return list(unique)


def list_statements(rows: Iterable[Row], draw: random.Random) -> list[str]:
    """Return one sentence of every text, and the titles, as people search for them."""
    texts = {row.text: row.title for row in rows if row.group in QUESTION_SOURCES}
    drawn = [text for text in texts if draw.random() < SENTENCES]
    sentences = [draw.choice(split(text)).cut(text) for text in drawn if split(text)]
    return list(dict.fromkeys([*sentences, *filter(None, texts.values())]))


def vary_questions(questions: Sequence[str], draw: random.Random) -> Iterator[str]:
    """Yield some of the questions as their keywords, and some with two letters swapped."""
    terms = ContentTerms()
    for question in questions:
        if draw.random() < KEYWORDS:
            yield " ".join(word for word in question.split() if terms(word))
        if draw.random() < SLIPS and len(question) > 8:
            place = draw.randrange(len(question) - 1)
            yield question[:place] + question[place + 1] + question[place] + question[place + 2 :]


def is_development(text: str) -> bool:
    """Return whether a text is held out for measuring, on any machine."""
    return hash_to_number(normalize(text)) % DEVELOPMENT == 0


def draw_texts(rows: Sequence[Row], data: Path, seed: int = 1) -> list[str]:
    """Return all texts, each once, in an order drawn with `seed`."""
    draw = random.Random(seed)
    kept_out = read_reported(data)
    questions = [
        question
        for question in list_questions(rows, data, draw)
        if normalize(question) not in kept_out
    ]
    learned = [question for question in questions if not is_development(question)]
    texts = dict.fromkeys(
        [*questions, *list_statements(rows, draw), *vary_questions(learned, draw)]
    )
    kept_texts = [
        text for text in texts if _is_kept(text, draw) and normalize(text) not in kept_out
    ]
    draw.shuffle(kept_texts)
    return kept_texts


def _is_kept(text: str, draw: random.Random) -> bool:
    words = len(text.split())
    return 0 < words <= SHORT or (words <= LONGEST and draw.random() < LONG)


def read_texts(folder: Path) -> list[str]:
    """Read the written texts."""
    with gzip.open(folder / TEXTS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main() -> None:
    """Read the arguments and write the texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    rows = pack.read(arguments.pack).train
    texts = draw_texts(rows, arguments.data)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with gzip.open(arguments.out / TEXTS, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
    read_of = [row for row in rows if row.group in QUESTION_SOURCES]
    manifest = Manifest(
        what="the query encoder learned vectors of them, of their titles or of sentences in them",
        questions=fingerprint_all(texts),
        articles=fingerprint_all(row.title for row in read_of),
        documents=fingerprint_all(row.text for row in read_of),
    )
    write_manifest(arguments.out / LEARNED, manifest)
    print(len(texts), "texts,", sum(map(is_development, texts)), "of them to measure on")


if __name__ == "__main__":
    main()
