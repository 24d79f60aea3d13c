"""RTF: the text of the document, without its tables of fonts, pictures and hidden text."""

import codecs
import re
from dataclasses import dataclass, replace

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])"
    rb"|([^\\{}\r\n]+)|[\r\n]+|\\"
)
_UNSEEN = frozenset(
    b"fonttbl colortbl stylesheet info pict object fldinst themedata colorschememapping datastore "
    b"listtable listoverridetable rsidtbl generator xmlnstbl latentstyles filetbl revtbl "
    b"header footer headerl headerr headerf footerl footerr footerf deleted".split()
)
_CELL_END = "\x1f"  # not a bar, which the text of a cell may hold
_SIGNS = {
    b"par": "\n\n", b"sect": "\n\n", b"page": "\n\n", b"line": "\n", b"row": "\n\n",
    b"tab": "\t", b"cell": _CELL_END, b"nestcell": _CELL_END,
    b"emdash": "\u2014", b"endash": "\u2013",
    b"lquote": "\u2018", b"rquote": "\u2019", b"ldblquote": "\u201c", b"rdblquote": "\u201d",
    b"bullet": "\u2022",
}  # fmt: skip
_FONT_TABLE = re.compile(rb"\\fonttbl")
_FONT = re.compile(rb"\\f(\d{1,5}) ?(?:\\(?!f\d|fcharset)[a-z]+-?\d* ?)*\\fcharset(\d{1,3})")
_MOST_FONT_BYTES = 200_000
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 134: "cp936", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250",
}  # fmt: skip
"""The encodings of fonts; those of all other sets are that of the file."""
_ESCAPED = {b"~": "\u00a0", b"_": "-", b"-": ""}
_DEEPEST = 1_000
_TINIEST = 4
"""The size in half points that nobody can read."""


@dataclass(slots=True)
class _Group:
    """The state that a group inherits from the one around it and forgets at its end."""

    hidden: bool = False
    tiny: bool = False
    font: int = -1
    stand_ins: int = 1  # bytes that follow each \\u for readers without Unicode


def parse(data: bytes) -> ParsedDocument:
    """Parse an RTF file.

    Raises:
        ParseRefusal: `failed` when it nests too deeply, `empty` without text.
    """
    builder = Builder()
    reader = RtfReader(data)
    text = reader.read_text()
    builder.skip_hidden(reader.hidden_places)
    for paragraph in text.split("\n\n"):
        if _CELL_END in paragraph:
            builder.add_row(paragraph.removesuffix(_CELL_END).split(_CELL_END))
        else:
            builder.add_paragraph(paragraph)
    return builder.build()


class RtfReader:
    """A single pass over the tokens of a file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._encoding = _read_code_page(data)
        self._encodings = _read_font_encodings(data)
        self._decoder_name, self._decoder = self._encoding, _make_decoder(self._encoding)
        self._groups = [_Group()]
        self._pieces: list[str] = []
        self._to_skip = 0
        self._was_tiny = False
        self.hidden_places = 0

    def read_text(self) -> str:
        """Return the text of the file."""
        for token in _TOKEN.finditer(self._data):
            word, number, octet, sign, brace, plain = token.groups()
            if brace:
                self._handle_brace(brace)
            elif word:
                self._handle_word(word, int(number) if number else None)
            elif sign:
                self._handle_sign(sign)
            elif octet:
                self._handle_octets(bytes.fromhex(octet.decode("ascii")))
            elif plain:
                self._handle_octets(plain)
        # RTF writes a character beyond the basic plane as two surrogates.
        return "".join(self._pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _handle_brace(self, brace: bytes) -> None:
        self._decoder.reset()
        if brace == b"{":
            if len(self._groups) > _DEEPEST:
                raise ParseRefusal("failed", f"RTF groups are nested more than {_DEEPEST} deep")
            self._groups.append(replace(self._groups[-1]))
        elif len(self._groups) > 1:
            self._groups.pop()
        # A brace ends the stand-ins that an older reader would show.
        self._to_skip = 0

    def _handle_word(self, word: bytes, number: int | None) -> None:
        group = self._groups[-1]
        self._decoder.reset()
        if word in _UNSEEN or (word == b"v" and number != 0):
            group.hidden = True
        elif word in {b"v", b"shptxt"}:
            group.hidden = False  # the text of a box stands in a group for newer readers
        elif word in {b"fs", b"plain"}:
            # `\plain` is text of the usual size.
            group.tiny = word == b"fs" and number is not None and number <= _TINIEST
        elif word in {b"f", b"deff"}:
            group.font = number or 0
        elif word == b"uc":
            group.stand_ins = max(number or 0, 0)
        elif word == b"u" and number is not None:
            self._append(chr(number % 0x10000))
            self._to_skip = group.stand_ins
        elif word in _SIGNS:
            self._append(_SIGNS[word])

    def _handle_sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._groups[-1].hidden = True  # "ignore this group if you do not know its name"
        elif sign in b"\\{}":
            self._handle_octets(sign)
        elif sign in b"\r\n":
            self._append("\n\n")
        else:
            self._append(_ESCAPED.get(sign, ""))

    def _handle_octets(self, octets: bytes) -> None:
        skipped = min(self._to_skip, len(octets))
        self._to_skip -= skipped
        name = self._encodings.get(self._groups[-1].font, self._encoding)
        if name != self._decoder_name:
            self._decoder_name, self._decoder = name, _make_decoder(name)
        # A letter may consist of two octets, each escaped by itself.
        self._append(self._decoder.decode(octets[skipped:]))

    def _append(self, text: str) -> None:
        group = self._groups[-1]
        if group.hidden:
            return
        if text.strip():
            self.hidden_places += group.tiny and not self._was_tiny
            self._was_tiny = group.tiny
        if not group.tiny or not text.strip():
            self._pieces.append(text)


def _make_decoder(encoding: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(encoding)("replace")


def _read_font_encodings(data: bytes) -> dict[int, str]:
    """Return the encodings of the fonts that have one of their own, by their numbers."""
    table = _FONT_TABLE.search(data)
    fonts = _FONT.finditer(data, table.end(), table.end() + _MOST_FONT_BYTES) if table else ()
    charsets = {int(font[1]): int(font[2]) for font in fonts}
    return {font: _CHARSETS[set_] for font, set_ in charsets.items() if set_ in _CHARSETS}


def _read_code_page(data: bytes) -> str:
    match = re.search(rb"\\ansicpg(\d{3,5})", data[:2000])
    name = f"cp{match[1].decode('ascii')}" if match else "cp1252"
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
