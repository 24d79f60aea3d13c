"""Names in a text, told by their capitals; English and Indonesian."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from fathom.text.language import stop_words
from fathom.types import Span


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[^\W_]+(?:[-&/.][^\W_]+)*(?:['\u2019](?!s\b)[^\W_]+)*|&")
# Before the first word of a sentence stands one of the first, or nothing; of the others any may.
_ENDS = frozenset(".!?:;\n")
_OPENERS = frozenset("\"'“\u2018(«*")
# Small words inside names; those of the second kind also stand between two names.
_INSIDE = _set("of the de la le du del da dos des van von der den el al bin binti ibn")
_BETWEEN = _set("and dan & di y et und")
# A body's name goes on after "and", as in Kementerian Kelautan dan Perikanan.
_BODIES = _set(
    "ministry department board bureau office committee college faculty institute society museum "
    "kementerian dinas badan direktorat fakultas lembaga komisi menteri balai kantor"
)
# Begin a question or an order with a capital, and are no names.
_CUES = _set(
    "name list give tell find describe explain according compare show state identify besides "
    "sebutkan sebut jelaskan berikan tuliskan apakah siapakah berapakah kapankah dimana dimanakah "
    "manakah mengapa kenapa bagaimana bagaimanakah menurut apa siapa kapan berapa mana "
    "what who whom whose when where which why how is are was were do does did has have had can "
    "could will would should may might in on at of from for with by to if as the a an"
)
_MOST_SMALL = 2


def names(text: str) -> list[Span]:
    """Where names stand, in order; they do not overlap.

    A name is a run of capitalised words, also with small words inside ("Bank of England"). A word
    that a sentence begins with counts unless it is a common one.
    """
    words = [(match.group(), Span(*match.span())) for match in _WORD.finditer(text)]
    found: list[Span] = []
    at = 0
    while at < len(words):
        length = _length(text, words, at)
        if length:
            found.append(Span(words[at][1].start, words[at + length - 1][1].end))
        at += max(1, length)
    return found


NamedWords = Sequence[tuple[str, Span]]


def _length(text: str, words: NamedWords, at: int) -> int:
    """How many words the name has that begins at this word; 0 if none does."""
    word, span = words[at]
    if not word[0].isupper() or (_opens(text, span) and common(word)):
        return 0
    length, body = 1, word.lower() in _BODIES
    while grown := _grown(text, words, at, length, body=body):
        body = body or any(word.lower() in _BODIES for word, _ in words[at + length : at + grown])
        length = grown
    return length


def _grown(text: str, words: NamedWords, at: int, length: int, *, body: bool) -> int:
    """Its length with the next capitalised word; 0 if the name ends here.

    Args:
        text: In which the words stand.
        words: All of the text.
        at: The first word of the name.
        length: So many words the name has.
        body: Whether one of them begins the name of a body.
    """
    small: list[str] = []
    for place in range(at + length, min(at + length + _MOST_SMALL + 1, len(words))):
        word, span = words[place]
        if not _touch(text, words[place - 1][1], span):
            return 0
        if _goes_on(word, small):
            joins = not _BETWEEN & set(small) or body or _is_pair(words, length, place, small)
            return place - at + 1 if joins else 0
        if word not in _INSIDE | _BETWEEN:
            return 0
        small.append(word)
    return 0


def _goes_on(word: str, small: Sequence[str]) -> bool:
    return word[0].isupper() or (word.isdigit() and len(word) < 4 and not small)


def _is_pair(words: NamedWords, length: int, place: int, small: Sequence[str]) -> bool:
    """Whether two words are one name, as Pride and Prejudice."""
    alone = place + 1 == len(words) or not words[place + 1][0][0].isupper()
    return length == 1 and alone and len(small) == 1


def _touch(text: str, left: Span, right: Span) -> bool:
    between = text[left.end : right.start]
    initial = left.end - left.start == 1 and between == ". "
    return between == " " or initial


def _opens(text: str, span: Span) -> bool:
    at = span.start
    while at and text[at - 1] not in _ENDS:
        if not (text[at - 1].isspace() or text[at - 1] in _OPENERS):
            return False
        at -= 1
    return True


@cache
def _common_words() -> frozenset[str]:
    return _CUES | stop_words("en") | stop_words("id")


def common(word: str) -> bool:
    """Whether a word is no name in spite of a capital at the beginning of a sentence."""
    return word.lower() in _common_words()


def texts(text: str) -> Iterator[str]:
    """The names themselves, with white space made plain."""
    return (" ".join(span.cut(text).split()) for span in names(text))
