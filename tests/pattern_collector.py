"""All patterns of the package, each with the ways in which it is used."""

import ast
import builtins
import contextlib
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import fathom

ROOT = Path(fathom.__file__).parent
WHOLE, START, ANYWHERE = "fullmatch", "match", "search"
_METHODS = {
    "fullmatch": WHOLE, "match": START, "search": ANYWHERE, "finditer": ANYWHERE,
    "findall": ANYWHERE, "sub": ANYWHERE, "subn": ANYWHERE, "split": ANYWHERE,
}  # fmt: skip
_USE = re.compile(
    r"\b(\w+)(?:\[[^\]]*\])?\.(fullmatch|match|search|finditer|findall|subn?|split)\b"
)
_INDENTED_CALL = re.compile(r"^[ \t].*\bre\.", re.MULTILINE)
"""A sign of a function that uses `re`; only then is the source parsed, which takes long."""


@dataclass(frozen=True, slots=True)
class UsedPattern:
    """A pattern, a place where it stands, and the loosest way in which it is used."""

    text: str
    flags: int
    place: str
    use: str


class _Words(dict[str, Any]):
    """A name space in which each unknown name is a word."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, "word")


def collect_patterns() -> list[UsedPattern]:
    """Return each pattern of the package once: those of modules, and those written in functions.

    Parts of a pattern that are known at run time only are taken to be a word.
    """
    modules = [importlib.import_module(name) for name in list_modules()]
    sources = {module: Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules}
    uses = {module: _find_uses(source) for module, source in sources.items()}
    everywhere = _find_uses("\n".join(sources.values()))
    patterns: dict[tuple[str, int], UsedPattern] = {}
    for module, source in sources.items():
        for pattern in (
            *_find_globals(module, everywhere, uses[module]),
            *_find_calls(module, source),
        ):
            key = (pattern.text, pattern.flags)
            patterns[key] = _choose_looser(pattern, patterns.get(key))
    return list(patterns.values())


def list_modules() -> list[str]:
    """Return the names of all modules of the package that can be imported without being run."""
    walked = pkgutil.walk_packages(fathom.__path__, "fathom.")
    return [module.name for module in walked if not module.name.endswith("__main__")]


def _choose_looser(pattern: UsedPattern, other: UsedPattern | None) -> UsedPattern:
    order = (WHOLE, START, ANYWHERE)
    is_looser = other is None or order.index(pattern.use) > order.index(other.use)
    return pattern if is_looser or other is None else other


def _find_uses(source: str) -> dict[str, set[str]]:
    uses: dict[str, set[str]] = {}
    for name, method in _USE.findall(source):
        uses.setdefault(name, set()).add(_METHODS[method])
    return uses


def _find_globals(
    module: ModuleType, everywhere: dict[str, set[str]], within: dict[str, set[str]]
) -> Iterator[UsedPattern]:
    place = module.__name__.removeprefix("fathom.")
    for name, value in vars(module).items():
        ways = (within if name.startswith("_") else everywhere).get(name, set())
        use = next((way for way in (ANYWHERE, START, WHOLE) if way in ways), ANYWHERE)
        for pattern in _find_within(value, 0):
            yield _describe(pattern.pattern, pattern.flags, f"{place}.{name}", use)


def _find_within(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _find_within(item, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        yield from _find_within([*value.keys(), *value.values()], depth + 1)
    elif depth < 4 and getattr(type(value), "__module__", "").startswith("fathom"):
        yield from _find_within(_list_fields(value), depth + 1)


def _list_fields(value: object) -> list[object]:
    names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
    return [getattr(value, name, None) for name in names]


def _find_calls(module: ModuleType, source: str) -> Iterator[UsedPattern]:
    if not _INDENTED_CALL.search(source):
        return
    names = _Words(vars(module))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    # In the order of the source, so that each share of all patterns is the same in every run.
    calls = dict.fromkeys(
        node
        for function in ast.walk(ast.parse(source))
        if isinstance(function, functions)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and node.args
    )
    for node in calls:
        function = ast.unparse(node.func)
        method = function.removeprefix("re.")
        if not function.startswith("re.") or method not in {*_METHODS, "compile"}:
            continue
        text, flags = (_evaluate(part, names) for part in (node.args[0], _get_flags(node, method)))
        if isinstance(text, str | bytes):
            place = f"{module.__name__.removeprefix('fathom.')}:{node.lineno}"
            use = _METHODS.get(method, ANYWHERE)
            yield _describe(text, flags if isinstance(flags, int) else 0, place, use)


def _get_flags(node: ast.Call, method: str) -> ast.expr:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(method, 2)
    default = node.args[place] if len(node.args) > place else ast.Constant(0)
    return keywords.get("flags", default)


def _evaluate(node: ast.expr, names: _Words) -> object:
    # A part known at run time only, such as a method of a match, may not evaluate.
    with contextlib.suppress(Exception):
        return eval(compile(ast.Expression(node), "pattern", "eval"), {}, names)
    return None


def _describe(text: str | bytes, flags: int, place: str, use: str) -> UsedPattern:
    if isinstance(text, bytes):
        return UsedPattern(text.decode("latin-1"), int(flags) | re.ASCII, place, use)
    return UsedPattern(
        text, int(flags) & ~re.UNICODE if flags & re.ASCII else int(flags), place, use
    )
