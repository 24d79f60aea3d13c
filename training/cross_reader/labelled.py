"""Paragraphs made of single sentences, with answers marked by the shipped readers.

    python -m training.cross_reader.labelled --pack pack.jsonl.gz --out more.jsonl.gz

Of many questions only the sentence that answers them is known, not the paragraph and not the words
of the answer. Where the two shipped readers mark the same words of the sentence, these are taken as
the answer (self-training; Lee 2013, "Pseudo-Label"). Around the sentence stand others like it, the
best by words, which lack the answer; the same paragraph without the sentence is a wrong text.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import bm25s
import Stemmer
from training.cross_reader import pack
from training.cross_reader.data import Split
from training.cross_reader.evaluate import make_chunk
from training.cross_reader.rows import Row, hash_to_number
from training.cross_reader.squad import compute_f1

from fathom.models.cross_reader import OnnxCrossReader
from fathom.models.reader_loading import ENGLISH, MULTILINGUAL, load_shipped_reader
from fathom.models.reading import ReadingCalibration

GROUP, WRONG = "labelled", "mined"
_SENTENCES = "sentences"
_DEPTH = 12  # sentences that are looked at around one
_AROUND = (2, 5)  # sentences that stand around it
_AGREED = 0.75  # F1 of the two readers' words
_LONGEST = 60  # characters of an answer


@dataclass(frozen=True, slots=True)
class Labeller:
    """Marks an answer where two readers agree."""

    first: OnnxCrossReader
    second: OnnxCrossReader

    def get_span(self, row: Row) -> tuple[int, int] | None:
        """Return the characters of the answer that both readers mark, in the words of the first."""
        first_span = self._find_best(self.first, row)
        other = self._find_best(self.second, row) if first_span else None
        if not first_span or not other or first_span[1] - first_span[0] > _LONGEST:
            return None
        is_agreed = compute_f1(row.text[slice(*first_span)], [row.text[slice(*other)]]) >= _AGREED
        return first_span if is_agreed else None

    @staticmethod
    def _find_best(reader: OnnxCrossReader, row: Row) -> tuple[int, int] | None:
        (raw,) = reader.score_pairs(row.question, [make_chunk(row.title, row.text)])
        spans = raw.build_reading(ReadingCalibration(), 1).spans if raw else ()
        return (spans[0].span.start, spans[0].span.end) if spans else None


def make_labelled(rows: Sequence[Row], labeller: Labeller) -> Iterator[Row]:
    """Yield paragraphs for the questions of `rows` whose sentence is known, and wrong ones.

    A paragraph's sentences are of one source, since one has capitals and another has not.
    """
    sentences = [row for row in rows if row.group == _SENTENCES and row.answerable]
    for source in sorted({row.source for row in sentences}):
        of_source = [row for row in sentences if row.source == source]
        texts = sorted({row.text for row in of_source})
        for row, near in zip(of_source, _find_near(of_source, texts), strict=True):
            span = labeller.get_span(row)
            if span:
                yield from _make_paragraphs(row, span, [texts[place] for place in near])


def _find_near(rows: Sequence[Row], texts: Sequence[str]) -> list[list[int]]:
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    index.index(
        bm25s.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )
    sought = bm25s.tokenize(
        [f"{row.question} {row.text}" for row in rows],
        stopwords="en",
        stemmer=stemmer,
        show_progress=False,
    )
    best, _ = index.retrieve(sought, k=min(_DEPTH, len(texts)), show_progress=False)
    return [[int(place) for place in places] for places in best]


def _make_paragraphs(row: Row, span: tuple[int, int], near: Sequence[str]) -> Iterator[Row]:
    answer = row.text[slice(*span)].casefold()
    others = [text for text in near if text != row.text and answer not in text.casefold()]
    draw = random.Random(hash_to_number(row.question + row.text))
    around = others[: draw.randint(*_AROUND)]
    draw.shuffle(around)
    place = draw.randint(0, len(around))
    before = "".join(f"{text} " for text in around[:place])
    yield replace(
        row,
        group=GROUP,
        text=" ".join([*around[:place], row.text, *around[place:]]),
        spans=((len(before) + span[0], len(before) + span[1]),),
        yesno=2,
    )
    if around:
        yield replace(
            row, group=WRONG, text=" ".join(around), answerable=False, relevant=None, yesno=None
        )


def main() -> None:
    """Read the arguments and write the pack with the new rows in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    split = pack.read(arguments.pack)
    readers = [load_shipped_reader(name) for name in (ENGLISH, MULTILINGUAL)]
    new_rows = list(make_labelled(split.train, Labeller(*readers)))
    pack.write(arguments.out, Split(train=[*split.train, *new_rows], development=split.development))
    print(f"{sum(row.group == GROUP for row in new_rows)} paragraphs of {len(split.train)} rows")


if __name__ == "__main__":
    main()
