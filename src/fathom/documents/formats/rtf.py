"""RTF: the text of the document, without its tables of fonts, pictures and hidden text."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.formats.cell_grid import CellGrid
from fathom.documents.formats.office.numbering import BULLET
from fathom.documents.formats.superscripts import LONGEST_BEFORE, choose_sign

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])"
    rb"|([^\\{}\r\n]+)|[\r\n]+|\\"
)
_UNSEEN = frozenset(
    b"fonttbl colortbl stylesheet info pict object fldinst themedata colorschememapping datastore "
    b"listtable listoverridetable rsidtbl generator xmlnstbl latentstyles filetbl revtbl "
    b"header footer headerl headerr headerf footerl footerr footerf xe tc tcn rxe".split()
)
_NOTE, _PARAGRAPH_END, _CELL_END = "\x1d", "\x1e", "\x1f"
_TOP, _COVERED = "\x1b", "\x1c"
"""The marks of a cell that spans rows, and of those below it that it covers."""
_HEADING = "\x1a"
"""The mark of a heading, before the digit of its level at the end of the paragraph."""
_LIST = "\x19"
"""The mark of the printed label of a list item."""
_OWN_MARKS = (_NOTE, _PARAGRAPH_END, _CELL_END, _TOP, _COVERED, _HEADING, _LIST)
_BULLET_SIGN = "\uf0b7"
"""The bullet of the font `Symbol`."""
_MARKS = str.maketrans({**dict.fromkeys(_OWN_MARKS), _BULLET_SIGN: "\u2022"})
_NOTE_SPACES = str.maketrans({_PARAGRAPH_END: " ", _CELL_END: " ", _LIST: None})
_MERGES = {b"clvmgf": _TOP, b"clvmrg": _COVERED}
_ROW_WORDS = frozenset({b"trowd", b"cellx", *_MERGES})
"""The words that describe the cells of a row."""
_NOTE_MARK = re.compile(rf"{_NOTE}(\d+){_NOTE}")
_ITEM = re.compile(rf"{_LIST}(?P<label>[^\t]{{0,30}})\t(?P<text>.*)", re.DOTALL)
_HEADING_MARK = re.compile(rf"{_HEADING}(\d)$")
_HEADING_STYLE = re.compile(
    rb"\{\\s(\d{1,5})(?=[\\ {])(?:[^{};]|\{[^{}]{0,200}\}){0,500}?"
    rb"(?<=[ }])(?:heading ([1-9])|title)(?:,[^{};]{0,99})?;\}",
    re.IGNORECASE,
)
_STYLE_SHEET = re.compile(rb"\\stylesheet")
_MOST_STYLE_BYTES = 300_000
_FACTS = frozenset({b"title", b"author"})
"""The properties of the document that are read."""
_SIGNS = {
    b"par": _PARAGRAPH_END, b"sect": _PARAGRAPH_END, b"page": _PARAGRAPH_END,
    b"column": _PARAGRAPH_END, b"row": _PARAGRAPH_END, b"line": "\n",
    b"tab": "\t", b"cell": _CELL_END, b"nestcell": _CELL_END,
    b"emspace": " ", b"enspace": " ", b"qmspace": " ",
    b"emdash": "\u2014", b"endash": "\u2013",
    b"lquote": "\u2018", b"rquote": "\u2019", b"ldblquote": "\u201c", b"rdblquote": "\u201d",
    b"bullet": "\u2022", b"listtext": _LIST, b"pntext": _LIST,
}  # fmt: skip
_FONT_TABLE = re.compile(rb"\\fonttbl")
_FONT = re.compile(rb"\\f(\d{1,5}) ?(?:\\(?!f\d|fcharset)[a-z]+-?\d* ?)*\\fcharset(\d{1,3})")
_MOST_FONT_BYTES = 200_000
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 134: "cp936", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
"""The encodings of fonts; those of all other sets are that of the file."""
_FILE_SETS = re.compile(rb"\\(mac|pca?)(?![a-zA-Z])")
_SET_NAMES = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_MAC_PAGES = {
    "10000": "mac_roman", "10001": "shift_jis", "10006": "mac_greek", "10007": "mac_cyrillic",
    "10029": "mac_latin2", "10079": "mac_iceland", "10081": "mac_turkish",
}  # fmt: skip
"""The encodings of the code pages of the Macintosh, which Python has by other names."""
_ESCAPED = {b"~": "\u00a0", b"_": "-", b"-": ""}
_SWITCHES = {b"v": "unseen", b"deleted": "deleted", b"strike": "struck", b"striked": "struck"}
"""The properties of letters that a word switches on, and the same word with 0 off."""
_SHIFTS = {b"super": 1, b"sub": -1, b"nosupersub": 0, b"up": 1, b"dn": -1}
"""The words that raise or lower letters."""
_BODY_LEVEL = 9
_DEEPEST = 1_000
_TINIEST = 4
"""The largest size of letters, in half points, that nobody can read."""


@dataclass(slots=True)
class _Group:
    """The state of a group, which a group inherits from the one around it.

    Attributes:
        hidden: Whether its text is not shown.
        tiny: Whether its letters are too small to be read.
        struck: Whether its text is struck through.
        level: The level of the heading that its paragraphs are; 0 for text.
        shift: 1 if its letters are raised, -1 if they are lowered, else 0.
        in_facts: Whether it is one of the document's properties.
        pieces: The text to which its text belongs: the document, a note or a property.
        font: The number of its font; -1 for none.
        stand_ins: The number of bytes after each `u` word, for readers without Unicode.
    """

    pieces: list[str]
    hidden: bool = False
    unseen: bool = False  # hidden as a property of letters
    deleted: bool = False
    tiny: bool = False
    struck: bool = False
    level: int = 0
    shift: int = 0
    in_table: bool = False
    in_facts: bool = False
    font: int = -1
    stand_ins: int = 1

    def copy(self) -> "_Group":
        """Return another group with the same state; `dataclasses.replace` takes far longer."""
        return _Group(
            self.pieces,
            self.hidden,
            self.unseen,
            self.deleted,
            self.tiny,
            self.struck,
            self.level,
            self.shift,
            self.in_table,
            self.in_facts,
            self.font,
            self.stand_ins,
        )


def parse(data: bytes) -> ParsedDocument:
    """Parse an RTF file.

    Raises:
        ParseRefusal: `failed` if its groups are nested too deep, `empty` without text.
    """
    builder = Builder()
    reader = RtfReader(data)
    text, *notes = reader.read_texts()
    builder.skip_hidden(reader.hidden_places)
    paragraphs = text.split(_PARAGRAPH_END)
    rows = _place_rows(paragraphs)
    for at, paragraph in enumerate(paragraphs):
        if at in rows:
            builder.add_row(rows[at])
        else:
            _add_paragraph(builder, _NOTE_MARK.sub(r"[\1]", paragraph))
        for number in _NOTE_MARK.findall(paragraph) if _NOTE in paragraph else ():
            builder.add_footnote(_NOTE_MARK.sub("", notes[int(number) - 1]), number)
    facts = reader.read_facts()
    return builder.build(facts.pop("title", ""), facts)


def _add_paragraph(builder: Builder, paragraph: str) -> None:
    """Add a paragraph as a heading, if it ends with the mark of one, or else as text."""
    heading = _HEADING_MARK.search(paragraph)
    if heading is not None:
        title = paragraph[: heading.start()].replace(_LIST, "")
        builder.add_heading(title, int(heading[1]))
        return
    item = _ITEM.fullmatch(paragraph)
    if item is not None:
        label = item["label"].strip()
        is_number = any(map(str.isalnum, label))
        builder.add_labelled(item["text"].replace(_LIST, ""), label if is_number else BULLET)
        return
    for part in paragraph.replace(_LIST, "").split("\n\n"):
        builder.add_paragraph(part)


def _place_rows(paragraphs: Sequence[str]) -> dict[int, list[str]]:
    """Return the texts of the paragraphs that are rows of tables, by the paragraph's index."""
    placed: dict[int, list[str]] = {}
    items = ((at, paragraph) for at, paragraph in enumerate(paragraphs))
    for is_row, group in groupby(items, lambda item: _CELL_END in item[1]):
        if not is_row:
            continue
        table = {
            at: _NOTE_MARK.sub(r"[\1]", row.replace(_LIST, ""))
            .removesuffix(_CELL_END)
            .split(_CELL_END)
            for at, row in group
        }
        spans = _count_rows(table)
        placed.update(_repeat_cells(table, spans) if spans else table)
    return placed


def _repeat_cells(
    table: Mapping[int, Sequence[str]], spans: Mapping[tuple[int, int], int]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table with short texts of cells in each row that they span."""
    grid = CellGrid()
    for at, cells in table.items():
        row_spans = [spans.get((at, column), 1) for column in range(len(cells))]
        texts = (cell.strip(_TOP + _COVERED) for cell in cells)
        placed = zip(texts, row_spans, strict=True)
        yield at, grid.place_row((text if span else None, 1, span) for text, span in placed)


def _count_rows(table: Mapping[int, Sequence[str]]) -> dict[tuple[int, int], int]:
    """Return the number of rows that a cell spans by its row and column; 0 for a covered one."""
    spans: dict[tuple[int, int], int] = {}
    above: dict[int, tuple[int, int]] = {}
    for at, cells in table.items():
        tops: dict[int, tuple[int, int]] = {}
        for column, cell in enumerate(cells):
            if _TOP in cell:
                tops[column] = at, column
                spans[at, column] = 1
            elif _COVERED in cell and column in above:
                tops[column] = above[column]
                spans[above[column]] += 1
                spans[at, column] = 0
        above = tops
    return spans


class RtfReader:
    """A single pass over the tokens of a file.

    Attributes:
        hidden_places: The number of runs of tiny text that were left out so far.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._encoding = _read_code_page(data)
        self._encodings = _read_font_encodings(data)
        self._levels = _read_heading_levels(data)
        self._decoder_name, self._decoder = self._encoding, _make_decoder(self._encoding)
        self._pieces: list[list[str]] = [[]]
        self._facts: dict[str, list[str]] = {}
        self._groups = [_Group(self._pieces[0])]
        self._to_skip = 0
        self._was_unseen = False
        self._last_shift = 0
        self._merges: list[str] = []
        """The marks of the cells of the row, as its description states them."""
        self._merge = ""
        self._column = 0
        self.hidden_places = 0

    def read_texts(self) -> list[str]:
        """Return the text of the file, with the numbers of its notes, and the text of each note."""
        at = 0
        while token := _TOKEN.match(self._data, at):
            at = token.end()
            word, number, octet, sign, brace, plain = token.groups()
            if brace:
                self._handle_brace(brace)
            elif word == b"bin":
                at += max(int(number or 0), 0)  # the bytes of a picture, braces too
            elif word:
                self._handle_word(word, int(number) if number else None)
            elif sign:
                self._handle_sign(sign)
            elif octet:
                self._handle_octets(bytes.fromhex(octet.decode("ascii")))
            elif plain:
                self._handle_octets(plain)
        text, *notes = (_join_surrogates("".join(pieces)) for pieces in self._pieces)
        return [
            text,
            *(note.translate(_NOTE_SPACES) for note in notes),
        ]

    def read_facts(self) -> dict[str, str]:
        """Return the title and the author, those that the text read so far states."""
        facts = {
            name: " ".join(_join_surrogates("".join(pieces)).split())
            for name, pieces in self._facts.items()
        }
        return {name: fact for name, fact in facts.items() if fact}

    def _handle_brace(self, brace: bytes) -> None:
        """Begin or end a group."""
        self._decoder.reset()
        if brace == b"{":
            if len(self._groups) > _DEEPEST:
                raise ParseRefusal("failed", f"RTF groups are nested more than {_DEEPEST} deep")
            self._groups.append(self._groups[-1].copy())
        elif len(self._groups) > 1:
            self._groups.pop()
        # A brace ends the stand-ins that an older reader would show.
        self._to_skip = 0

    def _handle_word(self, word: bytes, number: int | None) -> None:
        """Follow a control word with its number, if it has one."""
        group = self._groups[-1]
        self._decoder.reset()
        if word in _UNSEEN:
            group.hidden = True
            group.in_facts = word == b"info"
        elif word in _FACTS and group.in_facts:
            group.hidden = False
            group.pieces = self._facts.setdefault(word.decode("ascii"), [])
        elif word == b"shptxt":
            group.hidden = False  # the text of a box stands in a group for newer readers
        elif word == b"footnote":
            self._open_note()
        elif word == b"u" and number is not None:
            self._append(chr(number % 0x10000).translate(_MARKS))
            self._to_skip = group.stand_ins
        elif word == b"par":
            self._end_paragraph(group)
        elif word in _SIGNS:
            self._append_sign(word)
        else:
            self._describe_row(word)
            self._set_level(word, number or 0)
            _set_property(group, word, number)

    def _end_paragraph(self, group: _Group) -> None:
        """End a paragraph, or a line of a cell."""
        if group.in_table:
            self._append("\n")
            return
        is_heading = group.level and group.pieces is self._pieces[0]
        self._append(f"{_HEADING}{group.level}{_PARAGRAPH_END}" if is_heading else _PARAGRAPH_END)

    def _append_sign(self, word: bytes) -> None:
        """Add the sign of a control word; before the end of a cell, how it is merged."""
        if word == b"cell":
            self._append("".join(self._merges[self._column : self._column + 1]))
            self._column += 1
        elif word == b"row":
            self._column = 0
        self._append(_SIGNS[word])

    def _describe_row(self, word: bytes) -> None:
        """Follow the description of the cells of a row, but not that of a table in a cell."""
        if word not in _ROW_WORDS or self._groups[-1].hidden:
            return
        if word == b"trowd":
            self._merges, self._merge, self._column = [], "", 0
        elif word == b"cellx":
            self._merges.append(self._merge)
            self._merge = ""
        else:
            self._merge = _MERGES[word]

    def _set_level(self, word: bytes, number: int) -> None:
        """Set the level of the heading that the paragraphs of the group are."""
        if word == b"s":
            self._groups[-1].level = self._levels.get(number, 0)
        elif word == b"outlinelevel":
            self._groups[-1].level = number + 1 if number < _BODY_LEVEL else 0
        elif word == b"pard":
            self._groups[-1].level = 0

    def _open_note(self) -> None:
        """Let the group be a note, whose number stands in the text around it."""
        if len(self._groups) < 2 or self._groups[-2].hidden:
            return
        self._append(f"{_NOTE}{len(self._pieces)}{_NOTE}", at=-2)
        group = self._groups[-1]
        group.hidden = group.in_table = False
        group.pieces = []
        self._pieces.append(group.pieces)

    def _handle_sign(self, sign: bytes) -> None:
        """Follow a control symbol, such as an escaped brace."""
        if sign == b"*":
            self._groups[-1].hidden = True  # "ignore this group if you do not know its name"
        elif sign in b"\\{}":
            self._handle_octets(sign)
        elif sign in b"\r\n":
            self._append(_SIGNS[b"par"])
        else:
            self._append(_ESCAPED.get(sign, ""))

    def _handle_octets(self, octets: bytes) -> None:
        """Add bytes of text, decoded by the encoding of the font, without stand-ins."""
        skipped = min(self._to_skip, len(octets))
        self._to_skip -= skipped
        name = self._encodings.get(self._groups[-1].font, self._encoding)
        if name != self._decoder_name:
            self._decoder_name, self._decoder = name, _make_decoder(name)
        # A letter may consist of two octets, each escaped by itself.
        text = self._decoder.decode(octets[skipped:])
        self._append(text if text.isprintable() else text.translate(_MARKS))

    def _append(self, text: str, at: int = -1) -> None:
        """Add a text to the innermost group, or to another one."""
        group = self._groups[at]
        if group.hidden or group.deleted:
            return
        is_unseen = group.tiny or group.unseen or group.struck
        if text.strip():
            self.hidden_places += is_unseen and not self._was_unseen
            self._was_unseen = is_unseen
        if not is_unseen or not text.strip():
            group.pieces.append(self._choose_sign(group, text) + text)
            self._last_shift = group.shift

    def _choose_sign(self, group: _Group, text: str) -> str:
        """Return the sign that keeps raised or lowered letters apart from the text before."""
        if group.shift in {0, self._last_shift}:
            return ""
        before = "".join(group.pieces[-LONGEST_BEFORE:])
        return choose_sign(before, text, raised=group.shift > 0)


def _set_property(group: _Group, word: bytes, number: int | None) -> None:
    """Set the property of letters or of a paragraph that a control word names."""
    if word in _SWITCHES:
        setattr(group, _SWITCHES[word], number != 0)
    elif word == b"fs":
        group.tiny = number is not None and number <= _TINIEST
    elif word == b"plain":
        group.unseen = group.tiny = group.struck = False  # text of the usual form
        group.shift = 0
    elif word in _SHIFTS:
        group.shift = 0 if number == 0 else _SHIFTS[word]
    elif word in {b"pard", b"intbl"}:
        group.in_table = word == b"intbl"
    elif word in {b"f", b"deff"}:
        group.font = number or 0
    elif word == b"uc":
        group.stand_ins = max(number or 0, 0)


def _join_surrogates(text: str) -> str:
    """Return a text in which RTF writes a character beyond the basic plane as two surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _make_decoder(encoding: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(encoding)("replace")


def _read_font_encodings(data: bytes) -> dict[int, str]:
    """Return the encodings of those fonts that have one of their own, by the font's number."""
    table = _FONT_TABLE.search(data)
    fonts = _FONT.finditer(data, table.end(), table.end() + _MOST_FONT_BYTES) if table else ()
    charsets = {int(font[1]): int(font[2]) for font in fonts}
    return {font: _CHARSETS[set_] for font, set_ in charsets.items() if set_ in _CHARSETS}


def _read_heading_levels(data: bytes) -> dict[int, int]:
    """Return the levels of the styles for headings and titles, by the style's number."""
    sheet = _STYLE_SHEET.search(data)
    end = sheet.end() + _MOST_STYLE_BYTES if sheet else 0
    styles = _HEADING_STYLE.finditer(data, sheet.end(), end) if sheet else ()
    return {int(style[1]): int(style[2] or 1) for style in styles}


def _read_code_page(data: bytes) -> str:
    head = data[:2000]
    file_set, page = _FILE_SETS.search(head), re.search(rb"\\ansicpg(\d{1,5})", head)
    usual = _SET_NAMES[file_set[1]] if file_set else "cp1252"
    if page is None:
        return usual
    number = page[1].decode("ascii")
    name = _MAC_PAGES.get(number, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return usual
    return name
