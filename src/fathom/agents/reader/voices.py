"""The rules against poisoned documents: which texts count for an answer, and how often.

Anybody who can add a document can write anything into it, so what a document says about the
question or about other documents proves nothing:

- A document that repeats the question around a value ("stuffed") gains nothing by that. It is read
  last, it is not a rival of another document's answer, and its own answer is tentative at best.
- A sentence that contains the whole question word for word and goes on to answer it ("Asked who
  ..., experts name ...") is read after the others, and its answer is tentative at best.
- Text that places itself above all other documents ("supersedes all earlier documents") is read
  after those; it stays a possible rival.
- One document is one voice, however many of its chunks give an answer. Documents that give it in
  copied words are one voice together.
- An answer that another document contradicts is tentative at best (`Finalizer`), and a debate never
  hides that document, however many others contradict it: both are shown.
- Only the operator decides which sources to believe (`sources.trusted`).
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from fathom.agents.reader.trusted_sources import TrustedSources
from fathom.question.question import Question
from fathom.text.content_words import ContentTerms
from fathom.text.sentences import split
from fathom.types import Chunk, Draft, Evidence, Hit

_REPEATED_SHARE = 0.7
"""The lowest share of the question's content words in a sentence that repeats the question."""
_OWN_SHARE = 0.5
"""The lowest share of a sentence's content words that are the question's if it repeats it."""
_FEWEST_TERMS = 3
"""The fewest content words that a sentence shares with a question that it repeats."""
_STUFFED_SHARE = 0.25
"""The lowest share of a document's sentences, over several chunks, that repeat the question."""
_FEWEST_WORDS = 3
"""The fewest words of a question whose word-for-word repetitions are counted."""
_FEWEST_EMBEDDED = 4
"""The fewest words of a question that is looked for inside a sentence."""
_MOST_KEPT = 256
"""The size of the cache of `repeats_asking`, in pairs of question and text."""
_RUN_WORDS = 4
"""The number of words in a run (word n-gram) by which two quotes are compared."""
_COPIED_SHARE = 0.5
"""The lowest share of the shorter quote's runs in the longer one that makes it a copy."""
_WORD = re.compile(r"[^\W_]+")
_END = re.compile(r"[.?!:;\n]")
_EXTRACT_TERMS = ContentTerms()
_TEXTS = r"(?:documents?|versions?|sources?|pages?|texts?|articles?|editions?|records?)"
_TEXTS_ID = r"(?:dokumen|versi|sumber|halaman|teks|artikel|edisi|catatan|keterangan)"
_DISMISSAL = re.compile(
    rf"\b(?:supersed(?:es?|ing)|replac(?:es?|ing)|overrid(?:es?|ing)|invalidat(?:es?|ing)|ignore"
    rf"|disregard|(?:do not|don['\u2019]t|never) (?:use|trust|read|rely on|believe))\b"
    rf"[^.;\n]{{0,40}}"
    rf"\b(?:all|any|every|other|earlier|previous|older)\b[^.;\n]{{0,40}}\b{_TEXTS}\b"
    rf"|\b(?:all|any|every)\b[^.;\n]{{0,30}}\b(?:other|earlier|previous|older)\b[^.;\n]{{0,20}}"
    rf"\b{_TEXTS}\b[^.;\n]{{0,40}}\b(?:out of date|outdated|obsolete|wrong|invalid|superseded"
    rf"|be (?:ignored|disregarded))\b"
    rf"|\b(?:menggantikan|mencabut|membatalkan|abaikan|mengabaikan|jangan (?:pakai|gunakan|percaya"
    rf"|baca))\b[^.;\n]{{0,40}}\b{_TEXTS_ID}\b[^.;\n]{{0,30}}\b(?:lain(?:nya)?|sebelumnya|lama"
    rf"|terdahulu)\b"
    rf"|\b{_TEXTS_ID}\b[^.;\n]{{0,30}}\b(?:lain(?:nya)?|sebelumnya|lama|terdahulu)\b[^.;\n]{{0,40}}"
    rf"\b(?:usang|salah|tidak berlaku|diabaikan)\b",
    re.IGNORECASE,
)


def list_stuffed(question: Question, hits: Sequence[Hit]) -> frozenset[str]:
    """Return the ids of the documents whose hits repeat the question.

    A document counts if one of its chunks repeats the question, or if its chunks together do in at
    least a quarter of their sentences. The share is needed because a long document may return to
    its subject here and there.
    """
    chunks: dict[str, list[Chunk]] = {}
    for hit in hits:
        chunks.setdefault(hit.chunk.document_id, []).append(hit.chunk)
    return frozenset(
        document
        for document, of_document in chunks.items()
        if any(repeats_asking(question, chunk.text) for chunk in of_document)
        or (
            len(of_document) > 1
            and repeats_asking(question, _join_chunks(of_document), share=_STUFFED_SHARE)
        )
    )


def embeds_question(question: Question, text: str) -> bool:
    """Return whether a sentence contains the whole question word for word and goes on after it.

    A question at the end of a sentence is harmless: a heading, or a page of questions and answers.
    """
    asked = _list_words(question.text)
    words = list(_WORD.finditer(text))
    folded = [word.group().casefold() for word in words]
    size = len(asked)
    return size >= _FEWEST_EMBEDDED and any(
        folded[at : at + size] == asked
        and not _END.search(text, words[at + size - 1].end(), words[at + size].start())
        for at in range(len(words) - size)
    )


# Cached because the reader, the search for rivals and the signals check the same hits.
@lru_cache(maxsize=_MOST_KEPT)
def repeats_asking(question: Question, text: str, *, share: float = 0.0) -> bool:
    """Return whether a text repeats the question, word for word or in sentences of its words.

    One occurrence is not a repetition, because a page of questions and answers contains each
    question once. Headings do not count.

    Args:
        question: The question.
        text: The text.
        share: The lowest share of the text's sentences that must repeat the question, in [0, 1].
    """
    sentences = [span.cut(text) for span in split(text)]
    count = max(
        _count_runs(_list_words(question.text), _list_words(text)),
        _count_echoes(question.text, sentences),
    )
    return count > 1 and count >= share * len(sentences)


def _count_echoes(question: str, sentences: Sequence[str]) -> int:
    """Count the sentences that consist of the question's content words and little else."""
    terms = _EXTRACT_TERMS(question)
    least = max(_FEWEST_TERMS, _REPEATED_SHARE * len(terms))
    if len(terms) < least:
        return 0
    all_terms = [_EXTRACT_TERMS(sentence) for sentence in sentences]
    return sum(
        len(terms & of_sentence) >= max(least, _OWN_SHARE * len(of_sentence))
        for of_sentence in all_terms
    )


def dismisses_others(text: str) -> bool:
    """Return whether a text claims to replace or overrule all other documents."""
    return _DISMISSAL.search(text) is not None


def put_suspects_last(
    question: Question, hits: Sequence[Hit], trusted: TrustedSources
) -> tuple[Hit, ...]:
    """Return the hits with the suspicious ones moved to the end.

    Chunks that claim to overrule other documents, or that contain the question inside a sentence,
    come after the rest; chunks of documents that repeat the question come last. Trusted documents
    are never moved.
    """
    stuffed = list_stuffed(question, hits)

    def rate_suspicion(hit: Hit) -> int:
        if trusted.is_trusted(hit.chunk):
            return 0
        if hit.chunk.document_id in stuffed:
            return 2
        text = hit.chunk.text
        return int(dismisses_others(text) or embeds_question(question, text))

    return tuple(sorted(hits, key=rate_suspicion))


def drop_stuffed(question: Question, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits of documents that do not repeat the question; all if there are no others."""
    stuffed = list_stuffed(question, hits)
    return [hit for hit in hits if hit.chunk.document_id not in stuffed] or hits


def rests_on_stuffing(question: Question, draft: Draft, hits: Sequence[Hit]) -> bool:
    """Return whether the best evidence of a draft repeats the question.

    Either its document repeats the question, or its sentence contains the whole question.

    Args:
        question: The question.
        draft: The draft.
        hits: The hits that the draft was made of; may be empty.
    """
    if not draft.evidence:
        return False
    best = draft.evidence[0]
    return best.hit.chunk.document_id in list_stuffed(
        question, (*hits, best.hit)
    ) or embeds_question(question, best.quote)


def pick_voices(quotes: Sequence[Evidence]) -> list[int]:
    """Return the index of the first quote of each voice.

    Quotes of one document are one voice, and so are quotes that copy each other.
    """
    voices: list[int] = []
    for place, quote in enumerate(quotes):
        if not any(_speak_as_one(quote, quotes[other]) for other in voices):
            voices.append(place)
    return voices


def has_own_voice(hit: Hit, evidence: Evidence) -> bool:
    """Return whether a hit with the same answer is independent of the evidence.

    It is not if it is of the same document or copies the quote.
    """
    is_same_document = hit.chunk.document_id == evidence.hit.chunk.document_id
    return not is_same_document and not is_copy(evidence.quote, hit.chunk.text)


def _speak_as_one(one: Evidence, other: Evidence) -> bool:
    """Return whether two quotes are one voice: of one document, or copies."""
    if one.hit.chunk.document_id == other.hit.chunk.document_id:
        return True
    return is_copy(one.quote, other.quote)


def is_copy(one: str, other: str) -> bool:
    """Return whether the shorter of two texts is a copy of a part of the longer.

    At least half of its runs of four words must occur there. A text of four words or fewer is never
    a copy, because it could occur in any document.
    """
    shorter, longer = sorted((_list_words(one), _list_words(other)), key=len)
    if len(shorter) <= _RUN_WORDS:
        return False
    runs = _list_runs(shorter)
    return len(runs & _list_runs(longer)) >= _COPIED_SHARE * len(runs)


def _join_chunks(chunks: Sequence[Chunk]) -> str:
    """Join the texts of chunks of one document in order, without repeating their overlap."""
    parts: list[str] = []
    end = 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.span.start):
        parts.append(chunk.text[max(0, end - chunk.span.start) :])
        end = max(end, chunk.span.end)
    return "\n\n".join(parts)


def _list_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [word.casefold() for word in _WORD.findall(text)]


def _list_runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return all runs of `_RUN_WORDS` words."""
    return {tuple(words[at : at + _RUN_WORDS]) for at in range(max(1, len(words) - _RUN_WORDS + 1))}


def _count_runs(run: Sequence[str], words: Sequence[str]) -> int:
    """Count the occurrences of a run of words; 0 if it has fewer than `_FEWEST_WORDS`."""
    if len(run) < _FEWEST_WORDS:
        return 0
    places = range(len(words) - len(run) + 1)
    return sum(words[at : at + len(run)] == run for at in places)
