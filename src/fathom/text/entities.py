"""Names in a text, recognised by their capitals; English and Indonesian."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from fathom.text.language import load_stop_words, split_set
from fathom.types import Span

_WORD = re.compile(r"[^\W_]+(?:[-&/.][^\W_]+)*(?:['\u2019](?!s\b)[^\W_]+)*|&")
# The first word of a sentence follows an end mark or the start of the text; openers and white space
# may be in between.
_ENDS = frozenset(".!?:;\n")
_OPENERS = frozenset("\"'“\u2018(«*")
# Small words inside names; those of the second set may also separate two names.
_INSIDE = split_set("of the de la le du del da dos des van von der den el al bin binti ibn")
_BETWEEN = split_set("and dan & di y et und")
# The name of an official body continues after "and": Kementerian Kelautan dan Perikanan.
_BODIES = split_set(
    "ministry department board bureau office committee college faculty institute society museum "
    "kementerian dinas badan direktorat fakultas lembaga komisi menteri balai kantor"
)
# Words that have a capital because they begin a question or an order.
_CUES = split_set(
    "name list give tell find describe explain according compare show state identify besides "
    "sebutkan sebut jelaskan berikan tuliskan apakah siapakah berapakah kapankah dimana dimanakah "
    "manakah mengapa kenapa bagaimana bagaimanakah menurut apa siapa kapan berapa mana "
    "what who whom whose when where which why how is are was were do does did has have had can "
    "could will would should may might am don't doesn't didn't isn't aren't wasn't weren't can't "
    "couldn't won't wouldn't shouldn't mustn't hasn't haven't hadn't please tolong mohon "
    "adakah bisakah bolehkah dapatkah haruskah perlukah mungkinkah benarkah betulkah sudahkah "
    "pernahkah akankah gimana kemana kemanakah seberapa in on at of from for with by to "
    "if as the a an"
)
_MOST_SMALL = 2
"""The largest number of small words in a row inside a name."""


def find_names(text: str) -> list[Span]:
    """Return the spans of the names in a text, in order and without overlaps.

    A name is a run of words with capitals; a few small words may be inside ("Bank of England"). The
    first word of a sentence begins a name only if it is not a common word.
    """
    words = [(match.group(), Span(*match.span())) for match in _WORD.finditer(text)]
    spans: list[Span] = []
    place = 0
    while place < len(words):
        length = _count_name_words(text, words, place)
        if length:
            spans.append(Span(words[place][1].start, words[place + length - 1][1].end))
        place += max(1, length)
    return spans


PlacedWords = Sequence[tuple[str, Span]]
"""The words of a text with their spans."""


def _count_name_words(text: str, words: PlacedWords, at: int) -> int:
    """Return the number of words of the name that begins at a word; 0 if none begins there.

    Args:
        text: The text.
        words: All words of the text.
        at: The index of the word.
    """
    word, span = words[at]
    if not word[0].isupper() or (_opens_sentence(text, span) and is_common_word(word)):
        return 0
    length, is_body = 1, word.lower() in _BODIES
    while longer := _extend_name(text, words, at, length, body=is_body):
        is_body = is_body or any(
            word.lower() in _BODIES for word, _ in words[at + length : at + longer]
        )
        length = longer
    return length


def _extend_name(text: str, words: PlacedWords, at: int, length: int, *, body: bool) -> int:
    """Return the number of words of a name up to its next word with a capital; 0 if it has none.

    Args:
        text: The text.
        words: All words of the text.
        at: The index of the first word of the name.
        length: The number of words of the name so far.
        body: Whether one of them is a word for an official body.
    """
    small: list[str] = []
    for place in range(at + length, min(at + length + _MOST_SMALL + 1, len(words))):
        word, span = words[place]
        if not _are_adjacent(text, words[place - 1][1], span):
            return 0
        if _continues_name(word, small):
            joins = not _BETWEEN & set(small) or body or _is_pair(words, length, place, small)
            return place - at + 1 if joins else 0
        if word not in _INSIDE | _BETWEEN:
            return 0
        small.append(word)
    return 0


def _continues_name(word: str, small: Sequence[str]) -> bool:
    """Return whether a word continues a name: it has a capital or is a number of 1 to 3 digits."""
    return word[0].isupper() or (word.isdigit() and len(word) < 4 and not small)


def _is_pair(words: PlacedWords, length: int, place: int, small: Sequence[str]) -> bool:
    """Return whether two single words and a small one between form a name: Pride and Prejudice."""
    ends_here = place + 1 == len(words) or not words[place + 1][0][0].isupper()
    return length == 1 and ends_here and len(small) == 1


def _are_adjacent(text: str, left: Span, right: Span) -> bool:
    """Return whether a blank separates two words, or the full stop of an initial and a blank."""
    between = text[left.end : right.start]
    is_initial = left.end - left.start == 1 and between == ". "
    return between == " " or is_initial


def _opens_sentence(text: str, span: Span) -> bool:
    """Return whether the word at a span is the first word of a sentence."""
    at = span.start
    while at and text[at - 1] not in _ENDS:
        if not (text[at - 1].isspace() or text[at - 1] in _OPENERS):
            return False
        at -= 1
    return True


@cache
def _load_common_words() -> frozenset[str]:
    """Return the words that are no names at the start of a sentence, in lower case."""
    return _CUES | load_stop_words("en") | load_stop_words("id")


def is_common_word(word: str) -> bool:
    """Return whether a word is no name even if it begins a sentence with a capital."""
    plain = word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return plain in _load_common_words()


def list_names(text: str) -> Iterator[str]:
    """Yield the names of a text, with single blanks."""
    return (" ".join(span.cut(text).split()) for span in find_names(text))
