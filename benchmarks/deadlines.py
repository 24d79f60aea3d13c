"""Overruns of deadlines by calls of a language model, against servers that stall.

    python benchmarks/deadlines.py --calls 200

Prints one line for each way to be slow: calls, overrun p50, p95 and worst, in milliseconds. A
call that ends before its deadline has an overrun of 0. The bar is 100 ms.
"""

import argparse
import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.scripted_server import (
    Act,
    ScriptedServer,
    drips,
    floods,
    never_ends,
    says,
    stalls,
    status,
    waits,
)

from fathom.llm.base import Call, Message
from fathom.llm.chat import LangChainChat
from fathom.llm.endpoint import resolve_endpoint
from fathom.llm.faults import CallFailure
from fathom.llm.retry import RetryingModel

SLOW: dict[str, Act] = {
    "slow first byte": waits(60, says("late")),
    "one byte at a time": drips("Paris", every_s=0.01),
    "stalls": stalls("Par"),
    "never ends": never_ends("", every_s=0.0),
    "floods": floods(),
    "503 for ever": status(503),
    "429, wait 1 s": status(429, headers={"Retry-After": "1"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--deadline-ms", type=float, default=300.0)
    parser.add_argument("--at-once", type=int, default=4)
    arguments = parser.parse_args()
    for name, act in SLOW.items():
        overruns = asyncio.run(
            measure(act, arguments.calls, arguments.at_once, arguments.deadline_ms / 1000)
        )
        p50, p95, worst = np.percentile(overruns, [50, 95, 100])
        print(f"{name:20} {len(overruns):5} calls  p50 {p50:6.1f}  p95 {p95:6.1f}  {worst:6.1f} ms")


async def measure(act: Act, calls: int, at_once: int, deadline_s: float) -> list[float]:
    overruns: list[float] = []
    async with ScriptedServer(*[act] * calls * 4) as server:
        chat = LangChainChat(resolve_endpoint("openai:m", base_url=server.base_url))
        chat.prepare()
        for _ in range(calls // at_once):
            overruns += await asyncio.gather(
                *(measure_call(chat, deadline_s) for _ in range(at_once))
            )
    return overruns


async def measure_call(chat: LangChainChat, deadline_s: float) -> float:
    deadline = time.monotonic() + deadline_s
    question = [Message("user", "What is the capital of France?")]
    with suppress(CallFailure):
        await RetryingModel(chat).complete(Call(question, max_tokens=4000, deadline=deadline))
    return max(0.0, time.monotonic() - deadline) * 1000


if __name__ == "__main__":
    main()
