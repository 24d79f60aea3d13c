"""The lookup of reports: the documents of hits that contain financial statements."""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from fathom.documents.base import TABLE_KINDS
from fathom.retrieval.table_lookup import FoundTable, TableLookup
from fathom.tables.rows import list_block_tables
from fathom.tables.statements import FinancialStatement, list_statements, names_periods
from fathom.tables.values import fold_text
from fathom.types import Block, Document, Hit

_MOST_REPORTS = 6
"""The largest number of documents whose statements are looked at for a question."""
_MOST_KEPT = 16
"""The number of documents that are kept between questions."""
_OPENING = 3000
"""The number of characters at the beginning of a report that tell whose report it is."""
_QUARTER = re.compile(
    r"\b(?:(?P<year>20\d\d)[ _-]*q(?P<figure>[1-4])|q(?P<figure2>[1-4])[ _-]*(?P<year2>20\d\d))\b"
)


class _ReportText(NamedTuple):
    """The facts about a document that are kept between questions.

    Attributes:
        revision: The revision of the index from which the document was read.
        document_id: The id of the document.
        statements: Its statements, the main ones first; empty if it is no report.
        words: The words of its title, file name and opening, which tell whose report it is.
        quarter: The quarter that its title or file name gives, such as "2023 q2"; else empty.
    """

    revision: str
    document_id: str
    statements: tuple[FinancialStatement, ...] = ()
    words: frozenset[str] = frozenset()
    quarter: str = ""


class Report(NamedTuple):
    """A document with statements.

    Attributes:
        hit: The best hit that is a part of it.
        statements: Its statements, the main ones first.
        words: The words of its title, file name and opening, which tell whose report it is.
        quarter: The quarter that its title or file name gives, such as "2023 q2"; else empty.
    """

    hit: Hit
    statements: tuple[FinancialStatement, ...]
    words: frozenset[str]
    quarter: str


@dataclass(frozen=True, slots=True)
class ReportLookup:
    """The lookup of the statements of reports; a document is read once for each index revision.

    Attributes:
        tables: The lookup of whole tables.
    """

    tables: TableLookup
    _kept: "deque[_ReportText]" = field(
        init=False, repr=False, default_factory=lambda: deque(maxlen=_MOST_KEPT)
    )

    def __call__(self, hits: Sequence[Hit]) -> tuple[Report, ...]:
        """Return the documents of the best hits that have statements, the best first.

        Args:
            hits: The hits, best first; only the first `_MOST_REPORTS` documents are looked at.
        """
        revision = self.tables.get_revision()
        best: dict[str, Hit] = {}
        for hit in hits:
            if hit.chunk.source == "corpus":
                best.setdefault(hit.chunk.document_id, hit)
        reports = []
        for document_id, hit in list(best.items())[:_MOST_REPORTS]:
            text = self._get_text(revision, document_id)
            if text.statements:
                reports.append(Report(hit, text.statements, text.words, text.quarter))
        return tuple(reports)

    def place(self, report: Report, statement: FinancialStatement) -> FoundTable | None:
        """Return the typed table of a statement with its places.

        Returns:
            The table; `None` if it is gone or too long to be typed.
        """
        return self.tables.get_table_at(report.hit, statement.start)

    def _get_text(self, revision: str, document_id: str) -> _ReportText:
        """Return the facts about a document, read from the index unless they are kept."""
        for text in tuple(self._kept):
            if (text.revision, text.document_id) == (revision, document_id):
                return text
        document = self.tables.find_document(document_id)
        text = _read_report(revision, document) if document else _ReportText(revision, document_id)
        self._kept.append(text)
        return text


def _read_report(revision: str, document: Document) -> _ReportText:
    """Return the facts about a document; only tables whose head names periods are looked at."""
    blocks: list[Block] = []
    for is_table, group in groupby(document.blocks, key=lambda block: block.kind in TABLE_KINDS):
        members = list(group) if is_table else []
        heads = [block.span.cut(document.text) for block in members if block.kind == "table_head"]
        blocks += members if any(map(names_periods, heads)) else []
    statements = list_statements(list_block_tables(document, blocks))
    name = fold_text(f"{document.title} {document.path.rpartition('/')[2]}")
    opening = fold_text(document.text[:_OPENING])
    words = frozenset(re.findall(r"\w+", f"{name} {opening}"))
    match = _QUARTER.search(name)
    quarter = ""
    if match is not None:
        quarter = f"{match['year'] or match['year2']} q{match['figure'] or match['figure2']}"
    return _ReportText(revision, document.id, statements, words, quarter)
