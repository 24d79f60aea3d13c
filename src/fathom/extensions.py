"""What can be chosen by name: Fathom's own strategies and retrievers, and what others add to them.

A package adds to them without an edit of Fathom, by entry points of these groups; see
docs/extending.md. They are looked for when a name that is not Fathom's own is used, or when names
are listed, and imported when they are used: one that is broken is in nobody else's way. What is
Fathom's own cannot be replaced.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

from fathom.errors import FathomError, UsageError

if TYPE_CHECKING:  # takes a while to import
    from importlib.metadata import EntryPoint

Kind = Literal["strategy", "retriever", "format"]

GROUPS: Mapping[Kind, str] = {
    "strategy": "fathom.strategies",
    "retriever": "fathom.retrievers",
    "format": "fathom.formats",
}
STRATEGIES: Mapping[str, str] = {
    "naive": "Naive",
    "maf": "Maf",
    "anchor": "AnchorGate",
    "rrf": "Rrf",
    "hybrid": "Hybrid",
    "mao": "Mao",
    "adaptive": "Adaptive",
}
"""Fathom's own strategies: the name, which is that of the module too, and the class."""
RETRIEVERS = (
    "vector",
    "keyword",
    "hybrid",
    "lead",
    "sentence",
    "vector_feedback",
    "keyword_feedback",
)
"""Fathom's own retrievers."""
FORMATS = frozenset(
    {
        "csv", "docx", "eml", "epub", "htm", "html", "ipynb", "json", "jsonl", "log", "markdown",
        "md", "mdown", "mkd", "odt", "pdf", "pptx", "rst", "rtf", "tab", "text", "tsv", "txt",
        "xhtml", "xlsx", "xml",
    }
)  # fmt: skip
"""The endings of the files that Fathom itself reads."""
_OWN: Mapping[Kind, frozenset[str]] = {
    "strategy": frozenset(STRATEGIES),
    "retriever": frozenset(RETRIEVERS),
    "format": FORMATS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What a package adds.

    Attributes:
        name: What it is chosen by; that of a format is the ending of its files, without the dot.
        target: `module:attribute`.
        package: The distribution that brings it.
        version: Of the distribution.
    """

    kind: Kind
    name: str
    target: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.package} {self.version}"

    @property
    def module(self) -> str:
        """Where it is imported from."""
        return self.target.partition(":")[0]

    @property
    def folder(self) -> str:
        """Where its module lies; empty where it does not. Nothing is imported to know it."""
        spec = find_spec(self.module.partition(".")[0])
        if spec is None:
            return ""
        places = [str(Path(place).parent) for place in spec.submodule_search_locations or ()]
        return places[0] if places else str(Path(spec.origin or "").parent)

    @property
    def is_refused(self) -> bool:
        """Whether its name is one of Fathom's own, which nobody can replace."""
        return self.name in _OWN[self.kind]

    def load(self) -> Any:  # noqa: ANN401 - a class or a function
        """Import it.

        Raises:
            UsageError: If that does not work, naming the package.
        """
        module, _, attributes = self.target.partition(":")
        try:
            loaded: Any = import_module(module)
            for attribute in attributes.split(".") if attributes else ():
                loaded = getattr(loaded, attribute)
        except Exception as error:
            raise self.broken(error) from error
        return loaded

    def make(self, *parts: object) -> Any:  # noqa: ANN401 - a strategy or a retriever
        """What the class makes of these parts by its `of`; it bears the name it is chosen by.

        Raises:
            UsageError: If that does not work, naming the package.
        """
        kind = self.load()
        try:
            made = kind.of(*parts)
            named = made.name
        except FathomError:
            raise
        except Exception as error:
            raise self.broken(error) from error
        if named != self.name:
            raise UsageError(f"{self} calls itself {named!r}; both names must be the same")
        return made

    def broken(self, error: Exception) -> UsageError:
        """It cannot be used, and why, in one line."""
        words = " ".join(str(error).split())[:200]
        return UsageError(
            f"{self} cannot be used: {type(error).__name__}: {words}; mend or uninstall it"
        )


def find(kind: Kind, name: str) -> Extension | None:
    """What a package adds under this name.

    Raises:
        UsageError: If two packages do.
    """
    if name in _OWN[kind]:
        return None
    found = _registered(tuple(sys.path)).get((kind, name), ())
    if len(found) > 1:
        packages = " and ".join(f"{each.package} {each.version}" for each in found)
        raise UsageError(f"{kind} {name!r} is brought by {packages}; uninstall one of them")
    return found[0] if found else None


def format_of(path: PurePath) -> Extension | None:
    """What a package adds for the files of this ending.

    Raises:
        UsageError: If two packages do.
    """
    ending = path.suffix[1:].lower()
    return find("format", ending) if ending else None


def names(kind: Kind) -> list[str]:
    """All names of a kind, Fathom's own first."""
    own = {"strategy": list(STRATEGIES), "retriever": list(RETRIEVERS), "format": sorted(FORMATS)}
    added = {each.name for each in registered() if each.kind == kind and not each.is_refused}
    return [*own[kind], *sorted(added)]


def registered() -> Iterator[Extension]:
    """All that packages add, also what is refused; nothing is imported."""
    for found in _registered(tuple(sys.path)).values():
        yield from found


def check_name(kind: Kind, name: str) -> None:
    """Accept a name that there is.

    Raises:
        UsageError: If there is none, naming those that there are.
    """
    if name not in _OWN[kind] and find(kind, name) is None:
        raise UsageError(f"{kind} {name!r}: choose one of {', '.join(names(kind))}")


@cache
def _registered(path: tuple[str, ...]) -> Mapping[tuple[Kind, str], tuple[Extension, ...]]:
    """By kind and name; looked for once, where modules are looked for."""
    from importlib.metadata import entry_points

    del path  # the key: who adds a folder to sys.path has added what is installed there
    found: dict[tuple[Kind, str], tuple[Extension, ...]] = {}
    for kind, group in GROUPS.items():
        for entry in sorted(entry_points(group=group)):
            added = _extension(kind, entry)
            key = (kind, added.name)
            if added not in found.get(key, ()):  # a folder may stand twice in sys.path
                found[key] = (*found.get(key, ()), added)
    return found


def _extension(kind: Kind, entry: "EntryPoint") -> Extension:
    distribution = entry.dist
    return Extension(
        kind=kind,
        name=entry.name.lower() if kind == "format" else entry.name,
        target=entry.value.partition("[")[0].strip(),
        package=distribution.name if distribution else "a package without a name",
        version=distribution.version if distribution else "",
    )
