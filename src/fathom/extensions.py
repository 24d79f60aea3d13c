"""Strategies, retrievers and formats by name.

Other packages add extensions to Fathom's own ones by entry points in the groups below, as
docs/extending.md describes. Entry points are read only when a name that is not Fathom's own is
used, or when names are listed. An extension is imported only when it is used, so a broken one
affects nothing else. It cannot replace one of Fathom's own.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import override

from fathom.errors import FathomError, UsageError
from fathom.registry import ENDINGS, RETRIEVERS, STRATEGIES, RegistryEntry

if TYPE_CHECKING:  # takes a while to import
    from importlib.metadata import EntryPoint

Kind = Literal["strategy", "retriever", "format"]

ENTRY_POINT_GROUPS: Mapping[Kind, str] = {
    "strategy": "fathom.strategies",
    "retriever": "fathom.retrievers",
    "format": "fathom.formats",
}
_OWN: Mapping[Kind, Mapping[str, RegistryEntry]] = {
    "strategy": STRATEGIES,
    "retriever": RETRIEVERS,
    "format": ENDINGS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension(RegistryEntry):
    """A strategy, retriever or format of another package.

    Attributes:
        kind: The kind of the extension; the name of a format is the ending of its files.
        package: The distribution that contains it.
        version: The version of the distribution; empty if it is not known.
    """

    kind: Kind
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.package} {self.version}"

    @property
    def module(self) -> str:
        """The name of the module that holds the target."""
        return self.target.partition(":")[0]

    @property
    def folder(self) -> str:
        """The folder that holds the top package of the module; empty if there is none.

        Nothing is imported to find it.
        """
        spec = find_spec(self.module.partition(".")[0])
        if spec is None:
            return ""
        places = [str(Path(place).parent) for place in spec.submodule_search_locations or ()]
        return places[0] if places else str(Path(spec.origin or "").parent)

    @property
    def is_refused(self) -> bool:
        """True if the name is one of Fathom's own, which an extension cannot replace."""
        return self.name in _OWN[self.kind]

    @override
    def load(self) -> Any:
        try:
            # A dataclass with slots is a new class, so `super` needs its arguments here.
            return super(Extension, self).load()
        except Exception as error:
            raise self.make_error(error) from error

    @override
    def make(self, *components: object) -> Any:
        kind = self.load()
        try:
            instance = kind.of(*components)
            own_name = instance.name
        # An error of Fathom already names its culprit, such as a wrong setting.
        except FathomError:
            raise
        except Exception as error:
            raise self.make_error(error) from error
        if own_name != self.name:
            raise UsageError(f"{self} calls itself {own_name!r}; both names must be the same")
        return instance

    def make_error(self, error: Exception) -> UsageError:
        """Return the error which says in one line that and why the extension cannot be used."""
        words = " ".join(str(error).split())[:200]
        return UsageError(
            f"{self} cannot be used: {type(error).__name__}: {words}; repair or uninstall it"
        )


def find_extension(kind: Kind, name: str) -> Extension | None:
    """Return the extension of this name; `None` if there is none or the name is Fathom's own.

    Raises:
        UsageError: If two packages have an extension of this kind and name.
    """
    if name in _OWN[kind]:
        return None
    matches = _read_entry_points(tuple(sys.path)).get((kind, name), ())
    if len(matches) > 1:
        packages = " and ".join(f"{match.package} {match.version}" for match in matches)
        raise UsageError(f"{kind} {name!r} is brought by {packages}; uninstall one of them")
    return matches[0] if matches else None


def find_format(path: PurePath) -> Extension | None:
    """Return the extension for files with the ending of `path`; `None` if there is none.

    Raises:
        UsageError: If two packages have one.
    """
    ending = path.suffix[1:].lower()
    return find_extension("format", ending) if ending else None


def list_names(kind: Kind) -> list[str]:
    """Return all names of a kind, Fathom's own first, then those of extensions sorted."""
    added = {
        extension.name
        for extension in iterate_extensions()
        if extension.kind == kind and not extension.is_refused
    }
    return [*_OWN[kind], *sorted(added)]


def iterate_extensions() -> Iterator[Extension]:
    """Yield all extensions, also refused ones, without importing them."""
    for extensions in _read_entry_points(tuple(sys.path)).values():
        yield from extensions


def find_entry(kind: Kind, name: str) -> RegistryEntry:
    """Return the entry of this name, which is Fathom's own or an extension.

    Raises:
        UsageError: If there is none, with all names of the kind; or if two packages have one.
    """
    # Our own names come first, because a search for an extension reads the entry points.
    entry = _OWN[kind].get(name) or find_extension(kind, name)
    if entry is None:
        raise UsageError(f"{kind} {name!r}: choose one of {', '.join(list_names(kind))}")
    return entry


@cache
def _read_entry_points(path: tuple[str, ...]) -> Mapping[tuple[Kind, str], tuple[Extension, ...]]:
    """Return the extensions by kind and name.

    Args:
        path: The current `sys.path`, as the key of the cache: a new folder may hold extensions.
    """
    from importlib.metadata import entry_points

    del path  # only the key of the cache
    extensions: dict[tuple[Kind, str], tuple[Extension, ...]] = {}
    for kind, group in ENTRY_POINT_GROUPS.items():
        for entry in sorted(entry_points(group=group)):
            extension = _parse_entry_point(kind, entry)
            key = (kind, extension.name)
            if extension not in extensions.get(key, ()):  # a folder can occur twice in sys.path
                extensions[key] = (*extensions.get(key, ()), extension)
    return extensions


def _parse_entry_point(kind: Kind, entry: "EntryPoint") -> Extension:
    """Return the extension that an entry point declares."""
    distribution = entry.dist
    return Extension(
        kind=kind,
        name=entry.name.lower() if kind == "format" else entry.name,
        target=entry.value.partition("[")[0].strip(),
        package=distribution.name if distribution else "a package without a name",
        version=distribution.version if distribution else "",
    )
