"""The calculator in an engine: computed answers over whole tables, their rows cited."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.factories import FEES, engine_at
from tests.tables.ports import PORTS, read_document

from fathom.agents.calculator.local import Calculator
from fathom.documents.block_lookup import select_blocks
from fathom.engine import Engine
from fathom.question.question import Question
from fathom.retrieval.table_lookup import TableLookup
from fathom.testing.doubles import run_context
from fathom.types import Chunk, Draft, Evidence, Hit, Span

SHIPS = "Ship,Owner,Weight (t),Crew\n" + "".join(
    f"Ship {at},{'Norland' if at % 3 else 'Sudria'} Line,{1000 + at},{at}\n" for at in range(1, 61)
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine over a text, a table in a text, and a table of several chunks."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "ports.md").write_text(PORTS)
    (corpus / "ships.csv").write_text(SHIPS)
    (corpus / "fees.md").write_text(f"# Fees\n\n{FEES} The total of all fees is not published.\n")
    with engine_at(tmp_path) as opened:
        opened.ingest([corpus])
        yield opened


def list_agents(engine: Engine, trace_id: str | None) -> list[str]:
    """Return the agents of the steps of a run."""
    return [step.agent for step in engine.trace(str(trace_id)).steps]


@pytest.mark.parametrize("strategy", ["naive", "hybrid", "mao", "adaptive"])
def test_a_sum_is_answered_with_its_line_and_its_rows(engine: Engine, strategy: str) -> None:
    answer = engine.ask("What is the total number of cranes in Norland?", strategy=strategy)
    assert answer.status == "answered"
    assert answer.short_answer == "23"
    assert answer.answer.startswith("14 + 9 = 23 (Cranes, Country) [1][2]")
    assert [citation.quote[:5] for citation in answer.citations] == ["Aldby", "Brask"]
    assert all(citation.verified for citation in answer.citations)


def test_a_table_of_several_chunks_is_computed_as_a_whole(engine: Engine) -> None:
    answer = engine.ask("What is the total crew of the Sudria Line?", strategy="naive")
    assert answer.short_answer == str(sum(range(3, 61, 3)))
    assert len(answer.citations) == 20
    assert engine.replay(str(answer.trace_id)).same


def test_the_cells_of_a_computation_are_told_with_their_rows(engine: Engine) -> None:
    answer = engine.ask("What is the total number of cranes in Norland?", strategy="naive")
    calculation = answer.calculation
    assert calculation is not None
    assert (calculation.operation, calculation.value) == ("sum", "23")
    cells = [cell for cell in calculation.cells if cell.name == "Cranes"]
    assert [(cell.row, cell.column, cell.text, cell.citation) for cell in cells] == [
        (1, 4, "14", 1),
        (2, 4, "9", 2),
    ]
    for cell in calculation.cells:
        quote = answer.citations[cell.citation - 1]
        start = cell.start - quote.start
        assert quote.quote[start : start + len(cell.text)] == cell.text


def test_the_text_of_a_lookup_begins_with_its_value(engine: Engine) -> None:
    answer = engine.ask("Which port has the most cranes?", strategy="naive")
    assert answer.answer.startswith("Egmont: ")
    assert engine.replay(str(answer.trace_id)).same


def test_a_replay_gives_the_same_cells(engine: Engine) -> None:
    answer = engine.ask("Which port has the most cranes?", strategy="naive")
    assert answer.short_answer == "Egmont"
    assert answer.calculation is not None
    replay = engine.replay(str(answer.trace_id))
    assert replay.same
    assert replay.answer is not None
    assert replay.answer.calculation == answer.calculation


def test_more_rows_than_are_cited_are_counted(engine: Engine) -> None:
    answer = engine.ask("How many ships have the owner Norland Line?", strategy="naive")
    assert answer.short_answer == "40"
    answer = engine.ask("What is the average weight of the ships?", strategy="naive")
    assert answer.short_answer == "1,030.5 t"
    assert len(answer.citations) == 40
    assert "40 of 60 rows are cited" in answer.answer
    assert answer.calculation is not None
    assert answer.calculation.cell_count == 60


def format_fleet(crew: int) -> str:
    """Return a table of 900 ships that is long enough to be kept typed in the index."""
    rows = (
        f"Ship {at},{'Norland' if at % 3 else 'Sudria'} Line,{crew},{'Sails in calm water. ' * 15}"
        for at in range(900)
    )
    return "\n".join(["Ship,Owner,Crew,Note", *rows, ""])


def test_a_long_table_is_asked_as_it_was_ingested_last(tmp_path: Path) -> None:
    file = tmp_path / "corpus" / "fleet.csv"
    file.parent.mkdir()
    with engine_at(tmp_path) as opened:
        for crew in (2, 3):
            file.write_text(format_fleet(crew))
            opened.ingest([file.parent])
            assert opened.documents.get(str(file)).tables
            answer = opened.ask("What is the total crew of the Sudria Line?", strategy="naive")
            assert answer.short_answer == str(300 * crew)
            assert len(answer.citations) == 40
            assert all(citation.verified for citation in answer.citations)
            assert opened.replay(str(answer.trace_id)).same


def compute_beside(
    question: str, *, quoted: str, short: str, heading: str = "", document_id: str = "d1"
) -> Draft:
    """Return the draft after a sure reading of the row of the ports that holds `quoted`.

    Args:
        question: The question.
        quoted: A text in the row.
        short: The short answer that was read.
        heading: The heading over the table.
        document_id: The document of the row; the table is of `d1`.
    """
    document = read_document(f"{PORTS}| Falun | | | 5 | | |\n" if quoted == "Falun" else PORTS)
    row = next(block.span for block in document.blocks if quoted in block.span.cut(document.text))
    chunk = Chunk(
        id="d1#0",
        document_id="d1",
        text=document.text,
        span=Span(0, len(document.text)),
        ordinal=0,
        headings=(heading,) if heading else (),
        blocks=select_blocks(document.blocks, Span(0, len(document.text))),
    )
    hit = Hit(chunk=chunk, score=1.0, rank=1, retriever="keyword")
    read_hit = replace(hit, chunk=replace(chunk, document_id=document_id))
    evidence = (Evidence(hit=read_hit, span=row, support=1.0),)
    read = Draft(evidence=evidence, short_answer=short, confidence=0.99)
    # The tables are those of the document without the added row.
    calculator = Calculator(TableLookup(lambda _: read_document(PORTS), lambda: "1"))

    async def compute() -> Draft:
        with run_context() as context:
            return await calculator.compute(Question(question), [hit], read, context)

    return asyncio.run(compute())


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How many cranes does Aldby have?", "14"),
        ("Which port opened first?", "Aldby"),
        ("How many ports are there?", "5"),
        # Several cells are looked up where one is asked for.
        ("Which port is in Norland?", "read"),
        # The rules look up words of the question.
        ("What is the country of the port of Aldby in Norland?", "read"),
    ],
)
def test_a_surer_reading_of_a_cell_counts_where_a_lookup_gives_no_other_answer(
    question: str, short: str
) -> None:
    assert compute_beside(question, quoted="Brask", short="read").short_answer == short


@pytest.mark.parametrize(
    ("question", "document_id", "short"),
    [
        ("How many ports opened in 1921?", "d1", "5"),
        # A cell of another document may state what a doubtful count counts elsewhere.
        ("How many ports opened in 1921?", "d2", "read"),
        ("How many cranes does Aldby have?", "d2", "read"),
        # No number of rows is an amount.
        ("How much did Brask load in 1925?", "d1", "read"),
        # Nothing tells of ferries: the rules only find the row of Brask.
        ("Does Brask serve at least 5 ferries to the islands of the north?", "d1", "read"),
    ],
)
def test_a_value_against_a_surer_cell_is_of_its_document_and_never_sure(
    question: str, document_id: str, short: str
) -> None:
    draft = compute_beside(question, quoted="Brask", short="read", document_id=document_id)
    assert (draft.short_answer, draft.is_doubted) == (short, True)


def test_a_value_that_is_read_and_computed_is_surer_than_either() -> None:
    draft = compute_beside("How many cranes does Aldby have?", quoted="Aldby", short="14")
    assert draft.calculation is not None
    assert draft.confidence > 0.99


@pytest.mark.parametrize(
    ("question", "short", "is_doubted"),
    [
        ("How many cranes does Aldby have?", "14", False),
        ("Which port is in Norland?", "Corvo", True),
        # The rules compute nothing; a cell beside a superlative is seldom the answer.
        ("Who sold the most fish?", "Brask", True),
        ("Who sold all that fish?", "Brask", False),
    ],
)
def test_a_reading_that_the_table_does_not_bear_out_is_doubted(
    question: str, short: str, is_doubted: bool
) -> None:
    draft = compute_beside(question, quoted="Brask", short=short)
    assert (draft.short_answer, draft.is_doubted) == (short, is_doubted)


def test_tables_without_a_name_refuse_an_answer_whose_quote_lacks_it_too() -> None:
    question = "How many cranes does Falun have?"
    assert compute_beside(question, quoted="Brask", short="9").evidence == ()
    assert compute_beside(question, quoted="Falun", short="5").short_answer == "5"


def test_a_refusal_in_a_trace_of_an_earlier_version_is_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def observe(*_: object) -> dict[str, str]:
        return {"refusal": "no table has Falun", "unknown_name": "Falun"}

    monkeypatch.setattr(Calculator, "_observe", observe)
    question = "How many cranes does Falun have?"
    assert compute_beside(question, quoted="Brask", short="9").evidence == ()
    assert compute_beside(question, quoted="Falun", short="5").short_answer == "5"


@pytest.mark.parametrize(
    ("question", "quoted", "heading", "short"),
    [
        # The heading has the name, so the table may be asked.
        ("How many cranes does Aldby have in Skagerrak?", "Aldby", "", ""),
        ("How many cranes does Aldby have in Skagerrak?", "Aldby", "Ports of Skagerrak", "14"),
        ("How many cranes does Aldby have in El Puerto?", "Aldby", "elpuerto", "14"),
        # No column has ferries, but the heading has, and the row that was read the other name.
        ("How many ferries does Aldby have?", "Aldby", "", ""),
        ("How many ferries does Aldby have?", "Aldby", "Ferries", "read"),
        ("How many ferries does Aldby have?", "Brask", "Ferries", ""),
        ("How many ferries does Aldby have at the most?", "Aldby", "Ferries", ""),
    ],
)
def test_headings_over_a_table_count_as_a_part_of_it(
    question: str, quoted: str, heading: str, short: str
) -> None:
    draft = compute_beside(question, quoted=quoted, short="read", heading=heading)
    assert draft.short_answer == short


def test_a_question_without_a_word_for_a_computation_is_only_read(engine: Engine) -> None:
    answer = engine.ask("How much does a mooring permit cost?", strategy="naive")
    assert "calculator" not in list_agents(engine, answer.trace_id)


def test_a_question_that_no_table_answers_is_left_to_the_reader(engine: Engine) -> None:
    question = "What is the total of all fees for a mooring permit?"
    answer = engine.ask(question, strategy="naive")
    assert "=" not in answer.answer
