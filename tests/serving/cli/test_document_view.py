"""`docs show --at` opens the place of a citation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.errors import UsageError
from fathom.serving.cli.document_view import format_place_view, parse_place, serialize_place
from fathom.types import Block, Document, Span

TEXT = "\n".join(f"line {n} of it" for n in range(1, 31))
DOCUMENT = Document(
    id="d1",
    text=TEXT,
    path="/c/it.pdf",
    title="It",
    blocks=(Block(kind="paragraph", span=Span(0, len(TEXT)), headings=("Part I",), page=4),),
)
QUOTE = Span(TEXT.index("15 of"), TEXT.index("16 of it"))


@pytest.mark.parametrize(("at", "text"), [("15", "line 15 of it"), ("0-6", "line 1")])
def test_a_place_is_a_line_or_characters(at: str, text: str) -> None:
    assert parse_place(DOCUMENT, at).cut(TEXT) == text


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("x", "give a line such as 12"),
        ("0", "has lines 1 to 30"),
        ("31", "has lines 1 to 30"),
        ("5-5", "has characters 0-"),
        ("5-9999", "has characters 0-"),
        ("-3", "give a line"),
    ],
)
def test_other_places_are_refused_in_one_line(at: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_place(DOCUMENT, at)


def test_ten_lines_around_the_place_are_shown_with_a_mark() -> None:
    words = format_place_view(DOCUMENT, QUOTE, context=10, styled=False).split("\n")
    assert words[:3] == ["It", "/c/it.pdf, page 4, Part I", ""]
    assert words[3:] == [
        f"{'>' if n in {15, 16} else ' '} {n:>2}  line {n} of it" for n in range(5, 27)
    ]


def test_a_terminal_gets_colour_and_a_link() -> None:
    view = format_place_view(DOCUMENT, QUOTE, context=10, styled=True)
    assert "> 15  line \x1b[30;43m15 of it\x1b[0m\n> 16  \x1b[30;43mline \x1b[0m16 of it\n" in view
    assert "\x1b]8;;file:///c/it.pdf\x1b\\/c/it.pdf\x1b]8;;\x1b\\, page 4" in view


def test_control_characters_of_a_document_do_not_reach_the_terminal() -> None:
    hostile = Document(id="d1", text="a\x1b[2Jb", path="/c/\x1b[1m.txt", title="\x07")
    for styled in (True, False):
        view = format_place_view(hostile, Span(0, 3), context=10, styled=styled)
        assert "\x1b[2J" not in view
        assert "\x1b[1m" not in view
        assert "\x07" not in view


def test_json_names_the_place() -> None:
    assert serialize_place(DOCUMENT, QUOTE) == {
        "path": "/c/it.pdf",
        "title": "It",
        "section": "Part I",
        "page": 4,
        "line": 15,
        "recognised": None,
        "start": QUOTE.start,
        "end": QUOTE.end,
        "text": "15 of it\nline ",
    }


def test_the_command_opens_the_place_in_colour_in_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "fees.md").write_text("# Fees\n\nA permit\ncosts 40 crowns.\n")
    with engine_at(tmp_path) as engine:
        engine.ingest([tmp_path / "fees.md"])
    command = [sys.executable, "-m", "fathom", "docs", "show", "fees.md", "--at", "4"]
    environment = {
        **os.environ,
        "FATHOM_INDEX__DIRECTORY": str(tmp_path / "index"),
        "TERM": "xterm",
    }
    environment.pop("NO_COLOR", None)
    piped = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert piped.stdout == "Fees\nfees.md\n\n  1  Fees\n\n> 3  A permit costs 40 crowns.\n"
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    subprocess.run(command, cwd=tmp_path, env=environment, stdout=theirs, check=True)
    os.close(theirs)
    output = os.read(ours, 10_000).decode().replace("\r\n", "\n")
    os.close(ours)
    assert output.endswith("> 3  A permit \x1b[30;43mcosts 40 crowns.\x1b[0m\n")
