"""Bytes become text, or a refusal: never silently the wrong letters."""

import codecs
import re

from fathom.documents.base import Refused
from fathom.documents.legacy import guess

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


def decode(data: bytes, declared: str | None = None) -> str:
    """The text in `data`, without byte order mark and NULs.

    Tried in this order: byte order mark, UTF-16 by its NULs, UTF-8, the declared encoding, a
    legacy encoding whose letters make likely words.

    Args:
        data: A whole text file.
        declared: The encoding a file claims for itself; believed only if nothing speaks against.

    Raises:
        Refused: `no_document` for binary data, `unsupported` for text in an encoding that cannot
            be told.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _plain(data[len(mark) :].decode(encoding, "replace"))
    wide = _wide(data)
    if wide:
        return _plain(data.decode(wide, "replace"))
    if looks_binary(data):
        raise Refused("no_document", "binary data, not a text or a known document format")
    text = _utf8(data)
    if text is None:
        text = _declared(data, declared)
    return _plain(guess(data) if text is None else text)


def decode_markup(data: bytes) -> str:
    """Like `decode`, with the encoding an HTML or XML head declares."""
    found = _CHARSET.search(data[:4096])
    declared = (found[1] or found[2]).decode("ascii") if found else None
    return decode(data, declared)


def looks_binary(data: bytes) -> bool:
    """Whether the first 64 KiB hold more control characters than text has."""
    sample = data[:_SAMPLE]
    if not sample:
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    nuls = sample.count(0)
    return controls > _CONTROL_SHARE * len(sample) or nuls > _NUL_SHARE * len(sample)


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: Latin letters leave a NUL in every other byte."""
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


def _utf8(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    # A few broken bytes in what is else UTF-8 stay visible as replacement characters.
    broken = text.count("\ufffd")
    beyond = sum(1 for c in text if c > "\x7f") - broken
    return text if broken <= _MENDABLE_SHARE * beyond else None


def _declared(data: bytes, declared: str | None) -> str | None:
    if not declared:
        return None
    try:
        name = codecs.lookup(declared).name
        text = data.decode("cp1252" if name == "iso8859-1" else name)
    except (LookupError, ValueError):
        return None
    return None if any("\x80" <= c < "\xa0" for c in text) else text


def _plain(text: str) -> str:
    return text.replace("\x00", "")
