import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.factories import QUESTION, hit_of

from fathom.agents.reorderer import (
    LLMReorderer,
    complete_order,
    compute_window_starts,
    put_best_at_ends,
)
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.llm.retry import RetryPolicy
from fathom.question.question import Question
from fathom.retrieval.pruning import EvidencePruner
from fathom.runs.context import RunContext
from fathom.testing.doubles import OVERLAP, ScriptedChat, completion, run_context
from fathom.types import Hit
from fathom.usage import Budget, Usage

HITS = [hit_of(f"Text {n}.", document=str(n), rank=n) for n in range(1, 7)]
DOWN = ModelFault("openai:m is down", Usage(llm_calls=1), retriable=False)


PRUNER = EvidencePruner(pairs=OVERLAP, limit=120)


class UnchangedReorderer:
    async def __call__(
        self, question: Question, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        return tuple(hits[:keep])


def make_order(*numbers: int) -> Completion:
    return completion(json.dumps({"order": numbers}), usage=Usage(llm_calls=1))


def make_reorderer(*outcomes: Completion | Exception) -> LLMReorderer:
    retry = RetryPolicy(tries=1)
    model = RoleModel(chat=ScriptedChat(*outcomes), retry=retry)
    return LLMReorderer(
        model=model, local=UnchangedReorderer(), pruner=PRUNER, top=5, window=3, step=2
    )


def reorder_hits(agent: LLMReorderer, budget: Budget | None = None, keep: int = 6) -> list[str]:
    with run_context(budget) as context:
        hits = asyncio.run(agent(Question(QUESTION), HITS, keep=keep, context=context))
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    return [hit.chunk.document_id for hit in hits]


def test_the_window_climbs_from_the_last_hit_to_the_first() -> None:
    agent = make_reorderer(make_order(3, 1, 2), make_order(3, 2, 1))
    # 3 4 5 become 5 3 4, then 1 2 5 become 5 2 1; the sixth is not in the top.
    assert reorder_hits(agent) == ["5", "2", "1", "3", "4", "6"]
    assert reorder_hits(make_reorderer(make_order(3, 1, 2), make_order(3, 2, 1)), keep=2) == [
        "5",
        "2",
    ]


def test_texts_are_delimited_and_numbered() -> None:
    scripted = ScriptedChat(make_order(), make_order())
    agent = replace(make_reorderer(), model=RoleModel(chat=scripted))
    assert reorder_hits(agent) == ["1", "2", "3", "4", "5", "6"]
    system, user = (message.text for message in scripted.calls[0].messages[:2])
    (fence,) = set(re.findall(r"=== [0-9a-f]{16} ===", user))
    assert fence in system
    assert [f"{fence} chunk {n}\nFees\nText {n + 2}." in user for n in (1, 2, 3)] == [True] * 3


def test_a_model_that_fails_at_once_is_replaced_by_the_local_reorderer() -> None:
    assert reorder_hits(make_reorderer(DOWN)) == ["1", "2", "3", "4", "5", "6"]
    assert reorder_hits(make_reorderer(make_order(3, 2, 1)), Budget(calls=0)) == [
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
    ]


def test_a_model_that_fails_later_keeps_its_order_so_far() -> None:
    assert reorder_hits(make_reorderer(make_order(3, 1, 2), DOWN)) == ["1", "2", "5", "3", "4", "6"]
    assert reorder_hits(make_reorderer(make_order(3, 1, 2)), Budget(calls=1)) == [
        "1",
        "2",
        "5",
        "3",
        "4",
        "6",
    ]


@pytest.mark.parametrize(
    ("said_", "places"),
    [
        ([], [0, 1, 2]),
        ([3, 1, 2], [2, 0, 1]),
        ([3, 3, 3], [2, 0, 1]),
        ([0, -1, 9, 2], [1, 0, 2]),
        ([10**30, 2], [1, 0, 2]),
    ],
)
def test_every_reply_becomes_a_permutation(said_: list[int], places: list[int]) -> None:
    assert complete_order(said_, 3) == places


@given(st.lists(st.integers()), st.integers(0, 30))
def test_no_hit_is_lost_or_doubled(said_: list[int], count: int) -> None:
    assert sorted(complete_order(said_, count)) == list(range(count))


@given(st.integers(0, 120), st.integers(2, 30), st.integers(1, 40))
def test_windows_cover_all_hits_and_end_at_the_first(hits: int, size: int, step: int) -> None:
    starts = compute_window_starts(hits, size, step)
    covered = {place for start in starts for place in range(start, min(hits, start + size))}
    assert covered == (set(range(hits)) if hits > 1 else set())
    assert starts == sorted(set(starts), reverse=True)


def test_the_windows_are_those_of_the_paper() -> None:
    assert compute_window_starts(50, 20, 10) == [30, 20, 10, 0]
    assert compute_window_starts(15, 20, 10) == [0]
    assert compute_window_starts(1, 20, 10) == compute_window_starts(0, 20, 10) == []


def test_the_best_hits_are_placed_at_both_ends() -> None:
    assert [hit.rank for hit in put_best_at_ends(HITS)] == [1, 3, 5, 6, 4, 2]
    assert put_best_at_ends([]) == ()
