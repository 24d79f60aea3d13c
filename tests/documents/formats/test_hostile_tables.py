"""Fifty hostile spreadsheets and CSV files: each is read within its limits, or refused by name."""

import io
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal
from fathom.documents.sandbox.parent import Sandbox, read_file

LIMITS = ParseLimits(wall_s=60, text_chars=2_500_000)
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
HEAD = '<?xml version="1.0"?>'
ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTER_ENTITY = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
PLAIN = '<row r="1"><c r="A1"><v>41</v></c></row>'
STRINGS = "xl/sharedStrings.xml"
STYLES = "xl/styles.xml"


def make_sheet(rows: str, before: str = "", doctype: str = "") -> str:
    data = f"{before}<sheetData>{rows}</sheetData>"
    return f'{HEAD}{doctype}<worksheet xmlns="{MAIN}">{data}</worksheet>'


def make_workbook(sheets: str, doctype: str = "") -> str:
    root = f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">'
    return f"{HEAD}{doctype}{root}<sheets>{sheets}</sheets></workbook>"


def list_members(sheet: str) -> dict[str, str | bytes]:
    link = f'<Relationship Id="r1" Type="{LINKS}/worksheet" Target="worksheets/sheet1.xml"/>'
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {"workbook": "sheet.main", "sharedStrings": "sharedStrings", "styles": "styles"}
    types = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="{TYPES}.{kind}+xml"/>'
        for part, kind in parts.items()
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">{types}</Types>',
        "xl/workbook.xml": make_workbook('<sheet name="Sheet1" sheetId="1" r:id="r1"/>'),
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{link}'
        "</Relationships>",
        STRINGS: f'<sst xmlns="{MAIN}"><si><t>word</t></si></sst>',
        STYLES: f'<styleSheet xmlns="{MAIN}"/>',
        "xl/worksheets/sheet1.xml": sheet,
    }


def pack(members: dict[str, str | bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def make_book(rows: str = PLAIN, before: str = "", doctype: str = "", **parts: str) -> bytes:
    """Return a workbook of one sheet; other parts replace its own, by their name."""
    named: dict[str, str | bytes] = {f"xl/{name}.xml": text for name, text in parts.items()}
    return pack(list_members(make_sheet(rows, before, doctype)) | named)


def make_cell(content: str, attributes: str = "") -> str:
    return f'<row r="1"><c r="A1"><v>1</v></c><c r="B1" {attributes}>{content}</c></row>'


def make_dense(part: str) -> bytes:
    return pack(list_members(make_sheet(PLAIN)) | {part: b" " * 30_000_000}, zipfile.ZIP_DEFLATED)


def encrypt(data: bytes) -> bytes:
    """Set the mark of encryption in the directory of a zip."""
    place = data.index(b"PK\x01\x02") + 8
    return data[:place] + struct.pack("<H", 1) + data[place + 2 :]


def make_overlapping() -> bytes:
    """Return a zip whose members all claim the bytes of the largest one."""
    data = bytearray(make_book("<row/>" * 100_000))
    place = 0
    while (place := data.find(b"PK\x01\x02", place) + 1) > 0:
        data[place + 19 : place + 27] = struct.pack("<II", 600_000, 600_000)
    return bytes(data)


def make_loose() -> bytes:
    """Return a workbook whose sheet is missing."""
    members = list_members("")
    del members["xl/worksheets/sheet1.xml"]
    return pack(members)


MANY_SHEETS = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="r1"/>' for n in range(1, 300))
WIDE_ROWS = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 70))
BOOKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "dense sheet": (lambda: make_dense("xl/worksheets/sheet1.xml"), "zip bomb"),
    "dense strings": (lambda: make_dense(STRINGS), "zip bomb"),
    "dense picture": (lambda: make_dense("xl/media/image1.png"), "zip bomb"),
    "many members": (
        lambda: pack(list_members(make_sheet(PLAIN)) | {f"x{n}": "" for n in range(20_001)}),
        "more than 20000 members",
    ),
    "overlapping members": (make_overlapping, "overlap"),
    "encrypted": (lambda: encrypt(make_book()), "encrypted"),
    "entities of a sheet": (lambda: make_book(doctype=ENTITIES), "entity bomb"),
    "entities of strings": (
        lambda: make_book(sharedStrings=f"{HEAD}{ENTITIES}<sst/>"),
        "entity bomb",
    ),
    "entities of styles": (
        lambda: make_book(styles=f"{HEAD}{ENTITIES}<styleSheet/>"),
        "entity bomb",
    ),
    "entities of a workbook": (
        lambda: make_book(workbook=make_workbook("", ENTITIES)),
        "entity bomb",
    ),
    "an entity of a file": (lambda: make_book(doctype=OUTER_ENTITY), "entity bomb"),
    "too large a dimension": (
        lambda: make_book(before='<dimension ref="A1:XFD1048576"/>'),
        "ok: 41",
    ),
    "no dimension at all": (lambda: make_book(before='<dimension ref="nonsense"/>'), "ok: 41"),
    "a far cell": (
        lambda: make_book(f'{PLAIN}<row r="1048576"><c r="XFD1"><v>7</v></c></row>'),
        "ok: 41",
    ),
    "a row beyond all": (
        lambda: make_book(f'{PLAIN}<row r="{10**18}"><c><v>7</v></c></row>'),
        "ok: 41",
    ),
    "an endless row number": (lambda: make_book('<row r="1e999"><c><v>7</v></c></row>'), "damaged"),
    "a row without number": (lambda: make_book('<row r="one"><c><v>7</v></c></row>'), "damaged"),
    "rows before the first": (lambda: make_book('<row r="-9"><c><v>7</v></c></row>'), "ok: 7"),
    "a column beyond all": (lambda: make_book('<row><c r="ZZZZZZ1"><v>7</v></c></row>'), "damaged"),
    "a million columns": (
        lambda: make_book("<row>" + "<c><v>7</v></c>" * 1_000_001 + "</row>"),
        "cells",
    ),
    "a million empty columns": (
        lambda: make_book("<row>" + "<c/>" * 1_000_001 + "</row>"),
        "cells",
    ),
    "wide rows": (lambda: make_book(WIDE_ROWS), "cells; split the file"),
    "a text that is missing": (lambda: make_book(make_cell("<v>99</v>", 't="s"')), "damaged"),
    "a style that is missing": (lambda: make_book(make_cell("<v>5</v>", 's="99"')), "ok: 1 | 5"),
    "an unknown type": (lambda: make_book(make_cell("<v>5</v>", 't="zz"')), "ok: 1 | 5"),
    "a date that is none": (lambda: make_book(make_cell("<v>soon</v>", 't="d"')), "damaged"),
    "a truth that is none": (lambda: make_book(make_cell("<v>maybe</v>", 't="b"')), "damaged"),
    "a number of many digits": (lambda: make_book(make_cell(f"<v>{'9' * 5_000}</v>")), "damaged"),
    "an endless number": (lambda: make_book(make_cell("<v>1e999</v>")), "ok: 1 | Infinity"),
    "a cell of many megabytes": (
        lambda: make_book(make_cell(f"<v>{'9' * 11_000_000}</v>")),
        "damaged",
    ),
    "deep elements": (lambda: make_book("<row><c>" + "<v>" * 9_000), "damaged"),
    "a formula of a shell": (
        lambda: make_book(make_cell("<f>cmd|' /C calc'!A0</f>")),
        "ok: 1 | =cmd|' /C calc'!A0",
    ),
    "a sheet many times": (
        lambda: make_book(
            f"<row>{'<c><v>123456</v></c>' * 2_000}</row>", workbook=make_workbook(MANY_SHEETS)
        ),
        "holds more than",
    ),
    "a sheet that is missing": (make_loose, "holds no text"),
    "a sheet that is cut": (lambda: make_book(f"{PLAIN}<row><c>")[:900], "damaged"),
}
TEXTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "a million columns": (lambda: b"a," * 1_000_000 + b"\n1,2,3\n", "holds more than"),
    "a million rows": (lambda: b",,,\n" * 1_000_000 + b"a,b,c\n", "ok: a | b | c"),
    "a long line": (lambda: b"x" * 3_000_000 + b",1\n2,3\n", "holds more than"),
    "a long head above many rows": (
        lambda: b"h" * 60_000 + b",item\n" + b"a,b\n" * 20_000,
        "ok: hhh",
    ),
    "a quote without end": (lambda: b'a,b\n"' + b"x,\n" * 200_000, "ok: a | b"),
    "a quote that is too long": (lambda: b'a,b\n"' + b"x" * 10_500_000, "larger than"),
    "quotes alone": (lambda: b'"' * 1_000_000, "ok"),
    "nulls": (lambda: b"a,b\0,c\n1,2,3\n" * 100, "ok: a | b | c"),
    "line ends of all kinds": (lambda: b"a,b\r1,2\n\r3,4\r\r\n5,6", "ok: a | b"),
    "no text": (lambda: b"\xff\xfe" + b"\x00\xd8" * 5_000, ""),
    "no encoding": (lambda: b"\x81\x8d\x8f,\x90\x9d\n" * 5_000, ""),
    "control characters": (lambda: b"a\x07\x1b[2J,b\n1,2\n", "binary data"),
    "a formula of a shell": (lambda: b"a,b\n=cmd|' /C calc'!A0,2\n", "=cmd|' /C calc'!A0"),
    "delimiters alone": (lambda: b",;|\t" * 200_000, "ok: ,;| | ,;|"),
    "separators of cells": (lambda: b"a,b\n | | ,| |\n" * 1_000, "ok: a | b"),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(LIMITS) as opened:
        yield opened


def read_outcome(data: bytes, path: Path, sandbox: Sandbox) -> str:
    path.write_bytes(data)
    try:
        (parsed,) = read_file(path, sandbox)
    except ParseRefusal as refusal:
        return refusal.reason
    assert isinstance(parsed, ParsedDocument)
    assert len(parsed.text) <= LIMITS.text_chars
    return f"ok: {parsed.text}"


@pytest.mark.parametrize("name", BOOKS)
def test_a_hostile_workbook_is_bounded(name: str, tmp_path: Path, sandbox: Sandbox) -> None:
    make, outcome = BOOKS[name]
    assert outcome in read_outcome(make(), tmp_path / "book.xlsx", sandbox)[:300]
    assert read_outcome(make_book(), tmp_path / "plain.xlsx", sandbox) == "ok: 41"


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_csv_file_is_bounded(name: str, tmp_path: Path, sandbox: Sandbox) -> None:
    make, outcome = TEXTS[name]
    assert outcome in read_outcome(make(), tmp_path / "table.csv", sandbox)[:300]
    assert read_outcome(b"a,b\n1,2\n", tmp_path / "plain.csv", sandbox) == "ok: a | b\na: 1 | b: 2"


def test_there_are_fifty_of_them() -> None:
    assert len(BOOKS) + len(TEXTS) == 50
