"""Write the parts of the documentation that are derived from the code.

    python docs/generate.py           write them
    python docs/generate.py --check   exit with 1 if one of them is not what the code says

Derived are the picture of the rooms in README.md and CONTRIBUTING.md, from the import contract in
pyproject.toml and the first lines of the packages, and docs/settings.md, from the settings tree.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from fathom.settings import Settings
from fathom.settings.section import Section

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fathom"
MARKS = ("<!-- rooms: python docs/generate.py -->", "<!-- end of rooms -->")
LONGEST = 120
"""Characters of a line of the picture."""


def draw_rooms() -> str:
    """Return the picture of the rooms: a line for each layer of the import contract, top first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contracts["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = [re.findall(r"\w+", layer) for layer in layers]
    names = [" | ".join(row) for row in rows]
    width = max(map(len, names)) + 2
    lines = [
        f"{name:<{width}}{' | '.join(map(describe_room, row))}".rstrip()
        for name, row in zip(names, rows, strict=True)
    ]
    for line in lines:
        if len(line) > LONGEST:
            raise SystemExit(f"the picture has a line of {len(line)} characters: {line}")
    return "```\n" + "\n".join(lines) + "\n```"


def describe_room(name: str) -> str:
    """Return the first line of a room's docstring, as part of a sentence."""
    folder = PACKAGE / name / "__init__.py"
    file = folder if folder.is_file() else PACKAGE / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = docstring.splitlines()[0].rstrip(".")
    return first[:1].lower() + first[1:]


def replace_rooms(page: str) -> str:
    """Return a page with today's picture between the marks."""
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    return f"{before}{MARKS[0]}\n{draw_rooms()}\n{MARKS[1]}{after}"


def write_settings() -> str:
    """Return docs/settings.md: every setting that a user can set, with its default and meaning."""
    settings = Settings()
    tables = [table for table in iterate_tables(settings, "") if table[2]]
    count = sum(len(rows) for _, _, rows in tables)
    lines = [
        "# Settings",
        "",
        f"There are {count} settings. Each has a default; set those that you need. Later sources",
        "win: the defaults, `fathom.toml` of the user, `fathom.toml` of the folder or `--config",
        "FILE`, variables of the environment (`FATHOM_RETRIEVAL__K=20`), then flags",
        "(`--set retrieval.k=20`). An unknown key is an error. `fathom config show` prints what is",
        "in force and where each value comes from.",
        "",
        "This page is written by `python docs/generate.py`; a test compares it with the code.",
    ]
    for name, about, rows in tables:
        lines += ["", f"## [{name}]" if name else "## Top level", "", about, ""]
        lines += ["| setting | values | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def iterate_tables(section: Section, prefix: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each table of settings: its name, its docstring, and its rows."""
    about = " ".join((type(section).__doc__ or "").split())
    meanings = read_meanings(type(section))
    rows, inner = [], []
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, Section):
            inner.append((f"{prefix}{name}", value))
        elif not section.is_constant(name):
            rows.append(format_row(name, field, value, meanings.get(name, "")))
    yield prefix.rstrip("."), about, rows
    for name, value in inner:
        yield from iterate_tables(value, f"{name}.")


def read_meanings(kind: type[Section]) -> dict[str, str]:
    """Return the docstrings that stand below the fields of a table, by field."""
    module = sys.modules[kind.__module__].__file__ or ""
    tree = ast.parse(Path(module).read_text(encoding="utf-8"))
    (body,) = [
        node.body
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    meanings = {}
    for field, below in zip(body, body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            meanings[field.target.id] = " ".join(str(below.value.value).split())
    return meanings


def format_row(name: str, field: FieldInfo, value: object, meaning: str) -> str:
    """Return the row of a setting."""
    cells = (f"`{name}`", describe_values(field), format_value(value), meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def describe_values(field: FieldInfo) -> str:
    """Return which values a field takes, in words."""
    kind = describe_type(field.annotation)
    limits = [
        text
        for limit in field.metadata
        for name, sign in (("gt", ">"), ("ge", "at least"), ("lt", "<"), ("le", "at most"))
        if (bound := getattr(limit, name, None)) is not None and (text := f"{sign} {bound}")
    ]
    return ", ".join([kind, *limits])


def describe_type(kind: Any) -> str:  # noqa: ANN401 - an annotation
    """Return the name of a type as a user writes its values."""
    arguments = get_args(kind)
    if getattr(get_origin(kind), "__name__", "") == "tuple" or get_origin(kind) is tuple:
        return f"list of {describe_type(arguments[0])}"
    if str(get_origin(kind)) == "typing.Literal":
        return ", ".join(f'`"{value}"`' if isinstance(value, str) else str(value) for value in arguments)
    if arguments and get_origin(kind) is not dict:
        inner = [describe_type(argument) for argument in arguments if hasattr(argument, "__name__") or get_args(argument)]
        return " or ".join(dict.fromkeys(text for text in inner if text))
    names = {"str": "text", "int": "whole number", "float": "number", "bool": "`true`, `false`"}
    names |= {"NoneType": "nothing", "Path": "path", "PosixPath": "path"}
    name = getattr(kind, "__name__", str(kind))
    return names.get(name, "table" if get_origin(kind) is dict else name)


def format_value(value: object) -> str:
    """Return a default as it is written in `fathom.toml`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"`{value}`"
    if isinstance(value, tuple | list):
        return f"`{list(value)}`"
    return f'`"{value}"`' if str(value) else '`""`'


def main() -> int:
    """Write the derived parts, or check them."""
    pages = {
        ROOT / "docs" / "settings.md": lambda _: write_settings(),
        ROOT / "README.md": replace_rooms,
        ROOT / "CONTRIBUTING.md": replace_rooms,
    }
    stale = []
    for page, derive in pages.items():
        today = page.read_text(encoding="utf-8") if page.exists() else ""
        wanted = derive(today)
        if wanted != today:
            stale.append(page.relative_to(ROOT))
            if "--check" not in sys.argv:
                page.write_text(wanted, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"not what the code says: {', '.join(map(str, stale))}; run python docs/generate.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
