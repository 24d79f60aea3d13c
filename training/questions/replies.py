"""Reading and judging of replies: questions with answers, and why to drop them.

Only the standard library and `fathom.text.answer_scores` are needed here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from training.questions.prompts import UNANSWERABLE, load_words

from fathom.text.answer_scores import score_f1, split_tokens

AGREES = 0.6  # F1 of the answer given again
_FREE = 0.2  # share of words that are not the text's, of an answer that may be given better again
_LONGEST = 60  # words of an answer
_COPIED = 8  # words in a row that a question may not take from its passage
_LINES = re.compile(
    r"^[*\s]*([QA])(\d)[*\s]*(?:\(([^)\n]{1,20})\))?[*\s]*:"
    r"[*\s]*(.+?)[*\s]*(?=^[*\s]*[QA]\d|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NONE = re.compile(r"(?:none|not |no |tidak |unanswerable|n/a)", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:passage|the text|this text|(?:this|the) (?:section|document|page|chapter|paragraph|"
    r"article|example|above|following|table|list)|according to|mentioned|described|provided|"
    r"teks|(?:dokumen|file|berkas|bagian|halaman) (?:ini|tersebut)|"
    r"menurut|disebutkan|paragraf|artikel|pasase)\b",
    re.IGNORECASE,
)
_UNSURE = (
    "unanswerable",
    "not answerable",
    "tidak dapat dijawab",
    "the passage does not",
    "teks tidak",
)
_YES: Mapping[str, str] = {"yes": "yes", "no": "no", "ya": "yes", "tidak": "no"}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A question that the model wrote; `answer` is empty for one that it believes unanswerable."""

    kind: str
    question: str
    answer: str = ""


def count_words(text: str) -> int:
    """Return the number of words, split at white space."""
    return len(text.split())


def read_pairs(reply: str, kinds: Sequence[str]) -> list[Pair]:
    """Return the questions of a reply, each with its answer.

    Args:
        reply: What the model wrote.
        kinds: What was asked for, in order.
    """
    pairs: list[Pair] = []
    questions: dict[str, str] = {}
    for letter, number, _, text in _LINES.findall(reply):
        place = int(number) - 1
        if letter == "Q":
            questions[number] = " ".join(text.split())
        elif place == len(kinds) and number in questions and _NONE.match(text):
            pairs.append(Pair(kind=UNANSWERABLE, question=questions.pop(number)))
        elif letter == "A" and 0 <= place < len(kinds) and number in questions:
            question = questions.pop(number)
            pairs.append(Pair(kind=kinds[place], question=question, answer=text))
    return list({pair.question.casefold(): pair for pair in reversed(pairs)}.values())[::-1]


def place_answer(answer: str, text: str) -> tuple[int, int] | None:
    """Return where an answer stands in a text, whatever its case, spaces and quotation marks."""
    words = answer.lstrip("\"'`“” ").rstrip("\"'`“”. ").split()
    if not words:
        return None
    begin = r"(?<!\w)" if words[0][0].isalnum() else ""
    end = r"(?!\w)" if words[-1][-1].isalnum() else ""
    wanted = begin + r"\s+".join(map(re.escape, words)) + end
    match = re.search(wanted, text) or re.search(wanted, text, re.IGNORECASE)
    return match.span() if match else None


def read_yesno(answer: str) -> str:
    """Return `yes` or `no` if the first word of an answer is one of them, else nothing."""
    words = _WORD.findall(answer.casefold())
    return _YES.get(words[0], "") if words else ""


def explain_refusal(pair: Pair, title: str, text: str) -> str:
    """Return why a question is dropped before it is asked again; empty if it is not."""
    refusal = _explain_question(pair.question, text)
    if refusal:
        return refusal
    if pair.answer and _strip(pair.answer) in (
        _strip(title),
        _strip(title.rsplit(" > ", maxsplit=1)[-1]),
    ):
        return "the title is the answer"
    if pair.kind == UNANSWERABLE or (pair.kind == "yes-no" and read_yesno(pair.answer)):
        return ""
    return _explain_answer(pair, text)


@cache
def list_example_questions() -> tuple[str, ...]:
    """Return the questions that stand in the examples of the prompts."""
    replies = (example["reply"] for words in load_words().values() for example in words["examples"])
    lines = (line for reply in replies for line in _LINES.findall(reply))
    return tuple(text for letter, _, _, text in lines if letter == "Q")


def _strip(text: str) -> str:
    return " ".join(split_tokens(text))


def _explain_question(question: str, text: str) -> str:
    if not 2 <= count_words(question) <= 60:
        return "length of question"
    if _POINTS.search(question):
        return "points at the text"
    if _copies(question, text):
        return "copied question"
    if score_f1(question, list_example_questions()) >= AGREES:
        return "repeats an example"
    return ""


def _explain_answer(pair: Pair, text: str) -> str:
    if pair.kind == "yes-no" or read_yesno(pair.answer):
        return "yes or no"
    if count_words(pair.answer) > _LONGEST:
        return "long answer"
    asked, answered = split_tokens(pair.question), split_tokens(pair.answer)
    text_words = set(split_tokens(text))
    missing = sum(word not in text_words for word in answered)
    if place_answer(pair.answer, text) is None and missing > _FREE * len(answered):
        return "not in the text"
    if not answered or f" {' '.join(answered)} " in f" {' '.join(asked)} ":
        return "answer in the question"
    return ""


def _copies(question: str, text: str) -> bool:
    words = _WORD.findall(question.casefold())
    body = f" {' '.join(_WORD.findall(text.casefold()))} "
    runs = (words[start : start + _COPIED] for start in range(len(words) - _COPIED + 1))
    return any(f" {' '.join(run)} " in body for run in runs)


def is_refused(reply: str) -> bool:
    """Return whether the model says that the texts do not answer."""
    low = reply.strip().casefold()
    return any(words in low[:80] for words in _UNSURE)


def choose_place(pair: Pair, again: Sequence[str], text: str) -> tuple[int, int] | None:
    """Return where the answer stands in the text, as it was written first or given again."""
    answers = filter(None, (pair.answer, *again))
    return next(filter(None, (place_answer(answer, text) for answer in answers)), None)


def agrees(pair: Pair, reply: str) -> bool:
    """Return whether the answer given again is the one that was written with the question."""
    if pair.kind == "yes-no":
        return read_yesno(pair.answer) == read_yesno(reply) != ""
    return not is_refused(reply) and score_f1(reply, [pair.answer]) >= AGREES
