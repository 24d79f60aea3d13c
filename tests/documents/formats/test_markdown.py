import pytest

from fathom.documents.base import ParsedDocument
from fathom.documents.formats.markdown import parse


def describe_blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]


def test_all_kinds_of_blocks_are_read() -> None:
    parsed = parse(
        b"---\ntitle: The guide\ndate: 2020-01-02\ntags:\n  - x\n---\n"
        b"# Setup\n\nRead *this*\nfirst, see [docs](http://x).\n\n"
        b"3. Open `a.txt`\n4. Press\n   - left\n   - right\n\n"
        b"```sh\nmake  all\n```\n\n| A | B |\n|---|---|\n| 1 | **2** |\n\n> quoted\n"
    )
    assert parsed.title == "The guide"
    assert parsed.metadata == {"date": "2020-01-02"}
    assert describe_blocks(parsed) == [
        ("heading", "Setup"),
        ("paragraph", "Read this first, see docs."),
        ("list_item", "3. Open a.txt"),
        ("list_item", "4. Press"),
        ("list_item", "- left"),
        ("list_item", "- right"),
        ("code", "make  all"),
        ("table_head", "A | B"),
        ("table_row", "1 | 2"),
        ("paragraph", "quoted"),
    ]


def test_embedded_html_is_read_as_html() -> None:
    parsed = parse(b"Text\n\n<!-- secret -->\n\n<div hidden>secret</div>\n\n<p>shown</p>\n")
    assert parsed.text == "Text\n\nshown"


@pytest.mark.parametrize(
    "block", ["<div align=center>\nshown", "<p>shown", "</div> shown", "<br>\nshown", "<hr>shown"]
)
def test_text_of_an_html_block_is_read_also_without_an_end_tag(block: str) -> None:
    assert (
        parse(f"Text\n\n{block}\n\n**more**\n\n</div>\n".encode()).text == "Text\n\nshown\n\nmore"
    )


def test_title_falls_back_to_the_first_heading() -> None:
    assert parse(b"Setext\n======\n\ntext").title == "Setext"


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert parse(b"---\n\nText here\n").text == "Text here"


@pytest.mark.parametrize("text", ["\n# Top\n\nWords.\n\n", "Words.\n", "\nNote: words.\n\n"])
def test_a_text_between_two_rules_is_no_front_matter(text: str) -> None:
    parsed = parse(f"---\n{text}---\n\nMore.\n".encode())
    assert "ords." in parsed.text
    assert parsed.text.endswith("More.")


@pytest.mark.parametrize("lines", ["", "# made by hand\ntitle: A", "'title': A", "tags:\n- a"])
def test_a_front_matter_is_no_text(lines: str) -> None:
    assert parse(f"---\n{lines}\n---\nMore.\n".encode()).text == "More."


@pytest.mark.parametrize(
    ("lines", "readers"),
    [
        ("readers: [hr, user:ana]", "[hr, user:ana]"),
        ("readers: 2021", "2021"),
        ('readers:\n  - hr\n  # and\n  - "user:ana"  # she\ntitle: A', 'hr, "user:ana"'),
        ("Readers:", "[]"),
        ("readers: null", "[]"),
        ("'readers': [hr]", "[]"),
        ("title: readers of books", None),
    ],
)
def test_readers_in_the_front_matter_are_a_text(lines: str, readers: str | None) -> None:
    parsed = parse(f"---\n{lines}\n---\n# A\n\nText.\n".encode())
    assert parsed.metadata.get("readers") == readers


def test_values_of_the_front_matter_are_typed() -> None:
    head = (
        "---\ntitle: 2021.10\nyear: 2021  # of the report\nweight: 0.5\ndraft: false\n"
        "date: 2021/5/1\ncode: '007'\nauthor: C# users\nnothing: null\nlast-read: 1 May 2021\n---\n"
    )
    parsed = parse(f"{head}\nText.\n".encode())
    assert parsed.title == "2021.10"
    assert parsed.metadata == {
        "year": 2021,
        "weight": 0.5,
        "draft": False,
        "date": "2021-05-01",
        "code": "007",
        "author": "C# users",
        "last-read": "2021-05-01",
    }
    assert isinstance(parsed.metadata["draft"], bool)


def test_nothing_of_one_file_affects_the_next() -> None:
    assert (
        "https://one.example"
        not in parse(b"# A\n\nSee [that][1].\n\n[1]: https://one.example\n").text
    )
    assert parse(b"See [that][1].").text == "See [that][1]."


def test_raised_figures_are_no_digits_and_soft_hyphens_part_no_words() -> None:
    text = "10<sup>6</sup>, **10**<SUP>9</SUP>, m<sup>2</sup>, Wald&shy;weg"
    assert parse(text.encode()).text == "10^6, 10^9, m2, Waldweg"


def test_footnotes_of_any_length_are_read_and_numbered_in_the_text() -> None:
    parsed = parse(
        b"The fee is 9[^1] crowns[^note], `[^1]`, [^abc].\n\n"
        b"[^1]: Net.\n[^note]: Of last\nyear.\n\n    - twice\n\nEnd.\n"
    )
    assert [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks] == [
        ("paragraph", "The fee is 9[1] crowns[note], [^1], [^abc]."),
        ("footnote", "[1] Net."),
        ("footnote", "[note] Of last year."),
        ("list_item", "- twice"),
        ("paragraph", "End."),
    ]


def test_a_footnote_ends_a_paragraph_and_hides_no_target_of_a_link() -> None:
    parsed = parse(
        b"Text[^a]\n[^a]: one\n\n[b]: http://example.org\n\n[link][b]\n\n    [^a]: code\n"
    )
    assert parsed.text == "Text[a]\n\n[a] one\n\nlink\n\n[^a]: code"


def test_texts_and_lists_of_several_lines_in_the_head_are_read() -> None:
    parsed = parse(
        b"---\ntitle: Fees\nabstract: |\n  Berths cost more\n\n  in summer.\nnote: >-\n  Short.\n"
        b"author:\n  - Ada\n  - 'Bo'\n"
        b"authors:\n- name: x\n  to: y\ntags:\n- a\nlast: 2021\n---\nText"
    )
    assert parsed.metadata == {
        "abstract": "Berths cost more in summer.",
        "note": "Short.",
        "author": "Ada, Bo",
        "last": 2021,
    }


@pytest.mark.parametrize(
    "line",
    [
        "# Scope {#scope}",
        "# Scope {: .no_toc }",
        "# Scope { #scope .wide lang=en }",
        "# Scope {.unnumbered}  ",
    ],
)
def test_identifiers_of_headings_are_no_text(line: str) -> None:
    assert parse(line.encode()).text == "Scope"


@pytest.mark.parametrize("line", ["# The set {a, b}", "# Use {x}", "# The {} of {#a"])
def test_braces_of_headings_stay(line: str) -> None:
    assert parse(line.encode()).text == line[2:]


def test_text_that_is_struck_through_is_left_out() -> None:
    parsed = parse(
        b"It costs ~~25 *or 26*~~ 30.\n\nIt is <del>blue</del> red <s>x</s>.\n\n"
        b"| A |\n|---|\n| ~~1~~ 2 |\n\nFrom ~~5 to ~~6, `~~7~~`. </s>\n"
    )
    assert parsed.text == "It costs  30.\n\nIt is  red .\n\nA\n2\n\nFrom ~~5 to ~~6, ~~7~~."
    assert parsed.unread == "hidden or struck-through text left out in 4 places"
