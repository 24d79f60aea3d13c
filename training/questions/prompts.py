"""Prompts that ask for questions about a passage, and that ask each question again.

Only the standard library is needed here, so that a machine with a model needs nothing else.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any

QUESTIONS = 3  # asked for in one prompt, beside an unanswerable one
UNANSWERABLE = "unanswerable"
# Relative frequency of the kinds of questions; some are drawn only where the text has their form.
_WEIGHTS: Mapping[str, int] = {
    "fact": 5,
    "number": 4,
    "definition": 4,
    "how-to": 6,
    "option": 5,
    "list": 3,
    "yes-no": 1,
    "may": 4,
    "keywords": 3,
    "story": 3,
    "reason": 2,
}
_ABSENT: Mapping[str, frozenset[str]] = {
    "manuals": frozenset({"may"}),
    "options": frozenset({"may", "reason"}),
    "laws": frozenset({"how-to", "option"}),
    "wiki": frozenset({"how-to", "option", "may"}),
}
_NUMBER = re.compile(r"\d")
_LISTS = re.compile(
    r"(?m)^\s*(?:[-*•]|\d+[.)])\s|,[^,.;]{2,40},[^,.;]{2,40}(?:,)? (?:and|or|dan|atau) "
)


def draw_kinds(name: str, kind: str, text: str) -> list[str]:
    """Return the kinds of questions asked for, each once, by a hash of the passage's name."""
    absent = set(_ABSENT[kind])
    if not _NUMBER.search(text):
        absent.add("number")
    if not _LISTS.search(text):
        absent.add("list")
    left = {name: weight for name, weight in _WEIGHTS.items() if name not in absent}
    drawn: list[str] = []
    for turn in range(QUESTIONS):
        place = _hash(f"{name} {turn}") % sum(left.values())
        drawn.append(list(chain.from_iterable(repeat(*pair) for pair in left.items()))[place])
        del left[drawn[-1]]
    return drawn


def build_request(name: str, kind: str, lang: str, title: str, text: str) -> list[tuple[str, str]]:
    """Return the messages that ask for questions about a passage, each with its role."""
    words = load_words()[lang]
    messages = [("system", words["rules"])]
    for example in words["examples"]:
        form = _fill_form(words, example["title"], example["text"], example["kinds"])
        messages += [("user", form), ("assistant", example["reply"])]
    return [*messages, ("user", _fill_form(words, title, text, draw_kinds(name, kind, text)))]


def _fill_form(words: Mapping[str, Any], title: str, text: str, kinds: Sequence[str]) -> str:
    wishes = (f"({kind}) {words['kinds'][kind]}" for kind in (*kinds, UNANSWERABLE))
    wanted = "; ".join(f"Q{place} {wish}" for place, wish in enumerate(wishes, 1))
    return str(words["form"]).format(title, text, wanted)


def build_check(
    lang: str, kind: str, passages: Sequence[tuple[str, str]], question: str
) -> list[tuple[str, str]]:
    """Return the message that asks a question again, with texts and their titles."""
    words = load_words()[lang]
    texts = "\n\n".join(f"{title}\n{text}" for title, text in passages)
    if kind == "yes-no":
        question += words["yes_no"]
    return [("user", words["check"].format(texts, question))]


@cache
def load_words() -> Mapping[str, Any]:
    """Return the words of all prompts, by language."""
    file = Path(__file__).with_name("prompts.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
