"""Manual pages, as `man` prints them and as their authors write them (roff)."""

import re

from fathom.documents.base import Builder, Parsed
from fathom.documents.decode import decode
from fathom.documents.formats import running_heads
from fathom.documents.formats.text import add_text

_PRINTED = re.compile(r"(?m)^(?:NAME|NAMA)[ \t]*\n(?:[ \t]*\n)?[ \t]+\S")
_SOURCE = re.compile(r"(?m)^\.(?:TH|Dd)\b")
_SOURCE_SECTION = re.compile(r"(?m)^\.S[Hh]\b")
_OVERSTRUCK = re.compile(".\x08")
_SECTION = re.compile(r"(?P<indent> {0,4})(?P<title>\S.{0,70})")
_NAMED = re.compile(r"\s*(?P<title>\S.*?\s(?:-+|\u2013|\u2014)\s.*)")
_TITLE_CHARS = 120
_HEADINGS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_BREAKS = frozenset({"PP", "P", "LP", "Pp", "sp", "TP", "IP", "It", "RS", "RE", "HP", "Bl", "El"})
_SILENT = frozenset({
    "TH", "Dd", "Dt", "Os", "ad", "na", "nh", "hy", "nf", "fi", "ft", "ie", "el", "if", "ds", "de",
    "so", "ne", "in", "ta", "nr", "tr", "am", "rm", "rn", "ll", "ti", "UE", "br",
})  # fmt: skip
_LEADS = {"Nd": "- "}
_MUTE = frozenset({"RS", "RE", "sp", "Bl", "El", "TP", "HP"})  # what they are given is a width
_WIDTH = re.compile(r"(?:^|\s+)\d+n?$")
_ESCAPES = (
    (re.compile(r"\\\".*"), ""),
    (re.compile(r"^\\&(?=[.'])", re.MULTILINE), " "),  # what stands behind it is no macro
    (re.compile(r"\\\*\(Aq|\\\*\[Aq\]"), "'"),
    (re.compile(r"\\[fF](?:\[[^]]*\]|\(..|.)|\\s[-+]?\d{1,2}|\\[&|^%/,)]|\\[mM]\[[^]]*\]"), ""),
    (re.compile(r"\\\(aq|\\\(cq|\\\(oq|\\\[aq\]"), "'"),
    (re.compile(r"\\\([lr]q|\\\(dq|\\\[[lr]q\]"), '"'),
    (re.compile(r"\\\(em|\\\(en|\\\[em\]|\\-|\\\(mi|\\\(hy"), "-"),
    (re.compile(r"\\\(bu|\\\[bu\]"), "-"),
    (re.compile(r"\\~|\\ |\\0|\\t"), " "),
    (re.compile(r"\\\*?\(..|\\\*?\[[^]]*\]|\\\*."), ""),
    (re.compile(r"\\e|\\\\"), r"\\"),
)


def parse(data: bytes) -> Parsed:
    """A manual page; it is called what it says of itself under NAME.

    Raises:
        Refused: For binary data, unknown encodings and mere white space.
    """
    text = without_overstrikes(decode(data)).replace("\r\n", "\n").replace("\r", "\n")
    builder = Builder()
    add = add_source if is_source(text) else add_printed
    return builder.build(add(builder, text), opening=False)


def recognise(text: str) -> bool:
    """Whether a text is a manual page."""
    return is_source(text) or is_printed(without_overstrikes(text[:10_000]))


def is_printed(text: str) -> bool:
    """Whether a text is a manual page as `man` prints it."""
    return _PRINTED.search(text, 0, 10_000) is not None


def is_source(text: str) -> bool:
    """Whether a text is the source of a manual page."""
    begins = text.startswith((".", "'")) and _SOURCE.search(text, 0, 20_000) is not None
    return begins and _SOURCE_SECTION.search(text) is not None


def bare(text: str) -> str:
    """The words of a text, line by line: without what a manual page has for its printer."""
    text = without_overstrikes(text)
    return plain_source(text) if is_source(text) else text


def without_overstrikes(text: str) -> str:
    """The text without the letters that a printer would have struck twice or underlined."""
    return _OVERSTRUCK.sub("", text) if "\x08" in text else text


def add_printed(builder: Builder, text: str) -> str:
    """Add a printed manual page; its sections are headings.

    Returns:
        What it says of itself under NAME; empty if that cannot be told.
    """
    lines = running_heads.bare(text).split("\n")
    title, body = "", list[str]()
    at_name = False
    for at, line in enumerate(lines):
        level = _level(lines, at)
        if not level:
            body.append(line)
            named = _NAMED.match(line) if at_name and not title else None
            title = named["title"].strip()[:_TITLE_CHARS] if named else title
            continue
        add_text(builder, "\n".join(body))
        body.clear()
        builder.heading(line, level)
        at_name = line.strip() in {"NAME", "NAMA"}
    add_text(builder, "\n".join(body))
    return title


def _level(lines: list[str], at: int) -> int | None:
    """The level of a line that is a section's title: less indented than what stands below it."""
    found = _SECTION.fullmatch(lines[at].rstrip())
    before = lines[at - 1] if at else ""
    # Right below a section's title a subsection may begin.
    if found is None or (before.strip() and (before[0] == " " or not found["indent"])):
        return None
    below = next((line for line in lines[at + 1 : at + 3] if line.strip()), "")
    indent = len(found["indent"])
    inner = below[: len(below) - len(below.lstrip(" \t"))]
    if len(inner.expandtabs()) < indent + 3:
        return None
    if indent == 0:
        return 1 if found["title"].isupper() or found["title"].istitle() else None
    return 2 if indent >= 2 else None


def add_source(builder: Builder, text: str) -> str:
    """Add the source of a manual page; see `add_printed`."""
    title, body = "", list[str]()
    at_name = False
    for line in plain_source(text).split("\n"):
        macro = _macro(line)
        if macro in _HEADINGS:
            add_text(builder, "\n".join(body))
            body.clear()
            heading = _said(line)
            at_name = heading.upper() in {"NAME", "NAMA"}
            builder.heading(heading, _HEADINGS[macro])
        elif macro in _BREAKS:
            body += ["", "" if macro in _MUTE else _WIDTH.sub("", _said(line))]
        elif macro not in _SILENT:
            body.append(_said(line) if macro else line)
            if at_name and not title:
                named = _NAMED.match(" ".join(body))
                title = named["title"].strip()[:_TITLE_CHARS] if named else ""
    add_text(builder, "\n".join(body))
    return title


def plain_source(text: str) -> str:
    """Roff without its escapes; each line stays itself."""
    for escape, letters in _ESCAPES:
        text = escape.sub(letters, text)
    return text


def _macro(line: str) -> str:
    found = re.match(r"[.'][ \t]*([A-Za-z]*)", line)
    return (found[1] or "ad") if found else ""


def _said(line: str) -> str:
    """What a macro prints, without quotes."""
    name, _, rest = line[1:].strip().partition(" ")
    return _LEADS.get(name, "") + rest.replace('"', "").strip()
