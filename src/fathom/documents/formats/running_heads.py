"""Removal of running heads and feet, which are printed on every page but belong to no text."""

import re
from collections import Counter
from collections.abc import Sequence, Set

_EDGE_LINES = 2
_EDGE_SHARE = 0.6
_FEWEST_PAGES = 3
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?i)(?=.*#)[^\w#]*(?:#[^\w#]*)*(?:(?:page|halaman|hal\.?|seite|p\.)(?=\W*#)\W*)?"
    r"(?:(?<=\W)(?:of|dari|von)(?=\W*#)\W*)?"
)
_NUMBER = "#"
_CATCHWORD = re.compile(r"(?P<words>\S.{0,60}?)\s*(?:…|(?:\.\s*){3,})")
# The head of a printed manual page is such as `LS(1)    User Commands    LS(1)`.
_MANUAL_HEAD = re.compile(
    r"(?m)^[ \t]*(?P<name>[\w.:+@-]+\(\d\w*\))(?:[ \t].*[ \t]|[ \t]+)(?P=name)[ \t]*$"
)
_MANUAL_FOOT = re.compile(r"\s*\S.*(?:\t| {2})[ \t]*(?P<name>[\w.:+@-]+\(\d\w*\))\s*")
_ENDED = (".", "!", "?", ":", ";", '"')


LinePlaces = list[list[int]]
"""For each page, the indices of some of its lines."""


def select_body_lines(pages: Sequence[Sequence[str]]) -> LinePlaces:
    """Return the indices of the lines of each page that are not running heads or feet.

    A running head or foot is a line that most pages have at an edge. Numbers in it may differ, and
    page numbers count as equal however they are written, also below a letterhead. With fewer than
    three pages no line counts as one. A catchword is dropped too: the first words of the next page
    at the foot of a page, followed by three dots.

    Args:
        pages: The lines of each page.
    """
    places = [list(range(len(page))) for page in pages]
    places = _drop_edges(pages, places, _find_repeated(_select_lines(pages, places)))
    # After the heads are removed, page numbers below them are at the edge.
    places = _drop_edges(pages, places, _find_repeated(_select_lines(pages, places)) & {_NUMBER})
    return _drop_catchwords(pages, places)


def remove_running_heads(text: str) -> str:
    """Return a plain text without running heads and feet.

    Form feeds end the pages of the text; a sentence that runs over the end of a page is joined. The
    head and foot lines of printed manual pages are removed, with or without form feeds.
    """
    return _drop_margins(_join_pages(text) if "\f" in text else text)


def _find_repeated(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the normalized lines that most pages have at an edge; none for few pages."""
    pages = [page for page in pages if page]
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(
            {_normalize_line(line) for at, line in enumerate(page) if _is_at_edge(page, at)}
        )
    if len(pages) < _FEWEST_PAGES:
        return frozenset()
    return frozenset(shape for shape, n in counts.items() if n >= _EDGE_SHARE * len(pages))


def _select_lines(pages: Sequence[Sequence[str]], places: LinePlaces) -> list[list[str]]:
    """Return the lines of each page at the given indices."""
    return [
        [page[at] for at in page_places] for page, page_places in zip(pages, places, strict=True)
    ]


def _drop_edges(
    pages: Sequence[Sequence[str]], places: LinePlaces, unwanted: Set[str]
) -> LinePlaces:
    """Return the indices without those of unwanted (normalized) lines at an edge."""
    return [
        [
            at
            for index, at in enumerate(page_places)
            if not (_is_at_edge(lines, index) and _normalize_line(lines[index]) in unwanted)
        ]
        for page_places, lines in zip(places, _select_lines(pages, places), strict=True)
    ]


def _drop_catchwords(pages: Sequence[Sequence[str]], places: LinePlaces) -> LinePlaces:
    """Return the indices without those of catchwords at the foot of pages."""
    remaining = _select_lines(pages, places)
    following = [*remaining[1:], []]
    return [
        page_places[:-1]
        if len(lines) > 1 and after and _is_catchword(lines[-1], after[0])
        else page_places
        for page_places, lines, after in zip(places, remaining, following, strict=True)
    ]


def _is_catchword(foot: str, head: str) -> bool:
    """Return whether the last line of a page announces the first line of the next."""
    match = _CATCHWORD.fullmatch(foot)
    return match is not None and head.casefold().startswith(match["words"].casefold())


def _is_at_edge(page: Sequence[str], at: int) -> bool:
    """Return whether a line is among the first or last of a page, at most a third each."""
    depth = min(_EDGE_LINES, len(page) // 3)
    return not depth <= at < len(page) - depth


def _normalize_line(line: str) -> str:
    """Return a line without its numbers; a page number in any form becomes `_NUMBER`."""
    shape = " ".join(_DIGITS.sub("#", line).split())
    return _NUMBER if _PAGE_NUMBER.fullmatch(shape) else shape


def _join_pages(text: str) -> str:
    """Return a text with form feeds as one page, without running heads and feet."""
    pages = [page.split("\n") for page in text.split("\f")]
    filled = [[at for at, line in enumerate(page) if line.strip()] for page in pages]
    filled_lines = [[page[at] for at in places] for page, places in zip(pages, filled, strict=True)]
    whole = ""
    for page, places, body_places in zip(
        pages, filled, select_body_lines(filled_lines), strict=True
    ):
        dropped = set(places) - {places[at] for at in body_places}
        body = "\n".join(line for at, line in enumerate(page) if at not in dropped).strip("\n")
        runs_on = body.lstrip()[:1].islower() and not whole.endswith(_ENDED)
        whole = f"{whole}\n{body}" if runs_on else f"{whole}\n\n{body}"
        whole = whole.strip("\n ")
    return whole


def _drop_margins(text: str) -> str:
    """Return a text without the head and foot lines of printed manual pages."""
    names = {match["name"] for match in _MANUAL_HEAD.finditer(text)}
    if not names:
        return text
    lines = text.split("\n")
    return "\n".join(line for line in lines if not _is_margin(line, names))


def _is_margin(line: str, names: set[str]) -> bool:
    """Return whether a line is the head, or a foot with one of the names, of a manual page."""
    foot = _MANUAL_FOOT.fullmatch(line)
    return (foot is not None and foot["name"] in names) or _MANUAL_HEAD.match(line) is not None
