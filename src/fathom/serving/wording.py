"""What people are told of an answer, in the same words on every way out, English or Indonesian."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fathom.text.language import question_language
from fathom.types import Answer, Citation, Place

_PAGE_WORDS = {".pptx": "slide", ".xlsx": "sheet"}
_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The words of one language.

    Attributes:
        unknown: Begins an abstention.
        reasons: Why there is no answer, by the reason of an abstention.
        nearest: Stands above the citations of an abstention.
        understood: Stands before the question that a follow-up question was understood as.
        differing: Stands above the readings of documents that do not agree.
        refuted: Follows a reading that better backed ones contradict.
        partial: Fewer things were found than were asked for.
        pages: What the pages of a document are called, by the English word.
        recognised: Stands before how surely a text was read off a picture.
    """

    unknown: str
    reasons: Mapping[str, str]
    nearest: str
    sources: str
    understood: str
    differing: str
    refuted: str
    partial: str
    warning: str
    pages: Mapping[str, str]
    recognised: str


ENGLISH = Wording(
    unknown="I don't know",
    reasons={
        "no_evidence": "the documents hold nothing that answers this",
        "low_confidence": "the best evidence is not sure enough",
        "missing_anchor": "the documents do not mention what the question is about",
        "conflict": "the documents contradict each other",
        "budget": "the budget was spent before there was a supported answer",
    },
    nearest="Nearest, but not enough",
    sources="Sources",
    understood="Understood as",
    differing="The documents give different answers",
    refuted="which others contradict",
    partial="Only a part: the documents found give fewer than you asked for.",
    warning="Warning",
    pages={"page": "page", "slide": "slide", "sheet": "sheet"},
    recognised="text recognised",
)
INDONESIAN = Wording(
    unknown="Saya tidak tahu",
    reasons={
        "no_evidence": "tidak ada isi dokumen yang menjawab pertanyaan ini",
        "low_confidence": "bukti terbaik tidak cukup meyakinkan",
        "missing_anchor": "dokumen tidak menyebut hal yang ditanyakan",
        "conflict": "isi dokumen saling bertentangan",
        "budget": "anggaran habis sebelum ada jawaban yang didukung bukti",
    },
    nearest="Yang terdekat, tetapi tidak cukup",
    sources="Sumber",
    understood="Dipahami sebagai",
    differing="Isi dokumen memberi jawaban yang berbeda",
    refuted="dibantah oleh yang lain",
    partial="Hanya sebagian: dokumen yang ditemukan memuat lebih sedikit daripada yang diminta.",
    warning="Peringatan",
    pages={"page": "halaman", "slide": "salindia", "sheet": "lembar"},
    recognised="teks hasil pengenalan",
)
LANGUAGES = (ENGLISH, INDONESIAN)


def wording_for(question: str) -> Wording:
    """The words of the language that a question is in."""
    return INDONESIAN if question_language(question) == "id" else ENGLISH


def page_word(path: str) -> str:
    """What the pages of a file are called: `page`, `slide` or `sheet`."""
    return _PAGE_WORDS.get(PurePath(path).suffix.lower(), "page")


def called(place: Place | Citation) -> str:
    """The title of a document, or else its file and the record in it."""
    return place.title or PurePath(place.path).name


def place_name(place: Place | Citation, words: Wording = ENGLISH) -> str:
    """Document, section and page of a place, as a person would name it.

    Of text that was read off a picture it says so, and how surely, in percent rounded down.
    """
    name = " > ".join(filter(None, (called(place), place.section)))
    page = f", {words.pages[page_word(place.path)]} {place.page}" if place.page else ""
    sure = place.recognised
    read = "" if sure is None else f", {words.recognised} {int(sure * 100)}%"
    return f"{name}{page}{read}"


def short_answer(answer: Answer) -> str:
    """The short answer where it says less than the whole; else empty."""
    short = " ".join(answer.short_answer.split())
    whole = _MARK.sub("", answer.answer).strip(" .")
    return short if short.strip(" .") != whole else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What some of the documents say, where they do not agree.

    Attributes:
        citations: The numbers of those that say it.
        refuted: See `fathom.types.Conflict`.
    """

    text: str
    citations: tuple[int, ...]
    refuted: bool = False


def readings(answer: Answer) -> tuple[Reading, ...]:
    """Who says what, the answer's own reading first; empty where the documents agree."""
    if not answer.conflicts:
        return ()
    others = {n for conflict in answer.conflicts for n in conflict.citations}
    own = tuple(each.n for each in answer.citations if each.n not in others)
    said = [
        Reading(text=answer.short_answer, citations=own),
        *(
            Reading(text=each.answer, citations=each.citations, refuted=each.refuted)
            for each in answer.conflicts
        ),
    ]
    return tuple(each for each in said if each.text)
