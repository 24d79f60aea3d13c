"""Sections of manual pages are headings, in printed pages and in their source."""

import pytest

from fathom.documents.base import ParsedDocument
from fathom.documents.parse import parse_bytes

PRINTED = """\
FOO(1)                           User Commands                          FOO(1)

NAME
       foo - count the
       fees of a harbour

SYNOPSIS
       foo [--all] [FILE]

EXIT STATUS
   When all is paid
       0 if it went well,

       otherwise 1.

   Else
       2.

       -n, --dry-run
           Only count.

SEE ALSO
       bar(1)
"""
SOURCE = r"""'\" t
.\" A comment.
.if n .ad l
.TH "FOO" "1"
.SH "NAME"
foo \- count the fees
.SH "EXIT STATUS"
.SS "When all is paid"
.PP
.B 0
if it \fBwent\fR well.
.TP
\fB\-n\fR
Only count.
.SH SEE ALSO
# bar
# baz
"""


def parse_text_file(text: str, name: str) -> ParsedDocument:
    (parsed,) = parse_bytes(text.encode(), name)
    assert isinstance(parsed, ParsedDocument)
    return parsed


def list_headings(parsed: ParsedDocument) -> list[tuple[str, ...]]:
    return [block.headings for block in parsed.blocks if block.kind == "heading"]


def get_text_under(parsed: ParsedDocument, words: str) -> tuple[str, ...]:
    at = parsed.text.index(words)
    return next(b.headings for b in parsed.blocks if b.span.start <= at < b.span.end)


@pytest.mark.parametrize("name", ["foo.txt", "foo.1", "foo"])
def test_printed_pages_are_read(name: str) -> None:
    parsed = parse_text_file(PRINTED, name)
    assert list_headings(parsed) == [
        ("NAME",),
        ("SYNOPSIS",),
        ("EXIT STATUS",),
        ("EXIT STATUS", "When all is paid"),
        ("EXIT STATUS", "Else"),
        ("SEE ALSO",),
    ]
    assert get_text_under(parsed, "otherwise") == ("EXIT STATUS", "When all is paid")
    assert get_text_under(parsed, "--dry-run") == ("EXIT STATUS", "Else")
    assert parsed.title == "foo - count the"


def test_overstruck_letters_are_read_once() -> None:
    struck = PRINTED.replace("EXIT STATUS", "".join(f"{c}\x08{c}" for c in "EXIT STATUS"))
    parsed = parse_text_file(struck, "foo.txt")
    assert ("EXIT STATUS", "Else") in list_headings(parsed)
    assert parsed.lines[0] == (0, 3)
    assert [line for _, line in parsed.lines][-1] == len(PRINTED.splitlines())


@pytest.mark.parametrize("name", ["foo.1", "foo"])
def test_source_pages_are_read(name: str) -> None:
    parsed = parse_text_file(SOURCE, name)
    assert list_headings(parsed) == [
        ("NAME",),
        ("EXIT STATUS",),
        ("EXIT STATUS", "When all is paid"),
        ("SEE ALSO",),
    ]
    assert parsed.title == "foo - count the fees"
    assert "0\nif it went well." in parsed.text
    assert get_text_under(parsed, "-n") == ("EXIT STATUS", "When all is paid")
    assert "comment" not in parsed.text
    lines = {parsed.text[at:].split()[0]: line for at, line in parsed.lines}
    assert (lines["if"], lines["Only"]) == (11, 14)


def test_other_texts_are_no_manual_pages() -> None:
    parsed = parse_text_file("NAME\n\nWrite your name here.\n", "form.txt")
    assert list_headings(parsed) == []
    assert list_headings(parse_text_file(".TH is a macro, .SH too.\n", "a.txt")) == []


def test_escapes_of_the_source_are_letters_and_no_macros() -> None:
    text = r""".TH FOO 1
.SH NAME
foo \- count fees
.SH OPTIONS
.RS 4
The user\*(Aqs days are 0,
\&.\|.\|.\|\&, 6; the value 7 is each day.
.RE
.SH FILES
.IP one 4
The first.
"""
    text_ = parse_text_file(text, "foo.1").text
    assert "The user's days are 0," in text_
    assert "6; the value 7 is each day." in text_
    assert "4" not in text_


def test_lines_hidden_from_translators_alone_are_read() -> None:
    text = r""".TH FERRY 1
.SH NAME
ferry \- move crates
.SH OPTIONS
.TP
.if !'po4a'hide' .BR \-q ", " \-\-quick
Take the short way.
.if t .B Only in print.
.ie n \{\
\h'-04'\(bu\h'+03'\c
.\}
.el \{\
.IP \(bu 2.3
.\}
Crates are counted.
.IX Item "quick"
"""
    parsed = parse_text_file(text, "ferry.1")
    assert "-q ,  --quick\nTake the short way." in parsed.text
    assert "- \nCrates are counted." in parsed.text.replace("-\n", "- \n")
    assert not any(word in parsed.text for word in ("print", "2.3", "Item"))


def test_escaped_dots_are_dots() -> None:
    text = r""".TH CRANE 1
.SH NAME
crane \- lift crates
.SH EXAMPLES
\.crates[] lifts all\.
\&\.dock is where they go\.
.B \.crane\.conf
"""
    parsed = parse_text_file(text, "crane.1")
    for words in (".crates[] lifts all.", ".dock is where they go.", ".crane.conf"):
        assert words in parsed.text


HEAD = ".TH FOO 1\n.SH NAME\nfoo \\- count fees\n.SH OPTIONS\n"


def test_special_characters_are_the_signs_that_they_print() -> None:
    source = (
        HEAD
        + r"""2024\[en]2025, x\[ha]2, C:\[rs]tmp, \[u2612] paid,
caf\['e] \(:oben \(de \[Eu]5 \(co \[uDC00]\[nonsense]end
"""
    )
    text = parse_text_file(source, "foo.1").text
    assert "2024-2025, x^2, C:\\tmp, \u2612 paid," in text
    assert "caf\u00e9 \u00f6ben \u00b0 \u20ac5 \u00a9 end" in text


def test_requests_that_only_set_the_type_print_nothing() -> None:
    text = parse_text_file(HEAD + ".PD 0\n.P\n.PD\n. ftr V CR\n.fam T\nText.\n", "foo.1").text
    assert text.endswith("OPTIONS\n\nText.")


def test_tables_of_the_source_are_tables() -> None:
    source = (
        HEAD
        + r"""Fees:
.TS
allbox tab(@);
l r
l r.
T{
Vessel
class
T}@T{
Fee
T}
_
Yacht@45.50
.T&
l s.
Coaster@T{
310.00
.br
a day
T}
.TE
All fees are in EUR.
.TS
l l.
A\tB
.TE
.TS
l.
Cut off
"""
    )
    parsed = parse_text_file(source.replace("\\t", "\t"), "foo.1")
    described = [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]
    assert described[3:] == [
        ("paragraph", "Fees:"),
        ("table_head", "Vessel class | Fee"),
        ("table_row", "Yacht | 45.50"),
        ("table_row", "Coaster | 310.00 a day"),
        ("paragraph", "All fees are in EUR."),
        ("table_row", "A | B"),
        ("paragraph", "l.\nCut off"),
    ]
