"""Rights of documents: which people and groups may read the documents of which places.

The rules are stored in the index, and a place gets its readers in the same step in which it is
stored: no reader ever sees a document before its rights. A list of readers is a clause. People may
read a document if each clause of each of its places names them, and the document's own clause too.
So a further clause only takes readers away.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from fathom.types import Scalar

NOBODY = ""
"""The reader that is stored for a clause that admits nobody; no viewer has this name."""
EVERYBODY = "*"
"""The reader in a rule that lets everybody read."""
METADATA_KEY = "readers"
"""The key by which a document names its own readers."""
USER = "user:"
"""The beginning of the name of a single person."""
READER = re.compile(r"(?!user:)[^\s:*,]{1,64}|user:[^,*]{1,64}")
"""The pattern of a reader's name: a group, or `user:` and the name of a key's holder."""


@dataclass(frozen=True, slots=True)
class ReadingRule:
    """The readers of all places that match a pattern.

    Attributes:
        pattern: A path, in which `*` stands for any characters, slashes too.
        readers: Names of groups, and `user:NAME` for single people; none for nobody, `EVERYBODY`
            for no limit.
        narrows: Whether the rule adds a clause to the one of the first ordinary rule that fits. The
            pattern is then the plain path of a file, and the rule also applies to its records.
    """

    pattern: str
    readers: tuple[str, ...]
    narrows: bool = False

    def fits(self, path: str) -> bool:
        """Return whether the rule applies to a place."""
        if self.narrows:
            return path == self.pattern or path.startswith(f"{self.pattern}#")
        return fnmatchcase(path, self.pattern)


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person on whose behalf an index is read, by names: `user:NAME` and the person's groups."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReaderList:
    """A list that limits who may read a document.

    Attributes:
        readers: The names of those who may read; empty if nobody may.
        origin: `rule` for a rule of the rules file, `sidecar` for a file beside the document,
            `document` for the document's own list.
        name: The pattern of the rule, or the path of the file that has the sidecar; empty for the
            document's own list.
    """

    readers: tuple[str, ...]
    origin: Literal["rule", "sidecar", "document"]
    name: str = ""


Clause = tuple[str, ...]
"""The names of those who may read; `NOBODY` alone for nobody."""


def join_clauses(one: Clause, other: Clause) -> Clause:
    """Return the readers that both clauses name; a clause with `EVERYBODY` names all."""
    if EVERYBODY in one:
        return other
    return one if EVERYBODY in other else tuple(name for name in one if name in other)


def combine_limits(limits: Iterable[ReaderList]) -> Sequence[tuple[str, ...]]:
    """Return the fewest lists that admit the same readers as all limits together.

    Returns:
        The lists; a reader must be named in each. Without limits one list of `EVERYBODY` alone; an
        empty list admits nobody.
    """
    lists = _join_lists_of_users(limit.readers for limit in limits)
    distinct = {frozenset(readers): readers for readers in lists}
    # A list that contains another one wholly admits nobody less, so only the smaller one is needed.
    fewest = [
        readers
        for names, readers in distinct.items()
        if not any(others < names for others in distinct)
    ]
    return fewest or [(EVERYBODY,)]


def _join_lists_of_users(lists: Iterable[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    """Replace the lists that name only users by one list of the users whom all of them name.

    A person has only one `user:` name, so this admits the same people.
    """
    joined: list[tuple[str, ...]] = []
    users: tuple[str, ...] | None = None
    for readers in lists:
        if not all(name.startswith(USER) for name in readers):
            joined.append(readers)
        else:
            users = readers if users is None else join_clauses(users, readers)
    return joined if users is None else [*joined, users]


class Rights:
    """Rules that are ready to be applied to many places."""

    def __init__(self, rules: Sequence[ReadingRule]) -> None:
        """Take over the rules: a place gets the first ordinary rule that fits, and all that narrow.

        Args:
            rules: The rules, in the order of precedence.
        """
        self._first = [rule for rule in rules if not rule.narrows]
        self._narrow = {rule.pattern: rule for rule in rules if rule.narrows}

    def list_clauses(self, path: str) -> Sequence[Clause]:
        """Return the clauses of a place; empty if everybody may read it."""
        return [limit.readers or (NOBODY,) for limit in self.list_limits(path)]

    def list_limits(self, path: str) -> Sequence[ReaderList]:
        """Return the lists that limit who may read a place; empty if everybody may."""
        first = next((rule for rule in self._first if rule.fits(path)), None)
        # A file's name may contain a `#` too, so the path before any `#` may be a record's file.
        ends = (mark.start() for mark in re.finditer("#", path)) if self._narrow else ()
        files = (path, *(path[:end] for end in ends))
        narrowing = (self._narrow[file] for file in files if file in self._narrow)
        rules = ([first] if first else []) + [*narrowing]
        return [
            ReaderList(
                _drop_nobody(rule.readers), "sidecar" if rule.narrows else "rule", rule.pattern
            )
            for rule in rules
            if EVERYBODY not in rule.readers
        ]

    def list_document_limits(
        self, paths: Iterable[str], metadata: Mapping[str, Scalar]
    ) -> Sequence[ReaderList]:
        """Return the lists that limit who may read a document; empty if everybody may.

        Args:
            paths: The places of the document.
            metadata: Its metadata, which may name readers.
        """
        limits = [limit for path in paths for limit in self.list_limits(path)]
        if clause := list_own_readers(metadata):
            limits.append(ReaderList(_drop_nobody(clause), "document"))
        return list(dict.fromkeys(limits))


def _drop_nobody(clause: Clause) -> tuple[str, ...]:
    """Return the names of a clause; empty if it admits nobody."""
    return tuple(name for name in clause if name != NOBODY)


def list_own_readers(metadata: Mapping[str, Scalar]) -> Clause:
    """Return the clause of readers that a document names in its metadata.

    Returns:
        The names; empty if the metadata has no `METADATA_KEY` or names `EVERYBODY`, so that nothing
        is limited; `NOBODY` alone if the value has no valid name.
    """
    if METADATA_KEY not in metadata:
        return ()
    names = split_readers(str(metadata[METADATA_KEY]))
    return () if EVERYBODY in names else names or (NOBODY,)


def is_reader(name: object) -> bool:
    """Return whether a value is the name of a reader; `EVERYBODY` is one."""
    return isinstance(name, str) and (name == EVERYBODY or READER.fullmatch(name) is not None)


def split_readers(text: str) -> tuple[str, ...]:
    """Return the valid names in a text such as `hr, user:ana` or `[hr, "user:ana"]`."""
    names = (name.strip().strip("\"'").strip() for name in text.strip().strip("[]").split(","))
    return tuple(name for name in names if is_reader(name))


def dump_rules(rules: Iterable[ReadingRule]) -> str:
    """Return rules as JSON, which `load_rules` reads."""
    return json.dumps([[rule.pattern, list(rule.readers), rule.narrows] for rule in rules])


def load_rules(text: str) -> tuple[ReadingRule, ...]:
    """Return the rules that `dump_rules` wrote; none for an empty text."""
    return tuple(
        ReadingRule(pattern, tuple(readers), *narrows)
        for pattern, readers, *narrows in json.loads(text or "[]")
    )
