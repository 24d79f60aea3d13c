import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.rtf import parse


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}Hello \b World\b0 .\par Next}",
            "Hello World.\n\nNext",
        ),
        (rb"{\rtf1\ansicpg1252 caf\'e9 \u8364?5\line end}", "café €5\nend"),
        (rb"{\rtf1\ansicpg1251 \'cf\'f0\'e8}", "При"),
        (rb"{\rtf1\uc2 \u233 abX}", "éX"),
        (rb"{\rtf1\ansicpg932 \'93\'fa\'96\'7b \'93\par A}", "日本\n\nA"),
        (
            rb"{\rtf1\ansicpg1252\deff1{\fonttbl{\f0\fbidi \fnil\fcharset0 A;}{\f1\fcharset204 B;}}"
            rb"\'cf\'f0\'e8 {\f0 caf\'e9} \'cf\f0\'e9}",
            "При café Пé",
        ),
        (rb"{\rtf1 a{\v hidden}b{\*\unknown gone}c\{\}\\}", "abc{}\\"),
        (rb"{\rtf1 It costs {\deleted 25}{\revised 30}.}", "It costs 30."),
        (
            rb"{\rtf1 a\par{\shp{\*\shpinst\shpleft1{\sp{\sn f}{\sv 1}}{\shptxt In a box.\par}}"
            rb"{\shprslt{\*\do{\dptxbxtext In a box.\par}}}}b}",
            "a\n\nIn a box.\n\nb",
        ),
        (rb"{\rtf1 A\cell B\cell\row C\cell D\cell\row}", "A | B\nC | D"),
        (rb"{\rtf1 A | x\cell B\cell\row}", "A \\| x | B"),
        (rb"{\rtf1 no | row}", "no | row"),
        (rb"{\rtf1 \u-10179?\u-8704? ok}", "\U0001f600 ok"),
        (rb"{\rtf1 {\pict 00ff00ff}seen", "seen"),
        (rb"{\rtf1\mac caf\'8e}", "caf\u00e9"),
        (rb"{\rtf1\mac\ansicpg10007 \'8f\'f0\'e8}", "\u041f\u0440\u0438"),
        (rb"{\rtf1\pc caf\'82}", "caf\u00e9"),
        (rb"{\rtf1\pca\ansicpg850 \'9d}", "\u00d8"),
        (
            rb"{\rtf1 Intro.\par\trowd\pard\intbl A\par\par a\cell B\cell\row\pard One\par Two}",
            "Intro.\n\nA a | B\n\nOne\n\nTwo",
        ),
        (rb"{\rtf1 {\v a\plain b\v c\v0 d}e}", "bde"),
        (rb"{\rtf1{\stylesheet{\s1\v0 Normal;}}a{\deleted b\deleted0 c}}", "ac"),
        (rb"{\rtf1 a{\pict\bin3 {}{00}b{\xe Fees}}", "ab"),
        (rb"{\rtf1 a\emspace b\enspace c\column d}", "a b c\n\nd"),
        (rb"{\rtf1 10{\super 1}{\super 2} m{\super 2}, 10{\up6 6} l}", "10^12 m2, 10^6 l"),
        (rb"{\rtf1 10\sub 6\nosupersub 7\super 8\plain 9\up6 5\up0 4}", "10_67^89^54"),
    ],
)
def test_text_is_read(source: bytes, text: str) -> None:
    assert parse(source).text == text


@pytest.mark.parametrize("word", [rb"\footnote", rb"\*\footnote", rb"\footnote\ftnalt"])
def test_a_note_stands_behind_the_paragraph_that_refers_to_it(word: bytes) -> None:
    note = rb"{\super\chftn}{" + word + rb"\pard\plain{\super\chftn} Without tax.\par Twice.}"
    parsed = parse(rb"{\rtf1 The fee" + note + rb" is 9 crowns.\par Next}")
    assert parsed.text == ("The fee[1] is 9 crowns.\n\n[1] Without tax. Twice.\n\nNext")
    assert [block.kind for block in parsed.blocks] == ["paragraph", "footnote", "paragraph"]


def test_a_note_of_a_header_is_hidden_with_it() -> None:
    source = rb"{\rtf1{\header Head{\*\footnote note}}{\v x{\footnote y}} Text}"
    assert parse(source).text == "Text"


@pytest.mark.parametrize("before", [b"", rb"\ansi{\fonttbl{\f0\fcharset0 A;}}"])
def test_the_title_and_the_author_are_properties_of_the_document(before: bytes) -> None:
    info = (
        rb"{\info{\title The fees\line of \u8364?}{\author Ana \'c9}{\operator Ben}"
        rb"{\*\company Merrow}{\creatim\yr2024\mo5\dy2}}"
    )
    parsed = parse(b"{\\rtf1" + before + info + b" Nine crowns.}")
    assert parsed.text == "Nine crowns."
    assert parsed.title == "The fees of \u20ac"
    assert parsed.metadata == {"author": "Ana \u00c9"}


@pytest.mark.parametrize(
    "info", [rb"{\info{\title }{\author  }}", rb"{\info{\title draft.rtf}}", rb"{\*\x{\title A}}"]
)
def test_empty_and_made_up_properties_are_none(info: bytes) -> None:
    parsed = parse(rb"{\rtf1" + info + rb" Nine crowns.}")
    assert (parsed.text, parsed.title, parsed.metadata) == ("Nine crowns.", "", {})


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(ParseRefusal, match="nested") as refusal:
        parse(b"{\\rtf1 " + b"{" * 5_000)
    assert refusal.value.outcome == "failed"


@pytest.mark.parametrize(
    "hidden",
    [rb"{\v secret}", rb"{\fs2 secret}", rb"\fs4 secret \fs24 ", rb"\fs1 secret\plain "],
)
def test_hidden_text_is_left_out_and_reported(hidden: bytes) -> None:
    parsed = parse(rb"{\rtf1\fs24 The fee is " + hidden + rb"9 crowns.}")
    assert parsed.text == "The fee is 9 crowns."
    assert parsed.unread == "hidden or struck-through text left out in 1 place"


def test_small_text_that_can_be_read_stays() -> None:
    assert parse(rb"{\rtf1\fs24 The fee\fs10  is 9 crowns.}").unread == ""


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (rb"Fee: {\strike 10 }12 crowns", "Fee: 12 crowns"),
        (rb"Fee: \strike 1\b 0\b0\strike0 12", "Fee: 12"),
        (rb"{\striked1 Old.}\par New.", "New."),
        (rb"\strike Old.\plain\par New.", "New."),
    ],
)
def test_struck_text_is_left_out_and_reported(source: bytes, text: str) -> None:
    parsed = parse(rb"{\rtf1\ansi " + source + b"}")
    assert (parsed.text, parsed.unread) == (
        text,
        "hidden or struck-through text left out in 1 place",
    )


def test_a_cell_that_spans_rows_is_repeated_in_each_of_them() -> None:
    plain = rb"\trowd\cellx1000\cellx2000\cellx3000 "
    top = rb"\trowd\clvmgf\cellx1000\cellx2000\clvmgf\cellx3000 "
    below = rb"\trowd\clvmrg\cellx1000\cellx2000\clvmrg\cellx3000 "
    rows = [
        plain + rb"\intbl Town\cell Item\cell Fee\cell\row",
        top + rb"\intbl Rome\cell boat\cell 1\cell" + top + rb"\row",
        below + rb"\intbl\cell ship\cell\cell" + below + rb"\row",
        plain + rb"\intbl Oslo\cell\cell 2\cell\row",
        below + rb"\intbl Bonn\cell raft\cell 3\cell\row",
    ]
    data = rb"{\rtf1\ansi " + b"\n".join(rows) + rb"\pard After.\par}"
    assert parse(data).text.split("\n") == [
        "Town | Item | Fee",
        "Rome | boat | 1",
        "Rome | ship | 1",
        "Oslo |  | 2",
        "Bonn | raft | 3",
        "",
        "After.",
    ]


def test_paragraphs_of_the_outline_and_of_styles_for_headings_are_headings() -> None:
    parsed = parse(
        rb"{\rtf1{\stylesheet{\s0 Normal;}{\s15\sbasedon0\qc\fs56 Title;}"
        rb"{\*\cs3 Heading 9 Char;}{\s2\sbasedon0{\*\soutlvl1}\b\snext0 heading 2;}}"
        rb"\pard\plain\s15 Tariff\par\pard\plain\s2 Berths\par\pard\plain It is 9.\par"
        rb"{\pard\outlinelevel2 Yachts\par}{\pard Text\par}"
        rb"\trowd\pard\intbl\s2 A\cell B\cell\row\pard\outlinelevel9 End}"
    )
    described = [
        (block.kind, block.span.cut(parsed.text), block.headings) for block in parsed.blocks
    ]
    assert described == [
        ("heading", "Tariff", ("Tariff",)),
        ("heading", "Berths", ("Tariff", "Berths")),
        ("paragraph", "It is 9.", ("Tariff", "Berths")),
        ("heading", "Yachts", ("Tariff", "Berths", "Yachts")),
        ("paragraph", "Text", ("Tariff", "Berths", "Yachts")),
        ("table_row", "A | B", ("Tariff", "Berths", "Yachts")),
        ("paragraph", "End", ("Tariff", "Berths", "Yachts")),
    ]


def test_printed_labels_make_list_items() -> None:
    bullet = rb"{\listtext\pard\plain\f3 \u61623?\tab}"
    parsed = parse(
        rb"{\rtf1 {\listtext\pard\plain 1.\tab}\pard\ls1 Dig.\par" + bullet + rb"Ropes\par"
        rb"{\pntext\f2\'B7\tab}Fenders\par{\listtext 2.\tab}\pard\outlinelevel0 Fees\par"
        rb"\pard{\listtext x}Bare\par\trowd\pard\intbl " + bullet + rb"A\cell B\cell\row\pard"
        rb" Net{\super\chftn}{\footnote " + bullet + rb" of tax}\par}"
    )
    assert [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks] == [
        ("list_item", "1. Dig."),
        ("list_item", "- Ropes"),
        ("list_item", "- Fenders"),
        ("heading", "2. Fees"),
        ("paragraph", "xBare"),
        ("table_row", "\u2022 A | B"),
        ("paragraph", "Net[1]"),
        ("footnote", "[1] \u2022\t of tax"),
    ]
