"""Questions for cells of tables, named by row and column."""

from pathlib import Path

import pytest

from fathom.question_maker.facts import Fact, extract_facts, is_named, shuffle_chunks
from fathom.testing.doubles import make_engine


@pytest.fixture
def facts(tmp_path: Path) -> list[Fact]:
    (tmp_path / "stock.csv").write_text(
        "Material,Stored at,Shelf life,Id\n"
        "Cold asphalt,Depot North,9 months,71\n"
        "Paving stones,Quarry Lane,10 years,72\n"
    )
    (tmp_path / "staff.csv").write_text(
        "Name,Role,Fee per day\nDagmar Oule,town engineer,80\nTomas Rell,clerk,60\n"
    )
    with make_engine(tmp_path / "index") as engine:
        engine.ingest([tmp_path / "stock.csv", tmp_path / "staff.csv"])
        chunks = shuffle_chunks(engine.reader(), 0)
    return [fact for chunk in chunks for fact in extract_facts(chunk, ("en",))]


def test_a_cell_is_asked_for_by_its_row_and_column(facts: list[Fact]) -> None:
    answers = {fact.question: (fact.answer, fact.numeric) for fact in facts}
    assert answers == {
        "Where is cold asphalt stored?": ("Depot North", False),
        "What is the shelf life of cold asphalt?": ("9 months", True),
        "Where are paving stones stored?": ("Quarry Lane", False),
        "What is the shelf life of paving stones?": ("10 years", True),
        "What is Dagmar Oule's role?": ("town engineer", False),
        "What is Dagmar Oule's fee per day?": ("80", True),
        "What is Tomas Rell's role?": ("clerk", False),
        "What is Tomas Rell's fee per day?": ("60", True),
    }


def test_an_answer_is_at_its_recorded_place(facts: list[Fact]) -> None:
    assert all(fact.span.cut(fact.chunk.text) == fact.answer for fact in facts)


def test_the_seed_determines_the_order_of_chunks(tmp_path: Path) -> None:
    for at in range(9):
        (tmp_path / f"{at}.md").write_text(f"# {at}\n\nText {at}.")
    with make_engine(tmp_path / "index") as engine:
        engine.ingest(tmp_path)
        orders = [[c.id for c in shuffle_chunks(engine.reader(), seed)] for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_a_subject_with_a_name_is_distinguished_from_one_without() -> None:
    assert is_named("the Mill Bridge")
    assert not is_named("the club")
