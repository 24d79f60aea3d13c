"""The file of `fathom ingest --readers`: who may read which documents, in TOML.

    [[rule]]
    path = "personnel/*"
    readers = ["hr", "user:ana"]

A path is relative to the folder of the file, or the address of an object of a source; `*` also
matches slashes, and alone all documents. The first rule that fits a document counts; a document
that no rule fits is for everybody. No readers means nobody, and `*` everybody.
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
    """Read the rules of a file.

    Raises:
        UsageError: If it cannot be read, or a rule is malformed.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--readers {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--readers {file}: {error}; it must be TOML with [[rule]]s") from None
    rules = content.pop("rule", [])
    if content or not isinstance(rules, list):
        raise UsageError(f"--readers {file}: it may hold [[rule]]s only, with path and readers")
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
            # The folder stands for itself, whatever characters its name has.
            folder = escape(format_path(make_absolute(file.parent)).rstrip("/"))
            is_whole = path.startswith("/") or is_address(path) or path == "*"
            pattern = path if is_whole else f"{folder}/{path.removeprefix('./')}"
            return ReadingRule(pattern, tuple(readers))
        case _:
            raise UsageError(
                f"--readers {file}: rule {number} needs a path and a list of readers, nothing else"
            )
