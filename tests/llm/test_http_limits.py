"""Deadlines, silence, tokens and bytes are limited over a real connection."""

import pytest
from tests.llm.factories import Run
from tests.llm.observed_call import call_server
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
    record = call_server(run, act, within_s=0.2)

    assert isinstance(record.outcome, ModelFault)
    assert "deadline" in str(record.outcome)
    assert not record.outcome.retriable
    assert record.seconds < 1.2
    assert record.outcome.usage.prompt_tokens > 0  # it may be billed


@pytest.mark.parametrize("act", [waits(30, says("late")), stalls("Par")])
def test_silence_ends_before_the_deadline_and_may_be_retried(run: Run, act: Act) -> None:
    record = call_server(run, act, within_s=30, limits=ReplyLimits(first_s=0.15, silence_s=0.1))

    assert isinstance(record.outcome, ModelFault)
    assert record.outcome.retriable
    assert "fell silent" in str(record.outcome)


@pytest.mark.parametrize(
    ("act", "answer"),
    [
        (never_ends(), "and and"),
        (never_ends(reasoning=True), ""),
        (says("and " * 1000), "and and"),
    ],
)
def test_a_reply_is_cut_at_its_tokens(run: Run, act: Act, answer: str) -> None:
    record = call_server(run, act, max_tokens=20)

    assert record.outcome.finish == "length"  # type: ignore[attr-defined]
    assert record.outcome.usage.completion_tokens == 20  # type: ignore[attr-defined]
    assert record.outcome.text.startswith(answer)  # type: ignore[attr-defined]
    assert len(record.outcome.text) <= 20 / 0.8 * len("and ")  # type: ignore[attr-defined]


@pytest.mark.parametrize("act", [floods(), floods(code=500), never_ends("")])
def test_a_reply_is_cut_at_its_bytes(run: Run, act: Act) -> None:
    limits = ReplyLimits(first_s=20, silence_s=20, base_bytes=200_000, bytes_per_token=1)
    record = call_server(run, act, within_s=20, limits=limits)

    assert isinstance(record.outcome, ModelFault)
    assert not record.outcome.retriable
    assert "more bytes than its tokens can need" in str(record.outcome)
    # What the kernel's buffers took beside; far from the gigabyte that was on offer.
    assert record.server.bytes_sent[0] < 20_000_000


def test_a_compressed_reply_is_not_unpacked(run: Run) -> None:
    record = call_server(run, raw("x", headers={"Content-Encoding": "gzip"}))

    assert "compressed" in str(record.outcome)
