"""A table of harbours, as documents of several formats hold it."""

from fathom.documents.base import ParsedDocument
from fathom.documents.parse import parse_bytes
from fathom.question.question import Question
from fathom.tables.answer import ComputedAnswer, answer_over_tables
from fathom.tables.links import TableWords
from fathom.tables.rows import list_document_tables
from fathom.tables.table import Table, build_table
from fathom.types import Document

PORTS = """\
# Harbours of the coast

| Port | Country | Opened | Cranes | Traffic (million tonnes) | Tour |
|---|---|---|---|---|---|
| Aldby | Norland | 12 May 1911 | 14 | 3.2 | 1:05 |
| Brask | Norland | 3 June 1925 | 9 | 1.5 | 0:48 |
| Corvo | Sudria | 1932 | 22 | | 2:10 |
| Dunmor | Sudria | 1 March 1958 | 9 | 12.75 | 1:05 |
| Egmont | Sudria | 1971 | 31 | 20.5 | 3:30 |
| Total | | | 85 | 37.95 | |
"""
PORTS_CSV = """\
Port,Country,Opened,Cranes,Traffic (million tonnes),Tour
Aldby,Norland,12 May 1911,14,3.2,1:05
Brask,Norland,3 June 1925,9,1.5,0:48
Corvo,Sudria,1932,22,,2:10
Dunmor,Sudria,1 March 1958,9,12.75,1:05
Egmont,Sudria,1971,31,20.5,3:30
Total,,,85,37.95,
"""
PELABUHAN = """\
# Pelabuhan di pantai

| Pelabuhan | Negara | Dibuka | Derek | Lalu lintas (juta ton) | Penduduk |
|---|---|---|---|---|---|
| Aldby | Norland | 12 Mei 1911 | 14 | 3,2 | 1.250.000 |
| Brask | Norland | 3 Juni 1925 | 9 | 1,5 | 240.500 |
| Corvo | Sudria | 1932 | 22 | 7,5 | 98.000 |
| Dunmor | Sudria | 1 Maret 1958 | 9 | 12,75 | 1.100 |
"""


def read_document(text: str, name: str = "ports.md") -> Document:
    """Return a document of a text, parsed by the format of its name."""
    parsed = next(parse_bytes(text.encode(), name))
    assert isinstance(parsed, ParsedDocument)
    return Document(id="d1", text=parsed.text, path=name, title=parsed.title, blocks=parsed.blocks)


def read_table(text: str = PORTS, name: str = "ports.md") -> Table:
    """Return the first table of a document."""
    document = read_document(text, name)
    return build_table(list_document_tables(document)[0], document.title)


def ask(question: str, text: str = PORTS, name: str = "ports.md") -> ComputedAnswer:
    """Return the computed answer to a question over the first table of a text."""
    answer = answer_over_tables(Question(question), [TableWords.of(read_table(text, name))]).answer
    assert answer is not None
    return answer
