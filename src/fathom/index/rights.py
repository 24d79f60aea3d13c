"""Rights of documents: which people and groups may read the documents of which places.

The rules are stored in the index, and a place gets its readers in the same step in which it is
stored: no reader ever sees a document before its rights. Whoever may not read one of the places of
a document may not read the document.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

NOBODY = ""
"""The stored reader of a place that nobody may read."""


@dataclass(frozen=True, slots=True)
class ReadingRule:
    """The readers of all places that match a pattern.

    Attributes:
        pattern: A path, in which `*` stands for any characters, slashes too.
        readers: Names of groups, and `user:NAME` for single people; none for nobody.
    """

    pattern: str
    readers: tuple[str, ...]

    def fits(self, path: str) -> bool:
        """Return whether the rule is about a place."""
        return fnmatchcase(path, self.pattern)


@dataclass(frozen=True, slots=True)
class Viewer:
    """The names of somebody on whose behalf an index is read: `user:NAME` and groups."""

    names: frozenset[str]


def list_readers(rules: Sequence[ReadingRule], path: str) -> tuple[str, ...]:
    """Return the readers of a place, by the first rule that fits; empty for everybody.

    A place that nobody may read has the reader `NOBODY`.
    """
    for rule in rules:
        if rule.fits(path):
            return rule.readers or (NOBODY,)
    return ()


def dump_rules(rules: Iterable[ReadingRule]) -> str:
    """Return rules as JSON."""
    return json.dumps([[rule.pattern, list(rule.readers)] for rule in rules])


def load_rules(text: str) -> tuple[ReadingRule, ...]:
    """Return the rules of `dump_rules`; none for an empty text."""
    return tuple(
        ReadingRule(pattern, tuple(readers)) for pattern, readers in json.loads(text or "[]")
    )
