"""Passages of real files and of permitted training rows, cut as Fathom cuts documents.

A passage is a chunk with its breadcrumb, licence and the chunks around it, of which wrong texts
are chosen later.
"""

import gzip
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from training.cross_reader.data import list_windows
from training.cross_reader.lines import read_lines
from training.cross_reader.ranked import read_qrels
from training.cross_reader.rows import Row, hash_to_number, is_development, read_rows
from training.questions.replies import count_words

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.chunking.base import Chunker
from fathom.documents.chunking.structure import StructureChunker
from fathom.documents.parse import parse_bytes
from fathom.models.embedder import load_embedder
from fathom.text.language import detect_language
from fathom.types import Chunk, Document

SOURCES = Path(__file__).with_name("sources.toml")
_FEWEST, _MOST = 60, 220  # words of a passage
_AROUND = 6  # chunks before and behind a passage, of which wrong texts are chosen
_A_DOCUMENT = 4  # passages of one document, and one more for every 12 chunks
_SPARE = 3  # halves of what is wanted, as some share runs of words with reported sets
_SAME = 0.5  # share of windows that another passage has already
# Most passages of sets of questions that we may learn from, by the name of their rows.
ROWS: Mapping[str, tuple[str, int]] = {
    "squad-dev": ("wiki", 300),
    "squadshifts-new_wiki": ("wiki", 300),
    "nq-": ("wiki", 130),
    "timeqa-": ("wiki", 120),
    "wice-": ("wiki", 90),
    "idk-mrc-": ("wiki", 160),
    "policyqa-dev": ("laws", 260),
    "tatqa-": ("laws", 260),
}
# Reported sets whose corpora hold the articles of training rows too.
_MIXED = frozenset({"squad-fresh", "idk-mrc-retrieval"})
_INFO = re.compile(rb"<info>.*?</info>", re.DOTALL)
_TOKEN = re.compile(r"\S+")
# Lines of links around a page, and of tables of manual pages that no parser has read.
_NAVIGATION = re.compile(
    r"(?m)^(?:Previous topic|- previous \||- Show Source|Prev \| Up|T\{|lt ?[lB])"
)
_PLAIN = re.compile(r"[(\"'“]?[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[)\"'”.,;:?!]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that questions are asked about.

    Attributes:
        id: Names it in all files.
        kind: `manuals`, `options`, `laws` or `wiki`.
        lang: `en` or `id`.
        title: Its breadcrumb, as the reader sees it.
        text: The chunk.
        package: The Debian package or the set of rows it is from.
        licence: As the package's copyright file says.
        document: The place of its file in the package.
        around: Titles and texts of other chunks of its document, nearest first.
    """

    id: str
    kind: str
    lang: str
    title: str
    text: str
    package: str
    licence: str
    document: str
    around: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of one entry of `sources.toml`."""

    package: str
    licence: str
    kind: str
    most: int
    files: Sequence[str]
    lang: str = "en"


def read_sources(file: Path = SOURCES) -> list[Files]:
    """Return the entries of the table of sources, in order."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return [Files(**{"package": name, **entry}) for name, entry in table.items()]


def cut_packages(unpacked: Path, chunker: Chunker) -> Iterator[Passage]:
    """Yield the best spread passages of every source.

    Args:
        unpacked: A folder with one folder for each package, unpacked by `dpkg -x`.
        chunker: Cuts documents.
    """
    for source in read_sources():
        passages = _take_turns(_cut_documents(unpacked, source, chunker))
        yield from islice(passages, source.most * _SPARE // 2)


def _take_turns(documents: Iterable[list[Passage]]) -> Iterator[Passage]:
    """Yield the first passage of every document, then the second ones."""
    rows = list(documents)
    for turn in range(max(map(len, rows), default=0)):
        yield from (row[turn] for row in rows if turn < len(row))


def _cut_documents(unpacked: Path, source: Files, chunker: Chunker) -> Iterator[list[Passage]]:
    share = unpacked / source.package / "usr/share"
    paths = {path for pattern in source.files for path in share.glob(pattern) if path.is_file()}
    places = {str(path.relative_to(share)): path for path in paths}
    chosen = sorted(places, key=hash_to_number)[: source.most * 2]
    for place in chosen:
        document = _parse_file(places[place], f"{source.package}/{place}")
        if document is not None:
            yield _choose_passages(source, chunker.split(document))


def _parse_file(path: Path, place: str) -> Document | None:
    """Return the document of a file; None if it has none, or several."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
        place = place.removesuffix(".gz")
    if path.suffix == ".page":  # pages of help begin with the names of those who wrote them
        data = _INFO.sub(b"", data)
        place = str(Path(place).with_suffix(".html"))
    try:
        parsed = list(parse_bytes(data, Path(place).name))
    except ParseRefusal:
        return None
    if len(parsed) != 1 or not isinstance(parsed[0], ParsedDocument):
        return None
    part = parsed[0]
    title = part.title or Path(place).stem
    return Document(id=place, text=part.text, path=place, title=title, blocks=part.blocks)


def _choose_passages(source: Files, chunks: Sequence[Chunk]) -> list[Passage]:
    good = [chunk for chunk in chunks if _is_passage(chunk.text, source.lang)]
    good.sort(key=lambda chunk: hash_to_number(chunk.text))
    return [
        Passage(
            id=_name_passage(chunk.breadcrumb, chunk.text),
            kind=source.kind,
            lang=source.lang,
            title=chunk.breadcrumb,
            text=chunk.text,
            package=source.package,
            licence=source.licence,
            document=chunk.document_id,
            around=_list_around(chunks, chunk.ordinal),
        )
        for chunk in good[: min(8, _A_DOCUMENT + len(chunks) // 12)]
    ]


def _list_around(chunks: Sequence[Chunk], ordinal: int) -> list[tuple[str, str]]:
    near = [c for c in chunks if 0 < abs(c.ordinal - ordinal) <= _AROUND and len(c.text) > 150]
    near.sort(key=lambda chunk: abs(chunk.ordinal - ordinal))
    return [(chunk.breadcrumb, chunk.text) for chunk in near]


def _is_passage(text: str, lang: str) -> bool:
    """Return whether a text is prose of the language, and neither too short nor too long."""
    if not _FEWEST <= count_words(text) <= _MOST or _NAVIGATION.search(text):
        return False
    tokens = _TOKEN.findall(text)
    plain = sum(_PLAIN.fullmatch(token) is not None for token in tokens)
    return plain >= 0.62 * len(tokens) and detect_language(text) == lang


def _name_passage(title: str, text: str) -> str:
    return f"{hash_to_number(title + text) % 10**12:012}"


def take_rows(data: Path) -> Iterator[Passage]:
    """Yield passages of sets of questions that we may learn from, without those for development."""
    counts: Counter[str] = Counter()
    rows = sorted(read_rows(data), key=lambda row: hash_to_number(row.text))
    titles: dict[str, list[str]] = {}
    for row in rows:
        texts = titles.setdefault(row.title, [])
        if row.title and row.text not in texts:
            texts.append(row.text)
    seen: set[str] = set()
    for row in rows:
        prefix = next((prefix for prefix in ROWS if row.source.startswith(prefix)), "")
        if not prefix or row.text in seen or is_development(row):
            continue
        kind, most = ROWS[prefix]
        if counts[prefix] < most * _SPARE // 2 and _is_passage_of_rows(row, kind):
            counts[prefix] += 1
            seen.add(row.text)
            around = [(row.title, text) for text in titles[row.title] if text != row.text]
            yield _take_row(row, kind, around[: 2 * _AROUND])


def _is_passage_of_rows(row: Row, kind: str) -> bool:
    return _FEWEST <= count_words(row.text) <= _MOST or (
        kind == "laws" and 35 <= count_words(row.text) <= 260
    )


def _take_row(row: Row, kind: str, around: Sequence[tuple[str, str]]) -> Passage:
    return Passage(
        id=_name_passage(row.title, row.text),
        kind=kind,
        lang="id" if row.group == "indonesian" else "en",
        title=row.title,
        text=row.text,
        package=row.source,
        licence="as the rows of the source",
        document=row.title or row.text,
        around=around,
    )


def drop_shared(
    passages: Iterable[Passage], reported: Iterable[str], limits: Mapping[str, int]
) -> list[Passage]:
    """Return the passages without those that share a run of words, or most runs with another.

    Args:
        passages: Those to choose from; earlier ones are preferred.
        reported: Texts that nothing may be learned from.
        limits: Most passages of a package.
    """
    candidates = list(passages)
    windows = [set(map(hash, list_windows(passage.text))) for passage in candidates]
    candidate_runs = set().union(*windows)
    forbidden: set[int] = set()
    for text in reported:
        forbidden |= candidate_runs.intersection(map(hash, list_windows(text)))
    kept: list[Passage] = []
    taken: set[int] = set()
    counts: Counter[str] = Counter()
    for passage, runs in zip(candidates, windows, strict=True):
        key = _name_source(passage)
        if runs & forbidden or len(runs & taken) > _SAME * len(runs):
            continue
        if counts[key] < limits[key]:
            counts[key] += 1
            taken |= runs
            kept.append(passage)
    return kept


def _name_source(passage: Passage) -> str:
    prefix = next((prefix for prefix in ROWS if passage.package.startswith(prefix)), "")
    return prefix or f"{passage.package}/{passage.kind}/{passage.lang}"


def list_limits() -> dict[str, int]:
    """Return the most passages of a source, by package, kind and language, or by set of rows."""
    most = {f"{s.package}/{s.kind}/{s.lang}": s.most for s in read_sources()}
    return {**most, **{prefix: number for prefix, (_, number) in ROWS.items()}}


def make_passages(packages: Path, data: Path, reported: Iterable[Path], out: Path) -> None:
    """Write the passages of all sources to `out/passages.jsonl.gz` and print how many there are.

    Args:
        packages: Unpacked Debian packages.
        data: The folder of the data sets.
        reported: Folders of documents and data sets that nothing may be learned from.
        out: Where to write.
    """
    chunker = StructureChunker(load_embedder(threads=1).count)
    candidates = [*cut_packages(packages, chunker), *take_rows(data)]
    texts = (text for folder in reported for text in read_texts(folder))
    held = (row.text for row in read_rows(data) if is_development(row))
    kept = drop_shared(candidates, chain(texts, held), {**list_limits()})
    kept.sort(key=lambda passage: hash_to_number(passage.id))
    out.mkdir(parents=True, exist_ok=True)
    with gzip.open(out / "passages.jsonl.gz", "wt", encoding="utf-8") as lines:
        for passage in kept:
            lines.write(json.dumps(asdict(passage), ensure_ascii=False) + "\n")
    counts = Counter(f"{passage.kind}-{passage.lang}" for passage in kept)
    print(f"{len(kept)} passages of {len(candidates)}: {dict(sorted(counts.items()))}")


def read_texts(folder: Path) -> Iterator[str]:
    """Yield the texts of a data set, or of the documents in a folder."""
    if (folder / "corpus.jsonl.gz").exists():
        documents: Sequence[Mapping[str, Any]] = read_lines(folder / "corpus.jsonl.gz")
        if folder.name in _MIXED:
            documents = _select_asked(folder, documents)
        yield from (document["text"] for document in documents)
        return
    for path in sorted(folder.iterdir()):
        try:
            parts = list(parse_bytes(path.read_bytes(), path.name))
        except (ParseRefusal, OSError):
            continue
        yield from (part.text for part in parts if isinstance(part, ParsedDocument))


def _select_asked(folder: Path, documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the documents that the set's questions are about, and others of their articles."""
    asked = {key for qrel in read_qrels(folder / "qrels.tsv").values() for key in qrel}
    for query in read_lines(folder / "queries.jsonl.gz"):
        asked.add(query["metadata"].get("paragraph", ""))
    titles = {entry["title"] for entry in documents if entry["_id"] in asked} - {""}
    return [entry for entry in documents if entry["_id"] in asked or entry["title"] in titles]
