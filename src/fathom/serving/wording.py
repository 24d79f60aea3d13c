"""The words around an answer in English and Indonesian, the same in every interface."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fathom.question.question import Question
from fathom.types import SECTION_SEPARATOR, Answer, Citation, Conflict, Place

_PAGE_WORDS = {".pptx": "slide", ".odp": "slide", ".xlsx": "sheet", ".ods": "sheet"}
_MARK = re.compile(r"(?<!\s)\s*\[\d+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The words of one language.

    Attributes:
        unknown: The beginning of an abstention.
        unsure: The beginning of a tentative answer.
        reasons: The reasons of abstentions, as sentences.
        nearest: The heading of the citations of an abstention.
        sources: The heading of the citations of an answer.
        understood: The words before the complete question that a follow-up question was read as.
        differing: The heading of the readings of documents that disagree.
        refuted: The words after a reading that better supported readings contradict.
        partial: The notice that the documents give fewer things than the question asks for.
        warning: The word before a warning.
        pages: The words for the pages of a document, by the English word.
        recognised: The words before the certainty of text recognised in a picture.
    """

    unknown: str
    unsure: str
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
    unsure="Not sure",
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
    unsure="Kurang yakin",
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


def choose_wording(question: str) -> Wording:
    """Return the words of the language of a question."""
    return INDONESIAN if Question(question).language == "id" else ENGLISH


def choose_page_word(path: str) -> str:
    """Return the word for the pages of a file: `page`, `slide` or `sheet`."""
    return _PAGE_WORDS.get(PurePath(path).suffix.lower(), "page")


def name_document(place: Place | Citation) -> str:
    """Return the title of a document, or else the last part of its path."""
    return place.title or PurePath(place.path).name


def name_place(place: Place | Citation, words: Wording = ENGLISH) -> str:
    """Return the document, section and page of a place in words.

    For text recognised in a picture, the certainty follows, in percent rounded down.
    """
    name = SECTION_SEPARATOR.join(filter(None, (name_document(place), place.section)))
    page = f", {words.pages[choose_page_word(place.path)]} {place.page}" if place.page else ""
    certainty = place.recognised
    recognition = "" if certainty is None else f", {words.recognised} {int(certainty * 100)}%"
    return f"{name}{page}{recognition}"


def pick_short_answer(answer: Answer) -> str:
    """Return the short answer if it differs from the whole answer; else an empty text."""
    # Citation marks and a final stop are no difference to a reader.
    short = " ".join(answer.short_answer.split())
    whole = _MARK.sub("", answer.answer).strip(" .")
    return short if short.strip(" .") != whole else ""


def list_readings(answer: Answer) -> tuple[Conflict, ...]:
    """Return all readings, the answer's own first; none if the documents agree.

    The readings of a disputed answer are in alphabetical order.
    """
    if answer.disputed or not answer.conflicts:
        return answer.conflicts
    return tuple(reading for reading in (answer.first_reading, *answer.conflicts) if reading.answer)
