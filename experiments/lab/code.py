"""The code that an arm runs through, and a digest that changes where it could change an answer."""

import ast
import hashlib
import sys
import threading
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import fathom

PACKAGE = Path(fathom.__file__).parent
CALIBRATED = "assembly/calibrations.py"
CALIBRATION = "data/calibration.json"
"""The data of a module that lie in another folder than the module."""
PRESETS = "strategies"
"""The folder whose files are no code: an arm's settings hold what a preset says."""
OUTSIDE = ("serving", "testing", "integrations", "evaluation", "ingest")
"""The rooms that no answer runs through: they ask, measure, and fill the index."""
CHANGES = Path(__file__).parents[1] / "equal_code.toml"
"""The changes of modules that are known to change no answer."""
_LATER_FIELDS = frozenset({"type_params"})
"""The fields of nodes that Python 3.11 does not have; they are empty in code that it reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a module that changes no answer.

    Attributes:
        module: The path of the module below the package.
        before: The hash of its statements before the change; empty for a module that the code did
            not import before.
        after: The hash of its statements after the change.
        reason: Why no answer can change.
        evidence: How that was shown.
    """

    module: str
    before: str
    after: str
    reason: str
    evidence: str


@cache
def read_changes(file: Path = CHANGES) -> tuple[Change, ...]:
    """Return the changes that change no answer."""
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["change"]
    return tuple(Change(**entry) for entry in entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """The code of a system when its questions were asked.

    Attributes:
        digest: The hash of the modules, without comments, docstrings and layout.
        modules: Paths below the package: modules, and the word lists and cards of models that they
            read.
    """

    digest: str
    modules: tuple[str, ...]

    @classmethod
    def of(cls, run: Iterable[str]) -> "Code":
        """Describe the modules that were run, with those that they import."""
        imported = close_over_imports(run)
        modules = tuple(sorted({*imported, *_list_resources(imported)}))
        return cls(digest=compute_digest(modules), modules=modules)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Code":
        """Restore it from the output of `asdict`."""
        return cls(digest=stored["digest"], modules=tuple(stored["modules"]))

    @property
    def is_current(self) -> bool:
        """True if the modules have the same digest today, or had it before changes in `CHANGES`.

        A module that they import today and did not import then must be among the changes too.
        """
        return self.digest in list_digests(self.modules) and all(
            _is_listed_as_new(module)
            for module in close_over_imports(_list_code(self.modules))
            if module not in self.modules
        )


@contextmanager
def follow_calls() -> Iterator[set[str]]:
    """Yield the set of the modules that are called in the block, by threads begun in it too."""
    called: set[str] = set()
    root = f"{PACKAGE}/"

    def note_call(frame: FrameType, _event: str, _argument: object) -> None:
        # Without a result no line or return of this call is reported, which would take far longer.
        file = frame.f_code.co_filename
        if file.startswith(root):
            called.add(file.removeprefix(root))

    former, former_of_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(note_call)
    sys.settrace(note_call)
    try:
        yield called
    finally:
        sys.settrace(former)
        threading.settrace(former_of_threads)


def close_over_imports(modules: Iterable[str]) -> tuple[str, ...]:
    """Return modules with those that they import when they are loaded, without the rooms outside.

    A branch that no question took is among them, if its module is imported.
    """
    waiting, reached, named = [*modules], set[str](), set[str]()
    while waiting:
        module = waiting.pop()
        if module not in reached and module.split("/")[0] not in OUTSIDE:
            reached.add(module)
            # Most names are those of modules before, and to locate one asks the disk.
            names = set(_parse_text(_read_module(module)).imports) - named
            named |= names
            waiting += [file for name in names for file in _locate_module(name)]
    return tuple(sorted(reached))


def compute_digest(modules: Sequence[str]) -> str:
    """Return a hash of modules that a change of comments, docstrings or layout leaves as it is."""
    return next(list_digests(modules))


def list_digests(
    modules: Sequence[str], changes: Sequence[Change] | None = None
) -> Iterator[str]:  # fmt: skip
    """Yield the hash of modules as they are today, then as they were before each change.

    Args:
        modules: The modules.
        changes: The changes that change no answer, in the order in which they were made; by default
            those in `CHANGES`.
    """
    states = {module: hash_module(module) for module in modules}
    yield _hash_states(states)
    for change in reversed(read_changes() if changes is None else changes):
        # Rows whose code has a module were made after it was new.
        if change.before and states.get(change.module) == change.after:
            states[change.module] = change.before
            yield _hash_states(states)


def _list_code(modules: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that are code, without the word lists and cards that they read."""
    return tuple(module for module in modules if module.endswith(".py"))


def _is_listed_as_new(module: str) -> bool:
    """Return whether the changes lead from no import of a module to its statements of today."""
    state = hash_module(module)
    for change in reversed(read_changes()):
        if change.module == module and change.after == state:
            state = change.before
    return not state


def _hash_states(states: Mapping[str, str]) -> str:
    """Return one hash of the states of modules."""
    digest = hashlib.sha256()
    for module, state in states.items():
        digest.update(f"{module}\0{state}\0".encode())
    return digest.hexdigest()[:16]


def hash_module(module: str) -> str:
    """Return the hash of a module's statements; of a file that is no code, its text."""
    text = _read_module(module)
    return _parse_text(text).digest if module.endswith(".py") else text


def dump_node(node: object) -> str:
    """Return what `ast.dump` of Python 3.11 returns, on each version of Python.

    Later versions leave out empty lists and know fields that earlier ones do not. By their own
    dumps, code would seem to have changed since its rows were made.
    """
    if isinstance(node, list):
        return f"[{', '.join(map(dump_node, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    shown = [
        f"{name}={dump_node(value)}"
        for name in node._fields
        # An optional field, whose default is a `None` of the class, is left out where it is empty.
        if (value := getattr(node, name, None)) is not None
        or getattr(type(node), name, ...) is not None
        if name not in _LATER_FIELDS or value != []
    ]
    return f"{type(node).__name__}({', '.join(shown)})"


def _list_resources(modules: Sequence[str]) -> Iterator[str]:
    """Yield the files of words and cards beside modules; weights are known by their cards."""
    folders = {(PACKAGE / module).parent for module in modules} - {PACKAGE / PRESETS}
    for folder in folders:
        for file in (*folder.glob("*"), *folder.glob("resources/**/*")):
            if file.suffix in {".json", ".toml", ".txt"}:
                yield file.relative_to(PACKAGE).as_posix()
    if CALIBRATED in modules:
        yield CALIBRATION


class _ParsedText(NamedTuple):
    """The names that a text imports when it is loaded, and the hash of its statements."""

    imports: tuple[str, ...]
    digest: str


@cache
def _parse_text(text: str) -> _ParsedText:
    tree = ast.parse(text)
    names: list[str] = []
    # Imports in functions and for type checking come below other statements.
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    statements = dump_node(_DocstringRemover().visit(tree))
    return _ParsedText(tuple(names), hashlib.sha256(statements.encode()).hexdigest())


def _read_module(module: str) -> str:
    """Return the text of a module; that of an empty one if it is gone."""
    file = PACKAGE / module
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _locate_module(name: str) -> tuple[str, ...]:
    """Return the file of a module of the package; nothing for any other name."""
    package, _, path = name.partition(".")
    base = path.replace(".", "/")
    if package != PACKAGE.name or not base:
        return ()
    files = (f"{base}.py", f"{base}/__init__.py")
    return tuple(file for file in files if (PACKAGE / file).is_file())


class _DocstringRemover(ast.NodeTransformer):
    """A transformer that leaves out all texts that stand alone as statements."""

    def visit(self, node: ast.AST) -> ast.AST | None:
        # No statement stands in an expression, and most nodes do.
        return node if isinstance(node, ast.expr) else super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node
