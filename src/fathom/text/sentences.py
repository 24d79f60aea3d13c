"""Sentences of English and Indonesian text, in time linear in its length."""

import re

from fathom.types import Span

# Words before a full stop that does not end a sentence.
_ABBREVIATIONS = frozenset({
    "a.n", "adm", "al", "approx", "art", "bdk", "bpk", "ca", "cf", "ch", "cq", "d.a", "dept", "dr",
    "dra", "drs", "e.g", "eq", "fig", "figs", "gen", "gov", "h", "hal", "hj", "hlm", "i.e", "ir",
    "jl", "jln", "jr", "kab", "kec", "kel", "kep", "lt", "maj", "mr", "mrs", "ms", "mt", "nn", "no",
    "nos", "np", "nr", "p", "pp", "prof", "prov", "psl", "rev", "rp", "rt", "rw", "sdr", "sec",
    "sen", "sgt", "sr", "st", "tbk", "tel", "telp", "tgl", "tn", "u.p", "v", "viz", "vol", "vs",
    "yth",
})  # fmt: skip
_ENDS = (
    r"(?P<blank>\n[ \t]*\n\s*)"
    r"|(?P<line>\n[ \t]*)(?=(?:[-*\u2022]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t])"
    r"|(?P<row>\n)"
    r"|(?P<mark>(?P<stop>[.!?\u2026]+[\"'\u201d\u2019)\]]*)%s)(?P<space>\s+)"
    r"|(?P<wide>[\u3002\uff01\uff1f]+[\u300d\u300f\u201d]*)"
)
_WITH_NOTES = re.compile(_ENDS % r"(?:\[[^\[\]\n]{1,20}\])*")
_WITHOUT_NOTES = re.compile(_ENDS % "")
_LAST_WORD = re.compile(r"[^\s(\[\"'\u201c\u2018]+\Z")
_LABEL = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})\Z")
_LOOK_BACK = 40


def split(text: str, *, notes: bool = True) -> tuple[Span, ...]:
    """The sentences of `text` in order, without the white space around them.

    A sentence ends at a full stop, question or exclamation mark that is followed by white space
    and no small letter, at a blank line, before a list label at the start of a line, and at the
    ends of table rows. Full stops of abbreviations, initials, decimals and list labels end none.

    Args:
        text: Any.
        notes: Whether marks of footnotes, as in `.[1]`, may stand between a full stop and the
            white space; they belong to the sentence before them.
    """
    spans: list[Span] = []
    start = 0
    for found in (_WITH_NOTES if notes else _WITHOUT_NOTES).finditer(text):
        if not _ends(text, start, found):
            continue
        mark = found.end("mark") if found["mark"] else found.start()
        if found["wide"]:
            mark = found.end()
        _add(spans, text, start, mark)
        start = found.end()
    _add(spans, text, start, len(text))
    return tuple(spans)


def _ends(text: str, start: int, found: re.Match[str]) -> bool:
    if found["mark"]:
        return _mark_ends(text, start, found)
    if found["row"]:
        before = text[max(start, found.start() - 300) : found.start()]
        return " | " in before.rpartition("\n")[2] or " | " in _line_at(text, found.end())
    return True


def _mark_ends(text: str, start: int, found: re.Match[str]) -> bool:
    following = text[found.end() : found.end() + 1]
    if "\n" in found["space"] and "\n" in found["space"].replace("\n", "", 1):
        return True
    if following.islower():
        return False
    if found["stop"] != ".":
        return True
    word = _LAST_WORD.search(text, max(start, found.start() - _LOOK_BACK), found.start())
    return word is None or not _abbreviates(text, start, word)


def _abbreviates(text: str, start: int, word: re.Match[str]) -> bool:
    """Whether the full stop after `word` belongs to it."""
    shown = word[0]
    if shown.lower() in _ABBREVIATIONS:
        return True
    if len(shown) == 1 and shown.isupper():
        return True
    at_start = not text[start : word.start()].strip("([\"'\u201c\u2018 \t\n")
    return at_start and _LABEL.fullmatch(shown) is not None


def _line_at(text: str, at: int) -> str:
    return text[at : at + 300].partition("\n")[0]


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    inner = piece.strip()
    if inner:
        first = start + len(piece) - len(piece.lstrip())
        spans.append(Span(first, first + len(inner)))
