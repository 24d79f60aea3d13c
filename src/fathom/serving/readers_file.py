"""The file of `fathom ingest --readers`, a TOML file with rules on the readers of documents.

    [[rule]]
    path = "personnel/*"
    readers = ["hr", "user:ana"]

A path is relative to the folder of the file, or the address of an object of a source. In a path,
`*` also matches slashes; the path `*` matches all documents. The first rule that matches a document
counts; everybody may read a document that no rule matches. An empty list of readers means nobody,
and the reader `*` everybody.
"""

import tomllib
from glob import escape
from pathlib import Path
from typing import Any

from fathom.documents.discover import format_path, make_absolute
from fathom.errors import UsageError
from fathom.index.base import is_address
from fathom.index.rights import ReadingRule, is_reader


def load_readers(file: Path) -> tuple[ReadingRule, ...]:
    """Load the rules of a file.

    Raises:
        UsageError: If the file cannot be read, or a rule is malformed.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--readers {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--readers {file}: {error}; it must be TOML with [[rule]]s") from None
    rules = content.pop("rule", [])
    if content or not isinstance(rules, list):
        raise UsageError(f"--readers {file}: use only [[rule]]s with path and readers")
    return tuple(_parse_rule(file, number, rule) for number, rule in enumerate(rules, 1))


def _parse_rule(file: Path, number: int, rule: Any) -> ReadingRule:  # noqa: ANN401 - from a file
    match rule:
        case {"path": str(path), "readers": list(readers), **rest} if path and not rest:
            for name in readers:
                if not is_reader(name):
                    raise UsageError(
                        f"--readers {file}: rule {number}: {name!r} is no reader; write GROUP or "
                        "user:NAME"
                    )
            # The name of the folder is no pattern, whatever characters it has.
            folder = escape(format_path(make_absolute(file.parent)).rstrip("/"))
            is_whole = path.startswith("/") or is_address(path) or path == "*"
            pattern = path if is_whole else f"{folder}/{path.removeprefix('./')}"
            return ReadingRule(pattern, tuple(readers))
        case _:
            raise UsageError(
                f"--readers {file}: rule {number} needs a path and a list of readers, nothing else"
            )
