"""Decoding of bytes as text; bytes of an uncertain encoding are refused."""

import codecs
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from operator import ne
from typing import NamedTuple

from fathom.documents.base import ParseRefusal

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(c for c in range(32) if c not in (0, 8, 9, 10, 11, 12, 13, 26, 27)) + b"\x7f"
_SAMPLE = 65_536
_NUL_SHARE = 0.3
_CONTROL_SHARE = 0.01
_MENDABLE_SHARE = 0.02
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w:.-]{2,40})|<\?xml[^>]{0,200}encoding\s*=\s*["']([\w:.-]{2,40})""",
    re.IGNORECASE,
)


def decode_text(data: bytes, declared: Sequence[str] = ()) -> str:
    """Return the text in `data`, without byte order mark and NULs.

    The encodings are tried in this order: the one of a byte order mark, UTF-16 by its NULs, UTF-8,
    the declared ones, old encodings with one byte a letter, the encodings of East Asia. The old
    ones count only if their letters make likely words.

    Args:
        data: A whole text file.
        declared: The encodings that the file declares for itself, which may be wrong. If several
            fit, the one that gives the likeliest text is used.

    Raises:
        ParseRefusal: `no_document` for binary data, `unsupported` for text in an unknown encoding.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _remove_nuls(data[len(mark) :].decode(encoding, "replace"))
    wide = _detect_utf16(data)
    if wide:
        return _remove_nuls(data.decode(wide, "replace"))
    if looks_binary(data):
        raise ParseRefusal("no_document", "binary data, not a text or a known document format")
    text = _decode_utf8(data)
    if text is None:
        text = _decode_declared(data, declared)
    return _remove_nuls(decode_legacy(data) if text is None else text)


def decode_markup(data: bytes) -> str:
    """Decode HTML or XML as `decode_text` does, with the encodings that its head declares."""
    matches = _CHARSET.finditer(data[:4096])
    return decode_text(data, [(match[1] or match[2]).decode("ascii") for match in matches])


def looks_binary(data: bytes) -> bool:
    """Return whether the first 64 KiB have more control characters than a text has."""
    sample = data[:_SAMPLE]
    if not sample:
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    nuls = sample.count(0)
    return controls > _CONTROL_SHARE * len(sample) or nuls > _NUL_SHARE * len(sample)


def _detect_utf16(data: bytes) -> str | None:
    """Return the kind of UTF-16 without a mark, or `None`.

    Latin letters leave a NUL in every other byte.
    """
    sample = data[:_SAMPLE]
    half = len(sample) // 2
    if half < 2:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > _NUL_SHARE * half and even < 0.05 * half:
        return "utf-16-le"
    if even > _NUL_SHARE * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


def _decode_utf8(data: bytes) -> str | None:
    """Decode UTF-8 with at most a few broken bytes; `None` if it is none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    # A few broken bytes in otherwise valid UTF-8 stay visible as replacement characters.
    broken = text.count("\ufffd")
    beyond = sum(1 for c in text if c > "\x7f") - broken
    return text if broken <= _MENDABLE_SHARE * beyond else None


def _decode_declared(data: bytes, declared: Sequence[str]) -> str | None:
    """Decode by the declared encoding that gives the likeliest text; `None` if none fits."""
    # A dict keeps the order, so the first declaration wins if nothing else decides.
    names = dict.fromkeys(filter(None, map(_normalize_codec, declared)))
    texts = {name: text for name in names if (text := _decode_as(data, name)) is not None}
    if len(texts) < 2:
        return next(iter(texts.values()), None)
    from charset_normalizer import from_bytes

    best = from_bytes(
        _take_first_lines(data), cp_isolation=list(texts), preemptive_behaviour=False
    ).best()
    likeliest = _normalize_codec(best.encoding) if best else ""
    return texts.get(likeliest, next(iter(texts.values())))


def _normalize_codec(declared: str) -> str:
    """Return Python's name of an encoding; empty for an unknown one."""
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):  # a name with a NUL, or one that cannot be encoded
        return ""
    return "cp1252" if name == "iso8859-1" else name  # as browsers read it


def _decode_as(data: bytes, name: str) -> str | None:
    """Decode by an encoding; `None` if the bytes do not fit it."""
    try:
        text = data.decode(name)
    except (LookupError, ValueError):  # some codecs give no text
        return None
    # No text uses the C1 control characters: they prove that the declaration is wrong.
    return None if any("\x80" <= c < "\xa0" for c in text) else text


def _take_first_lines(data: bytes) -> bytes:
    """Return the first lines; they end at a line break, so that no letter is split."""
    head = data[:_SAMPLE]
    return head if len(head) == len(data) else head.rpartition(b"\n")[0]


def _remove_nuls(text: str) -> str:
    return text.replace("\x00", "")


_GUESSED_FROM = 20_000
"""The number of characters from which an encoding is guessed."""
_ENOUGH = 0.55
"""The least score of an old encoding that is believed."""
_MARGIN = 0.04
"""The least lead over the next encoding, for each character in which their texts differ."""
_LETTERS = 24
"""The fewest letters beyond ASCII from which an encoding of East Asia is guessed."""
_USUAL = 0.12
"""The least share of usual characters in a text of East Asia."""
_KANA = "".join(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FD))))
_HANGUL = (
    "이다는에의을를가고하지한로기사도은어아시자인서수해리그대니나정라있일들으부만보습"
    "면여주전제것상스장거원구성비과위"
)
_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于"
    "着下自之年过发后作里用行所如都同当面分还进其主理前开但因从本无"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於"
    "著下自之年過發後作裡用行所如都同當面分還進其主理前開但因從本無"
)
_EAST_ASIAN = (
    ("cp932", _KANA),
    ("euc_jp", _KANA),
    ("gb18030", _SIMPLIFIED),
    ("big5", _TRADITIONAL),
    ("cp949", _HANGUL),
)
"""The encodings of East Asia, each with the commonest characters of its language."""

_CYRILLIC = ("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґ",)
_GREEK = ("αοιετσνηυρπκμλςωάγέόίήθδχύβφώξζψ",)
_WESTERN = (
    "äüöß", "éèàêçôîûùâïœë", "óíáéñúü", "ãçáéíêóõâúàô", "àèéìòù", "ëéïöèüó", "äåöé",
    "åøæéóòü", "äõüöšž", "ðíáöéúæýþó", "àéèíòóçïúü",
)  # fmt: skip
_CENTRAL = ("áéöóíőüűú", "ąłęóżśćńź", "íáěéřšžýčůúťďňó", "áíéčýžšúľôťňďäóěĺŕ", "čšžćđ", "ăîâșțşţ")
_BALTIC = ("ėšųįąžūčę", "āīēšūļžņģķč", "äõüöšž")
_TURKISH = ("ışğçüöâîû",)
_MIXED = ("éèàçüäöêôñóáíúâîûãõåøæßëïœìòùÿý",)
_ARABIC = ("اليمنترعبدفسقكحةهوجأخذصشطىإغضءثئزظآؤ",)
_HEBREW = ("יוהלאתרבשמנדקםפעטחצגסןכזףךץ",)
_MARKS = "‘’“”–—…•°§£€«»©®·™½¼¾±²³¡¿º\xa0№†"  # noqa: RUF001 - these are the marks
_INNER_MARKS = "‘’–—·\xad\xa0"  # noqa: RUF001 - these are the marks


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An encoding with the alphabets of the languages that are written in it.

    Attributes:
        encoding: Python's name of the encoding.
        alphabets: For each language its usual letters beyond ASCII, most frequent first.
        prior: The bonus of a common encoding, in units of the score; negative for a rare one.
        is_latin: Whether words mix these letters with those of ASCII.
    """

    encoding: str
    alphabets: tuple[str, ...]
    prior: float = 0.0
    is_latin: bool = False


_CANDIDATES = (
    _Candidate("cp1252", _WESTERN, 0.1, is_latin=True),
    _Candidate("cp1252", _MIXED, -0.05, is_latin=True),
    _Candidate("iso8859-15", _WESTERN, 0.09, is_latin=True),
    _Candidate("cp1250", _CENTRAL, is_latin=True),
    _Candidate("iso8859-2", _CENTRAL, -0.01, is_latin=True),
    _Candidate("cp1257", _BALTIC, is_latin=True),
    _Candidate("iso8859-13", _BALTIC, -0.01, is_latin=True),
    _Candidate("cp1254", _TURKISH, is_latin=True),
    _Candidate("cp850", _WESTERN, -0.1, is_latin=True),
    _Candidate("mac_roman", _WESTERN, -0.1, is_latin=True),
    _Candidate("cp1251", _CYRILLIC),
    _Candidate("cp866", _CYRILLIC),
    _Candidate("koi8-u", _CYRILLIC),
    _Candidate("iso8859-5", _CYRILLIC),
    _Candidate("cp1253", _GREEK),
    _Candidate("cp1256", _ARABIC),
    _Candidate("iso8859-6", _ARABIC, -0.01),
    _Candidate("cp1255", _HEBREW),
)


def decode_legacy(data: bytes) -> str:
    """Return the text of `data` in the likeliest old encoding.

    Raises:
        ParseRefusal: `unsupported` if no encoding gives likely words, or if the best two give
            texts that are nearly as likely.
    """
    if _is_ebcdic(data):
        return data.decode("cp500").replace("\x85", "\n")
    guesses = []
    for candidate in _CANDIDATES:
        try:
            text = data.decode(candidate.encoding)
        except UnicodeDecodeError:
            continue
        guesses.append(_Guess(_score_text(text[:_GUESSED_FROM], candidate), text))
    guesses.sort(key=lambda guess: -guess.score)
    if guesses and guesses[0].score >= _ENOUGH and _is_clear(guesses):
        return guesses[0].text
    east_asian_text = _decode_east_asian(data)
    if east_asian_text is None:
        raise ParseRefusal("unsupported", "text in an unknown encoding; save it as UTF-8")
    return east_asian_text


def _decode_east_asian(data: bytes) -> str | None:
    """Return the text in the encoding of East Asia that gives the usual characters, or `None`.

    Nearly all bytes are letters in all of these encodings, so a few letters decide nothing.
    """
    guesses = []
    for encoding, usual in _EAST_ASIAN:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        guesses.append(_Guess(_measure_usual(text[:_GUESSED_FROM], frozenset(usual)), text))
    guesses.sort(key=lambda guess: -guess.score)
    if not guesses or guesses[0].score < _USUAL:
        return None
    is_clear = len(guesses) == 1 or guesses[0].score >= 2 * guesses[1].score
    return guesses[0].text if is_clear else None


def _measure_usual(text: str, usual: Container[str]) -> float:
    """Return the share of usual characters among the letters beyond ASCII; 0 for few letters."""
    letters = [char for char in text if char > "\x7f" and char.isalpha()]
    # Halfwidth katakana and private characters are signs of a wrong guess.
    if len(letters) < _LETTERS or any(map(_is_odd, text)):
        return 0.0
    return sum(char in usual for char in letters) / len(letters)


def _is_odd(char: str) -> bool:
    """Return whether a character is for private use or halfwidth katakana."""
    return "\ue000" <= char <= "\uf8ff" or "\uff66" <= char <= "\uff9f"


_Place = tuple[str, str, str]
"""A character with the one before it and the one after it."""


class _Guess(NamedTuple):
    """A text in one of the encodings, with its score; a higher score is likelier."""

    score: float
    text: str


def _is_clear(guesses: Sequence[_Guess]) -> bool:
    """Return whether the first guess is clearly better than the next one with another text."""
    best = guesses[0]
    head = best.text[:_GUESSED_FROM]
    letters = sum(char > "\x7f" for char in head)
    for rival in guesses[1:]:
        differing = sum(map(ne, head, rival.text[:_GUESSED_FROM]))
        if differing:
            return bool((best.score - rival.score) * letters >= _MARGIN * differing)
    return True


def _score_text(text: str, candidate: _Candidate) -> float:
    """Return the mean score of the characters beyond ASCII, in [-1, 1], plus the prior.

    The characters are scored by the alphabet of the likeliest language; 0 without any of them.
    """
    padded = f" {text} "
    places = Counter(
        place
        for place in zip(padded, padded[1:], padded[2:], strict=False)
        if place[1] > "\x7f" or (place[0] > "\x7f" and not candidate.is_latin and _is_mixed(*place))
    )
    count = places.total()
    if not count:
        return 0.0
    best = max(_score_places(places, alphabet, candidate) for alphabet in candidate.alphabets)
    # Few letters tell little, so the prior counts for more.
    return best / count + candidate.prior * (1 + 2 / count)


def _is_mixed(previous: str, char: str, _following: str) -> bool:
    """Return whether a letter of ASCII follows a letter of another script."""
    return char.isalpha() and previous.isalpha()


def _score_places(places: Mapping[_Place, int], alphabet: str, candidate: _Candidate) -> float:
    """Return the sum of the scores of characters by one alphabet."""
    ranks = {letter: n for n, letter in enumerate(alphabet)}
    return sum(
        count * _score_letter(place, ranks, is_latin=candidate.is_latin)
        for place, count in places.items()
    )


def _score_letter(place: _Place, ranks: dict[str, int], *, is_latin: bool) -> float:
    """Return the score of a character in its place, in [-1, 1].

    Args:
        place: The character with its neighbours.
        ranks: The rank of each letter of the alphabet, from 0 for the commonest.
        is_latin: Whether words mix these letters with those of ASCII.
    """
    previous, char, following = place
    is_alone = not previous.isalpha() and not following.isalpha()
    if char in _MARKS:
        return -1.0 if _splits_word(place) else 0.7
    rank = ranks.get(char.lower())
    # No word mixes letters of ASCII with those of another script.
    if rank is None or (not is_latin and previous <= "\x7f" and previous.isalpha()):
        return -1.0
    if char.isupper():
        if _is_inner_capital(place):
            return -1.0
        # A mark of another encoding looks like a word of one capital.
        factor = (0.7 if is_latin else 0.0) if is_alone else 0.9
    else:
        factor = 0.7 if is_alone and not is_latin else 1.0
    return factor * (1.0 - 0.6 * rank / len(ranks))


def _splits_word(place: _Place) -> bool:
    """Return whether a mark that never stands within a word is between two letters."""
    previous, char, following = place
    return previous.isalpha() and following.isalpha() and char not in _INNER_MARKS


def _is_inner_capital(place: _Place) -> bool:
    """Return whether a capital stands in a word in small letters, a sign of an error."""
    previous, _, following = place
    return previous.islower() or (previous.isalpha() and following.islower())


def _is_ebcdic(data: bytes) -> bool:
    """Return whether `data` is EBCDIC, in which the space is 0x40 and letters are above 0x80."""
    sample = data[:_GUESSED_FROM]
    if sample.count(0x40) < len(sample) // 20:
        return False
    text = sample.decode("cp500")
    letters = sum(1 for c in text if c.isascii() and (c.isalnum() or c in " .,;:'\"-()\n\r\x85"))
    return letters > 0.9 * len(text)
