"""Deadlines, silence, tokens and bytes hold over a real connection."""

import pytest
from tests.llm.calling import call
from tests.llm.making import Run
from tests.scripted_server import (
    Act,
    drips,
    floods,
    never_ends,
    raw,
    says,
    stalls,
    waits,
)

from fathom.llm.chat import ReplyLimits
from fathom.llm.faults import ModelFault


@pytest.mark.parametrize(
    "act",
    [
        waits(30, says("late")),
        drips("Paris", every_s=0.05),
        stalls("Par"),
        never_ends("", every_s=0.01),
    ],
)
def test_the_deadline_holds(run: Run, act: Act) -> None:
    seen = call(run, act, within_s=0.2)

    assert isinstance(seen.outcome, ModelFault)
    assert "deadline" in str(seen.outcome)
    assert not seen.outcome.retriable
    assert seen.seconds < 1.2
    assert seen.outcome.usage.prompt_tokens > 0  # it may be billed


@pytest.mark.parametrize("act", [waits(30, says("late")), stalls("Par")])
def test_silence_ends_before_the_deadline_and_may_be_tried_again(run: Run, act: Act) -> None:
    seen = call(run, act, within_s=30, limits=ReplyLimits(first_s=0.15, silence_s=0.1))

    assert isinstance(seen.outcome, ModelFault)
    assert seen.outcome.retriable
    assert "fell silent" in str(seen.outcome)


@pytest.mark.parametrize(
    ("act", "answer"),
    [
        (never_ends(), "and and"),
        (never_ends(reasoning=True), ""),
        (says("and " * 1000), "and and"),
    ],
)
def test_a_reply_is_cut_at_its_tokens(run: Run, act: Act, answer: str) -> None:
    seen = call(run, act, max_tokens=20)

    assert seen.outcome.finish == "length"  # type: ignore[attr-defined]
    assert seen.outcome.usage.completion_tokens == 20  # type: ignore[attr-defined]
    assert seen.outcome.text.startswith(answer)  # type: ignore[attr-defined]
    assert len(seen.outcome.text) <= 20 / 0.8 * len("and ")  # type: ignore[attr-defined]


@pytest.mark.parametrize("act", [floods(), floods(code=500), never_ends("")])
def test_a_reply_is_cut_at_its_bytes(run: Run, act: Act) -> None:
    limits = ReplyLimits(first_s=20, silence_s=20, base_bytes=200_000, bytes_per_token=1)
    seen = call(run, act, within_s=20, limits=limits)

    assert isinstance(seen.outcome, ModelFault)
    assert not seen.outcome.retriable
    assert "more bytes than its tokens can need" in str(seen.outcome)
    # What the kernel's buffers took beside; far from the gigabyte that was on offer.
    assert seen.server.bytes_sent[0] < 20_000_000


def test_a_compressed_reply_is_not_unpacked(run: Run) -> None:
    seen = call(run, raw("x", headers={"Content-Encoding": "gzip"}))

    assert "compressed" in str(seen.outcome)
