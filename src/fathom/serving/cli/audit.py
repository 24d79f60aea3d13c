"""The command `fathom audit`, which shows the audit log of the server."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.errors import UsageError
from fathom.serving.cli.options import IndexOption, JsonOption, build_engine
from fathom.serving.cli.terminal import replace_breaks

FORMULA_MARKS = ("=", "+", "-", "@")
"""The characters with which a formula of a spreadsheet begins."""

if TYPE_CHECKING:  # `--help` must not wait for these imports
    from fathom.engine import Engine
    from fathom.serving.http.audit_log import AuditLine, AuditLog, AuditQuery


def audit(
    since: Annotated[
        str, typer.Option(metavar="TIME", help="From this date or time on, in UTC.")
    ] = "",
    key: Annotated[
        str, typer.Option(metavar="KEY", help="Only lines of this key, by its id or its name.")
    ] = "",
    index: IndexOption = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table for spreadsheets.")] = False,
) -> None:
    """List the requests to the server, with their callers and the documents that were shown."""
    from fathom.serving.cli.output import show, show_json
    from fathom.serving.http.audit_log import AuditQuery, create_audit_log, parse_since

    if as_json and as_csv:
        raise UsageError("--json and --csv: choose one of them")
    query = AuditQuery(since=parse_since(since), key=key)
    with build_engine(index, None) as engine:
        log = create_audit_log(engine.index)
        try:
            lines = _list_lines(engine, log, query)
            if as_json:
                show_json({"lines": [line.to_json() for line in lines]})
            elif as_csv:
                _write_table(lines)
            else:
                texts = map(_format_line, lines)
                show(next(texts, "no lines; `fathom serve --audit 90` keeps lines for 90 days"))
                for text in texts:
                    show(text)
        finally:
            log.close()


def _list_lines(engine: "Engine", log: "AuditLog", query: "AuditQuery") -> "Iterator[AuditLine]":
    """Return the lines that a query selects; if the log is empty, check that the index exists.

    Raises:
        IndexMissing: If there are no lines at all and no index.
    """
    if next(log.list_lines(), None) is None:
        engine.reader(checked=False)
    return log.list_lines(query)


def _write_table(lines: Iterable["AuditLine"]) -> None:
    """Write a table in which no cell begins like a formula, which spreadsheets would compute."""
    from fathom.serving.http.audit_log import AuditLine

    table = csv.writer(sys.stdout)
    table.writerow(AuditLine(requested="").to_json())
    for line in lines:
        values = line.to_json().values()
        table.writerow(map(_format_cell, values))


def _format_cell(value: object) -> str:
    """Return a value as text that no spreadsheet takes for a formula."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # Some programs remove leading white space first.
    return f"'{text}" if text.lstrip().startswith(FORMULA_MARKS) else text


def _format_line(line: "AuditLine") -> str:
    who = f"{line.name or 'unknown user'} ({line.key})" if line.key else "this machine"
    where = f" in {line.workspace}" if line.workspace else ""
    asked = json.dumps(line.to_json()["asked"], ensure_ascii=False)
    documents = list(dict.fromkeys(place.document for place in line.shown.places))
    shown = f"; shown: {', '.join(documents)}" if documents else ""
    return replace_breaks(
        f"{line.requested[:19]} {who}{where}: {line.route} {asked}: {line.status}{shown}"
    )
