"""The legacy corpus of MAF-RAG: the effect of years of neglect on a good one.

The paper's legacy corpus has outdated regulations, incomplete procedures and inconsistent
formatting (section III C), and is not published. Here the good corpus is given, and the legacy one
is made from it. Everything follows from hashes of document ids: the same corpus gives the same
bytes.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace

from experiments.lab.texts import Text

from fathom.errors import UsageError
from fathom.jsonable import hash_text

COPY = "~old"
"""Ends the id of an older copy that stays beside its document."""

PAGE_WORDS = 250
"""Words between two page footers of a badly formatted document."""

_FIGURE = re.compile(r"(?<!\w)v?\d+(?:[.,:]\d+)*")
_GAP = re.compile(r"\n[ \t]*\n")
_MARKS = re.compile(r"(?m)^[ \t]*(?:#{1,6}|[-+•])[ \t]+|[|`*]+")
# What a scanner takes for what; the first that a word holds.
_SLIPS = {"rn": "m", "cl": "d", "li": "h", "m": "rn", "l": "1", "e": "c", "o": "0", "0": "O"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Neglect:
    """The share of a corpus in each bad state, from 0 to 1.

    The first three never meet in one document and together may be 1 at most. Their sizes are our
    guess: the paper gives none.

    Attributes:
        unreadable: Of the documents, scans without text: the document is there, its words are not.
        outdated: Of the documents, those of which only an older version is there.
        copied: Of the documents, those beside which an older version stays, as another document.
        unkempt: Of all documents and copies, badly formatted ones: title lost, lists, tables and
            line breaks flattened, page footers amid the text, broken words, slips of a scanner.
        figures: Of the different figures of an older version, those that differ from today's.
            Years and versions always do; single digits, which number lists, never.
        lacking: Of the paragraphs after the first, those an older version does not have yet.
        broken: Of the long words of an unkempt document, those torn in two by a hyphen.
        slips: Of the words of an unkempt document, those with a wrong letter.
    """

    unreadable: float = 0.10
    outdated: float = 0.25
    copied: float = 0.20
    unkempt: float = 0.60
    figures: float = 0.50
    lacking: float = 0.15
    broken: float = 0.05
    slips: float = 0.02

    def __post_init__(self) -> None:
        """Refuse what is no share.

        Raises:
            UsageError: If a share is not from 0 to 1, or the first three are more than 1 together.
        """
        for field in fields(self):
            share = getattr(self, field.name)
            if not 0 <= share <= 1:
                raise UsageError(f"{field.name} = {share}: give a share from 0 to 1")
        if self.unreadable + self.outdated + self.copied > 1:
            raise UsageError("unreadable, outdated and copied are more than 1 together; lower one")


LEGACY = Neglect()
"""The legacy corpus of our experiments."""


def degrade(documents: Iterable[Text], neglect: Neglect = LEGACY) -> Iterator[Text]:
    """Yield the documents after neglect, older copies after their document.

    Every document keeps its id and its place in the corpus, so judgements stay valid: the relevant
    document is still the one where the answer should stand. If it has become unreadable it cannot
    be found by its words, if it is outdated it may give a wrong answer, and an older copy is not
    relevant.
    """
    for document in documents:
        for version in _make_versions(document, neglect):
            bad = _draw(version.id, "unkempt") < neglect.unkempt
            yield make_unkempt(version, neglect) if bad and version.text else version


def _make_versions(document: Text, neglect: Neglect) -> Iterator[Text]:
    fate = _draw(document.id, "fate")
    if fate < neglect.unreadable:
        yield Text(id=document.id, title=_make_file_name(document.id), text="")
    elif fate < neglect.unreadable + neglect.outdated:
        yield make_older(document, neglect)
    elif fate < neglect.unreadable + neglect.outdated + neglect.copied:
        yield document
        yield replace(make_older(document, neglect), id=f"{document.id}{COPY}")
    else:
        yield document


def make_older(document: Text, neglect: Neglect = LEGACY) -> Text:
    """Return an older version: earlier years and versions, other figures, some paragraphs missing.

    A figure that stands twice in a document is the same in both places.
    """
    years = 1 + int(5 * _draw(document.id, "years"))

    def make_earlier(match: re.Match[str]) -> str:
        figure = match.group()
        if re.fullmatch(r"(?:19|20)\d\d", figure):
            return str(int(figure) - years)
        if figure.startswith("v"):
            return _lower_version(figure, years)
        if len(figure) == 1 or _draw(document.id, "figure", figure) >= neglect.figures:
            return figure
        step = 1 + int(9 * _draw(document.id, "step", figure))
        return f"{figure[:-1]}{(int(figure[-1]) + step) % 10}"

    first, *more = _GAP.split(document.text)
    paragraphs_kept = [
        paragraph
        for number, paragraph in enumerate(more)
        if _draw(document.id, "paragraph", str(number)) >= neglect.lacking
    ]
    return replace(
        document,
        title=_FIGURE.sub(make_earlier, document.title),
        text=_FIGURE.sub(make_earlier, "\n\n".join([first, *paragraphs_kept])),
    )


def _lower_version(version: str, years: int) -> str:
    """`v1.25` becomes `v1.22`; `v1.2` does not go below `v1.0`."""
    major, *minor = version.split(".")
    if not minor or not minor[0].isdigit():
        return version
    return ".".join([major, str(max(0, int(minor[0]) - years)), *minor[1:]])


def make_unkempt(document: Text, neglect: Neglect = LEGACY) -> Text:
    """Return the same words, badly formatted and badly scanned."""
    name = _make_file_name(document.id)
    words = [
        _scan_word(word, _draw(document.id, "word", str(number)), neglect)
        for number, word in enumerate(_MARKS.sub(" ", document.text).split())
    ]
    starts = range(0, len(words), PAGE_WORDS)
    pages = [" ".join(words[start : start + PAGE_WORDS]) for start in starts]
    footers = [f"{name} {number}/{len(pages)}" for number in range(1, len(pages) + 1)]
    text = "\n\n".join(part for page in zip(pages, footers, strict=True) for part in page)
    return replace(document, title=name, text=text)


def _scan_word(word: str, chance: float, neglect: Neglect) -> str:
    if chance < neglect.slips:
        for letters, misread in _SLIPS.items():
            if letters in word:
                return word.replace(letters, misread, 1)
    elif len(word) >= 8 and word.isalpha() and chance < neglect.slips + neglect.broken:
        return f"{word[: len(word) // 2]}- {word[len(word) // 2 :]}"
    return word


def _make_file_name(document: str) -> str:
    return f"scan-{hash_text(document)[:8]}.pdf"


def _draw(*words: str) -> float:
    """Return a number from 0 up to 1 that is always the same for the same words."""
    return int(hash_text("\n".join(words))[:13], 16) / 16**13
