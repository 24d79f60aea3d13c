"""Running heads and feet: what is printed on every page and belongs to none."""

import re
from collections import Counter
from collections.abc import Sequence, Set

_EDGE_LINES = 2
_EDGE_SHARE = 0.6
_FEWEST_PAGES = 3
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?i)\W*(?:page|halaman|hal\.?|seite|p\.)?\W*#(?:\W*(?:/|of|dari|von)\W*#)?\W*"
)
_NUMBER = "#"
_CATCHWORD = re.compile(r"(?P<words>\S.{0,60}?)\s*(?:…|(?:\.\s*){3,})")
# The head of a printed manual page, `LS(1)    User Commands    LS(1)`, and its foot.
_MANUAL_HEAD = re.compile(
    r"(?m)^[ \t]*(?P<name>[\w.:+@-]+\(\d\w*\))(?:[ \t].*[ \t]|[ \t]+)(?P=name)[ \t]*$"
)
_MANUAL_FOOT = re.compile(r"\s*\S.*(?:\t| {2})[ \t]*(?P<name>[\w.:+@-]+\(\d\w*\))\s*")
_ENDED = (".", "!", "?", ":", ";", '"')


Places = list[list[int]]
"""Of each page, the places of its lines."""


def kept(pages: Sequence[Sequence[str]]) -> Places:
    """The places of the lines of each page that are not running heads or feet.

    Those stand at the edges of most pages; numbers in them may differ, and page numbers are alike
    however they are written, also where they stand below a letterhead. Of fewer than three pages
    nothing can be told. Nor is a catchword kept: the first words of the next page at the foot of
    the one before, followed by three dots.
    """
    left = [list(range(len(page))) for page in pages]
    left = _peeled(pages, left, _repeated(_shown(pages, left)))
    left = _peeled(pages, left, _repeated(_shown(pages, left)) & {_NUMBER})
    return _without_catchwords(pages, left)


def bare(text: str) -> str:
    """A plain text without running heads and feet.

    Its pages are told by form feeds; a sentence that runs over one is joined. Of a printed manual
    page the lines with its name at the margin are left out.
    """
    return _without_margins(_unpaged(text) if "\f" in text else text)


def _repeated(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    pages = [page for page in pages if page]
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_shape(line) for at, line in enumerate(page) if _at_edge(page, at)})
    if len(pages) < _FEWEST_PAGES:
        return frozenset()
    return frozenset(shape for shape, n in seen.items() if n >= _EDGE_SHARE * len(pages))


def _shown(pages: Sequence[Sequence[str]], left: Places) -> list[list[str]]:
    return [[page[at] for at in own] for page, own in zip(pages, left, strict=True)]


def _peeled(pages: Sequence[Sequence[str]], left: Places, unwanted: Set[str]) -> Places:
    """The places without those at an edge whose lines are unwanted."""
    return [
        [
            at
            for place, at in enumerate(own)
            if not (_at_edge(lines, place) and _shape(lines[place]) in unwanted)
        ]
        for own, lines in zip(left, _shown(pages, left), strict=True)
    ]


def _without_catchwords(pages: Sequence[Sequence[str]], left: Places) -> Places:
    shown = _shown(pages, left)
    follows = [*shown[1:], []]
    return [
        own[:-1] if len(lines) > 1 and after and _announces(lines[-1], after[0]) else own
        for own, lines, after in zip(left, shown, follows, strict=True)
    ]


def _announces(foot: str, head: str) -> bool:
    found = _CATCHWORD.fullmatch(foot)
    return found is not None and head.casefold().startswith(found["words"].casefold())


def _at_edge(page: Sequence[str], at: int) -> bool:
    """Whether a line may be head or foot: never all that a page holds."""
    depth = min(_EDGE_LINES, len(page) // 3)
    return not depth <= at < len(page) - depth


def _shape(line: str) -> str:
    shape = " ".join(_DIGITS.sub("#", line).split())
    return _NUMBER if _PAGE_NUMBER.fullmatch(shape) else shape


def _unpaged(text: str) -> str:
    pages = [page.split("\n") for page in text.split("\f")]
    filled = [[at for at, line in enumerate(page) if line.strip()] for page in pages]
    shown = [[page[at] for at in places] for page, places in zip(pages, filled, strict=True)]
    whole = ""
    for page, places, left in zip(pages, filled, kept(shown), strict=True):
        dropped = set(places) - {places[at] for at in left}
        body = "\n".join(line for at, line in enumerate(page) if at not in dropped).strip("\n")
        runs_on = body.lstrip()[:1].islower() and not whole.endswith(_ENDED)
        whole = f"{whole}\n{body}" if runs_on else f"{whole}\n\n{body}"
        whole = whole.strip("\n ")
    return whole


def _without_margins(text: str) -> str:
    names = {found["name"] for found in _MANUAL_HEAD.finditer(text)}
    if not names:
        return text
    lines = text.split("\n")
    return "\n".join(line for line in lines if not _is_margin(line, names))


def _is_margin(line: str, names: set[str]) -> bool:
    foot = _MANUAL_FOOT.fullmatch(line)
    return (foot is not None and foot["name"] in names) or _MANUAL_HEAD.match(line) is not None
