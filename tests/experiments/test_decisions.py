from pathlib import Path

from experiments.decisions import VARIANTS, decide, list_changes
from tests.factories import QUESTION, engine_at, index_fees

from fathom.evaluation.datasets import DatasetQuestion


def test_decisions_are_those_of_the_trace_and_each_variant_is_asked(tmp_path: Path) -> None:
    question = DatasetQuestion(id="q", text=QUESTION, answers=("40 crowns",))
    with engine_at(index_fees(tmp_path), adaptive={"forced": ("bridge",)}) as engine:
        assert decide(engine, question, QUESTION) == ("bridge", "stop")
        found_changes = list(list_changes(engine, [question]))
    assert [name for name, _, _ in found_changes] == list(VARIANTS)
    assert all(first == other == ("bridge", "stop") for _, first, other in found_changes)
