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
# What stands for an end is looked for once at each place: a run of marks is tried from its first
# one alone, and nothing has to match after a part that may be long.
_ENDS = re.compile(
    r"(?P<blank>\n[ \t]*+\n\s*)"
    r"|(?P<line>\n[ \t]*+)(?=(?:[-*\u2022]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t])"
    r"|(?P<row>\n)"
    r"|(?P<stop>(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019)\]]*)"
    r"|(?P<wide>[\u3002\uff01\uff1f]+[\u300d\u300f\u201d]*)"
)
_NOTE = re.compile(r"\[[^\[\]\n]{1,20}\]")
_SPACE = re.compile(r"\s+")
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
    chains: dict[int, int] = {}
    start = at = 0
    while found := _ENDS.search(text, at):
        gap = _gap(text, found, chains if notes else None)
        at = gap.end if gap.start < gap.end else found.end()
        if _ends(text, start, found, gap):
            _add(spans, text, start, gap.start)
            start = at
    _add(spans, text, start, len(text))
    return tuple(spans)


def _gap(text: str, found: re.Match[str], chains: dict[int, int] | None) -> Span:
    """What lies between two sentences, if one ends there."""
    if found["wide"]:
        return Span(found.end(), found.end())
    if not found["stop"]:
        return Span(found.start(), found.end())
    mark = found.end() if chains is None else _after_notes(text, found.end(), chains)
    space = _SPACE.match(text, mark)
    return Span(mark, space.end() if space else mark)


def _after_notes(text: str, at: int, chains: dict[int, int]) -> int:
    """Where the marks of footnotes end that begin at a place.

    Args:
        text: Any.
        at: The place.
        chains: Where those end that were seen, by the start of each mark; a full stop inside one
            would have all that follow read again.
    """
    passed: list[int] = []
    while at not in chains and (note := _NOTE.match(text, at)):
        passed.append(at)
        at = note.end()
    end = chains.get(at, at)
    chains.update(dict.fromkeys(passed, end))
    return end


def _ends(text: str, start: int, found: re.Match[str], gap: Span) -> bool:
    if found["stop"]:
        return gap.start < gap.end and _stop_ends(text, start, found, gap)
    if found["row"]:
        before = text[max(start, found.start() - 300) : found.start()]
        return " | " in before.rpartition("\n")[2] or " | " in _line_at(text, found.end())
    return True


def _stop_ends(text: str, start: int, found: re.Match[str], gap: Span) -> bool:
    if text.count("\n", gap.start, gap.end) > 1:
        return True
    if text[gap.end : gap.end + 1].islower():
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
