"""The splitting of English and Indonesian text into sentences, in linear time."""

import re

from fathom.types import Span

# Words whose full stop does not end a sentence.
_ABBREVIATIONS = frozenset({
    "a.n", "adm", "al", "approx", "art", "bdk", "bpk", "ca", "cf", "ch", "cq", "d.a", "dept", "dr",
    "dra", "drs", "e.g", "eq", "fig", "figs", "gen", "gov", "h", "hal", "hj", "hlm", "i.e", "ir",
    "jl", "jln", "jr", "kab", "kec", "kel", "kep", "lt", "maj", "mr", "mrs", "ms", "mt", "nn", "no",
    "nos", "np", "nr", "p", "pp", "prof", "prov", "psl", "rev", "rp", "rt", "rw", "sdr", "sec",
    "sen", "sgt", "sr", "st", "tbk", "tel", "telp", "tgl", "tn", "u.p", "v", "viz", "vol", "vs",
    "yth",
})  # fmt: skip
# The time is linear because each place is tried only once: a run of marks is tried from its first
# mark only, and no alternative must match anything after a part that may be long.
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
"""The number of characters before a full stop in which its word is looked for."""


def split(text: str, *, notes: bool = True) -> tuple[Span, ...]:
    """Return the spans of the sentences of a text in order, without the white space around them.

    A sentence ends at a full stop, question or exclamation mark with white space and no lower-case
    letter after it, at a blank line, before a list label at the start of a line, and at the end of
    a table row. A full stop of an abbreviation, initial, decimal or list label ends no sentence.

    Args:
        text: The text.
        notes: Whether marks of footnotes, as in `.[1]`, may be between a full stop and the white
            space; they belong to the sentence before them.
    """
    spans: list[Span] = []
    chains: dict[int, int] = {}
    start = at = 0
    while match := _ENDS.search(text, at):
        gap = _locate_gap(text, match, chains if notes else None)
        at = gap.end if gap.start < gap.end else match.end()
        if _ends_sentence(text, start, match, gap):
            _add_span(spans, text, start, gap.start)
            start = at
    _add_span(spans, text, start, len(text))
    return tuple(spans)


def _locate_gap(text: str, match: re.Match[str], chains: dict[int, int] | None) -> Span:
    """Return the span between two sentences on the assumption that one ends at a match.

    Args:
        text: The text.
        match: A match of `_ENDS`.
        chains: The ends of marks of footnotes, as for `_skip_notes`; `None` if they do not count.
    """
    if match["wide"]:
        return Span(match.end(), match.end())
    if not match["stop"]:
        return Span(match.start(), match.end())
    mark = match.end() if chains is None else _skip_notes(text, match.end(), chains)
    space = _SPACE.match(text, mark)
    return Span(mark, space.end() if space else mark)


def _skip_notes(text: str, at: int, chains: dict[int, int]) -> int:
    """Return the end of the marks of footnotes that begin at a place.

    Args:
        text: The text.
        at: The place.
        chains: The ends of the chains of marks so far, by the start of each mark; it is updated.
            Without it, all marks after a full stop inside a mark would be read again.
    """
    passed: list[int] = []
    while at not in chains and (note := _NOTE.match(text, at)):
        passed.append(at)
        at = note.end()
    end = chains.get(at, at)
    chains.update(dict.fromkeys(passed, end))
    return end


def _ends_sentence(text: str, start: int, match: re.Match[str], gap: Span) -> bool:
    """Return whether a sentence ends at a match.

    Args:
        text: The text.
        start: The start of the sentence.
        match: A match of `_ENDS`.
        gap: The span between the sentences (`_locate_gap`).
    """
    if match["stop"]:
        return gap.start < gap.end and _ends_at_stop(text, start, match, gap)
    if match["row"]:
        # Limited, because a sentence of many lines would be read again at each line break.
        before = text[max(start, match.start() - 300) : match.start()]
        return " | " in before.rpartition("\n")[2] or " | " in _read_line(text, match.end())
    return True


def _ends_at_stop(text: str, start: int, match: re.Match[str], gap: Span) -> bool:
    """Return whether a sentence ends at a full stop, question or exclamation mark."""
    if text.count("\n", gap.start, gap.end) > 1:
        return True
    if text[gap.end : gap.end + 1].islower():
        return False
    if match["stop"] != ".":
        return True
    word = _LAST_WORD.search(text, max(start, match.start() - _LOOK_BACK), match.start())
    return word is None or not _is_abbreviation(text, start, word)


def _is_abbreviation(text: str, start: int, word: re.Match[str]) -> bool:
    """Return whether the full stop after `word` belongs to the word."""
    written = word[0]
    if written.lower() in _ABBREVIATIONS:
        return True
    if len(written) == 1 and written.isupper():
        return True
    at_start = not text[start : word.start()].strip("([\"'\u201c\u2018 \t\n")
    return at_start and _LABEL.fullmatch(written) is not None


def _read_line(text: str, at: int) -> str:
    """Return at most 300 characters of the line from a place on."""
    return text[at : at + 300].partition("\n")[0]


def _add_span(spans: list[Span], text: str, start: int, end: int) -> None:
    """Add a span without the white space around it, if it has anything else."""
    piece = text[start:end]
    sentence = piece.strip()
    if sentence:
        first = start + len(piece) - len(piece.lstrip())
        spans.append(Span(first, first + len(sentence)))
