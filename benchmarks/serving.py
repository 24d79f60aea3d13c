"""`fathom serve` under load: crowds, uploads beside questions, disconnects, and shutdown.

    python benchmarks/serving.py --index DIR [--only crowd,beside,drain,leave,start]

A load generator of our own on loopback, in a process of its own beside the server; both share the
machine. Times are of the client. Memory is that of the server's process (VmRSS).
"""

import argparse
import asyncio
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent.parent / "samples"
QUESTIONS = [
    json.loads(line)["text"]
    for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@dataclass(slots=True)
class Reply:
    """A reply and its time; `status` 0 is a connection that broke."""

    status: int
    seconds: float
    retry_after: str = ""
    body: bytes = b""


@dataclass(slots=True)
class Client:
    """An HTTP/1.1 client with a connection per request."""

    port: int
    replies: list[Reply] = field(default_factory=list)

    async def send(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> Reply:
        """Send a request and read the whole reply."""
        begun = time.perf_counter()
        try:
            reader, writer = await self.open(method, path, body, kind)
            head = await reader.readuntil(b"\r\n\r\n")
            content = await reader.read()
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            return Reply(0, time.perf_counter() - begun)
        again = re.search(rb"retry-after: (\d+)", head.lower())
        return Reply(
            status=int(head.split()[1]),
            seconds=time.perf_counter() - begun,
            retry_after=again[1].decode() if again else "",
            body=content,
        )

    async def open(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request and leave the reply to the caller."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        return reader, writer

    async def ask(self, number: int, **more: Any) -> Reply:  # noqa: ANN401 - JSON
        """Ask one of the samples' questions."""
        question = QUESTIONS[number % len(QUESTIONS)]
        body = json.dumps({"question": question, **more}).encode()
        reply = await self.send("POST", "/api/v1/ask", body)
        self.replies.append(reply)
        return reply


@dataclass(slots=True)
class Server:
    """`fathom serve` in a child process; `ready_s` and `first_s` count from its start."""

    process: "subprocess.Popen[bytes]"
    port: int
    ready_s: float
    first_s: float

    def measure_memory_mb(self) -> float:
        """Return its memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        hits = re.search(r"VmRSS:\s+(\d+)", status)
        return int(hits[1]) / 1024 if hits else 0.0


@contextmanager
def run_server(index: Path, *more: str) -> Iterator[Server]:
    """Run a server over a copy of an index that has answered its first question."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index"
        shutil.copytree(index, copy)
        command = [sys.executable, "-m", "fathom", "serve", "--offline", "--port", "0"]
        begun = time.perf_counter()
        process = subprocess.Popen([*command, "--index", str(copy), *more], stderr=subprocess.PIPE)
        try:
            assert process.stderr is not None
            hits = re.search(r":(\d+)/", process.stderr.readline().decode())
            client = Client(int(hits[1]) if hits else 0)
            while asyncio.run(client.send("GET", "/readyz")).status != 200:
                time.sleep(0.01)
            ready = time.perf_counter() - begun
            asyncio.run(client.ask(0))
            yield Server(process, client.port, ready, time.perf_counter() - begun)
        finally:
            process.kill()
            process.wait()


def summarize_replies(replies: list[Reply], seconds: float) -> dict[str, Any]:
    """Return the figures of a crowd."""
    good = sorted(reply.seconds for reply in replies if reply.status == 200)
    away = sorted(reply.seconds for reply in replies if reply.status == 503)
    untyped = [
        reply
        for reply in replies
        if reply.status not in {200, 503}
        or (reply.status == 503 and (not reply.retry_after or b"urn:fathom" not in reply.body))
    ]
    return {
        "asked": len(replies),
        "statuses": dict(Counter(reply.status for reply in replies)),
        "without a type or Retry-After": len(untyped),
        "seconds": round(seconds, 2),
        "answers a second": round(len(good) / seconds, 2),
        "answered": compute_quantiles(good),
        "turned away": compute_quantiles(away),
    }


def compute_quantiles(values: list[float]) -> dict[str, float]:
    """Return p50, p95, p99 and the largest, in seconds."""
    if len(values) < 2:
        return {"n": len(values)}
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {
        "n": len(values),
        **{f"p{at}": round(cuts[at - 1], 3) for at in (50, 95, 99)},
        "max": round(values[-1], 3),
    }


def measure_crowd(server: Server, asks: int, rounds: int) -> dict[str, Any]:
    """Send a number of questions at the same instant, several times; measure memory after each."""

    async def ask_all() -> tuple[list[Reply], float]:
        client, begun = Client(server.port), time.perf_counter()
        await asyncio.gather(*(client.ask(number) for number in range(asks)))
        return client.replies, time.perf_counter() - begun

    before, rounds_found = server.measure_memory_mb(), []
    for _ in range(rounds):
        numbers = summarize_replies(*asyncio.run(ask_all()))
        rounds_found += [{**numbers, "memory_mb": round(server.measure_memory_mb())}]
    return {"memory_mb before": round(before), "rounds": rounds_found}


def measure_deadlines(server: Server, asks: int, seconds: float) -> dict[str, Any]:
    """Send more questions than can be answered in time; measure whether the accepted ones are."""

    async def ask_all() -> list[Reply]:
        client = Client(server.port)
        jobs = (client.ask(number, budget={"deadline": seconds}) for number in range(asks))
        await asyncio.gather(*jobs)
        return client.replies

    replies = asyncio.run(ask_all())
    good = [reply for reply in replies if reply.status == 200]
    late = [reply for reply in good if json.loads(reply.body)["usage"]["seconds"] > seconds]
    return {
        "deadline_s": seconds,
        **summarize_replies(replies, 1),
        "over the deadline": len(late),
        "seen by the client": compute_quantiles(sorted(reply.seconds for reply in good)),
    }


def measure_upload(server: Server, files: int, per_second: int, seconds: float) -> dict[str, Any]:
    """Upload many files beside a steady stream of questions."""

    async def play_scene() -> dict[str, Any]:
        client = Client(server.port)
        parts = b"".join(
            b'--xyz\r\nContent-Disposition: form-data; name="files"; filename="note-%d.md"\r\n\r\n'
            % number
            + f"# Note {number}\n\nThe bench {number} stands at gate {number * 7}.\n".encode()
            + b"\r\n"
            for number in range(files)
        )
        quiet = await ask_steadily(client, per_second, seconds)
        begun = time.perf_counter()
        kind = "multipart/form-data; boundary=xyz"
        sent = await client.send("POST", "/api/v1/documents", parts + b"--xyz--\r\n", kind)
        job = json.loads(sent.body)["job"]
        accepted = time.perf_counter() - begun
        client.replies = []
        asking = asyncio.create_task(ask_steadily(client, per_second, seconds))
        while (told_of := await measure_progress(client, job))["state"] not in {"done", "failed"}:
            await asyncio.sleep(0.2)
        done = time.perf_counter() - begun
        return {
            "questions a second": per_second,
            "without the upload": quiet,
            "beside the upload": await asking,
            "upload": {
                "files": told_of["files_done"],
                "state": told_of["state"],
                "accepted_s": round(accepted, 2),
                "done_s": round(done, 2),
            },
        }

    return asyncio.run(play_scene())


async def measure_progress(client: Client, job: str) -> dict[str, Any]:
    """Return the progress of a job."""
    payload: dict[str, Any] = json.loads((await client.send("GET", f"/api/v1/jobs/{job}")).body)
    return payload


async def ask_steadily(client: Client, per_second: int, seconds: float) -> dict[str, Any]:
    """Ask at a steady rate, whether earlier questions are answered or not."""
    client.replies, tasks, begun = [], [], time.perf_counter()
    for number in range(int(per_second * seconds)):
        await asyncio.sleep(max(0.0, begun + number / per_second - time.perf_counter()))
        tasks.append(asyncio.create_task(client.ask(number)))
    await asyncio.gather(*tasks)
    return summarize_replies(client.replies, time.perf_counter() - begun)


def measure_leaving(server: Server, clients: int) -> dict[str, Any]:
    """Begin streams and leave them; measure how soon the work ends."""

    async def play_scene() -> float:
        client = Client(server.port)
        body = json.dumps({"question": QUESTIONS[1], "strategy": "maf"}).encode()
        opened = [await client.open("POST", "/api/v1/ask/stream", body) for _ in range(clients)]
        await asyncio.sleep(0.3)
        for _, writer in opened:
            writer.transport.abort()
        begun = time.perf_counter()
        while True:
            numbers = (await client.send("GET", "/metrics")).body.decode()
            if "fathom_running 0.0" in numbers and "fathom_waiting 0.0" in numbers:
                return time.perf_counter() - begun
            await asyncio.sleep(0.02)

    return {"clients": clients, "free again after_s": round(asyncio.run(play_scene()), 3)}


def measure_drain(server: Server, streams: int) -> dict[str, Any]:
    """End the server while streams are open; measure how both end."""

    async def play_scene() -> Counter[str]:
        client = Client(server.port)

        async def follow(number: int) -> str:
            body = json.dumps({"question": QUESTIONS[number % 20], "strategy": "maf"}).encode()
            try:
                reader, _ = await client.open("POST", "/api/v1/ask/stream", body)
                text = (await reader.read()).decode()
            except OSError:
                return "broken"
            for end in ("event: final", "event: error", " 503 "):
                if end in text:
                    return end.strip()
            return "cut"

        tasks = [asyncio.create_task(follow(number)) for number in range(streams)]
        await asyncio.sleep(1.0)
        server.process.send_signal(signal.SIGTERM)
        return Counter(await asyncio.gather(*tasks))

    begun = time.perf_counter()
    ends = asyncio.run(play_scene())
    server.process.wait(timeout=60)
    return {"streams": dict(ends), "ended after_s": round(time.perf_counter() - begun - 1.0, 2)}


def main() -> int:
    """Report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--only", default="start,leave,crowd,deadlines,beside,drain")
    parser.add_argument("--asks", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    sections, figures = chosen.only.split(","), {}
    with run_server(chosen.index) as server:
        scenes: dict[str, Callable[[], dict[str, Any]]] = {
            "start": lambda: {
                "ready_s": round(server.ready_s, 2),
                "first_s": round(server.first_s, 2),
            },
            "leave": lambda: measure_leaving(server, 4),
            "crowd": lambda: measure_crowd(server, chosen.asks, chosen.rounds),
            "deadlines": lambda: measure_deadlines(server, 100, 3.0),
            "beside": lambda: measure_upload(server, 200, 50, 10.0),
            "drain": lambda: measure_drain(server, 100),
        }
        for name in sections:
            figures[name] = scenes[name]()
            print(json.dumps({name: figures[name]}, indent=1), file=sys.stderr)
    print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
