"""Write the parts of the documentation that are derived from the code.

    python docs/generate.py           write them
    python docs/generate.py --check   exit with 1 if one of them is not what the code says

Derived are the picture of the rooms in README.md and CONTRIBUTING.md, from the import contract in
pyproject.toml and the first lines of the packages, and docs/settings.md, from the settings tree.
"""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from fathom.settings import Settings
from fathom.settings.section import FileTable, Section, iterate_keys

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fathom"
SETTINGS = frozenset(key for key, refusal in iterate_keys(Settings) if not refusal)
"""The keys that a user can set."""
MARKS = ("<!-- rooms: python docs/generate.py -->", "<!-- end of rooms -->")
INTRODUCTION = """\
# Settings

There are {count} settings. Each has a default; set those that you need. Later sources win: the
defaults, the preset of a paper (`--paper maf`), `fathom.toml` of the user, `fathom.toml` of the
folder, variables of the environment (`FATHOM_RETRIEVAL__K=20`), then flags (`--set
retrieval.k=20`). An unknown key is an error. `fathom config show` prints what is in force and where
each value comes from. Other packages have tables of their own, `[extensions.NAME]`:
[extending](extending.md).

The preset of a paper holds the strategy and every setting and constant that the paper fixes. It
lies below all settings of your own, in whatever source: `fathom config show --paper maf` prints
the paper's values with their sections, and what is set over them. A paper and `ask.strategy` hide
each other: the later source counts, and both in one source are an error.

Numbers of a paper or of a measurement are constants. The pages of the strategies explain them, and
`fathom config show --constants` lists them too. A constant in one of the sources above is an error.
[Experiments](../experiments/README.md) vary constants, and so does
`fathom replay ID --set anchor.min_score=0.3`.

`python docs/generate.py` writes this page, and a test compares it with the code."""
NAMES = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true`, `false`",
    Path: "path",
    type(None): "nothing",
}
LONGEST = 60
"""The most characters of the description of a room."""
WIDTH = 120
"""The most characters of a line of the picture."""


def draw_rooms() -> str:
    """Return the picture of the rooms: a line for each layer of the import contract, top first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contracts["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = [re.findall(r"\w+", layer) for layer in layers]
    width = max(len(" | ".join(row)) for row in rows) + 2
    lines = [f"{' | '.join(row):<{width}}{' | '.join(map(describe_room, row))}" for row in rows]
    if longest := max((line for line in lines if len(line) > WIDTH), default=""):
        raise SystemExit(f"the picture is too wide for these rooms: {longest}")
    return "```\n" + "\n".join(lines) + "\n```"


def describe_room(name: str) -> str:
    """Return the first line of a room's docstring, as part of a sentence."""
    folder = PACKAGE / name / "__init__.py"
    file = folder if folder.is_file() else PACKAGE / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = docstring.splitlines()[0].rstrip(".")
    if len(first) > LONGEST:
        raise SystemExit(f"the first line of {file} is longer than {LONGEST} characters: {first}")
    return first[:1].lower() + first[1:]


def replace_rooms(page: str) -> str:
    """Return a page with today's picture between the marks."""
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    return f"{before}{MARKS[0]}\n{draw_rooms()}\n{MARKS[1]}{after}"


def write_settings() -> str:
    """Return docs/settings.md: every setting that a user can set, with its default and meaning."""
    tables = [table for table in iterate_tables(Settings(), "") if table[2]]
    count = sum(len(rows) for _, _, rows in tables)
    lines = [INTRODUCTION.format(count=count)]
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
        if f"{prefix}{name}" in SETTINGS:
            rows.append(format_row(name, field, value, meanings.get(name, field.description or "")))
        elif isinstance(value, Section):
            inner.append((f"{prefix}{name}.", value))
    yield prefix.rstrip("."), about, rows
    for table, value in inner:
        yield from iterate_tables(value, table)


def read_meanings(kind: type[Section]) -> dict[str, str]:
    """Return the docstrings that stand below the fields of a table or of its base, by field."""
    inherited = [
        read_meanings(base) for base in kind.__bases__ if base.__module__ == kind.__module__
    ]
    module = sys.modules[kind.__module__].__file__ or ""
    tree = ast.parse(Path(module).read_text(encoding="utf-8"))
    (body,) = [
        node.body
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    meanings = {name: text for base in inherited for name, text in base.items()}
    for field, below in pairwise(body):
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
    if isinstance(kind, type) and issubclass(kind, FileTable):
        return "path of a folder"
    if get_origin(kind) is tuple:
        return f"list of {describe_type(arguments[0])}"
    if get_origin(kind) is Literal:
        return ", ".join(format_value(value) for value in arguments)
    if get_origin(kind) is Annotated:
        return describe_type(arguments[0])
    if arguments:
        return " or ".join(describe_type(argument) for argument in arguments)
    return NAMES[kind]


def format_value(value: object) -> str:
    """Return a default as it is written in `fathom.toml`."""
    if value is None:
        return "none"
    if isinstance(value, FileTable):
        return '`""`'
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"`{value}`"
    if isinstance(value, tuple | list):
        return f"`{json.dumps(value)}`"
    return f'`"{value}"`' if str(value) else '`""`'


def main(*, check: bool) -> int:
    """Write the derived parts, or check them.

    Args:
        check: If true, write nothing.

    Returns:
        The exit code: 1 if a part is not what the code says.
    """
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
            stale.append(str(page.relative_to(ROOT)))
            if not check:
                page.write_text(wanted, encoding="utf-8")
    if check and stale:
        names = ", ".join(stale)
        sys.stderr.write(f"not what the code says: {names}; run python docs/generate.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv))
