import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.base import Builder
from fathom.documents.chunking.base import Chunker
from fathom.documents.chunking.fixed import CharacterChunker, TokenChunker
from fathom.documents.chunking.structure import StructureChunker
from fathom.types import Block, Chunk, Document, Span


def count_words(text: str) -> int:
    return len(text.split())


def make_document(builder: Builder, title: str = "T") -> Document:
    parsed = builder.build(title)
    return Document(id="d", text=parsed.text, path="f", title=title, blocks=parsed.blocks)


def make_plain(text: str) -> Document:
    return Document(id="d", text=text, path="f", title="")


def list_texts(chunks: tuple[Chunk, ...]) -> list[str]:
    return [chunk.text for chunk in chunks]


def test_a_short_document_is_one_chunk() -> None:
    builder = Builder()
    builder.add_paragraph("One two three.")
    builder.add_paragraph("Four five.")
    (chunk,) = StructureChunker(count_words).split(make_document(builder))
    assert (chunk.id, chunk.ordinal, chunk.title) == ("d#0", 0, "T")
    assert chunk.text == "One two three.\n\nFour five."


def test_long_sections_are_chunks_and_headings_stay_with_the_following_text() -> None:
    builder = Builder()
    for name in ("Leave", "Pay"):
        builder.add_heading(name, 1)
        builder.add_paragraph("word " * 6)
    chunks = StructureChunker(count_words, max_tokens=20, min_tokens=4).split(
        make_document(builder)
    )
    assert [chunk.text.partition("\n")[0] for chunk in chunks] == ["Leave", "Pay"]
    assert [chunk.headings for chunk in chunks] == [("Leave",), ("Pay",)]


def test_tiny_sections_share_a_chunk() -> None:
    builder = Builder()
    for name in ("A", "B", "C"):
        builder.add_heading(name, 2)
        builder.add_paragraph("few words")
    assert len(StructureChunker(count_words, 50, 10).split(make_document(builder))) == 1


def test_a_heading_moves_on_when_the_chunk_before_it_is_full() -> None:
    builder = Builder()
    builder.add_paragraph("a " * 8)
    builder.add_heading("Next", 1)
    builder.add_paragraph("b " * 8)
    chunks = StructureChunker(count_words, 10, 10).split(make_document(builder))
    assert list_texts(chunks) == [("a " * 8).strip(), "Next\n\n" + ("b " * 8).strip()]


def test_a_heading_stays_with_the_start_of_a_paragraph_that_must_be_cut() -> None:
    builder = Builder()
    builder.add_heading("Rules", 1)
    builder.add_paragraph("One two three four. Five six seven eight. Nine ten.")
    chunks = StructureChunker(count_words, 8, 2).split(make_document(builder))
    assert list_texts(chunks) == ["Rules\n\nOne two three four.", "Five six seven eight. Nine ten."]
    assert chunks[1].headings == ("Rules",)


def test_a_list_that_fits_is_not_split() -> None:
    builder = Builder()
    builder.add_paragraph("intro " * 6)
    for number in range(1, 5):
        builder.add_item("do it", f"{number}.")
    chunks = StructureChunker(count_words, 14, 2).split(make_document(builder))
    assert list_texts(chunks)[1] == "1. do it\n2. do it\n3. do it\n4. do it"


def test_later_rows_of_a_table_carry_its_header() -> None:
    builder = Builder()
    for cells in (["Name", "Age"], ["Ann", "30"], ["Bob", "31"], ["Cy", "32"]):
        builder.add_row(cells)
    chunks = StructureChunker(count_words, 6, 1).split(make_document(builder))
    assert list_texts(chunks) == ["Name | Age\nAnn | 30", "Bob | 31\nCy | 32"]
    assert [chunk.headings for chunk in chunks] == [(), ("Name | Age",)]


def test_rows_that_name_their_columns_carry_no_header() -> None:
    builder = Builder()
    for cells in (["Name", "Age"], ["Name: Ann", "Age: 30"], ["Name: Bob", "Age: 31"]):
        builder.add_row(cells)
    chunks = StructureChunker(count_words, 6, 1).split(make_document(builder))
    assert all(chunk.headings == () for chunk in chunks)


def test_a_record_is_no_header_of_the_records_below_it() -> None:
    builder = Builder()
    for name, age in (("Ann", "of age"), ("Bob", "31"), ("Cy", "32")):
        builder.add_row([f"Name: {name}", f"Age: {age}"])
    chunks = StructureChunker(count_words, 6, 1).split(make_document(builder))
    assert len(chunks) == 3
    assert all(chunk.headings == () for chunk in chunks)
    assert {block.kind for chunk in chunks for block in chunk.blocks} == {"table_row"}


def test_a_head_with_colons_is_carried() -> None:
    builder = Builder()
    builder.add_row(["Name: full", "Age: years"], head=True)
    for name, age in (("Ann", "30"), ("Bob", "31"), ("Cy", "32")):
        builder.add_row([name, age])
    chunks = StructureChunker(count_words, 8, 1).split(make_document(builder))
    assert [chunk.headings for chunk in chunks] == [(), ("Name: full | Age: years",)]


def test_the_page_is_that_of_the_start() -> None:
    builder = Builder()
    for number in (1, 2):
        builder.set_page(number)
        builder.add_paragraph("w " * 9)
    chunks = StructureChunker(count_words, 10, 5).split(make_document(builder))
    assert [chunk.page for chunk in chunks] == [1, 2]


@pytest.mark.parametrize(
    "chunker",
    [StructureChunker(count_words, 50), TokenChunker(count_words, 50), CharacterChunker(500, 50)],
)
def test_an_endless_word_gives_bounded_chunks(chunker: Chunker) -> None:
    chunks = chunker.split(make_plain("x" * 100_000))
    assert max(len(chunk.text) for chunk in chunks) <= 500
    assert chunks[-1].span.end == 100_000


def test_code_is_cut_at_line_ends() -> None:
    builder = Builder()
    builder.add_code("a b c\nd e f\ng h i")
    assert list_texts(StructureChunker(count_words, 6, 1).split(make_document(builder))) == [
        "a b c\nd e f",
        "g h i",
    ]


def test_chunks_of_fixed_characters_overlap() -> None:
    chunks = CharacterChunker(4, 2).split(make_plain("abcdefgh"))
    assert list_texts(chunks) == ["abcd", "cdef", "efgh"]


def test_chunks_of_fixed_tokens_overlap() -> None:
    chunks = TokenChunker(count_words, 3, 1).split(make_plain("a b c d e"))
    assert list_texts(chunks) == ["a b c", "c d e"]


def test_identities_differ_by_settings() -> None:
    chunkers: list[Chunker] = [
        StructureChunker(count_words),
        StructureChunker(count_words, 100),
        CharacterChunker(),
        TokenChunker(count_words),
    ]
    assert len({tuple(sorted(c.identity.items())) for c in chunkers}) == 4


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (5, 5), (5, -1)])
def test_impossible_sizes_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        CharacterChunker(size, overlap)
    with pytest.raises(ValueError, match="overlap"):
        TokenChunker(count_words, size, overlap)
    with pytest.raises(ValueError, match="min_tokens"):
        StructureChunker(count_words, 10, 11)


PIECES = st.tuples(
    st.sampled_from(["heading", "paragraph", "item", "row", "code", "raw"]),
    st.text(alphabet=st.sampled_from("ab1. !?\n|xyz\u00e9"), max_size=80),
)


@st.composite
def draw_documents(draw: st.DrawFn) -> Document:
    """Draw blocks as a parser makes them, and sometimes text that no block covers."""
    blocks: list[Block] = []
    text = ""
    for kind, raw in draw(st.lists(PIECES, max_size=12)):
        piece = raw.strip()
        if not piece:
            continue
        text += "\n\n" if text else ""
        span = Span(len(text), len(text) + len(piece))
        text += piece
        kinds = {"item": "list_item", "row": "table_row"}
        if kind != "raw":
            path = (piece[:5],) if kind == "heading" else ()
            blocks.append(Block(kind=kinds.get(kind, kind), span=span, headings=path))  # type: ignore[arg-type]
    return Document(id="x", text=text, path="p", title="t", blocks=tuple(blocks))


def test_chunks_of_code_have_no_white_space_at_their_ends() -> None:
    text = "a b c \n  d e f\n   \ng h i"
    code = Block(kind="code", span=Span(0, len(text)))
    document = Document(id="x", text=text, path="p", title="t", blocks=(code,))

    chunks = StructureChunker(count_words, 3, 1).split(document)

    assert [chunk.text for chunk in chunks] == ["a b c", "d e f", "g h i"]


@given(draw_documents(), st.integers(3, 30), st.sampled_from(["structure", "characters", "tokens"]))
def test_chunks_are_exact_bounded_and_complete(doc: Document, size: int, kind: str) -> None:
    chunkers: dict[str, Chunker] = {
        "structure": StructureChunker(count_words, size, 1),
        "characters": CharacterChunker(size, size // 3),
        "tokens": TokenChunker(count_words, size, size // 3),
    }
    chunks = chunkers[kind].split(doc)
    covered: set[int] = set()
    for ordinal, chunk in enumerate(chunks):
        assert chunk.id == f"x#{ordinal}"
        assert chunk.span.cut(doc.text) == chunk.text
        assert chunk.text.strip() == chunk.text != ""
        covered.update(range(chunk.span.start, chunk.span.end))
        if kind == "characters":
            assert len(chunk.text) <= size
        else:
            assert count_words(chunk.text) <= size
    assert all(i in covered or c.isspace() for i, c in enumerate(doc.text))
