"""Decoding of bytes as text, or a refusal: never silently the wrong letters."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

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

    Tried in this order: byte order mark, UTF-16 by its NULs, UTF-8, the declared encodings, an old
    encoding of one byte a letter whose letters make likely words, one of East Asia.

    Args:
        data: A whole text file.
        declared: Encodings that a file claims for itself; believed only if nothing speaks against
            them. If they contradict each other, the one that gives the likelier text is used.

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
    """Decode like `decode_text`, with the encodings that an HTML or XML head declares."""
    matches = _CHARSET.finditer(data[:4096])
    return decode_text(data, [(match[1] or match[2]).decode("ascii") for match in matches])


def looks_binary(data: bytes) -> bool:
    """Return whether the first 64 KiB hold more control characters than text has."""
    sample = data[:_SAMPLE]
    if not sample:
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    nuls = sample.count(0)
    return controls > _CONTROL_SHARE * len(sample) or nuls > _NUL_SHARE * len(sample)


def _detect_utf16(data: bytes) -> str | None:
    """Detect UTF-16 without a mark: Latin letters leave a NUL in every other byte."""
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
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    # A few broken bytes in otherwise valid UTF-8 stay visible as replacement characters.
    broken = text.count("\ufffd")
    beyond = sum(1 for c in text if c > "\x7f") - broken
    return text if broken <= _MENDABLE_SHARE * beyond else None


def _decode_declared(data: bytes, declared: Sequence[str]) -> str | None:
    # A dict keeps the order: the first declaration wins where nothing decides.
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
    except LookupError:
        return ""
    return "cp1252" if name == "iso8859-1" else name  # as browsers read it


def _decode_as(data: bytes, name: str) -> str | None:
    try:
        text = data.decode(name)
    except (LookupError, ValueError):  # some codecs give no text
        return None
    # No text uses the C1 control characters: they prove that the declaration is wrong.
    return None if any("\x80" <= c < "\xa0" for c in text) else text


def _take_first_lines(data: bytes) -> bytes:
    """Return the first lines: a cut anywhere else could split a letter."""
    head = data[:_SAMPLE]
    return head if len(head) == len(data) else head.rpartition(b"\n")[0]


def _remove_nuls(text: str) -> str:
    return text.replace("\x00", "")


_GUESSED_FROM = 20_000
_ENOUGH = 0.55
_MARGIN = 0.04
_EAST_ASIAN = ("cp932", "euc_jp", "gb18030", "big5", "cp949")
_ODD = 0.02  # share of letters that stand in an unlikely place, by charset-normalizer
_LETTERS = 24

_RUSSIAN = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_UKRAINIAN = "іїєґ"
_WESTERN = "éèàçüäöêôñóáíúâîûãõåøæßëïœìòùÿý"
_CENTRAL = "áíéěšřžčýůąęłóśżćńźőúöüťďňâăîșțşţđ"
_GREEK = "αοιετσνηυρπκμλςωάγέόίήθδχύβφώξζψ"
_TURKISH = "ıiğüşöçâî"  # noqa: RUF001 - these are the letters
_MARKS = "‘’“”–—…•°§£€«»©®·™½¼¾±²³¡¿º\xa0№†"  # noqa: RUF001 - these are the marks


@dataclass(frozen=True, slots=True)
class _Candidate:
    encoding: str
    letters: str  # the usual ones, most frequent first
    prior: float = 0.0


_CANDIDATES = (
    _Candidate("cp1252", _WESTERN, 0.1),
    _Candidate("cp1250", _CENTRAL),
    _Candidate("cp1251", _RUSSIAN + _UKRAINIAN),
    _Candidate("cp866", _RUSSIAN + _UKRAINIAN),
    _Candidate("koi8-u", _RUSSIAN + _UKRAINIAN),
    _Candidate("iso8859-5", _RUSSIAN + _UKRAINIAN),
    _Candidate("cp1253", _GREEK),
    _Candidate("cp1254", _TURKISH + _WESTERN),
    _Candidate("cp850", _WESTERN, -0.1),
    _Candidate("mac_roman", _WESTERN, -0.1),
)


def decode_legacy(data: bytes) -> str:
    """Return the text of `data` in the likeliest legacy encoding.

    Raises:
        ParseRefusal: `unsupported` when no encoding gives likely words or two differ too little.
    """
    if _is_ebcdic(data):
        return data.decode("cp500").replace("\x85", "\n")
    scored: list[tuple[float, str]] = []
    for candidate in _CANDIDATES:
        try:
            text = data.decode(candidate.encoding)
        except UnicodeDecodeError:
            continue
        scored.append((_score_text(text[:_GUESSED_FROM], candidate) + candidate.prior, text))
    scored.sort(key=lambda pair: -pair[0])
    if scored and scored[0][0] >= _ENOUGH and _is_clear(scored):
        return scored[0][1]
    east_asian_text = _decode_east_asian(data)
    if east_asian_text is None:
        raise ParseRefusal("unsupported", "text in an unknown encoding; save it as UTF-8")
    return east_asian_text


def _decode_east_asian(data: bytes) -> str | None:
    """Return the text in the one encoding of East Asia that leaves no odd letters.

    A few letters do not decide it: nearly all bytes are letters in all of these encodings.
    """
    from charset_normalizer import from_bytes

    matches = from_bytes(_take_first_lines(data), cp_isolation=list(_EAST_ASIAN))
    best, *others = matches if len(matches) else (None,)
    if best is None or best.chaos > 0 or any(other.chaos < _ODD for other in others):
        return None
    try:
        text = data.decode(best.encoding)
    except UnicodeDecodeError:
        return None
    letters = sum(char.isalpha() for char in text if char > "\x7f")
    return text if letters >= _LETTERS else None


def _is_clear(scored: list[tuple[float, str]]) -> bool:
    best, text = scored[0]
    rivals = (score for score, other in scored[1:] if other[:_GUESSED_FROM] != text[:_GUESSED_FROM])
    return best - next(rivals, 0.0) >= _MARGIN


def _score_text(text: str, candidate: _Candidate) -> float:
    """Return the mean usualness, in [-1, 1], of the characters beyond ASCII."""
    ranks = {letter: n for n, letter in enumerate(candidate.letters)}
    total, count = 0.0, 0
    previous = " "
    for char in text:
        if char > "\x7f":
            count += 1
            total += _score_letter(previous, char, ranks)
        previous = char
    return total / count if count else 0.0


def _score_letter(previous: str, char: str, ranks: dict[str, int]) -> float:
    if char in _MARKS:
        return 0.7
    rank = ranks.get(char.lower())
    if rank is None:
        return -1.0
    # A capital inside a word in small letters is the commonest sign of a wrong guess.
    if char.isupper() and previous.islower():
        return -1.0
    value = 1.0 - 0.6 * rank / len(ranks)
    return value * 0.9 if char.isupper() else value


def _is_ebcdic(data: bytes) -> bool:
    """Return whether `data` is EBCDIC: its space is 0x40 and its letters lie above 0x80.

    ASCII bytes are therefore nearly absent.
    """
    sample = data[:_GUESSED_FROM]
    if sample.count(0x40) < len(sample) // 20:
        return False
    text = sample.decode("cp500")
    letters = sum(1 for c in text if c.isascii() and (c.isalnum() or c in " .,;:'\"-()\n\r\x85"))
    return letters > 0.9 * len(text)
