"""`fathom serve` under a crowd for minutes: memory that stays flat, and refusals that say why.

    python -m benchmarks.soak [--clients 1000] [--seconds 600]

Each client asks one question after the other, and after a refusal waits as long as it was told.
The server has an index of the samples and its defaults; it and the clients share the machine. What
is no answer and no typed refusal (429 or 503 with Retry-After) is a failure. Memory, open files and
threads of the server are measured every second; the first quarter, in which its caches fill, does
not count. The report is JSON.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.serving import (
    SAMPLES,
    Client,
    Reply,
    Server,
    compute_quantiles,
    run_server,
)

WARM_UP = 0.25
"""The share of the time in which caches fill."""
GROWTH = 0.1
"""The most by which memory may grow in the rest of the time, as a share."""
MORE_HANDLES = 20
"""The most files and threads that may be open at the end beyond those after the first answer."""
REFUSALS = {429, 503}
LONGEST_WAIT_S = 30.0
PATIENCE_S = 120.0
"""A reply that takes longer never comes."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of the server's process at an instant, in seconds from the beginning."""

    at: float
    memory_mb: float
    handles: int


def measure(server: Server, begun: float) -> Sample:
    """Return the state of the server's process now."""
    folder = Path(f"/proc/{server.process.pid}")
    handles = sum(1 for kind in ("fd", "task") for _ in (folder / kind).iterdir())
    return Sample(time.monotonic() - begun, server.measure_memory_mb(), handles)


def describe_fault(reply: Reply) -> str:
    """Return the fault of a reply; empty for an answer and for a typed refusal."""
    if reply.status == 200:
        return ""
    if reply.status not in REFUSALS:
        return f"status {reply.status}: {reply.body[:200].decode(errors='replace')}"
    if not reply.retry_after or b"urn:fathom" not in reply.body:
        return f"status {reply.status} without Retry-After or type"
    return ""


async def ask_until(end: float, client: Client, first: int) -> list[Reply]:
    """Ask questions one after the other, and wait after refusals as they tell."""
    replies = []
    number = first
    while time.monotonic() < end:
        asking = client.ask(number)
        try:
            reply = await asyncio.wait_for(asking, PATIENCE_S)
        except TimeoutError:
            reply = Reply(0, PATIENCE_S, body=b"no reply")
        replies.append(reply)
        wait = min(float(reply.retry_after or 0), LONGEST_WAIT_S, end - time.monotonic())
        await asyncio.sleep(max(0.0, wait))
        number += 1
    return replies


async def soak(server: Server, clients: int, seconds: float) -> tuple[list[Reply], list[Sample]]:
    """Let clients ask for so many seconds, and measure the server meanwhile."""
    begun = time.monotonic()
    samples: list[Sample] = []

    async def measure_again() -> None:
        while True:
            samples.append(measure(server, begun))
            await asyncio.sleep(1.0)

    watch = asyncio.create_task(measure_again())
    client = Client(server.port)
    crowd = [ask_until(begun + seconds, client, number) for number in range(clients)]
    replies = [reply for part in await asyncio.gather(*crowd) for reply in part]
    watch.cancel()
    return replies, samples


def list_growth(samples: Sequence[Sample], idle: Sample) -> list[str]:
    """Return a line for memory that grows, and one for files or threads that stay.

    Args:
        samples: The states of the server under the crowd.
        idle: Its state after it.
    """
    counted = [sample for sample in samples if sample.at >= WARM_UP * samples[-1].at]
    line = statistics.linear_regression(
        [sample.at for sample in counted], [sample.memory_mb for sample in counted]
    )
    start = line.intercept + line.slope * counted[0].at
    growth = line.slope * (counted[-1].at - counted[0].at)
    faults = []
    if growth > GROWTH * start:
        faults.append(f"memory grew by {growth:.0f} MB from {start:.0f} MB")
    if idle.handles > samples[0].handles + MORE_HANDLES:
        faults.append(f"{idle.handles} files and threads at the end, {samples[0].handles} before")
    return faults


def make_report(
    replies: Sequence[Reply], samples: Sequence[Sample], idle: Sample, last: Reply
) -> dict[str, Any]:
    """Return the figures, with a line for each fault."""
    faults = [fault for reply in [*replies, last] if (fault := describe_fault(reply))]
    statuses = [reply.status for reply in replies]
    return {
        "probes": len(replies),
        "statuses": {status: statuses.count(status) for status in sorted(set(statuses))},
        "seconds": round(samples[-1].at, 1),
        "answered": compute_quantiles(
            sorted(reply.seconds for reply in replies if reply.status == 200)
        ),
        "memory_mb": [round(sample.memory_mb) for sample in samples[:: 1 + len(samples) // 20]],
        "memory_mb after": round(idle.memory_mb),
        "files and threads": [samples[0].handles, idle.handles],
        "faults": [*list_growth(samples, idle), *faults],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report, and return 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        command = [sys.executable, "-m", "fathom", "ingest", str(SAMPLES)]
        subprocess.run(
            [*command, "--index", str(index), "--offline"], check=True, capture_output=True
        )
        with run_server(index) as server:
            replies, samples = asyncio.run(soak(server, chosen.clients, chosen.seconds))
            time.sleep(5.0)  # connections that were closed leave the process
            last = asyncio.run(Client(server.port).ask(0))
            report = make_report(replies, samples, measure(server, 0.0), last)
    print(json.dumps(report, indent=1))
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
