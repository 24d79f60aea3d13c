"""Manual pages, as `man` prints them and as their authors write them (roff)."""

import re
from unicodedata import normalize

from fathom.documents.base import Builder, ParsedDocument
from fathom.documents.decode import decode_text
from fathom.documents.formats import running_heads
from fathom.documents.formats.roff_conditions import list_printed_lines
from fathom.documents.formats.roff_tables import add_table, group_tables
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
    "TH", "Dd", "Dt", "Os", "ad", "na", "nh", "hy", "nf", "fi", "ft", "ds", "so", "ne", "in", "ta",
    "nr", "tr", "rm", "rn", "ll", "ti", "UE", "br", "IX", "an", "PD", "ftr", "fam", "ps", "vs",
    "ss", "lt", "bp", "mso", "hla", "kern", "lg", "warn", "color",
})  # fmt: skip
_LEADS = {"Nd": "- "}
_MUTE = frozenset({"RS", "RE", "sp", "Bl", "El", "TP", "HP"})  # their argument is a width
_WIDTH = re.compile(r"(?:^|(?<!\s)\s+)\d+n?$")
_GLYPHS = {
    "en": "-", "em": "-", "mi": "-", "hy": "-", "aq": "'", "cq": "'", "oq": "'", "lq": '"',
    "rq": '"', "dq": '"', "bu": "-", "ha": "^", "ti": "~", "rs": "\\", "at": "@", "sh": "#",
    "Do": "$", "ga": "`", "ba": "|", "or": "|", "sl": "/", "co": "\u00a9", "rg": "\u00ae",
    "tm": "\u2122", "mu": "\u00d7", "di": "\u00f7", "+-": "\u00b1", "de": "\u00b0",
    "mc": "\u00b5", "Eu": "\u20ac", "eu": "\u20ac", "Po": "\u00a3", "Ye": "\u00a5",
    "ct": "\u00a2", "sc": "\u00a7", "ps": "\u00b6", "<=": "\u2264", ">=": "\u2265",
    "!=": "\u2260", "->": "\u2192", "<-": "\u2190", "12": "\u00bd", "14": "\u00bc",
    "34": "\u00be", "ss": "\u00df", "ae": "\u00e6", "AE": "\u00c6", "/o": "\u00f8",
    "/O": "\u00d8", "oa": "\u00e5", "oA": "\u00c5", "lB": "[", "rB": "]", "lC": "{", "rC": "}",
}  # fmt: skip
"""The signs that special characters print; other ones print nothing."""
_ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    ":": "\u0308",
    "~": "\u0303",
    ",": "\u0327",
}
_CODE_POINT = re.compile(r"u([0-9A-F]{4})")
_SURROGATES = range(0xD800, 0xE000)


def _print_glyph(escape: re.Match[str]) -> str:
    r"""Return the sign that a special character such as `\[en]` or `\(ha` prints."""
    name = escape["short"] or escape["long"] or ""
    code = _CODE_POINT.fullmatch(name)
    if code is not None and int(code[1], 16) not in _SURROGATES:
        return chr(int(code[1], 16))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return normalize("NFC", name[1] + _ACCENTS[name[0]])
    return _GLYPHS.get(name, "")


_ESCAPES = (
    (re.compile(r"\\\".*"), ""),
    (re.compile(r"^\\(?:&(?=\\?[.'])|(?=\.))", re.MULTILINE), " "),  # the text after it is no macro
    (re.compile(r"\\\*\(Aq|\\\*\[Aq\]"), "'"),
    (re.compile(r"\\[fF](?:\[[^]]*\]|\(..|.)|\\s[-+]?\d{1,2}|\\[&|^%/,)]|\\[mM]\[[^]]*\]"), ""),
    (re.compile(r"\\[hv]'[^'\n]*'|\\c$", re.MULTILINE), ""),
    (re.compile(r"\\-"), "-"),
    (re.compile(r"\\~|\\ |\\0|\\t"), " "),
    (re.compile(r"\\(?:\((?P<short>..)|\[(?P<long>[^]\n]*)\])"), _print_glyph),
    (re.compile(r"\\\*(?:\(..|\[[^]]*\]|.)"), ""),
    (re.compile(r"(?<!\\)\\\."), "."),
    (re.compile(r"\\e|\\\\"), r"\\"),
)


def parse(data: bytes) -> ParsedDocument:
    """Parse a manual page; its title is its description under NAME.

    Raises:
        ParseRefusal: `no_document` for binary data, `unsupported` for an unknown encoding, `empty`
            for mere white space.
    """
    text = remove_overstrikes(decode_text(data)).replace("\r\n", "\n").replace("\r", "\n")
    builder = Builder()
    add = add_source if is_source(text) else add_printed
    return builder.build(add(builder, text), opening=False)


def is_manual(text: str) -> bool:
    """Return whether a text is a manual page."""
    return is_source(text) or is_printed(remove_overstrikes(text[:10_000]))


def is_printed(text: str) -> bool:
    """Return whether a text is a manual page as `man` prints it."""
    return _PRINTED.search(text, 0, 10_000) is not None


def is_source(text: str) -> bool:
    """Return whether a text is the source of a manual page."""
    begins = text.startswith((".", "'")) and _SOURCE.search(text, 0, 20_000) is not None
    return begins and _SOURCE_SECTION.search(text) is not None


def remove_printer_marks(text: str) -> str:
    """Return a text without overstrikes and, for the source of a manual page, without escapes.

    Each line stays a line.
    """
    text = remove_overstrikes(text)
    return remove_escapes(text) if is_source(text) else text


def remove_overstrikes(text: str) -> str:
    """Remove each letter over which another one is printed, for bold type or underlining."""
    return _OVERSTRUCK.sub("", text) if "\x08" in text else text


def add_printed(builder: Builder, text: str) -> str:
    """Add a printed manual page; its sections are headings.

    Returns:
        The page's description under NAME; empty without one.
    """
    lines = running_heads.remove_running_heads(text).split("\n")
    title, body = "", list[str]()
    at_name = False
    for at, line in enumerate(lines):
        level = _find_level(lines, at)
        if not level:
            body.append(line)
            match = _NAMED.match(line) if at_name and not title else None
            title = match["title"].strip()[:_TITLE_CHARS] if match else title
            continue
        add_text(builder, "\n".join(body))
        body.clear()
        builder.add_heading(line, level)
        at_name = line.strip() in {"NAME", "NAMA"}
    add_text(builder, "\n".join(body))
    return title


def _find_level(lines: list[str], at: int) -> int | None:
    """Return the level of a line if it is the title of a section, else `None`.

    Such a line is less indented than the text below it.
    """
    match = _SECTION.fullmatch(lines[at].rstrip())
    previous = lines[at - 1] if at else ""
    # A subsection may begin right below a section's title, without a blank line.
    if match is None or (previous.strip() and (previous[0] == " " or not match["indent"])):
        return None
    below = next((line for line in lines[at + 1 : at + 3] if line.strip()), "")
    indent = len(match["indent"])
    inner = below[: len(below) - len(below.lstrip(" \t"))]
    if len(inner.expandtabs()) < indent + 3:
        return None
    if indent == 0:
        return 1 if match["title"].isupper() or match["title"].istitle() else None
    return 2 if indent >= 2 else None


def add_source(builder: Builder, text: str) -> str:
    """Add the source of a manual page.

    Returns:
        The page's description under NAME; empty without one.
    """
    title, body = "", list[str]()
    at_name = False
    lines = remove_escapes("\n".join(list_printed_lines(text))).split("\n")
    for line in group_tables(lines):
        if isinstance(line, list):
            add_text(builder, "\n".join(body))
            body.clear()
            add_table(builder, line)
            continue
        macro = _get_macro(line)
        if macro in _HEADINGS:
            add_text(builder, "\n".join(body))
            body.clear()
            heading = _get_argument(line)
            at_name = heading.upper() in {"NAME", "NAMA"}
            builder.add_heading(heading, _HEADINGS[macro])
        elif macro in _BREAKS:
            body += ["", "" if macro in _MUTE else _WIDTH.sub("", _get_argument(line))]
        elif macro not in _SILENT:
            body.append(_get_argument(line) if macro else line)
            if at_name and not title:
                match = _NAMED.match(" ".join(body))
                title = match["title"].strip()[:_TITLE_CHARS] if match else ""
    add_text(builder, "\n".join(body))
    return title


def remove_escapes(text: str) -> str:
    """Remove the escapes of roff; each line stays a line."""
    for escape, letters in _ESCAPES:
        text = escape.sub(letters, text)
    return text


def _get_macro(line: str) -> str:
    """Return the name of the macro that a line calls; empty for a line of text."""
    match = re.match(r"[.'][ \t]*([A-Za-z]*)", line)
    return (match[1] or "ad") if match else ""


def _get_argument(line: str) -> str:
    """Return the text that a macro prints, without quotes."""
    name, _, rest = line[1:].strip().partition(" ")
    return _LEADS.get(name, "") + rest.replace('"', "").strip()
